//! Attribute paths that filters take: `attribute='a.b.0'`, `attribute='a,b'`.

use crate::jinja::Cx;
use crate::jinja::undefined::is_undefined;
use crate::python::{self, Args, Interp, PyErr, PyResult, Value, chars, text};

/// Looks up one attribute path (`make_attrgetter`).
#[derive(Clone)]
pub(super) struct Getter {
    parts: Vec<Value>,
    /// Strings become lower case: comparisons without case.
    ignore_case: bool,
    default: Option<Value>,
}

impl Getter {
    /// A getter of an attribute as given by a template; none gives the value itself.
    pub(super) fn new(attribute: Option<&Value>, ignore_case: bool, default: Option<&Value>) -> PyResult<Self> {
        let default = default.filter(|default| !default.is_none()).cloned();
        Ok(Getter { parts: parts(attribute)?, ignore_case, default })
    }

    pub(super) fn get(&self, cx: &Cx, item: &Value, it: &mut dyn Interp) -> PyResult {
        let mut item = item.clone();
        for part in &self.parts {
            item = cx.env.getitem(&item, part, it)?;
            if let Some(default) = &self.default
                && is_undefined(&item)
            {
                item = default.clone();
            }
        }
        if self.ignore_case { ignore_case(item, it) } else { Ok(item) }
    }
}

/// Looks up several paths, separated by commas (`make_multi_attrgetter`); the key is a list.
pub(super) struct MultiGetter(Vec<Getter>);

impl MultiGetter {
    pub(super) fn new(attribute: Option<&Value>, ignore_case: bool) -> PyResult<Self> {
        let Some(names) = attribute.and_then(text) else {
            return Ok(MultiGetter(vec![Getter::new(attribute, ignore_case, None)?]));
        };
        let getters = names.split(',').map(|name| Getter::new(Some(&Value::from(name)), ignore_case, None));
        Ok(MultiGetter(getters.collect::<PyResult<_>>()?))
    }

    pub(super) fn get(&self, cx: &Cx, item: &Value, it: &mut dyn Interp) -> PyResult {
        Ok(python::list(self.0.iter().map(|getter| getter.get(cx, item, it)).collect::<PyResult<_>>()?))
    }
}

/// `ignore_case`: strings in lower case, other values as they are.
pub(super) fn ignore_case(value: Value, it: &mut dyn Interp) -> PyResult {
    match text(&value) {
        Some(_) => python::call_method(&value, "lower", &Args::default(), it),
        None => Ok(value),
    }
}

fn parts(attribute: Option<&Value>) -> PyResult<Vec<Value>> {
    let Some(attribute) = attribute.filter(|attribute| !attribute.is_none()) else { return Ok(Vec::new()) };
    let Some(path) = text(attribute) else { return Ok(vec![attribute.clone()]) };
    path.split('.').map(part).collect()
}

/// A part of a path; digits are an index.
fn part(name: &str) -> PyResult {
    if name.is_empty() || !name.chars().all(chars::is_digit) {
        return Ok(Value::from(name));
    }
    let digits: Option<String> =
        name.chars().map(|c| chars::decimal_value(c).and_then(|digit| char::from_digit(digit, 10))).collect();
    match digits {
        Some(digits) if digits.len() < 19 => Ok(Value::from(digits.parse::<i64>().unwrap_or_default())),
        Some(_) => Err(PyErr::unsupported(format!("an attribute path with the index {name}"))),
        // a superscript is a digit to isdigit() and none to int()
        None => Err(PyErr::value_error(format!("invalid literal for int() with base 10: {}", python::repr_str(name)))),
    }
}
