//! Small texts shared by the date types.

/// A UTC offset as CPython prints it: `+HH:MM`, with seconds and microseconds only where there are any.
///
/// `offset` is in microseconds; `separator` stands between hours, minutes and seconds.
pub(crate) fn offset_text(offset: i64, separator: &str) -> String {
    let sign = if offset < 0 { '-' } else { '+' };
    let micros = offset.unsigned_abs();
    let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let mut text = format!("{sign}{hours:02}{separator}{minutes:02}");
    if seconds != 0 || fraction != 0 {
        text.push_str(&format!("{separator}{seconds:02}"));
    }
    if fraction != 0 {
        text.push_str(&format!(".{fraction:06}"));
    }
    text
}

/// Code points of the zeros of Unicode's decimal digits (category Nd), as Python 3.11 knows them.
const ZEROS: [u32; 66] = [
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0,
    0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620,
    0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0,
    0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60,
    0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
];

/// The value of a decimal digit of any script, as `int()` reads it.
pub(crate) fn digit(c: char) -> Option<u32> {
    let code = c as u32;
    let at = ZEROS.partition_point(|zero| *zero <= code).checked_sub(1)?;
    let value = code - ZEROS.get(at)?;
    (value < 10).then_some(value)
}

/// `int(text)` of a text of decimal digits.
pub(crate) fn digits(text: &str) -> Option<i64> {
    let mut value = 0_i64;
    for c in text.chars() {
        value = value.checked_mul(10)?.checked_add(i64::from(digit(c)?))?;
    }
    (!text.is_empty()).then_some(value)
}

/// A character class of a regex that matches what Python's `\d` matches.
pub(crate) fn digit_class() -> String {
    use std::fmt::Write;
    let mut class = String::from("[");
    for zero in ZEROS {
        let _ = write!(class, "\\x{{{zero:x}}}-\\x{{{:x}}}", zero + 9);
    }
    class.push(']');
    class
}
