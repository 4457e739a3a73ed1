//! Dates and times as Python values: the `datetime` module, pendulum 3 and dateutil as far as templates reach them.

mod strftime;
mod strptime;
mod text;

pub use strftime::{Fields, strftime, time_strftime};
pub use strptime::{Parsed, strptime};

/// `repr` of a text.
pub(crate) fn quote(text: &str) -> String {
    let q = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(q);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            c if c == q => {
                out.push('\\');
                out.push(c);
            }
            c if (c as u32) < 0x20 || c as u32 == 0x7f => out.push_str(&format!("\\x{:02x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push(q);
    out
}

/// `repr` of a `datetime.timedelta` of so many microseconds.
pub(crate) fn timedelta_repr(micros: i128) -> String {
    let (days, rest) = (micros.div_euclid(86_400_000_000), micros.rem_euclid(86_400_000_000));
    let (seconds, micros) = (rest / 1_000_000, rest % 1_000_000);
    let parts: Vec<String> = [("days", days), ("seconds", seconds), ("microseconds", micros)]
        .into_iter()
        .filter(|(_, n)| *n != 0)
        .map(|(name, n)| format!("{name}={n}"))
        .collect();
    if parts.is_empty() { "datetime.timedelta(0)".into() } else { format!("datetime.timedelta({})", parts.join(", ")) }
}
