//! Asset expressions as people write them: `a & (b | c)`, with Python's precedence (`&` binds tighter than `|`).

use std::ops::Range;

use super::{AssetAlias, AssetCondition, AssetRef, BoolOp};
use crate::python::PyErr;
use serde_json::Value as Json;

/// Deepest nesting of parentheses.
const DEPTH_LIMIT: usize = 100;

/// An expression that is not one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionError {
    /// What is wrong: Python's exception where Python would raise one, `SyntaxError` otherwise.
    pub error: PyErr,
    /// Where, in bytes of the text.
    pub range: Range<usize>,
}

/// What names in an expression mean: `None` for a name that is not known.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<AssetCondition>;

/// Parses an expression. Names stand bare when they match `[A-Za-z_][A-Za-z0-9_.-]*`, or in double quotes;
/// `AssetAlias("x")`, `Asset.ref(name="x")`, `Asset.ref(uri="...")`, `AssetAll(...)` and `AssetAny(...)` are Airflow's own
/// forms, and `Dataset("uri")`, `DatasetAlias("x")`, `DatasetAll(...)` and `DatasetAny(...)` those of Airflow 2.10. With
/// `python` true, a quoted text is a Python `str`, as in a Dag file, and combining it with an asset is the `TypeError` of
/// Python.
pub fn parse_expression(text: &str, python: bool, lookup: Lookup<'_>) -> Result<AssetCondition, ExpressionError> {
    let mut parser = Parser { text, at: 0, python, lookup, depth: 0 };
    let start = parser.skip_space();
    let operand = parser.any()?;
    let end = parser.skip_space();
    if end < text.len() {
        return Err(parser.syntax(end..text.len(), "expected `&`, `|` or the end"));
    }
    match operand {
        Operand::Asset(condition) => Ok(*condition),
        Operand::Foreign(class) => {
            Err(parser.syntax(start..text.len(), &format!("an asset expression is expected, this is a {class}")))
        }
    }
}

enum Operand {
    Asset(Box<AssetCondition>),
    /// A Python value that is no asset, by its class.
    Foreign(&'static str),
}

impl Operand {
    fn class_name(&self) -> &'static str {
        match self {
            Operand::Asset(condition) => condition.class_name(),
            Operand::Foreign(class) => class,
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    python: bool,
    lookup: Lookup<'a>,
    depth: usize,
}

type Parsed<T = Operand> = Result<T, ExpressionError>;

impl Parser<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn skip_space(&mut self) -> usize {
        let rest = self.rest();
        let skipped = rest.len() - rest.trim_start().len();
        self.at += skipped;
        self.at
    }

    fn eat(&mut self, token: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn syntax(&self, range: Range<usize>, message: &str) -> ExpressionError {
        ExpressionError { error: PyErr::new("SyntaxError", message), range }
    }

    fn here(&self, message: &str) -> ExpressionError {
        let width = self.rest().chars().next().map_or(0, char::len_utf8);
        self.syntax(self.at..self.at + width, message)
    }

    fn any(&mut self) -> Parsed {
        self.chain("|", BoolOp::Any, Self::all)
    }

    fn all(&mut self) -> Parsed {
        self.chain("&", BoolOp::All, Self::atom)
    }

    fn chain(&mut self, sign: &str, op: BoolOp, operand: fn(&mut Self) -> Parsed) -> Parsed {
        let start = self.skip_space();
        let mut left = operand(self)?;
        while self.eat(sign) {
            let right = operand(self)?;
            left = match (left, right) {
                (Operand::Asset(left), Operand::Asset(right)) => Operand::Asset(Box::new(left.combine(op, *right))),
                (left, right) => {
                    let error = PyErr::type_error(format!(
                        "unsupported operand type(s) for {sign}: '{}' and '{}'",
                        left.class_name(),
                        right.class_name()
                    ));
                    return Err(ExpressionError { error, range: start..self.at });
                }
            };
        }
        Ok(left)
    }

    fn atom(&mut self) -> Parsed {
        let start = self.skip_space();
        if self.eat("(") {
            self.depth += 1;
            if self.depth > DEPTH_LIMIT {
                return Err(self.here("too many nested parentheses"));
            }
            let inner = self.any()?;
            self.depth -= 1;
            return if self.eat(")") { Ok(inner) } else { Err(self.here("expected `)`")) };
        }
        if self.rest().starts_with(['"', '\'']) {
            let text = self.string()?;
            return if self.python { Ok(Operand::Foreign("str")) } else { self.named(&text, start..self.at) };
        }
        if self.rest().starts_with(|c: char| c.is_ascii_digit()) {
            let len = self.rest().find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.rest().len());
            if self.python {
                self.at += len;
                return Ok(Operand::Foreign("int"));
            }
            return Err(self.syntax(start..start + len, "a name that starts with a digit must be in double quotes"));
        }
        let name = self.name();
        if name.is_empty() {
            return Err(self.here("expected the name of an asset"));
        }
        self.skip_space();
        if self.rest().starts_with('(') {
            return self.call(&name, start);
        }
        match name.as_str() {
            "None" if self.python => Ok(Operand::Foreign("NoneType")),
            "True" | "False" if self.python => Ok(Operand::Foreign("bool")),
            _ => self.named(&name, start..start + name.len()),
        }
    }

    fn name(&mut self) -> String {
        let rest = self.rest();
        if !rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return String::new();
        }
        let end =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))).unwrap_or(rest.len());
        let name = rest.get(..end).unwrap_or("").to_owned();
        self.at += end;
        name
    }

    fn named(&self, name: &str, range: Range<usize>) -> Parsed {
        match (self.lookup)(name) {
            Some(condition) => Ok(Operand::Asset(Box::new(condition))),
            None => {
                let error = PyErr::new("NameError", format!("name '{name}' is not defined"));
                Err(ExpressionError { error, range })
            }
        }
    }

    fn string(&mut self) -> Parsed<String> {
        let start = self.at;
        let mut chars = self.rest().char_indices();
        let quote = chars.next().map_or('"', |(_, quote)| quote);
        let mut text = String::new();
        while let Some((offset, c)) = chars.next() {
            if c == quote {
                self.at += offset + 1;
                return Ok(text);
            }
            match c {
                '\\' => match chars.next() {
                    Some((_, escaped @ ('\\' | '"' | '\''))) => text.push(escaped),
                    Some((_, other)) => text.extend(['\\', other]),
                    None => break,
                },
                other => text.push(other),
            }
        }
        Err(self.syntax(start..self.text.len(), "this quoted text does not end"))
    }

    fn call(&mut self, name: &str, start: usize) -> Parsed {
        self.eat("(");
        match name {
            "AssetAll" | "AssetAny" | "DatasetAll" | "DatasetAny" => {
                let parts = self.operands()?;
                let mut conditions = Vec::new();
                for part in parts {
                    match part {
                        Operand::Asset(condition) => conditions.push(*condition),
                        Operand::Foreign(_) => {
                            let error = PyErr::type_error("expect asset expressions in condition");
                            return Err(ExpressionError { error, range: start..self.at });
                        }
                    }
                }
                Ok(Operand::Asset(Box::new(match name {
                    "AssetAll" | "DatasetAll" => AssetCondition::All(conditions),
                    _ => AssetCondition::Any(conditions),
                })))
            }
            "Dataset" => {
                let (keyword, text) = self.argument()?;
                if keyword.as_deref().is_some_and(|keyword| keyword != "uri") {
                    return Err(self.syntax(start..self.at, "Dataset takes `uri`"));
                }
                self.named(&text, start..self.at)
            }
            "AssetAlias" | "DatasetAlias" => {
                let (keyword, text) = self.argument()?;
                if keyword.as_deref().is_some_and(|keyword| keyword != "name") {
                    return Err(self.syntax(start..self.at, &format!("{name} takes `name`")));
                }
                let alias = AssetAlias::new(&text);
                alias
                    .map(|alias| Operand::Asset(Box::new(AssetCondition::Alias(alias))))
                    .map_err(|error| ExpressionError { error, range: start..self.at })
            }
            "Asset.ref" => {
                let (keyword, text) = self.argument()?;
                let value = Json::from(text);
                let reference = match keyword.as_deref() {
                    Some("name") => AssetRef::construct(Some(&value), None),
                    Some("uri") => AssetRef::construct(None, Some(&value)),
                    _ => return Err(self.syntax(start..self.at, "Asset.ref takes `name=` or `uri=`")),
                };
                reference
                    .map(|reference| Operand::Asset(Box::new(AssetCondition::Ref(reference))))
                    .map_err(|error| ExpressionError { error, range: start..self.at })
            }
            _ => Err(self.syntax(
                start..self.at,
                "only AssetAlias(...), Asset.ref(...), AssetAll(...) and AssetAny(...) can be called here",
            )),
        }
    }

    fn operands(&mut self) -> Parsed<Vec<Operand>> {
        self.depth += 1;
        if self.depth > DEPTH_LIMIT {
            return Err(self.here("too many nested parentheses"));
        }
        let mut parts = Vec::new();
        while !self.eat(")") {
            parts.push(self.any()?);
            if !self.eat(",") {
                self.skip_space();
                if !self.rest().starts_with(')') {
                    return Err(self.here("expected `,` or `)`"));
                }
            }
        }
        self.depth -= 1;
        Ok(parts)
    }

    /// One text argument, by position or keyword, and the closing parenthesis.
    fn argument(&mut self) -> Parsed<(Option<String>, String)> {
        self.skip_space();
        let mut keyword = None;
        if !self.rest().starts_with(['"', '\'']) {
            let name = self.name();
            if name.is_empty() || !self.eat("=") {
                return Err(self.here("expected a quoted text"));
            }
            keyword = Some(name);
            self.skip_space();
            if !self.rest().starts_with(['"', '\'']) {
                return Err(self.here("expected a quoted text"));
            }
        }
        let text = self.string()?;
        self.eat(",");
        if self.eat(")") { Ok((keyword, text)) } else { Err(self.here("expected `)`")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asset::Asset;

    fn lookup(name: &str) -> Option<AssetCondition> {
        ["a", "b", "c", "two words", "x.y-z"]
            .contains(&name)
            .then(|| Asset::new(Some(name), None).ok().map(|(asset, _)| AssetCondition::Asset(asset)))
            .flatten()
    }

    fn shape(condition: &AssetCondition) -> String {
        let join = |parts: &[AssetCondition], sign: &str| {
            format!("({})", parts.iter().map(shape).collect::<Vec<_>>().join(sign))
        };
        match condition {
            AssetCondition::Asset(asset) => asset.name.clone(),
            AssetCondition::Alias(alias) => format!("alias:{}", alias.name),
            AssetCondition::Ref(reference) => format!("ref:{}", reference.text()),
            AssetCondition::All(parts) => join(parts, "&"),
            AssetCondition::Any(parts) => join(parts, "|"),
        }
    }

    #[test]
    fn precedence_and_flattening_are_pythons() {
        for (text, expected) in [
            ("a", "a"),
            ("a & b & c", "(a&b&c)"),
            ("a & (b & c)", "(a&(b&c))"),
            ("a | b & c", "(a|(b&c))"),
            ("(a | b) & c", "((a|b)&c)"),
            ("a|\"two words\"", "(a|two words)"),
            ("x.y-z & AssetAlias(\"n\")", "(x.y-z&alias:n)"),
            ("Asset.ref(uri='s3://x') | Asset.ref(name=\"q\")", "(ref:s3://x|ref:q)"),
        ] {
            let parsed = parse_expression(text, false, &lookup).map(|condition| shape(&condition));
            assert_eq!(parsed, Ok(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn errors_have_a_place() {
        for (text, range) in
            [("a &", 3..3), ("a b", 2..3), ("a & nope", 4..8), ("(a", 2..2), ("a & \"b", 4..6), ("", 0..0)]
        {
            let error = parse_expression(text, false, &lookup).err().map(|error| error.range);
            assert_eq!(error, Some(range), "{text}");
        }
    }
}
