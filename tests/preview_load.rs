//! The preview under load: 2,000 requests, 64 at a time, while files change every 50 ms. No error, no stale answer after the
//! last change, and no memory that grows with the number of requests.
#![cfg(all(feature = "preview", target_os = "linux"))]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use support::Project;
use support::preview::Server;

const REQUESTS: usize = 2_000;
const IN_FLIGHT: usize = 64;

/// A connection that is kept.
struct Client {
    stream: BufReader<TcpStream>,
    address: String,
}

impl Client {
    fn new(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Client { stream: BufReader::new(stream), address: address.to_owned() }
    }

    fn get(&mut self, target: &str) -> (u16, String) {
        write!(self.stream.get_mut(), "GET {target} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address).unwrap();
        let (mut status, mut length) = (0, 0);
        loop {
            let mut line = String::new();
            assert!(self.stream.read_line(&mut line).unwrap() > 0, "the connection was closed: {target}");
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            if let Some(rest) = line.strip_prefix("HTTP/1.1 ") {
                status = rest[..3].parse().unwrap();
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                length = value.parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).unwrap();
        (status, String::from_utf8(body).unwrap())
    }
}

/// Resident memory of a process, in kB.
fn memory(pid: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn many_requests_while_files_change() {
    let project = Project::new().copy("templates/player_stats", "player_stats");
    let server = Server::start(&project, &["player_stats"]);
    let targets = [
        "/api/render?scenario=one_hour&dag=combine&task=combine_stats&field=sql",
        "/api/render?scenario=one_hour&dag=combine&task=export",
        "/api/pipelines",
        "/api/context?scenario=one_hour&dag=combine&task=export",
        "/api/explain?scenario=one_hour&dag=combine",
        "/api/graph?scenario=one_hour",
        "/api/diff?scenario=one_hour&dag=combine",
        "/",
    ];
    let template = project.path("player_stats/sql/combine.sql");
    let pipeline = project.path("player_stats/pipeline.yaml");
    let yaml = project.read("player_stats/pipeline.yaml");
    let changes = AtomicUsize::new(0);
    let mut used = Vec::new();
    let mut times: Vec<Duration> = Vec::new();
    // one round to warm up, the round itself, and one to see that no memory was lost
    for (round, requests) in [REQUESTS / 4, REQUESTS, REQUESTS / 4].into_iter().enumerate() {
        let (sent, done) = (AtomicUsize::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let count = changes.fetch_add(1, Ordering::Relaxed) + 1;
                    std::fs::write(&template, format!("-- {count}\nSELECT '{{{{ partition_key }}}}'\n")).unwrap();
                    if count.is_multiple_of(5) {
                        // as editors save: a new file in the place of the old one
                        let beside = pipeline.with_extension("new");
                        std::fs::write(&beside, format!("{yaml}\n# {count}\n")).unwrap();
                        std::fs::rename(&beside, &pipeline).unwrap();
                    }
                    std::thread::sleep(Duration::from_millis(50));
                }
            });
            let clients: Vec<_> = (0..IN_FLIGHT)
                .map(|_| {
                    scope.spawn(|| {
                        let mut client = Client::new(&server.address);
                        let mut times = Vec::new();
                        loop {
                            let number = sent.fetch_add(1, Ordering::Relaxed);
                            if number >= requests {
                                return times;
                            }
                            let target = targets[number % targets.len()];
                            let start = Instant::now();
                            let (status, body) = client.get(target);
                            times.push(start.elapsed());
                            assert_eq!(status, 200, "{target}: {body}");
                        }
                    })
                })
                .collect();
            let taken: Vec<Vec<Duration>> = clients.into_iter().map(|client| client.join().unwrap()).collect();
            done.store(true, Ordering::Relaxed);
            if round > 0 {
                times.extend(taken.into_iter().flatten());
            }
        });
        used.push(memory(server.child.id()));
    }
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    println!(
        "{} requests, {IN_FLIGHT} in flight, {} changes; half within {:?}, 99 of 100 within {:?}, all within {:?}; memory \
         after each round: {used:?} kB",
        times.len(),
        changes.load(Ordering::Relaxed),
        at(50),
        at(99),
        at(100),
    );
    // the last change is seen, and stays seen
    let last = format!("-- {}", changes.load(Ordering::Relaxed));
    let mut client = Client::new(&server.address);
    let start = Instant::now();
    let stale = |client: &mut Client| !client.get(targets[0]).1.contains(&last);
    while stale(&mut client) {
        assert!(start.elapsed() < Duration::from_secs(5), "{last} does not show");
        std::thread::sleep(Duration::from_millis(5));
    }
    println!("the last change showed within {:?}", start.elapsed());
    for _ in 0..200 {
        assert!(!stale(&mut client), "an older text came back");
    }
    assert!(used[2] < used[0] + used[0] / 4 + 16_384, "memory grows: {used:?} kB");
}
