//! The format mini-language: `format(x, spec)` of `str`, `int` and `float`.

use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive};

use super::builtins::char_count;
use super::number::{self, Num};
use super::repr::{push_positional, shortest_digits};
use super::str_methods::pad;
use super::{Interp, PyErr, PyResult};

/// How digits are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grouping {
    None,
    Comma,
    Underscore,
    UnderscoreOfFour,
}

/// A parsed format specification.
#[derive(Debug, Clone)]
struct Spec {
    fill: char,
    align: char,
    sign: Option<char>,
    no_negative_zero: bool,
    alternate: bool,
    width: Option<usize>,
    grouping: Grouping,
    precision: Option<usize>,
    kind: Option<char>,
}

fn is_align(c: char) -> bool {
    matches!(c, '<' | '>' | '=' | '^')
}

fn digits(chars: &[char], at: &mut usize) -> PyResult<Option<usize>> {
    let mut value: Option<usize> = None;
    while let Some(digit) = chars.get(*at).and_then(|c| super::chars::decimal_value(*c)) {
        value = Some(
            value
                .unwrap_or(0)
                .checked_mul(10)
                .and_then(|v| v.checked_add(digit as usize))
                .filter(|v| *v <= i64::MAX as usize)
                .ok_or_else(|| PyErr::value_error("Too many decimal digits in format string"))?,
        );
        *at += 1;
    }
    Ok(value)
}

fn parse(text: &str, type_name: &str, default_kind: Option<char>, default_align: char) -> PyResult<Spec> {
    let chars: Vec<char> = text.chars().collect();
    let mut at = 0;
    let mut spec = Spec {
        fill: ' ',
        align: default_align,
        sign: None,
        no_negative_zero: false,
        alternate: false,
        width: None,
        grouping: Grouping::None,
        precision: None,
        kind: default_kind,
    };
    let (mut fill_given, mut align_given) = (false, false);
    match (chars.first(), chars.get(1)) {
        (Some(fill), Some(align)) if is_align(*align) => {
            (spec.fill, spec.align) = (*fill, *align);
            (fill_given, align_given) = (true, true);
            at = 2;
        }
        (Some(align), _) if is_align(*align) => {
            spec.align = *align;
            align_given = true;
            at = 1;
        }
        _ => {}
    }
    let eat = |at: &mut usize, wanted: char| {
        let found = chars.get(*at) == Some(&wanted);
        *at += usize::from(found);
        found
    };
    if let Some(sign @ ('+' | '-' | ' ')) = chars.get(at) {
        spec.sign = Some(*sign);
        at += 1;
    }
    spec.no_negative_zero = eat(&mut at, 'z');
    spec.alternate = eat(&mut at, '#');
    if !fill_given && eat(&mut at, '0') {
        spec.fill = '0';
        if !align_given && default_align == '>' {
            spec.align = '=';
        }
    }
    spec.width = digits(&chars, &mut at)?;
    if eat(&mut at, ',') {
        spec.grouping = Grouping::Comma;
    }
    if eat(&mut at, '_') {
        if spec.grouping != Grouping::None {
            return Err(PyErr::value_error("Cannot specify both ',' and '_'."));
        }
        spec.grouping = Grouping::Underscore;
    }
    if spec.grouping == Grouping::Underscore && chars.get(at) == Some(&',') {
        return Err(PyErr::value_error("Cannot specify both ',' and '_'."));
    }
    if eat(&mut at, '.') {
        spec.precision = digits(&chars, &mut at)?;
        if spec.precision.is_none() {
            return Err(PyErr::value_error("Format specifier missing precision"));
        }
    }
    match chars.get(at..).unwrap_or(&[]) {
        [] => {}
        [kind] => spec.kind = Some(*kind),
        _ => {
            return Err(PyErr::value_error(format!(
                "Invalid format specifier '{text}' for object of type '{type_name}'"
            )));
        }
    }
    check_grouping(&mut spec)?;
    Ok(spec)
}

fn check_grouping(spec: &mut Spec) -> PyResult<()> {
    if spec.grouping == Grouping::None {
        return Ok(());
    }
    match spec.kind {
        None | Some('d' | 'e' | 'f' | 'g' | 'E' | 'G' | '%' | 'F') => Ok(()),
        Some('b' | 'o' | 'x' | 'X') if spec.grouping == Grouping::Underscore => {
            spec.grouping = Grouping::UnderscoreOfFour;
            Ok(())
        }
        Some(kind) => {
            let mark = if spec.grouping == Grouping::Comma { ',' } else { '_' };
            if ('!'..='~').contains(&kind) {
                return Err(PyErr::value_error(format!("Cannot specify '{mark}' with '{kind}'.")));
            }
            Err(PyErr::value_error(format!("Cannot specify '{mark}' with '\\x{:x}'.", kind as u32)))
        }
    }
}

fn unknown_kind(kind: char, type_name: &str) -> PyErr {
    if ('!'..='~').contains(&kind) {
        return PyErr::value_error(format!("Unknown format code '{kind}' for object of type '{type_name}'"));
    }
    PyErr::value_error(format!("Unknown format code '\\x{:x}' for object of type '{type_name}'", kind as u32))
}

/// `format(text, spec)`.
pub(crate) fn format_str(text: &str, spec: &str, type_name: &str, it: &mut dyn Interp) -> PyResult<String> {
    if spec.is_empty() {
        return Ok(text.to_owned());
    }
    let spec = parse(spec, type_name, Some('s'), '<')?;
    if let Some(kind) = spec.kind.filter(|kind| *kind != 's') {
        return Err(unknown_kind(kind, type_name));
    }
    let refuse = |what: &str| PyErr::value_error(format!("{what} not allowed in string format specifier"));
    match spec.sign {
        Some(' ') => return Err(refuse("Space")),
        Some(_) => return Err(refuse("Sign")),
        None => {}
    }
    if spec.no_negative_zero {
        return Err(refuse("Negative zero coercion (z)"));
    }
    if spec.alternate {
        return Err(refuse("Alternate form (#)"));
    }
    if spec.align == '=' {
        return Err(refuse("'=' alignment"));
    }
    let cut: String;
    let text = match spec.precision {
        Some(precision) if precision < char_count(text) => {
            cut = text.chars().take(precision).collect();
            &cut
        }
        _ => text,
    };
    let missing = spec.width.unwrap_or(0).saturating_sub(char_count(text));
    it.allocate(missing.saturating_mul(spec.fill.len_utf8()).saturating_add(text.len()))?;
    let left = match spec.align {
        '>' => missing,
        '^' => missing / 2,
        _ => 0,
    };
    Ok(pad(text, left, missing - left, spec.fill))
}

/// Groups digits from the right, filling up with zeros to a minimum width as CPython does.
fn group(digits: &str, grouping: Grouping, min_width: usize) -> String {
    let (mark, size) = match grouping {
        Grouping::None => {
            return format!("{}{digits}", "0".repeat(min_width.saturating_sub(digits.len())));
        }
        Grouping::Comma => (',', 3),
        Grouping::Underscore => ('_', 3),
        Grouping::UnderscoreOfFour => ('_', 4),
    };
    let mut groups: Vec<String> = Vec::new();
    let mut rest = digits;
    let mut wanted = min_width;
    loop {
        let len = size.min(rest.len().max(wanted).max(1));
        let (left, right) = rest.split_at(rest.len() - len.min(rest.len()));
        groups.push(format!("{}{right}", "0".repeat(len - right.len())));
        rest = left;
        wanted = wanted.saturating_sub(len);
        if rest.is_empty() && wanted == 0 {
            break;
        }
        // the mark itself takes a place of the width
        wanted = wanted.saturating_sub(1);
        if rest.is_empty() && wanted == 0 {
            // CPython still writes one more group here
            groups.push("0".to_owned());
            break;
        }
    }
    groups.reverse();
    groups.join(&mark.to_string())
}

/// Puts sign, prefix, digits and the rest of a number together.
fn assemble(
    spec: &Spec,
    negative: bool,
    prefix: &str,
    digits: &str,
    rest: &str,
    it: &mut dyn Interp,
) -> PyResult<String> {
    let sign = match (negative, spec.sign) {
        (true, _) => "-",
        (false, Some('+')) => "+",
        (false, Some(' ')) => " ",
        _ => "",
    };
    let width = spec.width.unwrap_or(0);
    it.allocate(width.saturating_mul(spec.fill.len_utf8()).saturating_add((digits.len() + rest.len()) * 2))?;
    let other = sign.len() + prefix.len() + char_count(rest);
    let min_width = if spec.fill == '0' && spec.align == '=' { width.saturating_sub(other) } else { 0 };
    let grouped = if digits.is_empty() { String::new() } else { group(digits, spec.grouping, min_width) };
    let missing = width.saturating_sub(other + grouped.len());
    let body = format!("{grouped}{rest}");
    Ok(match spec.align {
        '<' => format!("{}{body}", pad(&format!("{sign}{prefix}"), 0, 0, ' ')) + &pad("", missing, 0, spec.fill),
        '^' => pad(&format!("{sign}{prefix}{body}"), missing / 2, missing - missing / 2, spec.fill),
        '=' => format!("{sign}{prefix}{}{body}", pad("", missing, 0, spec.fill)),
        _ => pad(&format!("{sign}{prefix}{body}"), missing, 0, spec.fill),
    })
}

/// `format(int, spec)`.
pub(crate) fn format_int(num: &Num<'_>, spec: &str, it: &mut dyn Interp) -> PyResult<String> {
    format_integral(num, spec, "int", it)
}

/// `format(x, spec)` of an `int` or a subclass named `type_name`.
pub(crate) fn format_integral(num: &Num<'_>, spec: &str, type_name: &str, it: &mut dyn Interp) -> PyResult<String> {
    if spec.is_empty() {
        return match num {
            Num::Int(int) => Ok(int.to_string()),
            Num::Big(big) => number::decimal(big),
            Num::Float(float) => Ok(super::repr_float(*float)),
        };
    }
    let spec = parse(spec, type_name, Some('d'), '>')?;
    let kind = spec.kind.unwrap_or('d');
    if matches!(kind, 'e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%') {
        return float_with(num.to_f64()?, &spec, type_name, it);
    }
    if !matches!(kind, 'b' | 'c' | 'd' | 'n' | 'o' | 'x' | 'X') {
        return Err(unknown_kind(kind, type_name));
    }
    if spec.precision.is_some() {
        return Err(PyErr::value_error("Precision not allowed in integer format specifier"));
    }
    if spec.no_negative_zero {
        return Err(PyErr::value_error("Negative zero coercion (z) not allowed in integer format specifier"));
    }
    let big: BigInt = num.to_bigint().unwrap_or_default();
    if kind == 'c' {
        if spec.sign.is_some() {
            return Err(PyErr::value_error("Sign not allowed with integer format specifier 'c'"));
        }
        if spec.alternate {
            return Err(PyErr::value_error("Alternate form (#) not allowed with integer format specifier 'c'"));
        }
        let Some(code) = big.to_i64() else {
            return Err(PyErr::overflow("Python int too large to convert to C long"));
        };
        let Some(code) = u32::try_from(code).ok().filter(|code| *code < 0x11_0000) else {
            return Err(PyErr::overflow("%c arg not in range(0x110000)"));
        };
        let c = char::from_u32(code).ok_or_else(|| PyErr::unsupported("lone surrogates in text"))?;
        return assemble(&spec, false, "", "", &c.to_string(), it);
    }
    let magnitude = big.abs();
    let (digits, prefix) = match kind {
        'b' => (magnitude.to_str_radix(2), "0b"),
        'o' => (magnitude.to_str_radix(8), "0o"),
        'x' => (magnitude.to_str_radix(16), "0x"),
        'X' => (magnitude.to_str_radix(16).to_uppercase(), "0X"),
        _ => (number::decimal(&magnitude)?, ""),
    };
    assemble(&spec, big.is_negative(), if spec.alternate { prefix } else { "" }, &digits, "", it)
}

/// `format(float, spec)`.
pub(crate) fn format_float(value: f64, spec: &str, it: &mut dyn Interp) -> PyResult<String> {
    if spec.is_empty() {
        return Ok(super::repr_float(value));
    }
    let spec = parse(spec, "float", None, '>')?;
    float_with(value, &spec, "float", it)
}

fn float_with(value: f64, spec: &Spec, type_name: &str, it: &mut dyn Interp) -> PyResult<String> {
    let kind = spec.kind;
    let percent = kind == Some('%');
    let value = if percent { value * 100.0 } else { value };
    if spec.precision.is_some_and(|precision| precision > i32::MAX as usize) {
        return Err(PyErr::value_error("precision too big"));
    }
    let style = match kind {
        None if spec.precision.is_none() => Style::Repr,
        None => Style::General { dot_zero: true },
        Some('e' | 'E') => Style::Exponent,
        Some('f' | 'F' | '%') => Style::Fixed,
        Some('g' | 'G' | 'n') => Style::General { dot_zero: false },
        Some(kind) => return Err(unknown_kind(kind, type_name)),
    };
    let upper = matches!(kind, Some('E' | 'F' | 'G'));
    let precision = spec.precision.unwrap_or(6);
    it.allocate(precision)?;
    let mut text = float_text(value, style, precision, spec.alternate);
    if upper {
        text = text.to_uppercase();
    }
    if percent {
        text.push('%');
    }
    let mut negative = value.is_sign_negative() && !value.is_nan();
    if spec.no_negative_zero && negative && !text.bytes().any(|b| matches!(b, b'1'..=b'9' | b'i' | b'I')) {
        negative = false;
    }
    let whole = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(whole);
    assemble(spec, negative, "", digits, rest, it)
}

/// How a float is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Repr,
    Fixed,
    Exponent,
    General { dot_zero: bool },
}

/// The most digits after the point a double can have; Rust's formatter takes no more than 65,535.
const EXACT_DIGITS: usize = 1100;

/// The text of a float without its sign.
pub(crate) fn float_text(value: f64, style: Style, precision: usize, alternate: bool) -> String {
    let value = value.abs();
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return "inf".to_owned();
    }
    let exact = precision.min(EXACT_DIGITS);
    let zeros = precision - exact;
    match style {
        Style::Repr => {
            if !alternate {
                return super::repr_float(value);
            }
            let (digits, exponent) = shortest_digits(value);
            let mut out = String::new();
            push_positional(&digits, exponent, -4, 16, true, &mut out);
            with_point(out)
        }
        Style::Fixed => {
            let mut out = format!("{value:.exact$}");
            out.extend(std::iter::repeat_n('0', zeros));
            if alternate && precision == 0 { with_point(out) } else { out }
        }
        Style::Exponent => {
            let text = format!("{value:.exact$e}");
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let mut mantissa = mantissa.to_owned();
            mantissa.extend(std::iter::repeat_n('0', zeros));
            if alternate && precision == 0 {
                mantissa.push('.');
            }
            mantissa + &exponent_text(exponent.parse().unwrap_or(0))
        }
        Style::General { dot_zero } => {
            let precision = precision.max(1);
            let text = format!("{value:.*e}", (precision - 1).min(EXACT_DIGITS));
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let exponent: i32 = exponent.parse().unwrap_or(0);
            let mut digits: String = mantissa.chars().filter(|c| *c != '.').collect();
            if alternate {
                let more = precision.saturating_sub(digits.len());
                digits.extend(std::iter::repeat_n('0', more));
            } else {
                digits.truncate(digits.trim_end_matches('0').len().max(1));
            }
            let high = i32::try_from(precision).unwrap_or(i32::MAX) - i32::from(dot_zero);
            let mut out = String::new();
            push_positional(&digits, exponent, -4, high, dot_zero, &mut out);
            if alternate { with_point(out) } else { out }
        }
    }
}

fn exponent_text(exponent: i32) -> String {
    format!("e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs())
}

/// Adds the point that the alternate form always has.
fn with_point(text: String) -> String {
    if text.contains('.') {
        return text;
    }
    match text.split_once('e') {
        Some((mantissa, exponent)) => format!("{mantissa}.e{exponent}"),
        None => text + ".",
    }
}
