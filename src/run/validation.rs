//! pydantic's validation of JSON: collecting errors, and the text of `ValidationError`.

use std::fmt::Write as _;

use crate::asset::pytext;
use crate::python::PyErr;

use super::{Instant, Json, JsonMap, datetime};

const DOCS: &str = "https://errors.pydantic.dev/2.14/v/";

/// Longest text of an input value that pydantic prints in full, in bytes.
const INPUT_LIMIT: usize = 50;

/// Deepest JSON that is looked at; serde_json reads no deeper either.
const DEPTH: usize = 128;

/// Reads one model from JSON and collects every error on the way, as pydantic does in lax mode.
///
/// Accessors return a placeholder after recording an error: the caller builds the whole value and asks
/// [`finish`](Self::finish) whether it may be used.
#[derive(Debug)]
pub struct Validator {
    title: &'static str,
    place: Vec<String>,
    errors: Vec<LineError>,
    wire: Option<PyErr>,
}

#[derive(Debug)]
struct LineError {
    place: String,
    kind: &'static str,
    message: String,
    input: String,
    input_type: &'static str,
}

impl Validator {
    /// Starts the model of that class name.
    pub fn new(title: &'static str) -> Self {
        Validator { title, place: Vec::new(), errors: Vec::new(), wire: None }
    }

    /// `ValidationError` with every line recorded, else the first value that cannot pass the channel from the supervisor to
    /// the task: there, ints have 64 bits and datetimes become UTC.
    pub fn finish(self) -> Result<Option<PyErr>, PyErr> {
        if self.errors.is_empty() {
            return Ok(self.wire);
        }
        let count = self.errors.len();
        let mut text = format!("{count} validation error{} for {}", if count == 1 { "" } else { "s" }, self.title);
        for error in &self.errors {
            text.push('\n');
            if !error.place.is_empty() {
                let _ = writeln!(text, "{}", error.place);
            }
            let LineError { kind, message, input, input_type, .. } = error;
            let _ = write!(text, "  {message} [type={kind}, input_value={input}, input_type={input_type}]");
            let _ = write!(text, "\n    For further information visit {DOCS}{kind}");
        }
        Err(PyErr::new("ValidationError", text))
    }

    /// Reads inside a field.
    pub fn at<T>(&mut self, key: impl Into<String>, read: impl FnOnce(&mut Self) -> T) -> T {
        let key = key.into();
        self.place.push(if key.contains('.') { format!("`{key}`") } else { key });
        let value = read(self);
        self.place.pop();
        value
    }

    /// Records an error here.
    pub fn fail(&mut self, kind: &'static str, message: impl Into<String>, input: &Json) {
        self.errors.push(LineError {
            place: self.place.join("."),
            kind,
            message: message.into(),
            input: truncated(&pytext::repr(input)),
            input_type: pytext::type_name(input),
        });
    }

    /// A nested model; anything but an object is an error.
    pub fn model<'a>(&mut self, value: &'a Json) -> Option<&'a JsonMap> {
        if let Json::Object(map) = value {
            return Some(map);
        }
        self.fail("model_type", "Input should be an object", value);
        None
    }

    /// A field of a model, with or without a default; reads it in place.
    pub fn field<T: Default>(
        &mut self,
        model: &Json,
        key: &'static str,
        required: bool,
        read: impl FnOnce(&mut Self, &Json) -> T,
    ) -> T {
        match model.get(key) {
            Some(value) => self.at(key, |this| read(this, value)),
            None => {
                if required {
                    self.at(key, |this| this.fail("missing", "Field required", model));
                }
                T::default()
            }
        }
    }

    /// `extra="forbid"`: one error for each key that the model does not have.
    pub fn forbid_others(&mut self, model: &JsonMap, known: &[&str]) {
        for (key, value) in model {
            if !known.contains(&key.as_str()) {
                self.at(key.clone(), |this| this.fail("extra_forbidden", "Extra inputs are not permitted", value));
            }
        }
    }

    /// `str`: nothing else is turned into text.
    pub fn string(&mut self, value: &Json) -> String {
        if let Json::String(text) = value {
            return text.clone();
        }
        self.fail("string_type", "Input should be a valid string", value);
        String::new()
    }

    /// `str | None`
    pub fn opt_string(&mut self, value: &Json) -> Option<String> {
        (!value.is_null()).then(|| self.string(value))
    }

    /// `int`: also from bools, integral floats and text.
    pub fn int(&mut self, value: &Json) -> i128 {
        match lax_int(value) {
            Ok(Some(int)) => {
                if !fits_the_wire(int) {
                    self.overflow();
                }
                int
            }
            Ok(None) => {
                self.overflow();
                0
            }
            Err((kind, message)) => {
                self.fail(kind, message, value);
                0
            }
        }
    }

    /// `int | None`
    pub fn opt_int(&mut self, value: &Json) -> Option<i128> {
        (!value.is_null()).then(|| self.int(value))
    }

    /// `bool`: also from 0, 1 and the usual words.
    pub fn bool(&mut self, value: &Json) -> bool {
        const UNCLEAR: &str = "Input should be a valid boolean, unable to interpret input";
        let found = match value {
            Json::Bool(value) => return *value,
            Json::Number(number) => match number.as_f64() {
                Some(0.0) => Ok(false),
                Some(1.0) => Ok(true),
                Some(float) if float.fract() != 0.0 => Err(false),
                _ => Err(true),
            },
            Json::String(text) => match text.to_ascii_lowercase().as_str() {
                "0" | "off" | "f" | "false" | "n" | "no" => Ok(false),
                "1" | "on" | "t" | "true" | "y" | "yes" => Ok(true),
                _ => Err(true),
            },
            _ => Err(false),
        };
        match found {
            Ok(value) => return value,
            Err(true) => self.fail("bool_parsing", UNCLEAR, value),
            Err(false) => self.fail("bool_type", "Input should be a valid boolean", value),
        }
        false
    }

    /// `AwareDatetime`
    pub fn instant(&mut self, value: &Json) -> Instant {
        match datetime::aware(value) {
            Ok(Some(instant)) => return instant,
            Ok(None) => {
                self.wire.get_or_insert_with(|| PyErr::overflow("date value out of range"));
            }
            Err(error) => self.fail(error.kind, error.message, value),
        }
        Instant::UNIX_EPOCH
    }

    /// `AwareDatetime | None`
    pub fn opt_instant(&mut self, value: &Json) -> Option<Instant> {
        (!value.is_null()).then(|| self.instant(value))
    }

    /// `dict[str, Any]`
    pub fn dict(&mut self, value: &Json) -> JsonMap {
        if let Json::Object(map) = value {
            if !passes_the_wire(value) {
                self.overflow();
            }
            return map.clone();
        }
        self.fail("dict_type", "Input should be an object", value);
        JsonMap::new()
    }

    /// `list[...]`, item by item.
    pub fn list<T>(&mut self, value: &Json, mut read: impl FnMut(&mut Self, &Json) -> T) -> Vec<T> {
        if let Json::Array(items) = value {
            return items
                .iter()
                .enumerate()
                .map(|(index, item)| self.at(index.to_string(), |this| read(this, item)))
                .collect();
        }
        self.fail("list_type", "Input should be a valid array", value);
        Vec::new()
    }

    fn overflow(&mut self) {
        self.wire.get_or_insert_with(int_overflow);
    }
}

/// What the channel between supervisor and task raises for an int of more than 64 bits.
pub(crate) fn int_overflow() -> PyErr {
    PyErr::overflow("can't serialize ints < -2**63 or > 2**64 - 1")
}

fn fits_the_wire(int: i128) -> bool {
    (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&int)
}

/// True when every int of the value has at most 64 bits, so that it can pass from the supervisor to the task.
pub(crate) fn passes_the_wire(value: &Json) -> bool {
    fits(value, 0)
}

fn fits(value: &Json, depth: usize) -> bool {
    if depth > DEPTH {
        return false;
    }
    match value {
        Json::Number(number) => {
            let text = number.as_str();
            !is_int(text) || text.parse::<i128>().is_ok_and(fits_the_wire)
        }
        Json::Array(items) => items.iter().all(|item| fits(item, depth + 1)),
        Json::Object(map) => map.values().all(|item| fits(item, depth + 1)),
        _ => true,
    }
}

fn is_int(number: &str) -> bool {
    !number.contains(['.', 'e', 'E'])
}

type IntError = (&'static str, &'static str);

const UNPARSABLE: IntError = ("int_parsing", "Input should be a valid integer, unable to parse string as an integer");
const TOO_LONG: IntError = ("int_parsing_size", "Unable to parse input string as an integer, exceeded maximum size");

/// `Ok(None)` is an int of more than 128 bits.
fn lax_int(value: &Json) -> Result<Option<i128>, IntError> {
    match value {
        Json::Bool(value) => Ok(Some(i128::from(*value))),
        Json::Number(number) => {
            let text = number.as_str();
            if is_int(text) {
                return Ok(text.parse().ok());
            }
            let float: f64 = text.parse().map_err(|_| UNPARSABLE)?;
            if !float.is_finite() {
                return Err(("finite_number", "Input should be a finite number"));
            }
            if float.fract() != 0.0 {
                return Err(("int_from_float", "Input should be a valid integer, got a number with a fractional part"));
            }
            if float.abs() >= 9_223_372_036_854_775_808.0 {
                return Err(TOO_LONG);
            }
            #[allow(clippy::cast_possible_truncation)]
            Ok(Some(i128::from(float as i64)))
        }
        Json::String(text) => int_of_text(text),
        _ => Err(("int_type", "Input should be a valid integer")),
    }
}

fn int_of_text(text: &str) -> Result<Option<i128>, IntError> {
    let text = text.trim();
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    // a fraction of zeros only is tolerated
    let digits = match digits.split_once('.') {
        Some((whole, zeros)) if !zeros.is_empty() && zeros.bytes().all(|b| b == b'0') => whole,
        Some(_) => return Err(UNPARSABLE),
        None => digits,
    };
    let grouped = !digits.starts_with('_') && !digits.ends_with('_') && !digits.contains("__");
    if digits.is_empty() || !grouped || !digits.bytes().all(|b| b.is_ascii_digit() || b == b'_') {
        return Err(UNPARSABLE);
    }
    if digits.len() > 4300 {
        return Err(TOO_LONG);
    }
    let plain: String = digits.chars().filter(|c| *c != '_').collect();
    Ok(plain.parse::<i128>().ok().map(|int| if negative { -int } else { int }))
}

fn truncated(text: &str) -> String {
    if text.len() <= INPUT_LIMIT {
        return text.to_owned();
    }
    let mut head = INPUT_LIMIT.div_ceil(2);
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    let mut tail = text.len() - (INPUT_LIMIT.div_ceil(2) - 1);
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    format!("{}...{}", &text[..head], &text[tail..])
}
