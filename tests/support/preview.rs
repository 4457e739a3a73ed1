//! A running `partita preview`, asked over real sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value as Json;

use super::Project;

/// The server in a process of its own; it ends with this.
pub struct Server {
    pub child: Child,
    pub address: String,
}

/// An answer.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub fn json(&self) -> Json {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

impl Server {
    #[track_caller]
    pub fn start(project: &Project, args: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_partita"));
        command.arg("preview").args(["--port", "0"]).args(args).current_dir(project.path("")).env_clear();
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let rest = line.trim().strip_prefix("http://").unwrap_or_else(|| panic!("no address: {line:?}"));
        let address = rest.split('/').next().unwrap().to_owned();
        Server { child, address }
    }

    #[track_caller]
    pub fn get(&self, target: &str) -> Response {
        ask(&self.address, "GET", target, &[], None)
    }

    #[track_caller]
    pub fn json(&self, target: &str) -> Json {
        let response = self.get(target);
        assert_eq!(response.status, 200, "{target}: {}", response.body);
        response.json()
    }

    #[track_caller]
    pub fn post(&self, target: &str, body: &Json) -> Response {
        ask(&self.address, "POST", target, &[("Content-Type", "application/json")], Some(&body.to_string()))
    }

    /// Opens `/api/events`.
    pub fn events(&self) -> Events {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        write!(stream, "GET /api/events HTTP/1.1\r\nHost: {}\r\n\r\n", self.address).unwrap();
        Events { lines: BufReader::new(stream) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A stream of server-sent events.
pub struct Events {
    lines: BufReader<TcpStream>,
}

impl Events {
    /// The data of the next event; none when the stream has ended.
    pub fn next(&mut self) -> Option<Json> {
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return Some(serde_json::from_str(data).unwrap());
            }
            // the end of a chunked body
            if line == "0\r\n" {
                return None;
            }
        }
    }
}

/// One request on a connection of its own.
#[track_caller]
pub fn ask(address: &str, method: &str, target: &str, headers: &[(&str, &str)], body: Option<&str>) -> Response {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut head = format!("{method} {target} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        head.push_str(&format!("Host: {address}\r\n"));
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if let Some(body) = body {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    head.push_str("\r\n");
    head.push_str(body.unwrap_or_default());
    stream.write_all(head.as_bytes()).unwrap();
    read(&mut stream)
}

/// Reads an answer up to the end of the connection.
#[track_caller]
pub fn read(stream: &mut TcpStream) -> Response {
    let mut bytes = Vec::new();
    // A connection that is reset after the answer has given the answer.
    if let Err(error) = stream.read_to_end(&mut bytes) {
        assert!(!bytes.is_empty(), "{error}");
    }
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines.filter_map(|line| line.split_once(": ")).map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
    Response { status, headers, body: body.to_owned() }
}
