//! `ast.literal_eval`: reading Python literals.

use super::chars::{is_identifier_continue, is_identifier_start};
use super::guard::Depth;
use super::{
    BinOp, CmpOp, Complex, HashKey, Interp, Num, Plain, PyErr, PyObject, PyResult, UnaryOp, Value, dict, downcast,
    float, list, number, set, tuple,
};

/// `ast.literal_eval(text)`. Text that is no literal is a `SyntaxError` or `ValueError`, whose message callers of native
/// mode never see.
pub fn literal_eval(text: &str) -> PyResult {
    // what ast.literal_eval itself strips
    let source = text.trim_start_matches([' ', '\t']);
    if source.contains('\0') {
        return Err(PyErr::value_error("source code string cannot contain null bytes"));
    }
    let tokens = tokenize(source)?;
    let mut parser = Parser { tokens, at: 0 };
    let value = parser.top()?;
    match parser.peek() {
        Token::End => Ok(value),
        _ => Err(syntax()),
    }
}

fn syntax() -> PyErr {
    PyErr::new("SyntaxError", "invalid syntax")
}

fn malformed() -> PyErr {
    PyErr::value_error("malformed node or string")
}

#[derive(Debug, Clone)]
enum Token {
    Value(Value),
    Text(String),
    Bytes(Vec<u8>),
    Name(String),
    Op(char),
    /// `...`
    Ellipsis,
    End,
}

fn tokenize(source: &str) -> PyResult<Vec<Token>> {
    let chars: Vec<char> = source.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    let mut open = 0usize;
    while let Some(c) = chars.get(at).copied() {
        match c {
            ' ' | '\t' | '\u{c}' => at += 1,
            '\n' | '\r' => {
                at += 1;
                if open > 0 {
                    continue;
                }
                // a line break ends the expression, if there was one: after it only blank lines and comments may come
                match next_line(&chars, at) {
                    None => at = chars.len(),
                    Some(next) if tokens.is_empty() && next.indent == 0 => at = next.at,
                    Some(_) => return Err(syntax()),
                }
            }
            '#' => {
                while chars.get(at).is_some_and(|c| !matches!(c, '\n' | '\r')) {
                    at += 1;
                }
            }
            '\\' if matches!(chars.get(at + 1), Some('\n' | '\r')) => {
                at += if chars.get(at + 1) == Some(&'\r') && chars.get(at + 2) == Some(&'\n') { 3 } else { 2 };
                if at >= chars.len() {
                    return Err(syntax());
                }
            }
            '(' | '[' | '{' => {
                open += 1;
                tokens.push(Token::Op(c));
                at += 1;
            }
            ')' | ']' | '}' => {
                open = open.checked_sub(1).ok_or_else(syntax)?;
                tokens.push(Token::Op(c));
                at += 1;
            }
            ',' | ':' | '+' | '-' => {
                tokens.push(Token::Op(c));
                at += 1;
            }
            '.' if chars.get(at + 1) == Some(&'.') && chars.get(at + 2) == Some(&'.') => {
                tokens.push(Token::Ellipsis);
                at += 3;
            }
            '\'' | '"' => tokens.push(string(&chars, &mut at, "")?),
            '0'..='9' | '.' => tokens.push(Token::Value(numeral(&chars, &mut at)?)),
            c if c == '_' || is_identifier_start(c) => {
                let start = at;
                while chars.get(at).is_some_and(|c| is_identifier_continue(*c)) {
                    at += 1;
                }
                let name: String = chars.get(start..at).unwrap_or(&[]).iter().collect();
                let quoted = matches!(chars.get(at), Some('\'' | '"'));
                let prefix = name.to_ascii_lowercase();
                if quoted && matches!(prefix.as_str(), "r" | "b" | "u" | "br" | "rb") {
                    tokens.push(string(&chars, &mut at, &prefix)?);
                } else if quoted && matches!(prefix.as_str(), "f" | "fr" | "rf") {
                    return Err(malformed());
                } else {
                    tokens.push(Token::Name(name));
                }
            }
            _ => return Err(syntax()),
        }
    }
    if open > 0 {
        return Err(syntax());
    }
    tokens.push(Token::End);
    Ok(tokens)
}

/// Where code goes on after a line break, past blank lines and comments.
struct NextLine {
    at: usize,
    indent: usize,
}

fn next_line(chars: &[char], from: usize) -> Option<NextLine> {
    let mut start = from;
    loop {
        let mut at = start;
        while matches!(chars.get(at), Some(' ' | '\t' | '\u{c}')) {
            at += 1;
        }
        let indent = at - start;
        let blanks = chars.get(start..at).unwrap_or(&[]);
        let commented = chars.get(at) == Some(&'#');
        if commented {
            while chars.get(at).is_some_and(|c| !matches!(c, '\n' | '\r')) {
                at += 1;
            }
        }
        match chars.get(at) {
            Some('\n' | '\r') => start = at + 1,
            Some(_) => return Some(NextLine { at, indent }),
            // blanks that end the text without a line break count as an indent
            None if indent > 0 && !commented && blanks.contains(&' ') | blanks.contains(&'\t') => {
                return Some(NextLine { at, indent });
            }
            None => return None,
        }
    }
}

fn numeral(chars: &[char], at: &mut usize) -> PyResult {
    let start = *at;
    let get = |at: usize| chars.get(at).copied().unwrap_or('\0');
    let text = |from: usize, to: usize| -> String { chars.get(from..to).unwrap_or(&[]).iter().collect() };
    let digits = |mut at: usize, radix: u32| -> PyResult<usize> {
        // digits with single underscores between them
        if !get(at).is_digit(radix) {
            return Ok(at);
        }
        loop {
            while get(at).is_digit(radix) {
                at += 1;
            }
            if get(at) != '_' {
                return Ok(at);
            }
            if !get(at + 1).is_digit(radix) {
                return Err(syntax());
            }
            at += 1;
        }
    };
    let radix = match (get(start), get(start + 1)) {
        ('0', 'x' | 'X') => 16,
        ('0', 'o' | 'O') => 8,
        ('0', 'b' | 'B') => 2,
        _ => 10,
    };
    let value;
    if radix != 10 {
        let from = start + 2 + usize::from(get(start + 2) == '_');
        let end = digits(from, radix)?;
        if end == from {
            return Err(syntax());
        }
        *at = end;
        value = float::parse_int(&text(start, end), 0).map_err(|_| syntax())?;
    } else {
        let mut end = digits(start, 10)?;
        let mut is_float = false;
        if get(end) == '.' {
            is_float = true;
            end += 1;
            end = digits(end, 10)?;
            if end == start + 1 {
                return Err(syntax());
            }
        }
        if matches!(get(end), 'e' | 'E') {
            let sign = usize::from(matches!(get(end + 1), '+' | '-'));
            let exponent = digits(end + 1 + sign, 10)?;
            if exponent == end + 1 + sign {
                return Err(syntax());
            }
            end = exponent;
            is_float = true;
        }
        *at = end;
        let digits = text(start, end).replace('_', "");
        let imaginary = matches!(get(end), 'j' | 'J');
        if imaginary {
            *at += 1;
            let imag = float::parse_float(&digits).map_err(|_| syntax())?;
            value = super::object(Complex { real: 0.0, imag });
        } else if is_float {
            value = Value::from(float::parse_float(&digits).map_err(|_| syntax())?);
        } else if digits.len() > 1 && digits.starts_with('0') && digits.bytes().any(|b| b != b'0') {
            return Err(syntax());
        } else {
            value = float::parse_int(&digits, 10).map_err(|_| syntax())?;
        }
    }
    // `1abc`: a name right after a number is an error, but `1if` and its kin are only deprecated
    let next = get(*at);
    if next == '_' || is_identifier_start(next) || is_identifier_continue(next) {
        return Err(syntax());
    }
    Ok(value)
}

fn string(chars: &[char], at: &mut usize, prefix: &str) -> PyResult<Token> {
    let quote = chars.get(*at).copied().unwrap_or('\'');
    let triple = chars.get(*at + 1) == Some(&quote) && chars.get(*at + 2) == Some(&quote);
    let raw = prefix.contains('r');
    let bytes = prefix.contains('b');
    *at += if triple { 3 } else { 1 };
    let mut out = String::new();
    loop {
        let Some(c) = chars.get(*at).copied() else { return Err(syntax()) };
        if c == quote && (!triple || (chars.get(*at + 1) == Some(&quote) && chars.get(*at + 2) == Some(&quote))) {
            *at += if triple { 3 } else { 1 };
            break;
        }
        *at += 1;
        match c {
            '\n' | '\r' if !triple => return Err(syntax()),
            '\r' => {
                if chars.get(*at) == Some(&'\n') {
                    *at += 1;
                }
                out.push('\n');
            }
            '\\' if raw => {
                out.push('\\');
                if let Some(next) = chars.get(*at) {
                    out.push(*next);
                    *at += 1;
                }
            }
            '\\' => escape(chars, at, bytes, &mut out)?,
            c if bytes && !c.is_ascii() => return Err(syntax()),
            c => out.push(c),
        }
    }
    Ok(if bytes { Token::Bytes(out.chars().map(|c| c as u8).collect()) } else { Token::Text(out) })
}

fn escape(chars: &[char], at: &mut usize, bytes: bool, out: &mut String) -> PyResult<()> {
    let Some(c) = chars.get(*at).copied() else { return Err(syntax()) };
    *at += 1;
    let hex = |at: &mut usize, count: usize| -> PyResult<u32> {
        let digits: String = chars.get(*at..*at + count).ok_or_else(syntax)?.iter().collect();
        *at += count;
        if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(syntax());
        }
        u32::from_str_radix(&digits, 16).map_err(|_| syntax())
    };
    let push = |code: u32, out: &mut String| -> PyResult<()> {
        match char::from_u32(code) {
            Some(c) => out.push(c),
            None if (0xd800..0xe000).contains(&code) => return Err(PyErr::unsupported("lone surrogates in text")),
            None => return Err(syntax()),
        }
        Ok(())
    };
    match c {
        '\n' => {}
        '\r' => {
            if chars.get(*at) == Some(&'\n') {
                *at += 1;
            }
        }
        '\\' | '\'' | '"' => out.push(c),
        'a' => out.push('\u{7}'),
        'b' => out.push('\u{8}'),
        'f' => out.push('\u{c}'),
        'n' => out.push('\n'),
        'r' => out.push('\r'),
        't' => out.push('\t'),
        'v' => out.push('\u{b}'),
        'x' => push(hex(at, 2)?, out)?,
        'u' if !bytes => push(hex(at, 4)?, out)?,
        'U' if !bytes => push(hex(at, 8)?, out)?,
        'N' if !bytes => return Err(PyErr::unsupported("the escape \\N{...}")),
        '0'..='7' => {
            let mut code = c.to_digit(8).unwrap_or(0);
            for _ in 0..2 {
                let Some(digit) = chars.get(*at).and_then(|c| c.to_digit(8)) else { break };
                code = code * 8 + digit;
                *at += 1;
            }
            push(if bytes { code & 0xff } else { code }, out)?;
        }
        other => {
            out.push('\\');
            out.push(other);
        }
    }
    Ok(())
}

/// The value of `...`.
#[derive(Debug)]
pub struct Ellipsis;

impl PyObject for Ellipsis {
    fn type_name(&self) -> &str {
        "ellipsis"
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok("Ellipsis".to_owned())
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Ok(HashKey::Parts("ellipsis", Vec::new()))
    }

    fn compare(&self, op: CmpOp, other: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
        downcast::<Ellipsis>(other)?;
        match op {
            CmpOp::Eq => Some(Ok(true)),
            CmpOp::Ne => Some(Ok(false)),
            _ => None,
        }
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).unwrap_or(&Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn eat(&mut self, op: char) -> bool {
        let found = matches!(self.peek(), Token::Op(c) if *c == op);
        self.at += usize::from(found);
        found
    }

    /// An expression, or several with commas between: a tuple.
    fn top(&mut self) -> PyResult {
        let first = self.expression()?;
        if !self.eat(',') {
            return Ok(first);
        }
        let mut items = vec![first];
        while !matches!(self.peek(), Token::End) {
            items.push(self.expression()?);
            if !self.eat(',') {
                break;
            }
        }
        Ok(tuple(items))
    }

    fn expression(&mut self) -> PyResult {
        let _depth = Depth::enter()?;
        let left = self.signed()?;
        let Token::Op(op @ ('+' | '-')) = *self.peek() else { return Ok(left) };
        // only `real + imaginary` is a literal
        self.at += 1;
        let right = self.atom()?;
        let real = Num::of(&left).filter(|_| !matches!(super::view(&left), super::View::Bool(_)));
        let (Some(_), Some(_)) = (real, downcast::<Complex>(&right)) else { return Err(malformed()) };
        if matches!(self.peek(), Token::Op('+' | '-')) {
            return Err(malformed());
        }
        let op = if op == '+' { BinOp::Add } else { BinOp::Sub };
        super::binary(op, &left, &right, &mut Plain::default())
    }

    fn signed(&mut self) -> PyResult {
        let mut sign = None;
        if self.eat('-') {
            sign = Some(UnaryOp::Neg);
        } else if self.eat('+') {
            sign = Some(UnaryOp::Pos);
        }
        let Some(op) = sign else { return self.atom() };
        if matches!(self.peek(), Token::Op('-' | '+')) {
            return Err(malformed());
        }
        let value = self.atom()?;
        match Num::of(&value) {
            Some(_) if matches!(super::view(&value), super::View::Bool(_)) => Err(malformed()),
            Some(num) => Ok(number::unary(op, num)),
            None if downcast::<Complex>(&value).is_some() => super::unary(op, &value, &mut Plain::default()),
            None => Err(malformed()),
        }
    }

    fn atom(&mut self) -> PyResult {
        match self.next() {
            Token::Value(value) => Ok(value),
            Token::Text(mut text) => {
                while let Token::Text(more) = self.peek() {
                    text.push_str(more);
                    self.at += 1;
                }
                if matches!(self.peek(), Token::Bytes(_)) { Err(syntax()) } else { Ok(Value::from(text)) }
            }
            Token::Bytes(mut bytes) => {
                while let Token::Bytes(more) = self.peek() {
                    bytes.extend_from_slice(more);
                    self.at += 1;
                }
                if matches!(self.peek(), Token::Text(_)) { Err(syntax()) } else { Ok(Value::from_bytes(bytes)) }
            }
            Token::Name(name) => match name.as_str() {
                "None" => Ok(super::none()),
                "True" => Ok(Value::from(true)),
                "False" => Ok(Value::from(false)),
                "set" if self.eat('(') => {
                    if self.eat(')') {
                        set([])
                    } else {
                        Err(malformed())
                    }
                }
                _ => Err(malformed()),
            },
            Token::Ellipsis => Ok(super::object(Ellipsis)),
            Token::Op('(') => {
                if self.eat(')') {
                    return Ok(tuple(Vec::new()));
                }
                let first = self.expression()?;
                if self.eat(')') {
                    return Ok(first);
                }
                let items = self.items(first, ')')?;
                Ok(tuple(items))
            }
            Token::Op('[') => {
                if self.eat(']') {
                    return Ok(list(Vec::new()));
                }
                let first = self.expression()?;
                if self.eat(']') {
                    return Ok(list(vec![first]));
                }
                Ok(list(self.items(first, ']')?))
            }
            Token::Op('{') => self.braces(),
            _ => Err(syntax()),
        }
    }

    /// Items after the first, up to the closing bracket.
    fn items(&mut self, first: Value, close: char) -> PyResult<Vec<Value>> {
        let mut items = vec![first];
        loop {
            if !self.eat(',') {
                return Err(syntax());
            }
            if self.eat(close) {
                return Ok(items);
            }
            items.push(self.expression()?);
            if self.eat(close) {
                return Ok(items);
            }
        }
    }

    fn braces(&mut self) -> PyResult {
        if self.eat('}') {
            return dict([]);
        }
        let first = self.expression()?;
        if !self.eat(':') {
            if self.eat('}') {
                return set([first]);
            }
            return set(self.items(first, '}')?);
        }
        let mut pairs = vec![(first, self.expression()?)];
        loop {
            if self.eat('}') {
                return dict(pairs);
            }
            if !self.eat(',') {
                return Err(syntax());
            }
            if self.eat('}') {
                return dict(pairs);
            }
            let key = self.expression()?;
            if !self.eat(':') {
                return Err(syntax());
            }
            pairs.push((key, self.expression()?));
        }
    }
}
