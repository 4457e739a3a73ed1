//! What commands that stay have in common: which folders they follow, and how they end.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

use super::select;

/// The folders to watch, absolute: those that were named (or `templates/`), those of the pipelines found, and others. Of a
/// file it is the folder it is in; folders inside of another one are left out.
pub fn roots(named: &[Utf8PathBuf], folders: &[Utf8PathBuf], others: &[Utf8PathBuf]) -> Vec<Utf8PathBuf> {
    let templates = [Utf8PathBuf::from(select::TEMPLATES)];
    let named = if named.is_empty() { &templates } else { named };
    let folder = |path: &Utf8PathBuf| {
        absolute(if path.is_dir() { path.as_path() } else { path.parent().unwrap_or(Utf8Path::new(".")) })
    };
    outermost(&named.iter().chain(folders).chain(others).map(folder).collect())
}

/// Folders that lie in none of the others.
fn outermost(folders: &BTreeSet<Utf8PathBuf>) -> Vec<Utf8PathBuf> {
    let inside = |folder: &Utf8PathBuf| folders.iter().any(|other| other != folder && folder.starts_with(other));
    folders.iter().filter(|folder| folder.is_dir() && !inside(folder)).cloned().collect()
}

/// A path from the root of the file system on.
pub fn absolute(path: &Utf8Path) -> Utf8PathBuf {
    let path = if path.as_str().is_empty() { Utf8Path::new(".") } else { path };
    camino::absolute_utf8(path).unwrap_or_else(|_| path.to_owned())
}

/// Done when the process is asked to end.
pub async fn interrupted() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => {
                tokio::select! {
                    _ = interrupt => {}
                    _ = terminate.recv() => {}
                }
            }
            Err(_) => drop(interrupt.await),
        }
    }
    #[cfg(not(unix))]
    drop(interrupt.await);
}
