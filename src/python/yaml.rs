//! `airflow.sdk.yaml`: `dump` as PyYAML's safe dumper over libyaml writes plain data. What it would fold or escape is refused.

use std::collections::HashSet;
use std::sync::OnceLock;

use regex::Regex;

use super::guard::{Depth, address};
use super::{
    Args, Date, DateTime, Dict, Interp, List, PyErr, PyResult, Tuple, Value, View, as_bigint, downcast, function,
    module, repr_float, sorted, text, truth, tuple, type_name, view,
};

/// The module.
pub fn yaml_module() -> Value {
    module("airflow.sdk.yaml", false, |name, _it| {
        Some(match name {
            "dump" => Ok(function("dump", dump)),
            "safe_load" | "load" | "safe_dump" | "full_load" | "load_all" | "dump_all" | "YAMLError" | "SafeLoader"
            | "safe_load_all" | "safe_dump_all" | "unsafe_load" | "FullLoader" | "CSafeLoader" => {
                Err(PyErr::unsupported(format!("`macros.yaml.{name}`")))
            }
            _ => return None,
        })
    })
}

/// `dump(data, **kwargs)`
fn dump(args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let data = match (args.pos, args.keyword("data")) {
        ([data], None) => data,
        ([], Some(data)) => data,
        ([], None) => return Err(PyErr::type_error("dump() missing 1 required positional argument: 'data'")),
        _ => {
            let given = args.pos.len();
            return Err(PyErr::type_error(format!("dump() takes 1 positional argument but {given} were given")));
        }
    };
    let mut writer = Writer { out: String::new(), indent: 2, sort: true, flow: Flow::Block, seen: HashSet::new() };
    for (name, value) in args.kw {
        match &**name {
            "data" => {}
            "sort_keys" => writer.sort = truth(value, it)?,
            "default_flow_style" => {
                writer.flow = match view(value) {
                    View::None => Flow::Leaves,
                    _ if truth(value, it)? => Flow::All,
                    _ => Flow::Block,
                }
            }
            "indent" => match view(value) {
                View::None => {}
                View::Int(indent @ 2..=9) => writer.indent = indent as usize,
                _ => return Err(PyErr::unsupported("this indent of `macros.yaml.dump`")),
            },
            "allow_unicode" if !truth(value, it)? => {}
            _ => return Err(PyErr::unsupported(format!("the argument {name} of `macros.yaml.dump`"))),
        }
    }
    writer.root(data, it)?;
    Ok(Value::from(writer.out))
}

#[derive(Clone, Copy, PartialEq)]
enum Flow {
    Block,
    /// Collections without collections in them
    Leaves,
    All,
}

/// A value as the representer sees it.
enum Node {
    Scalar(String),
    Sequence(Vec<Value>),
    Mapping(Vec<(Value, Value)>),
}

struct Writer {
    out: String,
    indent: usize,
    sort: bool,
    flow: Flow,
    /// Addresses of the objects written: a second time they would become aliases
    seen: HashSet<usize>,
}

/// Whether a plain text would be read as something else than a `str` (YAML 1.1, as PyYAML resolves it).
fn ambiguous(text: &str) -> bool {
    static PATTERN: OnceLock<Option<Regex>> = OnceLock::new();
    const FORMS: &str = r"(?x)^(?:
        yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF
        |~|null|Null|NULL|<<|=
        |[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+
        |[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?
        |[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)
        |[0-9]{4}-[0-9]{2}-[0-9]{2}
        |[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[\ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?(?:[\ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?
        )$";
    PATTERN.get_or_init(|| Regex::new(FORMS).ok()).as_ref().is_none_or(|pattern| pattern.is_match(text))
}

/// Whether libyaml writes a text of printable ASCII without quotes.
fn plain(text: &str, flow: bool) -> bool {
    let Some(first) = text.chars().next() else { return false };
    if text.starts_with(' ') || text.ends_with(' ') || text.starts_with("---") || text.starts_with("...") {
        return false;
    }
    if "#,[]{}&*!|>'\"%@`".contains(first) {
        return false;
    }
    let second_ends = text.chars().nth(1).is_none_or(|c| c == ' ');
    if "-?:".contains(first) && (second_ends || flow && first != '-') {
        return false;
    }
    if text.contains(": ") || text.ends_with(':') || text.contains(" #") {
        return false;
    }
    !(flow && text.contains([',', '?', '[', ']', '{', '}', ':']))
}

fn scalar(text: &str, flow: bool) -> PyResult<String> {
    if !text.chars().all(|c| (' '..='~').contains(&c)) {
        return Err(PyErr::unsupported("`macros.yaml.dump` of a text with line ends or other than ASCII characters"));
    }
    if plain(text, flow) && !ambiguous(text) {
        Ok(text.to_owned())
    } else {
        Ok(format!("'{}'", text.replace('\'', "''")))
    }
}

impl Writer {
    fn root(&mut self, value: &Value, it: &mut dyn Interp) -> PyResult<()> {
        match self.node(value, false, it)? {
            Node::Scalar(text) => self.fitting(&text)?,
            node => self.collection(node, 0, false, it)?,
        }
        if !self.out.ends_with('\n') {
            self.out.push('\n');
        }
        Ok(())
    }

    /// Writes a scalar, unless the line gets long enough to be folded.
    fn fitting(&mut self, text: &str) -> PyResult<()> {
        let column = self.out.len() - self.out.rfind('\n').map_or(0, |at| at + 1);
        if column + text.len() > 78 && text.contains(' ') {
            return Err(PyErr::unsupported("`macros.yaml.dump` of a line of more than 78 characters"));
        }
        self.out.push_str(text);
        Ok(())
    }

    fn node(&mut self, value: &Value, flow: bool, it: &mut dyn Interp) -> PyResult<Node> {
        it.charge(2)?;
        if let Some(text) = text(value).filter(|_| !value.is_safe()) {
            return scalar(text, flow).map(Node::Scalar);
        }
        Ok(match view(value) {
            View::None => Node::Scalar("null".into()),
            View::Bool(bool) => Node::Scalar(if bool { "true" } else { "false" }.into()),
            View::Float(float) => {
                let text = repr_float(float);
                Node::Scalar(match text.as_str() {
                    "inf" => ".inf".into(),
                    "-inf" => "-.inf".into(),
                    "nan" => ".nan".into(),
                    _ if !text.contains('.') && text.contains('e') => text.replacen('e', ".0e", 1),
                    _ => text,
                })
            }
            View::Int(int) => Node::Scalar(int.to_string()),
            View::Object(object) => {
                if object.as_int().is_none()
                    && let Some(big) = as_bigint(value)
                {
                    return Ok(Node::Scalar(big.to_string()));
                }
                self.object(value, address(object), flow, it)?
            }
            _ => return Err(PyErr::unsupported("`macros.yaml.dump` of this value")),
        })
    }

    fn object(&mut self, value: &Value, place: usize, flow: bool, it: &mut dyn Interp) -> PyResult<Node> {
        let node = if let Some(list) = downcast::<List>(value) {
            Node::Sequence(list.snapshot())
        } else if let Some(items) = downcast::<Tuple>(value).filter(|_| type_name(value) == "tuple") {
            Node::Sequence(items.snapshot())
        } else if let Some(dict) = downcast::<Dict>(value) {
            let mut pairs = dict.items();
            if self.sort {
                let rows: Vec<Value> = pairs.iter().map(|(k, v)| tuple(vec![k.clone(), v.clone()])).collect();
                // what cannot be ordered keeps its order
                if let Ok(rows) = sorted(rows, None, false, it) {
                    pairs = rows
                        .iter()
                        .filter_map(|row| match downcast::<Tuple>(row)?.items() {
                            [k, v] => Some((k.clone(), v.clone())),
                            _ => None,
                        })
                        .collect();
                }
            }
            Node::Mapping(pairs)
        } else if let Some(dt) = downcast::<DateTime>(value).filter(|dt| !dt.pendulum) {
            if flow {
                return Err(PyErr::unsupported("`macros.yaml.dump` of a datetime in flow style"));
            }
            Node::Scalar(dt.text())
        } else if downcast::<Date>(value).is_some_and(|date| !date.pendulum) {
            Node::Scalar(super::str(value, it)?)
        } else {
            let known =
                matches!(type_name(value).as_str(), "set" | "frozenset" | "bytes" | "function" | "type" | "module");
            if known {
                return Err(PyErr::unsupported(format!("`macros.yaml.dump` of a {}", type_name(value))));
            }
            let shown = super::repr(value, it)?;
            return Err(PyErr::new("RepresenterError", format!("('cannot represent an object', {shown})")));
        };
        let empty_tuple = matches!(&node, Node::Sequence(items) if items.is_empty()) && type_name(value) == "tuple";
        if !empty_tuple && !self.seen.insert(place) {
            return Err(PyErr::unsupported("`macros.yaml.dump` of an object that occurs twice"));
        }
        Ok(node)
    }

    /// Whether a collection is written in one line.
    fn in_line(&self, node: &Node) -> bool {
        let leaf = |value: &Value| {
            downcast::<List>(value).is_none() && downcast::<Tuple>(value).is_none() && downcast::<Dict>(value).is_none()
        };
        match node {
            Node::Scalar(_) => true,
            Node::Sequence(items) if items.is_empty() => true,
            Node::Mapping(pairs) if pairs.is_empty() => true,
            _ if self.flow == Flow::All => true,
            Node::Sequence(items) => self.flow == Flow::Leaves && items.iter().all(leaf),
            Node::Mapping(pairs) => self.flow == Flow::Leaves && pairs.iter().all(|(k, v)| leaf(k) && leaf(v)),
        }
    }

    fn flow(&mut self, node: Node, it: &mut dyn Interp) -> PyResult<()> {
        let _depth = Depth::enter()?;
        match node {
            Node::Scalar(text) => return self.fitting(&text),
            Node::Sequence(items) => {
                self.out.push('[');
                for (at, item) in items.iter().enumerate() {
                    self.out.push_str(if at == 0 { "" } else { ", " });
                    let node = self.node(item, true, it)?;
                    self.flow(node, it)?;
                }
                self.out.push(']');
            }
            Node::Mapping(pairs) => {
                self.out.push('{');
                for (at, (key, value)) in pairs.iter().enumerate() {
                    self.out.push_str(if at == 0 { "" } else { ", " });
                    self.key(key, true, it)?;
                    self.out.push_str(": ");
                    let node = self.node(value, true, it)?;
                    self.flow(node, it)?;
                }
                self.out.push('}');
            }
        }
        let column = self.out.len() - self.out.rfind('\n').map_or(0, |at| at + 1);
        if column > 78 {
            return Err(PyErr::unsupported("`macros.yaml.dump` of a line of more than 78 characters"));
        }
        Ok(())
    }

    fn key(&mut self, key: &Value, flow: bool, it: &mut dyn Interp) -> PyResult<()> {
        match self.node(key, flow, it)? {
            Node::Scalar(text) if text.len() <= 120 => self.fitting(&text),
            _ => Err(PyErr::unsupported("`macros.yaml.dump` of such a key")),
        }
    }

    fn pad(&mut self, width: usize) {
        self.out.extend(std::iter::repeat_n(' ', width));
    }

    /// A collection in block style; `inline` says that its first line goes on where the writer stands.
    fn collection(&mut self, node: Node, column: usize, inline: bool, it: &mut dyn Interp) -> PyResult<()> {
        let _depth = Depth::enter()?;
        it.allocate(column)?;
        if self.in_line(&node) {
            return self.flow(node, it);
        }
        match node {
            Node::Scalar(_) => {}
            Node::Sequence(items) => {
                for (at, item) in items.iter().enumerate() {
                    if at > 0 || !inline {
                        self.line(column);
                    }
                    self.out.push('-');
                    let node = self.node(item, false, it)?;
                    if self.in_line(&node) {
                        self.out.push(' ');
                        self.flow_or_scalar(node, it)?;
                    } else {
                        self.pad(self.indent - 1);
                        self.collection(node, column + self.indent, true, it)?;
                    }
                }
            }
            Node::Mapping(pairs) => {
                for (at, (key, value)) in pairs.iter().enumerate() {
                    if at > 0 || !inline {
                        self.line(column);
                    }
                    self.key(key, false, it)?;
                    self.out.push(':');
                    let node = self.node(value, false, it)?;
                    if self.in_line(&node) {
                        self.out.push(' ');
                        self.flow_or_scalar(node, it)?;
                    } else {
                        let nested = if matches!(node, Node::Sequence(_)) { column } else { column + self.indent };
                        self.collection(node, nested, false, it)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn flow_or_scalar(&mut self, node: Node, it: &mut dyn Interp) -> PyResult<()> {
        match node {
            Node::Scalar(text) => self.fitting(&text),
            node => self.flow(node, it),
        }
    }

    /// Starts a line of a block.
    fn line(&mut self, column: usize) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.pad(column);
    }
}
