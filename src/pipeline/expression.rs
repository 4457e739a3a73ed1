//! Asset expressions: names, `&`, `|`, parentheses, `AssetAlias("x")`, `Asset.ref(name="x")`.

use std::ops::Range;

/// An expression over assets, with the bytes of each leaf inside the text.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// An asset of the pipeline, by its key or name.
    Name(String, Range<usize>),
    /// `AssetAlias("x")`
    Alias(String, Range<usize>),
    /// `Asset.ref(name="x")`
    RefName(String, Range<usize>),
    /// `Asset.ref(uri="x")`
    RefUri(String, Range<usize>),
    /// `a & b`; the left operand is flattened, as Airflow does.
    And(Box<Expression>, Box<Expression>),
    /// `a | b`
    Or(Box<Expression>, Box<Expression>),
}

/// What is wrong with an expression, and where in its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionError {
    /// The fact, in lower case.
    pub message: String,
    /// Bytes of the text.
    pub range: Range<usize>,
}

const DEPTH_LIMIT: usize = 100;

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Name(String),
    Text(String),
    Sign(char),
    End,
}

/// Parses an expression. `&` binds closer than `|`, as in Python.
pub fn parse(text: &str) -> Result<Expression, ExpressionError> {
    let mut parser = Parser { text, at: 0, token: Token::End, range: 0..0, depth: 0 };
    parser.advance()?;
    let expression = parser.or()?;
    match parser.token {
        Token::End => Ok(expression),
        _ => Err(parser.unexpected("`&`, `|` or the end")),
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    token: Token,
    range: Range<usize>,
    depth: usize,
}

impl Parser<'_> {
    fn advance(&mut self) -> Result<(), ExpressionError> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let trimmed = rest.trim_start();
        let start = self.at + rest.len() - trimmed.len();
        let Some(first) = trimmed.chars().next() else {
            self.token = Token::End;
            self.range = start..start;
            self.at = start;
            return Ok(());
        };
        let (token, length) = if first.is_ascii_alphabetic() || first == '_' {
            let length = trimmed
                .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')))
                .unwrap_or(trimmed.len());
            (Token::Name(trimmed[..length].to_owned()), length)
        } else if first == '"' || first == '\'' {
            let body = &trimmed[1..];
            let Some(end) = body.find(first) else {
                return Err(ExpressionError {
                    message: "this string is not closed".to_owned(),
                    range: start..self.text.len(),
                });
            };
            (Token::Text(body[..end].to_owned()), end + 2)
        } else if matches!(first, '&' | '|' | '(' | ')' | '=' | ',') {
            (Token::Sign(first), 1)
        } else {
            return Err(ExpressionError {
                message: format!("`{first}` cannot stand in an asset expression"),
                range: start..start + first.len_utf8(),
            });
        };
        self.token = token;
        self.range = start..start + length;
        self.at = start + length;
        Ok(())
    }

    fn unexpected(&self, expected: &str) -> ExpressionError {
        let found = match &self.token {
            Token::Name(name) => format!("`{name}`"),
            Token::Text(text) => format!("\"{text}\""),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "the end".to_owned(),
        };
        ExpressionError { message: format!("expected {expected}, found {found}"), range: self.range.clone() }
    }

    fn or(&mut self) -> Result<Expression, ExpressionError> {
        let mut left = self.and()?;
        while self.token == Token::Sign('|') {
            self.advance()?;
            left = Expression::Or(Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Expression, ExpressionError> {
        let mut left = self.leaf()?;
        while self.token == Token::Sign('&') {
            self.advance()?;
            left = Expression::And(Box::new(left), Box::new(self.leaf()?));
        }
        Ok(left)
    }

    fn leaf(&mut self) -> Result<Expression, ExpressionError> {
        let start = self.range.start;
        match self.token.clone() {
            Token::Sign('(') => {
                self.depth += 1;
                if self.depth > DEPTH_LIMIT {
                    return Err(ExpressionError {
                        message: format!("parentheses are nested deeper than {DEPTH_LIMIT}"),
                        range: self.range.clone(),
                    });
                }
                self.advance()?;
                let inner = self.or()?;
                self.sign(')')?;
                self.depth -= 1;
                Ok(inner)
            }
            Token::Text(name) => {
                let range = self.range.clone();
                self.advance()?;
                Ok(Expression::Name(name, range))
            }
            Token::Name(name) => {
                let range = self.range.clone();
                self.advance()?;
                if self.token != Token::Sign('(') {
                    return Ok(Expression::Name(name, range));
                }
                self.advance()?;
                let keyword = match self.token.clone() {
                    Token::Name(keyword) => {
                        self.advance()?;
                        self.sign('=')?;
                        Some(keyword)
                    }
                    _ => None,
                };
                let Token::Text(value) = self.token.clone() else { return Err(self.unexpected("a string in quotes")) };
                self.advance()?;
                let end = self.range.end;
                self.sign(')')?;
                let range = start..end;
                match (name.as_str(), keyword.as_deref()) {
                    ("AssetAlias", None | Some("name")) => Ok(Expression::Alias(value, range)),
                    ("Asset.ref", Some("name")) => Ok(Expression::RefName(value, range)),
                    ("Asset.ref", Some("uri")) => Ok(Expression::RefUri(value, range)),
                    ("Asset.ref", _) => Err(ExpressionError {
                        message: "Asset.ref takes name=\"...\" or uri=\"...\"".to_owned(),
                        range,
                    }),
                    _ => Err(ExpressionError {
                        message: format!(
                            "`{name}` cannot be called here: AssetAlias(\"x\") and Asset.ref(name=\"x\") can"
                        ),
                        range,
                    }),
                }
            }
            _ => Err(self.unexpected("an asset")),
        }
    }

    fn sign(&mut self, sign: char) -> Result<(), ExpressionError> {
        if self.token != Token::Sign(sign) {
            return Err(self.unexpected(&format!("`{sign}`")));
        }
        self.advance()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precedence_and_calls() {
        let Expression::Or(left, right) = parse("a & b.c-d | (\"x y\" | AssetAlias('al'))").unwrap() else { panic!() };
        assert!(matches!(*left, Expression::And(..)));
        let Expression::Or(name, alias) = *right else { panic!() };
        assert!(matches!(*name, Expression::Name(ref name, _) if name == "x y"));
        assert!(matches!(*alias, Expression::Alias(ref name, ref range) if name == "al" && *range == (21..37)));
        assert!(matches!(parse("Asset.ref(uri='s3://a')").unwrap(), Expression::RefUri(ref uri, _) if uri == "s3://a"));
    }

    #[test]
    fn errors_name_the_place() {
        let error = parse("a & ").unwrap_err();
        assert_eq!((error.message.as_str(), error.range), ("expected an asset, found the end", 4..4));
        assert_eq!(parse("a b").unwrap_err().message, "expected `&`, `|` or the end, found `b`");
        assert_eq!(parse("0 0 * * *").unwrap_err().range, 0..1);
        assert_eq!(parse("Asset(\"x\")").unwrap_err().range, 0..10);
        assert!(parse(&"(".repeat(100_000)).unwrap_err().message.contains("nested deeper"));
    }
}
