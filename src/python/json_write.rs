//! `json.dumps`.

use std::fmt::Write as _;

use super::guard::Depth;
use super::repr::repr_float;
use super::{Dict, Interp, List, PyErr, PyResult, Tuple, Value, View, downcast, number, view};

/// What is called for a value that JSON has no form for: it gives one that has, or raises `TypeError`.
pub type Fallback<'f> = &'f mut dyn FnMut(&Value, &mut dyn Interp) -> PyResult;

/// The keyword arguments of `json.dumps`.
pub struct Options<'f> {
    /// `indent`: what one level is indented by
    pub indent: Option<String>,
    /// `sort_keys`
    pub sort_keys: bool,
    /// `ensure_ascii`
    pub ensure_ascii: bool,
    /// `separators`: between items, between key and value
    pub separators: Option<(String, String)>,
    /// `allow_nan`
    pub allow_nan: bool,
    /// `skipkeys`
    pub skip_keys: bool,
    /// `default`
    pub fallback: Option<Fallback<'f>>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            indent: None,
            sort_keys: false,
            ensure_ascii: true,
            separators: None,
            allow_nan: true,
            skip_keys: false,
            fallback: None,
        }
    }
}

/// `json.dumps(value, **options)`.
pub fn dumps(value: &Value, options: Options<'_>, it: &mut dyn Interp) -> PyResult<String> {
    let (item, key) = match &options.separators {
        Some((item, key)) => (item.clone(), key.clone()),
        None if options.indent.is_some() => (",".to_owned(), ": ".to_owned()),
        None => (", ".to_owned(), ": ".to_owned()),
    };
    let mut writer = Writer { options, item, key, out: String::new(), level: 0, open: Vec::new() };
    writer.value(value, it)?;
    Ok(writer.out)
}

struct Writer<'f> {
    options: Options<'f>,
    item: String,
    key: String,
    out: String,
    level: usize,
    /// Addresses of the containers being written
    open: Vec<usize>,
}

impl Writer<'_> {
    fn newline(&mut self) {
        if let Some(indent) = &self.options.indent {
            self.out.push('\n');
            for _ in 0..self.level {
                self.out.push_str(indent);
            }
        }
    }

    fn enter(&mut self, value: &Value) -> PyResult<()> {
        if let View::Object(object) = view(value) {
            let address = super::guard::address(object);
            if self.open.contains(&address) {
                return Err(PyErr::value_error("Circular reference detected"));
            }
            self.open.push(address);
        }
        Ok(())
    }

    fn value(&mut self, value: &Value, it: &mut dyn Interp) -> PyResult<()> {
        let _depth = Depth::enter()?;
        if self.out.len() > it.limits().allocation {
            it.allocate(self.out.len())?;
        }
        if let Some(text) = super::text(value) {
            push_string(text, self.options.ensure_ascii, &mut self.out);
            return Ok(());
        }
        match view(value) {
            View::None => self.out.push_str("null"),
            View::Bool(bool) => self.out.push_str(if bool { "true" } else { "false" }),
            View::Int(int) => {
                let _ = write!(self.out, "{int}");
            }
            View::Float(float) => {
                let text = self.float(float)?;
                self.out.push_str(&text);
            }
            _ => {
                if let Some(big) = number::big(value) {
                    let text = number::decimal(big)?;
                    self.out.push_str(&text);
                } else if let Some(list) = downcast::<List>(value) {
                    self.enter(value)?;
                    self.array(&list.snapshot(), it)?;
                    self.open.pop();
                } else if let Some(tuple) = downcast::<Tuple>(value) {
                    self.enter(value)?;
                    self.array(tuple.items(), it)?;
                    self.open.pop();
                } else if let Some(dict) = downcast::<Dict>(value) {
                    self.enter(value)?;
                    self.object(dict.items(), it)?;
                    self.open.pop();
                } else {
                    let converted = match &mut self.options.fallback {
                        Some(fallback) => fallback(value, it)?,
                        None => {
                            return Err(PyErr::type_error(format!(
                                "Object of type {} is not JSON serializable",
                                super::class_name(value)
                            )));
                        }
                    };
                    self.enter(value)?;
                    self.value(&converted, it)?;
                    self.open.pop();
                }
            }
        }
        Ok(())
    }

    fn float(&self, value: f64) -> PyResult<String> {
        if !value.is_finite() && !self.options.allow_nan {
            return Err(PyErr::value_error("Out of range float values are not JSON compliant"));
        }
        Ok(if value.is_nan() {
            "NaN".to_owned()
        } else if value.is_infinite() {
            if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
        } else {
            repr_float(value)
        })
    }

    fn array(&mut self, items: &[Value], it: &mut dyn Interp) -> PyResult<()> {
        if items.is_empty() {
            self.out.push_str("[]");
            return Ok(());
        }
        self.out.push('[');
        self.level += 1;
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.out.push_str(&self.item);
            }
            self.newline();
            self.value(item, it)?;
        }
        self.level -= 1;
        self.newline();
        self.out.push(']');
        Ok(())
    }

    fn object(&mut self, entries: Vec<(Value, Value)>, it: &mut dyn Interp) -> PyResult<()> {
        if entries.is_empty() {
            self.out.push_str("{}");
            return Ok(());
        }
        let mut entries = entries;
        if self.options.sort_keys {
            super::sort_keyed(&mut entries, false, it)?;
        }
        self.out.push('{');
        self.level += 1;
        let mut first = true;
        for (key, value) in entries {
            let key = match view(&key) {
                _ if super::text(&key).is_some() => super::text(&key).unwrap_or_default().to_owned(),
                View::None => "null".to_owned(),
                View::Bool(bool) => bool.to_string(),
                View::Int(int) => int.to_string(),
                View::Float(float) => self.float(float)?,
                _ => match number::big(&key) {
                    Some(big) => number::decimal(big)?,
                    None if self.options.skip_keys => continue,
                    None => {
                        return Err(PyErr::type_error(format!(
                            "keys must be str, int, float, bool or None, not {}",
                            super::class_name(&key)
                        )));
                    }
                },
            };
            if !first {
                self.out.push_str(&self.item);
            }
            first = false;
            self.newline();
            push_string(&key, self.options.ensure_ascii, &mut self.out);
            self.out.push_str(&self.key);
            self.value(&value, it)?;
        }
        self.level -= 1;
        if !first {
            self.newline();
        }
        self.out.push('}');
        Ok(())
    }
}

fn push_string(text: &str, ascii: bool, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 || (ascii && (c as u32) > 0x7e) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
