//! `partita render --watch`: the texts in the terminal, drawn again on every save.

use std::io::{self, IsTerminal, Write};

use camino::Utf8PathBuf;
use console::Term;
use tokio::sync::mpsc;

use super::follow::{interrupted, roots};
use super::{Exit, Failure, Io, Outcome, render, select};
use crate::preview::watch;

/// Takes the whole screen, without a cursor, and cuts long lines at its edge.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";

/// Gives the screen back as it was.
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";

/// From the upper left corner, and nothing below what is drawn.
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";

/// Draws until it is interrupted.
pub fn run(args: &render::Args, io: &mut Io<'_>) -> Outcome {
    let folders = select::folders(args.named())?;
    if let Some(folder) = folders.iter().find(|folder| !folder.exists()) {
        return Err(Failure::Fatal(format!("there is no pipeline {folder}")));
    }
    let roots = roots(args.named(), &folders, &other_folders(args, &folders));
    let (sender, mut changes) = mpsc::unbounded_channel();
    let _watch = watch(&roots, move |paths| drop(sender.send(paths))).map_err(Failure::Fatal)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let screen = io::stdout().is_terminal().then(Screen::enter).transpose()?;
    let drawn = runtime.block_on(async {
        let end = interrupted();
        tokio::pin!(end);
        let mut resized = Resized::new();
        let mut last = None;
        loop {
            draw(args, io, screen.as_ref(), &mut last)?;
            tokio::select! {
                () = &mut end => return Ok(()),
                () = resized.next() => last = None,
                changed = changes.recv() => {
                    if changed.is_none() {
                        return Ok(());
                    }
                    // One drawing for all that has come in the meantime.
                    while changes.try_recv().is_ok() {}
                }
            }
        }
    });
    drop(screen);
    drawn.map(|()| Exit::Success)
}

/// Folders of files that are named one by one, and those that templates are searched in.
fn other_folders(args: &render::Args, folders: &[Utf8PathBuf]) -> Vec<Utf8PathBuf> {
    let workspace = crate::preview::Workspace::read(1, Ok(folders.to_vec()));
    args.files().into_iter().chain(workspace.search_folders()).collect()
}

/// Renders, and draws what came of it unless it is what stands there: texts, or what is wrong in place of them.
fn draw(
    args: &render::Args,
    io: &mut Io<'_>,
    screen: Option<&Screen>,
    last: &mut Option<String>,
) -> Result<(), Failure> {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    {
        let mut inner = Io { out: &mut out, err: &mut err };
        if let Err(failure) = render::once(args, &mut inner) {
            if let Failure::Usage(_) = failure {
                // A name that nothing has may be one that a file is about to get, but not before it was ever there.
                if last.is_none() {
                    return Err(failure);
                }
            }
            failure.report(&mut inner);
        }
    }
    out.extend(err);
    let text = String::from_utf8_lossy(&out).into_owned();
    if last.as_ref() == Some(&text) {
        return Ok(());
    }
    let repeated = last.replace(text.clone()).is_some();
    match screen {
        Some(screen) => screen.draw(&text, io)?,
        None => {
            // For a pipe: one text after another.
            if repeated {
                writeln!(io.out)?;
            }
            io.out.write_all(text.as_bytes())?;
            io.out.flush()?;
        }
    }
    Ok(())
}

/// The terminal, taken until this is dropped.
struct Screen;

impl Screen {
    fn enter() -> io::Result<Self> {
        control(ENTER)?;
        Ok(Screen)
    }

    /// Draws a text from the top; what does not fit is counted in the last line.
    fn draw(&self, text: &str, io: &mut Io<'_>) -> io::Result<()> {
        let (rows, _) = Term::stdout().size();
        let rows = usize::from(rows).max(2) - 1;
        let lines: Vec<&str> = text.trim_end_matches('\n').split('\n').collect();
        let shown = if lines.len() > rows { rows - 1 } else { lines.len() };
        control(HOME)?;
        for line in lines.iter().take(shown) {
            write!(io.out, "{line}")?;
            io.out.flush()?;
            control(CLEAR_LINE)?;
            writeln!(io.out)?;
        }
        if shown < lines.len() {
            write!(io.out, "... {} more lines; --task and --field choose", lines.len() - shown)?;
            io.out.flush()?;
            control(CLEAR_LINE)?;
            writeln!(io.out)?;
        }
        io.out.flush()?;
        control(CLEAR_BELOW)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // The terminal may be gone.
        let _ = control(LEAVE);
    }
}

/// Writes a control sequence: also where colours are off.
fn control(sequence: &str) -> io::Result<()> {
    let mut out = io::stdout();
    out.write_all(sequence.as_bytes())?;
    out.flush()
}

/// Tells when the terminal has another size.
struct Resized {
    #[cfg(unix)]
    signal: Option<tokio::signal::unix::Signal>,
}

impl Resized {
    #[cfg(unix)]
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        Resized { signal: signal(SignalKind::window_change()).ok() }
    }

    #[cfg(not(unix))]
    fn new() -> Self {
        Resized {}
    }

    async fn next(&mut self) {
        #[cfg(unix)]
        if let Some(signal) = &mut self.signal {
            signal.recv().await;
            return;
        }
        std::future::pending::<()>().await;
    }
}
