//! Constructor calls in files: `ClassName`, `{ClassName: argument}`, `{ClassName: [positional, ...]}`,
//! `{ClassName: {keyword: argument}}`, or Airflow's serialized form.

use serde_json::Value as Json;

use super::reader::Reader;
use super::source::{Place, Problem};
use super::yaml::{Kind, Node};

/// An argument of a constructor.
#[derive(Debug, Clone)]
pub enum Arg {
    /// A plain value.
    Plain(Json, Place),
    /// A list that holds calls.
    List(Vec<Arg>, Place),
    /// An object built by a call.
    Call(Call),
    /// An object in the form it has inside a serialized Dag.
    Serialized(Json, Place),
}

impl Arg {
    /// Where it is written.
    pub fn place(&self) -> &Place {
        match self {
            Arg::Plain(_, place) | Arg::List(_, place) | Arg::Serialized(_, place) => place,
            Arg::Call(call) => &call.place,
        }
    }
}

/// A constructor call.
#[derive(Debug, Clone)]
pub struct Call {
    /// Airflow's class name.
    pub class: String,
    /// Arguments by position.
    pub positional: Vec<Arg>,
    /// Arguments by name, with the place of the name.
    pub keyword: Vec<(String, Place, Arg)>,
    /// Where the class name is written.
    pub place: Place,
}

/// Arguments that are objects themselves, by class: mappers, windows and wait policies. Everything else is plain.
const OBJECTS: &[(&str, &[&str], bool)] = &[
    ("RollupMapper", &["upstream_mapper", "window", "wait_policy"], true),
    ("FanOutMapper", &["upstream_mapper", "window", "downstream_mapper"], true),
    ("ProductMapper", &["mappers", "mapper0", "mapper1"], true),
    ("ChainMapper", &["mappers", "mapper0", "mapper1"], true),
];

/// Reads a call whose class is not known yet. `what` is for messages: "a mapper", "a timetable".
pub fn read(reader: &mut Reader, node: &Node, what: &str) -> Option<Arg> {
    read_nested(reader, node, what, 0)
}

fn read_nested(reader: &mut Reader, node: &Node, what: &str, depth: usize) -> Option<Arg> {
    if depth > 32 {
        reader.problem(Problem::error(format!("{what} is nested deeper than 32 levels"), node.place.clone()));
        return None;
    }
    match &node.kind {
        Kind::Str { text, .. } => Some(Arg::Call(Call {
            class: text.clone(),
            positional: Vec::new(),
            keyword: Vec::new(),
            place: node.place.clone(),
        })),
        Kind::Map(_) if node.get("__type").is_some() => Some(Arg::Serialized(node.to_json(), node.place.clone())),
        Kind::Map(entries) => match entries.as_slice() {
            [(name, arguments)] => match name.as_str() {
                Some(class) => call(reader, class, name, arguments, depth).map(Arg::Call),
                None => {
                    reader.expected(name, &format!("the class name of {what}"), "a string");
                    None
                }
            },
            _ => {
                let problem = Problem::error(
                    format!("{what} is one class name with its arguments, but {} keys stand here", entries.len()),
                    node.place.clone(),
                );
                reader.problem(problem.help("write {ClassName: arguments}"));
                None
            }
        },
        _ => {
            reader.expected(node, what, "a class name or {ClassName: arguments}");
            None
        }
    }
}

/// Reads the arguments of a call whose class is known.
pub fn call(reader: &mut Reader, class: &str, name: &Node, arguments: &Node, depth: usize) -> Option<Call> {
    let objects = OBJECTS.iter().find(|(known, _, _)| *known == class);
    let object_positional = objects.is_some_and(|(_, _, positional)| *positional);
    let mut call =
        Call { class: class.to_owned(), positional: Vec::new(), keyword: Vec::new(), place: name.place.clone() };
    match &arguments.kind {
        Kind::Null => {}
        Kind::Seq(items) => {
            for item in items {
                call.positional.push(argument(reader, item, object_positional, depth)?);
            }
        }
        Kind::Map(entries) if !is_call(entries) => {
            for (key, value) in entries {
                let Some(keyword) = key.as_str() else {
                    reader.expected(key, &format!("an argument name of {class}"), "a string");
                    continue;
                };
                let is_object = objects.is_some_and(|(_, names, _)| names.contains(&keyword));
                let argument = argument(reader, value, is_object, depth)?;
                call.keyword.push((keyword.to_owned(), key.place.clone(), argument));
            }
        }
        _ => call.positional.push(argument(reader, arguments, object_positional, depth)?),
    }
    Some(call)
}

/// A mapping with one key that starts like a class name is itself a call, not keyword arguments.
fn is_call(entries: &[(Node, Node)]) -> bool {
    let name = match entries {
        [(name, _)] => name.as_str(),
        _ => entries.iter().find_map(|(key, _)| key.as_str().filter(|name| *name == "__type")),
    };
    name.is_some_and(|name| name == "__type" || name.starts_with(|c: char| c.is_ascii_uppercase()))
}

fn argument(reader: &mut Reader, node: &Node, object: bool, depth: usize) -> Option<Arg> {
    if !object || node.is_null() {
        return Some(Arg::Plain(node.to_json(), node.place.clone()));
    }
    if let Kind::Seq(items) = &node.kind {
        let mut list = Vec::with_capacity(items.len());
        for item in items {
            list.push(argument(reader, item, true, depth + 1)?);
        }
        return Some(Arg::List(list, node.place.clone()));
    }
    read_nested(reader, node, "this argument", depth + 1)
}
