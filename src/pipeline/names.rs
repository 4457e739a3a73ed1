//! File names for keys and ids: readable, safe on every file system, and no two alike even where case does not count.

use sha2::{Digest, Sha256};

/// Longest name made, in bytes; longer ones are cut and get a hash.
const MAX: usize = 96;

/// Device names of Windows.
const RESERVED: [&str; 4] = ["con", "prn", "aux", "nul"];

/// The file name of a text.
///
/// Lower-case letters, digits and a few signs stand for themselves; every other byte is written as `%XX`. An upper-case
/// letter beside a digit stands for itself too (`T09`, `W11`, `Q1`), and there the lower-case one is written as `%XX`, so
/// that names differ by more than case.
pub fn file_name(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut name = String::with_capacity(bytes.len());
    for (at, &byte) in bytes.iter().enumerate() {
        let digit = |index: Option<usize>| index.and_then(|index| bytes.get(index)).is_some_and(u8::is_ascii_digit);
        let beside_digit = digit(at.checked_sub(1)) || digit(Some(at + 1));
        let edge = at == 0 || at + 1 == bytes.len();
        let plain = match byte {
            b'a'..=b'z' => !beside_digit,
            b'A'..=b'Z' => beside_digit,
            b'0'..=b'9' | b'-' | b'_' | b'=' | b'+' | b',' | b'(' | b')' | b'[' | b']' => true,
            b'.' | b' ' => !edge,
            _ => false,
        };
        if plain {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02X}"));
        }
    }
    if name.is_empty() {
        return "%".to_owned();
    }
    let stem = name.split('.').next().unwrap_or_default();
    let numbered = stem.len() == 4 && (stem.starts_with("com") || stem.starts_with("lpt"));
    if RESERVED.contains(&stem) || numbered {
        name = format!("%{:02X}{}", name.as_bytes()[0], &name[1..]);
    }
    if name.len() > MAX {
        let hash = Sha256::digest(bytes);
        let hash: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let cut = name.char_indices().take_while(|(at, _)| *at < MAX - 18).last().map_or(0, |(at, _)| at);
        // Not in the middle of a %XX.
        let cut = name[..cut].rfind('%').filter(|percent| cut - percent < 3).unwrap_or(cut);
        name = format!("{}~{hash}", &name[..cut]);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_keys_read_as_they_are() {
        for key in ["2026-03-10T09", "2026-03-09 (W11)", "dt=20260310", "2026-Q1", "all_regions"] {
            assert_eq!(file_name(key), key);
        }
        assert_eq!(file_name("eu|2026-03-10"), "eu%7C2026-03-10");
        assert_eq!(file_name("2026-03-10T09:00:00"), "2026-03-10T09%3A00%3A00");
    }

    #[test]
    fn no_two_are_alike_without_case() {
        let keys = [
            "us",
            "US",
            "Us",
            "2026-03-10T09",
            "2026-03-10t09",
            "",
            "%",
            ".",
            "..",
            "a.",
            "a",
            "con",
            "%63on",
            "com1",
            "a/b",
            "a\\b",
            "a b",
            " a",
            "ä",
            "a\u{308}",
            "nul.txt",
            "~2",
            "x~2",
        ];
        let mut seen = std::collections::BTreeMap::new();
        for key in keys {
            let name = file_name(key);
            assert!(!name.contains(['/', '\\', ':', '*', '?', '"', '<', '>', '|', '~']), "{name}");
            assert_eq!(seen.insert(name.to_lowercase(), key), None, "{name}");
        }
    }

    #[test]
    fn long_keys_are_cut_and_stay_apart() {
        let (one, two) = (file_name(&"é".repeat(300)), file_name(&"é".repeat(301)));
        assert!(one.len() <= MAX && two.len() <= MAX, "{}", one.len());
        assert_ne!(one, two);
    }
}
