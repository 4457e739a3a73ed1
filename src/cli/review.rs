//! `partita review`

use std::collections::{BTreeSet, HashMap};
use std::io::IsTerminal;

use camino::Utf8PathBuf;
use console::Key;

use super::{Exit, Failure, Io, Outcome};
use crate::diff::{Change, Group, Same, likenesses, same_changes};
use crate::report;
use crate::snapshot::{self, Filter, Pending, Tree, TreeError};

/// Arguments of `partita review`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// List what is pending, and ask nothing
    #[arg(long, conflicts_with_all = ["accept", "reject"])]
    list: bool,

    /// Accept pending snapshots that match, and ask nothing: a pipeline, scenario, Dag, run, task or field, or neighbours in a snapshot's path joined by `/`
    #[arg(long, value_name = "GLOB")]
    accept: Vec<String>,

    /// Reject pending snapshots that match, and ask nothing
    #[arg(long, value_name = "GLOB")]
    reject: Vec<String>,

    /// Only pending snapshots that match
    #[arg(long, value_name = "GLOB", conflicts_with_all = ["accept", "reject"])]
    filter: Vec<String>,

    /// The folder of the snapshots
    #[arg(long, value_name = "DIR", default_value = "snapshots")]
    dir: Utf8PathBuf,
}

/// Decides about pending snapshots.
pub fn run(args: &Args, io: &mut Io<'_>) -> Outcome {
    let filter = filter("--filter", &args.filter)?;
    if !args.accept.is_empty() || !args.reject.is_empty() {
        return decide_by_pattern(args, io);
    }
    let pending = snapshot::pending(&args.dir, &filter).map_err(fatal)?;
    let (sound, unsound): (Vec<Pending>, Vec<Pending>) = pending.into_iter().partition(Pending::is_exact);
    for pending in &unsound {
        tell_unsound(args, pending, io)?;
    }
    if sound.is_empty() {
        writeln!(io.err, "nothing is pending in {}", args.dir)?;
        return Ok(Exit::findings_if(!unsound.is_empty()));
    }
    let changes: Vec<Change> = sound.iter().map(Change::of_pending).collect();
    if args.list {
        io.out.write_all(report::paths_text(&changes).as_bytes())?;
        return Ok(Exit::Findings);
    }
    if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        return Err(Failure::Usage(format!(
            "{} pending, and no terminal to ask in\nhelp: --list lists them, --accept GLOB and --reject GLOB decide without questions; --accept '*' accepts all",
            snapshots(changes.len())
        )));
    }
    ask(args, &sound, &changes, io)
}

fn fatal(error: TreeError) -> Failure {
    Failure::Fatal(error.to_string())
}

fn filter(option: &str, patterns: &[String]) -> Result<Filter, Failure> {
    Filter::new(patterns.iter().map(String::as_str)).map_err(|error| Failure::Usage(format!("{option}: {error}")))
}

/// A pending file that partita did not write, or not to its end.
fn tell_unsound(args: &Args, pending: &Pending, io: &mut Io<'_>) -> Result<(), Failure> {
    let why = match &pending.new {
        Err(damage) => damage.to_string(),
        Ok(stored) if stored.sha256.is_none() => "it has no `sha256`: another tool wrote it".to_owned(),
        Ok(_) => "its text is not the one its `sha256` was made of: it was edited".to_owned(),
    };
    writeln!(
        io.err,
        "warning: {}/{}.snap.new is left alone: {why}\nhelp: `partita snapshot` writes it anew, or removes it",
        args.dir, pending.path
    )?;
    Ok(())
}

fn decide_by_pattern(args: &Args, io: &mut Io<'_>) -> Outcome {
    let accept = filter("--accept", &args.accept)?;
    let reject = filter("--reject", &args.reject)?;
    let pending = snapshot::pending(&args.dir, &Filter::default()).map_err(fatal)?;
    for (option, patterns) in [("--accept", &accept), ("--reject", &reject)] {
        if let Some(pattern) = patterns.unused(pending.iter().map(|pending| &pending.subject)).first() {
            return Err(Failure::Usage(format!(
                "{option} {pattern} matches nothing that is pending\nhelp: `partita review --list` lists what is"
            )));
        }
    }
    let chosen = |filter: &Filter, one: &Pending| !filter.is_empty() && filter.matches(&one.subject);
    if let Some(both) = pending.iter().find(|one| chosen(&accept, one) && chosen(&reject, one)) {
        return Err(Failure::Usage(format!("--accept and --reject both match {}", both.subject.name())));
    }
    let tree = Tree::open(&args.dir).map_err(fatal)?;
    let (mut accepted, mut rejected, mut left) = (0, 0, 0);
    for one in &pending {
        if chosen(&reject, one) {
            rejected += usize::from(tree.reject(one).map_err(fatal)?);
        } else if !chosen(&accept, one) {
            left += 1;
        } else if !one.is_exact() {
            tell_unsound(args, one, io)?;
            left += 1;
        } else {
            accepted += usize::from(tree.accept(one).map_err(fatal)?);
        }
    }
    writeln!(io.out, "{accepted} accepted, {rejected} rejected, {left} pending")?;
    Ok(Exit::findings_if(left > 0))
}

/// What somebody answers to one question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Accept,
    AcceptAlike,
    Reject,
    Skip,
    Quit,
    Interrupt,
}

/// Counts of what was decided.
#[derive(Debug, Default)]
struct Decided {
    accepted: usize,
    rejected: usize,
    changed: usize,
}

/// One question a group, until all are answered.
fn ask(args: &Args, pending: &[Pending], changes: &[Change], io: &mut Io<'_>) -> Outcome {
    let groups = same_changes(changes);
    let likeness = likenesses(&groups);
    let by_path: HashMap<&str, &Pending> = pending.iter().map(|one| (one.path.as_str(), one)).collect();
    let members = |group: &Group<Same, &Change>| -> Vec<&Pending> {
        group.members.iter().filter_map(|change| by_path.get(change.path.as_str()).copied()).collect()
    };
    let mut decided = Decided::default();
    let mut settled: BTreeSet<usize> = BTreeSet::new();
    let mut interrupted = false;
    for (index, group) in groups.iter().enumerate() {
        if settled.contains(&index) {
            continue;
        }
        let own = likeness.get(index).cloned().unwrap_or_default();
        let alike: Vec<(usize, &Group<Same, &Change>)> = groups
            .iter()
            .enumerate()
            .skip(index + 1)
            .filter(|(other, _)| !settled.contains(other))
            .filter(|(other, _)| likeness.get(*other).is_some_and(|likeness| likeness.is_subset(&own)))
            .collect();
        let more: usize = alike.iter().map(|(_, other)| other.members.len()).sum();
        writeln!(io.out, "\n[{}/{}] {}", index + 1, groups.len(), report::group_text(group))?;
        match question(more, io)? {
            Answer::Skip => {}
            Answer::Quit => break,
            Answer::Interrupt => {
                interrupted = true;
                break;
            }
            Answer::Reject => decide(args, &members(group), false, &mut decided, io)?,
            Answer::Accept => decide(args, &members(group), true, &mut decided, io)?,
            Answer::AcceptAlike => {
                let mut all = members(group);
                for (other, group) in alike {
                    all.extend(members(group));
                    settled.insert(other);
                }
                decide(args, &all, true, &mut decided, io)?;
            }
        }
    }
    let left = pending.len().saturating_sub(decided.accepted + decided.rejected);
    let word = if interrupted { "interrupted: " } else { "" };
    writeln!(io.out, "\n{word}{} accepted, {} rejected, {left} pending", decided.accepted, decided.rejected)?;
    if decided.changed > 0 {
        writeln!(io.err, "note: {} changed while you looked and were left alone", snapshots(decided.changed))?;
    }
    Ok(Exit::findings_if(left > 0))
}

fn decide(
    args: &Args,
    pending: &[&Pending],
    accept: bool,
    decided: &mut Decided,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    // Opened for each decision: a `partita snapshot` in another terminal need not wait for somebody to make up their mind.
    let tree = Tree::open(&args.dir).map_err(fatal)?;
    let mut done = 0;
    for one in pending {
        let did = if accept { tree.accept(one) } else { tree.reject(one) }.map_err(fatal)?;
        done += usize::from(did);
        decided.changed += usize::from(!did);
    }
    let word = if accept { "accepted" } else { "rejected" };
    writeln!(io.out, "{word} {}", snapshots(done))?;
    match accept {
        true => decided.accepted += done,
        false => decided.rejected += done,
    }
    Ok(())
}

/// Asks until a key is an answer. The terminal is in raw mode only while a key is awaited.
fn question(more: usize, io: &mut Io<'_>) -> Result<Answer, Failure> {
    let terminal = console::Term::stdout();
    let alike = if more > 0 { format!("accept all a[l]ike ({more} more), ") } else { String::new() };
    let prompt = format!("[a]ccept, [r]eject, [s]kip, {alike}[q]uit? ");
    write!(io.out, "{prompt}")?;
    io.out.flush()?;
    loop {
        let (answer, word) = match terminal.read_key_raw()? {
            Key::Char('a' | 'A') => (Answer::Accept, "accept"),
            Key::Char('r' | 'R') => (Answer::Reject, "reject"),
            Key::Char('s' | 'S') => (Answer::Skip, "skip"),
            Key::Char('l' | 'L') => (Answer::AcceptAlike, "accept all alike"),
            Key::Char('q' | 'Q' | '\u{4}') | Key::Escape => (Answer::Quit, "quit"),
            Key::CtrlC | Key::Char('\u{3}') => (Answer::Interrupt, ""),
            _ => continue,
        };
        writeln!(io.out, "{word}")?;
        return Ok(answer);
    }
}

fn snapshots(count: usize) -> String {
    if count == 1 { "1 snapshot".to_owned() } else { format!("{count} snapshots") }
}
