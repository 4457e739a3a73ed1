//! `str.format`, as the C function does it and as Python's `string.Formatter` does it (which Jinja2's sandbox and
//! markupsafe use).

use super::{Args, Dict, Interp, PyErr, PyResult, Value, downcast, key_error, markup, repr};

/// How `{0.name}` and `{0[key]}` are looked up. The sandbox has its own rules.
pub trait FieldAccess {
    /// `object.name`
    fn attribute(&mut self, object: &Value, name: &str, it: &mut dyn Interp) -> PyResult;

    /// `object[key]`
    fn item(&mut self, object: &Value, key: &Value, it: &mut dyn Interp) -> PyResult;
}

/// Python's own `getattr` and subscripts.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlainAccess;

impl FieldAccess for PlainAccess {
    fn attribute(&mut self, object: &Value, name: &str, it: &mut dyn Interp) -> PyResult {
        super::getattr(object, name, it)?.ok_or_else(|| super::no_attribute(object, name))
    }

    fn item(&mut self, object: &Value, key: &Value, it: &mut dyn Interp) -> PyResult {
        super::getitem(object, key, it)
    }
}

/// Where keyword fields come from.
enum Keywords<'a> {
    Arguments(Args<'a>),
    Mapping(&'a Value),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flavor {
    /// `str.format` in C
    Builtin,
    /// `string.Formatter`
    Library,
    /// `markupsafe.EscapeFormatter`
    Escaping,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbering {
    Unknown,
    Automatic(usize),
    Manual,
}

struct Formatter<'a> {
    pos: &'a [Value],
    keywords: Keywords<'a>,
    flavor: Flavor,
    numbering: Numbering,
    access: &'a mut dyn FieldAccess,
    /// The text of the last field, where it is a `Markup` that its format left as it is.
    kept: Option<String>,
    /// Fields of the format string itself, those of its formats not counted.
    fields: usize,
}

/// `s.format(...)`.
pub(crate) fn format(s: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    builtin(s, args.pos, Keywords::Arguments(*args), it)
}

/// CPython's own method. A format that changes nothing gives the very object, and a result of one field only is that object:
/// a `Markup` stays one.
fn builtin<'a>(s: &str, pos: &'a [Value], keywords: Keywords<'a>, it: &mut dyn Interp) -> PyResult {
    let mut access = PlainAccess;
    let mut formatter = Formatter {
        pos,
        keywords,
        flavor: Flavor::Builtin,
        numbering: Numbering::Unknown,
        access: &mut access,
        kept: None,
        fields: 0,
    };
    let out = formatter.expand(s, 2, it)?;
    let same = formatter.fields == 1 && formatter.kept.as_deref() == Some(out.as_str());
    Ok(if same && !out.is_empty() { super::Markup::wrap(out) } else { Value::from(out) })
}

/// `s.format_map(mapping)`.
pub(crate) fn format_map(s: &str, mapping: &Value, it: &mut dyn Interp) -> PyResult {
    builtin(s, &[], Keywords::Mapping(mapping), it)
}

/// `string.Formatter().vformat(...)` with an own lookup; on a `Markup` it escapes what it puts in and gives a `Markup`.
/// This is what `'...'.format(...)` does in Jinja2's sandbox.
pub fn format_with(template: &Value, args: &Args<'_>, access: &mut dyn FieldAccess, it: &mut dyn Interp) -> PyResult {
    library(template, args.pos, Keywords::Arguments(*args), access, it)
}

/// The same for `format_map`, whose call takes exactly one argument.
pub fn format_map_with(
    template: &Value,
    args: &Args<'_>,
    access: &mut dyn FieldAccess,
    it: &mut dyn Interp,
) -> PyResult {
    if !args.kw.is_empty() {
        return Err(PyErr::type_error("format_map() takes no keyword arguments"));
    }
    let [mapping] = args.pos else {
        return Err(PyErr::type_error(format!("format_map() takes exactly one argument ({} given)", args.pos.len())));
    };
    library(template, &[], Keywords::Mapping(mapping), access, it)
}

fn library(
    template: &Value,
    pos: &[Value],
    keywords: Keywords<'_>,
    access: &mut dyn FieldAccess,
    it: &mut dyn Interp,
) -> PyResult {
    let text = super::text(template).unwrap_or_default();
    let flavor = if template.is_safe() { Flavor::Escaping } else { Flavor::Library };
    let out = run(text, pos, keywords, flavor, access, it)?;
    Ok(if template.is_safe() { super::Markup::wrap(out) } else { Value::from(out) })
}

fn run<'a>(
    s: &str,
    pos: &'a [Value],
    keywords: Keywords<'a>,
    flavor: Flavor,
    access: &'a mut dyn FieldAccess,
    it: &mut dyn Interp,
) -> PyResult<String> {
    Formatter { pos, keywords, flavor, numbering: Numbering::Unknown, access, kept: None, fields: 0 }.expand(s, 2, it)
}

/// One piece of a format string: literal text, then maybe a field.
struct Field {
    name: String,
    conversion: Option<char>,
    spec: String,
    nested: bool,
}

struct Reader {
    chars: Vec<char>,
    at: usize,
}

impl Reader {
    fn read(&mut self) -> Option<char> {
        let c = self.chars.get(self.at).copied();
        self.at += usize::from(c.is_some());
        c
    }

    fn slice(&self, from: usize, to: usize) -> String {
        self.chars.get(from..to).map(|chars| chars.iter().collect()).unwrap_or_default()
    }

    /// Literal text up to a field or an escaped brace; then the field.
    fn next(&mut self) -> PyResult<Option<(String, Option<Field>)>> {
        if self.at >= self.chars.len() {
            return Ok(None);
        }
        let start = self.at;
        while let Some(c) = self.read() {
            if c != '{' && c != '}' {
                continue;
            }
            let doubled = self.chars.get(self.at) == Some(&c);
            if doubled {
                let literal = self.slice(start, self.at);
                self.at += 1;
                return Ok(Some((literal, None)));
            }
            if c == '}' {
                return Err(PyErr::value_error("Single '}' encountered in format string"));
            }
            if self.at >= self.chars.len() {
                return Err(PyErr::value_error("Single '{' encountered in format string"));
            }
            let literal = self.slice(start, self.at - 1);
            return Ok(Some((literal, Some(self.field()?))));
        }
        Ok(Some((self.slice(start, self.at), None)))
    }

    fn field(&mut self) -> PyResult<Field> {
        let start = self.at;
        let mut end = None;
        while let Some(c) = self.read() {
            match c {
                '{' => return Err(PyErr::value_error("unexpected '{' in field name")),
                '[' => {
                    while self.chars.get(self.at).is_some_and(|c| *c != ']') {
                        self.at += 1;
                    }
                }
                '}' | ':' | '!' => {
                    end = Some(c);
                    break;
                }
                _ => {}
            }
        }
        let Some(end) = end else { return Err(PyErr::value_error("expected '}' before end of string")) };
        let name = self.slice(start, self.at - 1);
        let mut field = Field { name, conversion: None, spec: String::new(), nested: false };
        if end == '}' {
            return Ok(field);
        }
        if end == '!' {
            let Some(conversion) = self.read() else {
                return Err(PyErr::value_error("end of string while looking for conversion specifier"));
            };
            field.conversion = Some(conversion);
            match self.read() {
                Some('}') => return Ok(field),
                Some(':') | None => {}
                Some(_) => return Err(PyErr::value_error("expected ':' after conversion specifier")),
            }
        }
        let start = self.at;
        let mut depth = 1;
        while let Some(c) = self.read() {
            match c {
                '{' => {
                    field.nested = true;
                    depth += 1;
                }
                '}' => {
                    depth -= 1;
                    if depth == 0 {
                        field.spec = self.slice(start, self.at - 1);
                        return Ok(field);
                    }
                }
                _ => {}
            }
        }
        Err(PyErr::value_error("unmatched '{' in format spec"))
    }
}

/// One step of a field's name after its first part.
enum Step {
    Attribute(String),
    Item(Value),
}

/// A decimal index, as C reads it: digits of any script; too large is an error.
fn index_of(text: &str) -> PyResult<Option<usize>> {
    if text.is_empty() {
        return Ok(None);
    }
    let mut value: usize = 0;
    for c in text.chars() {
        let Some(digit) = super::chars::decimal_value(c) else { return Ok(None) };
        value = value
            .checked_mul(10)
            .and_then(|v| v.checked_add(digit as usize))
            .filter(|v| *v <= i64::MAX as usize)
            .ok_or_else(|| PyErr::value_error("Too many decimal digits in format string"))?;
    }
    Ok(Some(value))
}

/// Splits `0.name[key]` into its first part and the steps after it.
fn split_name(name: &str) -> (&str, &str) {
    name.split_at(name.find(['.', '[']).unwrap_or(name.len()))
}

/// The next step and what follows it.
fn next_step(rest: &str) -> PyResult<Option<(Step, &str)>> {
    let mut chars = rest.chars();
    match chars.next() {
        None => Ok(None),
        Some('.') => {
            let rest = chars.as_str();
            let (name, rest) = split_name(rest);
            if name.is_empty() {
                return Err(PyErr::value_error("Empty attribute in format string"));
            }
            Ok(Some((Step::Attribute(name.to_owned()), rest)))
        }
        Some('[') => {
            let Some((key, rest)) = chars.as_str().split_once(']') else {
                return Err(PyErr::value_error("Missing ']' in format string"));
            };
            if key.is_empty() {
                return Err(PyErr::value_error("Empty attribute in format string"));
            }
            let key = index_of(key)?.map_or_else(|| Value::from(key), |index| Value::from(index as i64));
            Ok(Some((Step::Item(key), rest)))
        }
        Some(_) => Err(PyErr::value_error("Only '.' or '[' may follow ']' in format field specifier")),
    }
}

const SWITCH_TO_AUTOMATIC: &str = "cannot switch from manual field specification to automatic field numbering";
const SWITCH_TO_MANUAL: &str = "cannot switch from automatic field numbering to manual field specification";

impl Formatter<'_> {
    fn expand(&mut self, text: &str, depth: i32, it: &mut dyn Interp) -> PyResult<String> {
        if depth < 0 {
            return Err(PyErr::value_error("Max string recursion exceeded"));
        }
        let mut reader = Reader { chars: text.chars().collect(), at: 0 };
        let mut out = String::new();
        while let Some((literal, field)) = reader.next()? {
            out.push_str(&literal);
            if let Some(field) = field {
                out.push_str(&self.field(field, depth, it)?);
            }
            if out.len() > it.limits().allocation {
                it.allocate(out.len())?;
            }
        }
        Ok(out)
    }

    fn field(&mut self, field: Field, depth: i32, it: &mut dyn Interp) -> PyResult<String> {
        let object = self.lookup(&field.name, it)?;
        let object = match field.conversion {
            None => object,
            Some('s') => Value::from(super::str(&object, it)?),
            Some('r') => Value::from(super::repr(&object, it)?),
            Some('a') => Value::from(repr::ascii_of(&super::repr(&object, it)?)),
            Some(other) if self.flavor != Flavor::Builtin || ('!'..='~').contains(&other) => {
                return Err(PyErr::value_error(format!("Unknown conversion specifier {other}")));
            }
            Some(other) => {
                return Err(PyErr::value_error(format!("Unknown conversion specifier \\x{:x}", other as u32)));
            }
        };
        let spec = if self.flavor != Flavor::Builtin {
            self.expand(&field.spec, depth - 1, it)?
        } else if field.nested {
            if depth < 2 {
                return Err(PyErr::value_error("Max string recursion exceeded"));
            }
            self.expand(&field.spec, depth - 1, it)?
        } else {
            field.spec
        };
        if self.flavor == Flavor::Escaping {
            if object.is_safe() {
                if !spec.is_empty() {
                    return Err(PyErr::value_error("Unsupported format specification for Markup."));
                }
                return super::str(&object, it);
            }
            return Ok(markup::escape_text(&super::format(&object, &spec, it)?));
        }
        let text = super::format(&object, &spec, it)?;
        if depth == 2 {
            self.fields += 1;
            let same = object.is_safe() && !spec.is_empty() && super::text(&object) == Some(text.as_str());
            self.kept = same.then(|| text.clone());
        }
        Ok(text)
    }

    fn lookup(&mut self, name: &str, it: &mut dyn Interp) -> PyResult {
        let (first, mut rest) = split_name(name);
        let mut object = if self.flavor == Flavor::Builtin {
            self.first_builtin(first, it)?
        } else {
            self.first_library(name, first, it)?
        };
        while let Some((step, after)) = next_step(rest)? {
            object = match step {
                Step::Attribute(name) => self.access.attribute(&object, &name, it)?,
                Step::Item(key) => self.access.item(&object, &key, it)?,
            };
            rest = after;
        }
        Ok(object)
    }

    fn first_builtin(&mut self, first: &str, it: &mut dyn Interp) -> PyResult {
        let index = index_of(first)?;
        let index = match (first.is_empty(), index, self.numbering) {
            (true, _, Numbering::Manual) => return Err(PyErr::value_error(SWITCH_TO_AUTOMATIC)),
            (true, _, Numbering::Unknown) => {
                self.numbering = Numbering::Automatic(1);
                Some(0)
            }
            (true, _, Numbering::Automatic(next)) => {
                self.numbering = Numbering::Automatic(next + 1);
                Some(next)
            }
            (false, Some(_), Numbering::Automatic(_)) => return Err(PyErr::value_error(SWITCH_TO_MANUAL)),
            (false, Some(index), _) => {
                self.numbering = Numbering::Manual;
                Some(index)
            }
            (false, None, _) => None,
        };
        let Some(index) = index else { return self.keyword(first, it) };
        if matches!(self.keywords, Keywords::Mapping(_)) {
            return Err(PyErr::value_error("Format string contains positional fields"));
        }
        self.pos.get(index).cloned().ok_or_else(|| {
            PyErr::new("IndexError", format!("Replacement index {index} out of range for positional args tuple"))
        })
    }

    fn first_library(&mut self, name: &str, first: &str, it: &mut dyn Interp) -> PyResult {
        let index = if name.is_empty() {
            match self.numbering {
                Numbering::Manual => return Err(PyErr::value_error(SWITCH_TO_AUTOMATIC)),
                Numbering::Unknown => {
                    self.numbering = Numbering::Automatic(1);
                    Some(0)
                }
                Numbering::Automatic(next) => {
                    self.numbering = Numbering::Automatic(next + 1);
                    Some(next)
                }
            }
        } else {
            if name.chars().all(super::chars::is_digit) {
                if matches!(self.numbering, Numbering::Automatic(_)) {
                    return Err(PyErr::value_error(SWITCH_TO_AUTOMATIC));
                }
                self.numbering = Numbering::Manual;
            }
            index_of(first)?
        };
        match index {
            Some(index) => {
                self.pos.get(index).cloned().ok_or_else(|| PyErr::new("IndexError", "tuple index out of range"))
            }
            None => self.keyword(first, it),
        }
    }

    fn keyword(&mut self, name: &str, it: &mut dyn Interp) -> PyResult {
        match &self.keywords {
            Keywords::Arguments(args) => match args.keyword(name) {
                Some(value) => Ok(value.clone()),
                None => Err(key_error(&Value::from(name), it)),
            },
            Keywords::Mapping(mapping) => match downcast::<Dict>(mapping).and_then(|dict| dict.get_str(name)) {
                Some(value) => Ok(value),
                None => super::getitem(mapping, &Value::from(name), it),
            },
        }
    }
}
