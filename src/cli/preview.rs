//! `partita preview`: a live page, its JSON API, and the queued-event endpoints.

use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};

use camino::{Utf8Path, Utf8PathBuf};

use super::follow::{absolute, interrupted, roots};
use super::{Exit, Failure, Io, Outcome, select};
use crate::preview::{self, Access, Limits, Options, Preview, Queues, Watch, serve, watch};

/// Arguments of `partita preview`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Pipelines: folders or files; without one, every pipeline below templates/
    pipelines: Vec<Utf8PathBuf>,

    /// The port; 0 takes a free one
    #[arg(long, value_name = "N", default_value_t = 8470)]
    port: u16,

    /// The host to listen on; another than loopback needs --token
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    host: String,

    /// What every request must know: in the address that is printed, or as `Authorization: Bearer`
    #[arg(long, value_name = "TOKEN", env = "PARTITA_TOKEN", hide_env_values = true)]
    token: Option<String>,

    /// Open the page in a browser
    #[arg(long)]
    open: bool,

    /// A stored queue, for what-if events that stay and for Airflow's queued-event endpoints
    #[cfg(feature = "sqlite")]
    #[arg(long, value_name = "FILE", env = "PARTITA_STORE")]
    store: Option<Utf8PathBuf>,

    /// The tree of accepted snapshots
    #[arg(long, value_name = "DIR", default_value = "snapshots")]
    snapshots: Utf8PathBuf,
}

/// Serves until it is interrupted.
pub fn run(args: &Args, io: &mut Io<'_>) -> Outcome {
    if let Some(token) = &args.token
        && (token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)))
    {
        return Err(Failure::Usage("a token is letters, digits and `-._~`".to_owned()));
    }
    if !preview::is_loopback(&args.host) && args.token.is_none() {
        return Err(Failure::Usage(format!(
            "--host {} can be reached from other machines\nhelp: give --token TOKEN, and open the page by the address \
             that is printed",
            args.host
        )));
    }
    // What is not there at all is a slip of the fingers; what cannot be read is shown in the page and may be mended.
    let folders = select::folders(&args.pipelines)?;
    if let Some(folder) = folders.iter().find(|folder| !folder.exists()) {
        return Err(Failure::Fatal(format!("there is no pipeline {folder}")));
    }
    let queues = queues(args, &folders)?;
    let listener = bind(args)?;
    let address = listener.local_addr()?;
    let named = args.pipelines.clone();
    let discover = move || {
        select::folders(&named).map_err(|failure| match failure {
            Failure::Usage(text) | Failure::Fatal(text) | Failure::Report(text) => text,
            Failure::Io(error) => error.to_string(),
        })
    };
    let preview =
        Arc::new(Preview::new(Options { discover: Box::new(discover), snapshots: args.snapshots.clone(), queues }));
    if let Err(problem) = follow(args, &folders, &preview) {
        writeln!(io.err, "warning: {problem}\nhelp: changes show only after a restart")?;
    }
    let url = url(args, address);
    writeln!(io.out, "{url}")?;
    io.out.flush()?;
    if args.open {
        open(&url, io)?;
    }
    let access = Access { host: args.host.clone(), token: args.token.clone() };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        // Rendering is work for the processor: more threads than that only wait for each other.
        .max_blocking_threads(std::thread::available_parallelism().map_or(4, |cores| cores.get() * 2))
        .enable_all()
        .build()?;
    let served = runtime.block_on(serve(listener, preview, access, Limits::default(), interrupted()));
    // A rendering that is under way does not keep the process.
    runtime.shutdown_background();
    served?;
    Ok(Exit::Success)
}

fn bind(args: &Args) -> Result<TcpListener, Failure> {
    let host = args.host.trim_start_matches('[').trim_end_matches(']');
    let addresses: Vec<SocketAddr> = (host, args.port)
        .to_socket_addrs()
        .map_err(|error| Failure::Fatal(format!("{}: {error}", args.host)))?
        .collect();
    TcpListener::bind(addresses.as_slice()).map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => Failure::Fatal(format!(
            "port {} is taken: another program listens on it\nhelp: --port 0 takes a free one",
            args.port
        )),
        _ => Failure::Fatal(format!("cannot listen on {}:{}: {error}", args.host, args.port)),
    })
}

/// The address to open.
fn url(args: &Args, address: SocketAddr) -> String {
    let host = match args.host.parse::<std::net::IpAddr>() {
        Ok(ip) if ip.is_unspecified() => "127.0.0.1".to_owned(),
        Ok(std::net::IpAddr::V6(ip)) => format!("[{ip}]"),
        _ => args.host.clone(),
    };
    let token = args.token.as_ref().map(|token| format!("?token={token}")).unwrap_or_default();
    format!("http://{host}:{}/{token}", address.port())
}

/// Opens a page in the browser of the system.
fn open(url: &str, io: &mut Io<'_>) -> Result<(), Failure> {
    let (program, before): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("cmd", &["/C", "start", ""])
    } else {
        ("xdg-open", &[])
    };
    let mut command = Command::new(program);
    command.args(before).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(error) = command.spawn() {
        writeln!(io.err, "note: no browser was opened: {program}: {error}")?;
    }
    Ok(())
}

#[cfg(feature = "sqlite")]
fn queues(args: &Args, folders: &[Utf8PathBuf]) -> Result<Option<Queues>, Failure> {
    let Some(store) = &args.store else { return Ok(None) };
    let [folder] = folders else {
        return Err(Failure::Usage("--store goes with one pipeline: name it".to_owned()));
    };
    // The file must be one of partita's, or become one, before anybody relies on it.
    crate::schedule::SqliteStore::open(store.as_std_path()).map_err(super::queue_store::failure)?;
    Ok(Some(Queues::file(store.clone(), preview::pipeline_name(folder), Box::new(super::queue_store::clock))))
}

#[cfg(not(feature = "sqlite"))]
fn queues(_args: &Args, _folders: &[Utf8PathBuf]) -> Result<Option<Queues>, Failure> {
    Ok(None)
}

/// Reads everything again when files change: in the folders that were named, in those that templates are searched in, and in
/// the tree of snapshots.
fn follow(args: &Args, folders: &[Utf8PathBuf], preview: &Arc<Preview>) -> Result<(), String> {
    let mut searched = preview.workspace().search_folders();
    searched.extend(args.snapshots.is_dir().then(|| args.snapshots.clone()));
    let roots = roots(&args.pipelines, folders, &searched);
    let (sender, changed) = mpsc::channel::<Vec<Utf8PathBuf>>();
    // The receiver lives as long as the process.
    let watch = watch(&roots, move |paths| drop(sender.send(paths)))?;
    let preview = preview.clone();
    std::thread::spawn(move || reload(&preview, watch, &changed));
    Ok(())
}

fn reload(preview: &Preview, mut watch: Watch, changed: &mpsc::Receiver<Vec<Utf8PathBuf>>) {
    let here = absolute(Utf8Path::new("."));
    while let Ok(mut paths) = changed.recv() {
        paths.extend(changed.try_iter().flatten());
        paths.sort();
        paths.dedup();
        let shown = |path: &Utf8PathBuf| path.strip_prefix(&here).map_or_else(|_| path.clone(), Utf8Path::to_path_buf);
        preview.reload(paths.iter().map(shown).collect());
        for folder in preview.workspace().search_folders() {
            // What cannot be watched was said at the start; a folder that comes later is only not followed.
            let _ = watch.add(&absolute(&folder));
        }
    }
}
