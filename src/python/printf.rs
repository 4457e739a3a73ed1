//! `text % values`.

use num_traits::{Signed, ToPrimitive};

use super::builtins::char_count;
use super::number::{self, Num};
use super::spec::{Style, float_text};
use super::{Args, Dict, Interp, PyErr, PyResult, Tuple, Value, View, downcast, float, markup, repr, type_name, view};

/// `text % values`.
pub(crate) fn format(text: &str, values: &Value, it: &mut dyn Interp) -> PyResult<String> {
    Printf::new(text, values, false).run(it)
}

/// `Markup(text) % values`, which escapes what it puts in.
pub(crate) fn format_markup(text: &str, values: &Value, it: &mut dyn Interp) -> PyResult<String> {
    Printf::new(text, values, true).run(it)
}

struct Printf<'a> {
    chars: Vec<char>,
    at: usize,
    values: &'a Value,
    items: Option<&'a [Value]>,
    next: usize,
    mapping: bool,
    /// The one value there is when `values` is no tuple, or that `%(key)s` chose
    single: Value,
    escape: bool,
}

#[derive(Default)]
struct Flags {
    left: bool,
    sign: bool,
    blank: bool,
    alternate: bool,
    zero: bool,
}

fn is_mapping(value: &Value) -> bool {
    match view(value) {
        View::Bytes(_) => true,
        View::Object(object) => {
            downcast::<Tuple>(value).is_none()
                && object.as_text().is_none()
                && (downcast::<Dict>(value).is_some()
                    || matches!(object.type_name(), "list" | "range")
                    || object.has_method("__getitem__"))
        }
        _ => false,
    }
}

impl<'a> Printf<'a> {
    fn new(text: &str, values: &'a Value, escape: bool) -> Self {
        Printf {
            chars: text.chars().collect(),
            at: 0,
            values,
            items: downcast::<Tuple>(values).map(Tuple::items),
            next: 0,
            mapping: is_mapping(values),
            single: values.clone(),
            escape,
        }
    }

    fn argument(&mut self) -> PyResult {
        let not_enough = || PyErr::type_error("not enough arguments for format string");
        let value = match self.items {
            Some(items) => items.get(self.next).cloned().ok_or_else(not_enough)?,
            None if self.next == 0 => self.single.clone(),
            None => return Err(not_enough()),
        };
        self.next += 1;
        Ok(value)
    }

    fn read(&mut self) -> PyResult<char> {
        let c = self.chars.get(self.at).copied().ok_or_else(|| PyErr::value_error("incomplete format"))?;
        self.at += 1;
        Ok(c)
    }

    fn run(mut self, it: &mut dyn Interp) -> PyResult<String> {
        let mut out = String::with_capacity(self.chars.len());
        while let Some(c) = self.chars.get(self.at).copied() {
            self.at += 1;
            if c == '%' {
                self.directive(&mut out, it)?
            } else {
                out.push(c)
            }
            if out.len() > it.limits().allocation {
                it.allocate(out.len())?;
            }
        }
        let left = match self.items {
            Some(items) => self.next < items.len(),
            None => self.next == 0,
        };
        if left && !self.mapping {
            return Err(PyErr::type_error("not all arguments converted during string formatting"));
        }
        Ok(out)
    }

    fn key(&mut self, it: &mut dyn Interp) -> PyResult<()> {
        if !self.mapping {
            return Err(PyErr::type_error("format requires a mapping"));
        }
        let start = self.at;
        let mut depth = 1;
        while depth > 0 {
            let Some(c) = self.chars.get(self.at) else { return Err(PyErr::value_error("incomplete format key")) };
            self.at += 1;
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
        }
        let key: String = self.chars.get(start..self.at - 1).map(|chars| chars.iter().collect()).unwrap_or_default();
        self.single = super::getitem(self.values, &Value::from(key), it)?;
        self.items = None;
        self.next = 0;
        Ok(())
    }

    /// A number written out or given by `*`.
    fn number(&mut self, c: &mut char, too_big: &'static str) -> PyResult<Option<i64>> {
        if *c == '*' {
            let value = self.argument()?;
            if self.escape {
                return Err(PyErr::type_error("* wants int"));
            }
            let number = match view(&value) {
                View::Int(int) => int,
                View::Bool(bool) => i64::from(bool),
                _ if number::big(&value).is_some() => {
                    let size = if too_big.starts_with("width") { "ssize_t" } else { "int" };
                    return Err(PyErr::overflow(format!("Python int too large to convert to C {size}")));
                }
                _ => return Err(PyErr::type_error("* wants int")),
            };
            *c = self.read()?;
            return Ok(Some(number));
        }
        let mut number: Option<i64> = None;
        while let Some(digit) = c.to_digit(10) {
            number = Some(
                number
                    .unwrap_or(0)
                    .checked_mul(10)
                    .and_then(|n| n.checked_add(i64::from(digit)))
                    .filter(|n| too_big.starts_with("width") || *n <= i64::from(i32::MAX))
                    .ok_or_else(|| PyErr::value_error(too_big))?,
            );
            *c = self.read()?;
        }
        Ok(number)
    }

    fn directive(&mut self, out: &mut String, it: &mut dyn Interp) -> PyResult<()> {
        let mut flags = Flags::default();
        let mut c = self.read()?;
        if c == '%' {
            out.push('%');
            return Ok(());
        }
        if c == '(' {
            self.key(it)?;
            c = self.read()?;
        }
        loop {
            match c {
                '-' => flags.left = true,
                '+' => flags.sign = true,
                ' ' => flags.blank = true,
                '#' => flags.alternate = true,
                '0' => flags.zero = true,
                _ => break,
            }
            c = self.read()?;
        }
        let mut width = self.number(&mut c, "width too big")?.unwrap_or(-1);
        if width < -1 {
            flags.left = true;
            width = width.saturating_neg();
        }
        let mut precision = None;
        if c == '.' {
            c = self.read()?;
            let given = self.number(&mut c, "precision too big")?.unwrap_or(0);
            if i32::try_from(given).is_err() {
                return Err(PyErr::overflow("Python int too large to convert to C int"));
            }
            precision = Some(given.max(0));
        }
        if matches!(c, 'h' | 'l' | 'L') {
            c = self.read()?;
        }
        let value = self.argument()?;
        let width = usize::try_from(width).unwrap_or(0);
        let precision = precision.map(|p| usize::try_from(p).unwrap_or(usize::MAX));
        let (text, numeric) = self.convert(c, &value, &flags, precision, it)?;
        it.allocate(width)?;
        push_padded(out, &text, numeric, c, width, &flags);
        Ok(())
    }

    /// The text of a value, with the sign of negative numbers, and whether it is a number.
    fn convert(
        &self,
        c: char,
        value: &Value,
        flags: &Flags,
        precision: Option<usize>,
        it: &mut dyn Interp,
    ) -> PyResult<(String, bool)> {
        match c {
            's' | 'r' | 'a' => {
                let text = match c {
                    's' if self.escape => markup::escape(value, it)?,
                    's' => super::str(value, it)?,
                    _ => {
                        let text = super::repr(value, it)?;
                        let text = if self.escape { markup::escape_text(&text) } else { text };
                        if c == 'a' { repr::ascii_of(&text) } else { text }
                    }
                };
                Ok((
                    match precision {
                        Some(precision) if precision < char_count(&text) => text.chars().take(precision).collect(),
                        _ => text,
                    },
                    false,
                ))
            }
            'd' | 'i' | 'u' | 'o' | 'x' | 'X' => Ok((self.integer(c, value, flags, precision, it)?, true)),
            'e' | 'E' | 'f' | 'F' | 'g' | 'G' => {
                let number = match Num::of(value) {
                    Some(num) => num.to_f64()?,
                    None if self.escape => float::to_float(value)?,
                    None if super::has_method(value, "__float__") => {
                        float::to_float(&super::call_method(value, "__float__", &Args::default(), it)?)?
                    }
                    None => {
                        return Err(PyErr::type_error(format!("must be real number, not {}", type_name(value))));
                    }
                };
                let style = match c.to_ascii_lowercase() {
                    'e' => Style::Exponent,
                    'f' => Style::Fixed,
                    _ => Style::General { dot_zero: false },
                };
                it.allocate(precision.unwrap_or(0))?;
                let mut text = float_text(number, style, precision.unwrap_or(6), flags.alternate);
                if c.is_ascii_uppercase() {
                    text = text.to_uppercase();
                }
                if number.is_sign_negative() && !number.is_nan() {
                    text.insert(0, '-');
                }
                Ok((text, true))
            }
            'c' => Ok((self.character(value)?, false)),
            other => {
                let shown = if (' '..='~').contains(&other) { other } else { '?' };
                Err(PyErr::value_error(format!(
                    "unsupported format character '{shown}' (0x{:x}) at index {}",
                    other as u32,
                    self.at - 1
                )))
            }
        }
    }

    fn character(&self, value: &Value) -> PyResult<String> {
        let wrong = || PyErr::type_error("%c requires int or char");
        if self.escape {
            return Err(wrong());
        }
        if let Some(text) = super::text(value) {
            return if char_count(text) == 1 { Ok(text.to_owned()) } else { Err(wrong()) };
        }
        let int = number::as_bigint(value).ok_or_else(wrong)?;
        let code = int.to_u32().filter(|code| *code < 0x11_0000);
        let Some(code) = code else { return Err(PyErr::overflow("%c arg not in range(0x110000)")) };
        char::from_u32(code).map(String::from).ok_or_else(|| PyErr::unsupported("lone surrogates in text"))
    }

    fn integer(
        &self,
        c: char,
        value: &Value,
        flags: &Flags,
        precision: Option<usize>,
        it: &mut dyn Interp,
    ) -> PyResult<String> {
        let decimal = matches!(c, 'd' | 'i' | 'u');
        let whole = match number::as_bigint(value) {
            Some(_) if self.escape && !decimal => None,
            Some(int) => Some(int),
            None if decimal => match view(value) {
                View::Float(float) => number::as_bigint(&number::float_to_int(float)?),
                // markupsafe's helper has __int__, which reads text too; other types fail as if they were no numbers
                _ if self.escape && super::text(value).is_some() => number::as_bigint(&float::to_int(value)?),
                View::Object(object) if object.has_method("__int__") => {
                    number::as_bigint(&object.call_method(value, "__int__", &Args::default(), it)?)
                }
                _ => None,
            },
            None => None,
        };
        let Some(int) = whole else {
            let wanted = if decimal { "a real number" } else { "an integer" };
            let given = if self.escape { "_MarkupEscapeHelper".to_owned() } else { type_name(value) };
            return Err(PyErr::type_error(format!("%{c} format: {wanted} is required, not {given}")));
        };
        let magnitude = int.abs();
        let mut digits = match c {
            'o' => magnitude.to_str_radix(8),
            'x' => magnitude.to_str_radix(16),
            'X' => magnitude.to_str_radix(16).to_uppercase(),
            _ => number::decimal(&magnitude)?,
        };
        if let Some(precision) = precision
            && digits.len() < precision
        {
            it.allocate(precision)?;
            digits = format!("{}{digits}", "0".repeat(precision - digits.len()));
        }
        if flags.alternate && !decimal {
            digits.insert_str(
                0,
                match c {
                    'o' => "0o",
                    'x' => "0x",
                    _ => "0X",
                },
            );
        }
        if int.is_negative() {
            digits.insert(0, '-');
        }
        Ok(digits)
    }
}

/// Writes a converted value in its field.
fn push_padded(out: &mut String, text: &str, numeric: bool, c: char, width: usize, flags: &Flags) {
    let (sign, body) = match text.strip_prefix('-') {
        Some(rest) if numeric => ("-", rest),
        _ if numeric && flags.sign => ("+", text),
        _ if numeric && flags.blank => (" ", text),
        _ => ("", text),
    };
    let (prefix, body) = if numeric && flags.alternate && matches!(c, 'o' | 'x' | 'X') && body.len() > 2 {
        body.split_at(2)
    } else {
        ("", body)
    };
    let missing = width.saturating_sub(sign.len() + prefix.len() + char_count(body));
    let zero = numeric && flags.zero;
    if !flags.left && !zero {
        out.extend(std::iter::repeat_n(' ', missing));
    }
    out.push_str(sign);
    out.push_str(prefix);
    if !flags.left && zero {
        out.extend(std::iter::repeat_n('0', missing));
    }
    out.push_str(body);
    if flags.left {
        out.extend(std::iter::repeat_n(' ', missing));
    }
}
