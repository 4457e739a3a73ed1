//! Files of serialized Dags: one Dag, an array of them, JSON lines, or the compressed column.

use std::fs::File;
use std::io::Read as _;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value as Json;

use super::{SerializedDag, compressed};
use crate::airflow::ImportError;

/// Most bytes of one file.
pub const MAX_BYTES: u64 = 64 << 20;

/// Most files of a folder.
const MAX_FILES: usize = 10_000;

/// Every serialized Dag below a folder: its `.json`, `.jsonl` and `.ndjson` files, in the order of their paths.
///
/// # Errors
/// The first file that holds no serialized Dag, or none at all.
pub fn from_folder(folder: &Utf8Path) -> Result<Vec<SerializedDag>, ImportError> {
    let mut files = Vec::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    while let Some((below, depth)) = folders.pop() {
        let entries = below
            .read_dir_utf8()
            .map_err(|error| ImportError::new(format!("cannot read the folder {below}: {error}")))?;
        for entry in entries {
            let entry = entry.map_err(|error| ImportError::new(format!("cannot read the folder {below}: {error}")))?;
            let path = entry.path().to_owned();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if depth < 16 {
                    folders.push((path, depth + 1));
                }
            } else if matches!(path.extension(), Some("json" | "jsonl" | "ndjson")) {
                files.push(path);
            }
            if files.len() > MAX_FILES {
                return Err(ImportError::new(format!("{folder} holds more than {MAX_FILES} files")));
            }
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(ImportError::new(format!("{folder} holds no serialized Dags: no .json file in it")));
    }
    let mut dags = Vec::new();
    for file in files {
        dags.extend(from_file(&file)?);
    }
    Ok(dags)
}

/// The serialized Dags of a file.
///
/// # Errors
/// A file that cannot be read, is larger than [`MAX_BYTES`], is no JSON or holds something else.
pub fn from_file(path: &Utf8Path) -> Result<Vec<SerializedDag>, ImportError> {
    let fail = |error: std::io::Error| ImportError::new(format!("cannot read {path}: {error}"));
    let mut bytes = Vec::new();
    File::open(path).map_err(fail)?.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(fail)?;
    from_bytes(&bytes, path.as_str())
}

/// The serialized Dags of bytes that were read; `origin` names them in messages.
///
/// # Errors
/// As [`from_file`].
pub fn from_bytes(bytes: &[u8], origin: &str) -> Result<Vec<SerializedDag>, ImportError> {
    if bytes.len() as u64 > MAX_BYTES {
        return Err(ImportError::new(format!("{origin} has more than {} MB", MAX_BYTES >> 20))
            .help("import a folder with a file for each Dag"));
    }
    // The first byte of a zlib stream; no JSON starts like this.
    if bytes.first() == Some(&0x78) {
        return parse(&compressed::inflate(bytes, origin)?, origin);
    }
    parse(bytes, origin)
}

fn parse(bytes: &[u8], origin: &str) -> Result<Vec<SerializedDag>, ImportError> {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(ImportError::new(format!("{origin} is empty")));
    }
    let mut dags = Vec::new();
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<Json>();
    let mut ordinal = 0;
    loop {
        let at = values.byte_offset();
        let Some(value) = values.next() else { break };
        let value = value.map_err(|error| {
            // The position counts from the start of the value that failed.
            let line = bytes.get(..at).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count();
            let place = if ordinal == 0 { String::new() } else { format!(" (the value after line {line})") };
            ImportError::new(format!("{origin} is not JSON: {error}{place}"))
        })?;
        ordinal += 1;
        match value {
            Json::Array(items) => {
                for (index, item) in items.into_iter().enumerate() {
                    dags.push(SerializedDag::from_json(item, &format!("{origin}[{index}]"))?);
                }
            }
            value if ordinal == 1 => dags.push(SerializedDag::from_json(value, origin)?),
            value => dags.push(SerializedDag::from_json(value, &format!("{origin}, Dag {ordinal}"))?),
        }
    }
    if dags.is_empty() {
        return Err(ImportError::new(format!("{origin} holds no Dag")));
    }
    Ok(dags)
}

/// A file or a folder.
///
/// # Errors
/// As [`from_file`] and [`from_folder`].
impl SerializedDag {
    /// Every serialized Dag of a file or below a folder.
    ///
    /// # Errors
    /// As [`from_file`] and [`from_folder`].
    pub fn from_path(path: &Utf8PathBuf) -> Result<Vec<Self>, ImportError> {
        if path.is_dir() { from_folder(path) } else { from_file(path) }
    }
}
