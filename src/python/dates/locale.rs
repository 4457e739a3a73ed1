//! pendulum's locales: names of days and months, units, phrases, plural and ordinal rules.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::python::{PyErr, PyResult};

/// One locale.
#[derive(Debug)]
pub(crate) struct Locale {
    name: &'static str,
    entries: HashMap<&'static str, &'static str>,
}

/// Locales pendulum has beside those of the table.
const ELSEWHERE: &str = " bg cs da fa fo gu he hi id lt nb nn sk sv tr uk ";

fn table() -> &'static Vec<Locale> {
    static TABLE: OnceLock<Vec<Locale>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut locales: Vec<Locale> = Vec::new();
        for line in include_str!("data/pendulum_locales.tsv").lines() {
            if let Some(name) = line.strip_prefix('@') {
                locales.push(Locale { name, entries: HashMap::new() });
            } else if let (Some(locale), Some((key, value))) = (locales.last_mut(), line.split_once('\t')) {
                locale.entries.insert(key, value);
            }
        }
        locales
    })
}

/// The default, `en`.
pub(crate) fn english() -> &'static Locale {
    static FALLBACK: OnceLock<Locale> = OnceLock::new();
    table().first().unwrap_or_else(|| FALLBACK.get_or_init(|| Locale { name: "en", entries: HashMap::new() }))
}

/// `Locale.load(name)`: only the very names of the table, in any case.
///
/// # Errors
/// `ValueError` for a name pendulum does not know, `Unsupported` for one only pendulum knows.
pub(crate) fn load(name: &str) -> PyResult<&'static Locale> {
    let mut wanted = name.to_lowercase();
    if wanted.len() == 5 && wanted.is_ascii() && wanted.as_bytes().get(2) == Some(&b'-') {
        wanted = wanted.replace('-', "_");
    }
    if let Some(locale) = table().iter().find(|locale| locale.name == wanted) {
        return Ok(locale);
    }
    if !wanted.is_empty() && !wanted.contains(' ') && ELSEWHERE.contains(&format!(" {wanted} ")) {
        return Err(PyErr::unsupported(format!("pendulum's locale '{wanted}'")));
    }
    if wanted.is_empty() || wanted.contains(['/', '.']) || wanted == "locale" {
        return Err(PyErr::unsupported(format!("pendulum's locale '{wanted}'")));
    }
    Err(PyErr::value_error(format!("Locale [{wanted}] does not exist.")))
}

impl Locale {
    /// An entry of the table.
    pub(crate) fn get(&self, key: &str) -> Option<&'static str> {
        self.entries.get(key).copied()
    }

    /// The n-th of a list.
    pub(crate) fn item(&self, key: &str, at: usize) -> &'static str {
        self.get(key).and_then(|list| list.split('|').nth(at)).unwrap_or_default()
    }

    /// The form of a phrase for a number.
    pub(crate) fn form(&self, key: &str, form: &str) -> Option<&'static str> {
        self.get(key)?
            .split('|')
            .find_map(|part| part.split_once('=').filter(|(name, _)| *name == form))
            .map(|(_, v)| v)
    }

    /// CLDR's plural category of a count.
    pub(crate) fn plural(&self, n: i64) -> &'static str {
        match self.name {
            "fr" | "pt_br" => {
                if (0..=1).contains(&n) {
                    "one"
                } else {
                    "other"
                }
            }
            "ja" | "ko" | "zh" => "other",
            "pl" | "ru" => {
                let (ten, hundred) = (n % 10, n % 100);
                let one = if self.name == "pl" { n == 1 } else { ten == 1 && hundred != 11 };
                if one {
                    "one"
                } else if (2..=4).contains(&ten) && !(12..=14).contains(&hundred) {
                    "few"
                } else {
                    "many"
                }
            }
            _ => {
                if n == 1 {
                    "one"
                } else {
                    "other"
                }
            }
        }
    }

    /// CLDR's ordinal category of a number.
    fn ordinal(&self, n: i64) -> &'static str {
        match self.name {
            "en" | "en_us" | "en_gb" => match (n % 10, n % 100) {
                (_, 11..=13) => "other",
                (1, _) => "one",
                (2, _) => "two",
                (3, _) => "few",
                _ => "other",
            },
            "fr" if n == 1 => "one",
            "it" if matches!(n, 8 | 11 | 80 | 800) => "many",
            _ => "other",
        }
    }

    /// `10th`
    pub(crate) fn ordinalize(&self, n: i64) -> String {
        format!("{n}{}", self.form("custom.ordinal", self.ordinal(n)).unwrap_or_default())
    }
}
