//! `--jsonl`: a command as a filter. One request a line comes in, one answer a line goes out, in order; no more than a line
//! is held.

use std::io::{BufRead, BufReader, Read, Write};

use serde_json::{Map, Value as Json, json};

use super::{Exit, Outcome};
use crate::python::{PyErr, PyResult};

/// Answers every line of `input` on `out`. `answer` gets a request and returns the fields of its answer beside `id`.
pub fn serve(
    input: impl Read,
    out: &mut dyn Write,
    mut answer: impl FnMut(&Json) -> PyResult<Map<String, Json>>,
) -> Outcome {
    serve_batches(input, out, 1, |requests| requests.iter().map(&mut answer).collect())
}

/// Answers every line, several at a time when several are there already: at most `limit`. `answer` returns one answer for
/// each request it gets, in order.
pub fn serve_batches(
    input: impl Read,
    out: &mut dyn Write,
    limit: usize,
    mut answer: impl FnMut(&[Json]) -> Vec<PyResult<Map<String, Json>>>,
) -> Outcome {
    let mut input = BufReader::with_capacity(1 << 16, input);
    let mut line = Vec::new();
    let mut first = true;
    loop {
        let mut ids: Vec<(Json, Option<PyErr>)> = Vec::new();
        let mut requests = Vec::new();
        let mut ended = false;
        while ids.len() < limit {
            // Never wait for a line while others wait for their answers.
            if !ids.is_empty() && !input.buffer().contains(&b'\n') {
                break;
            }
            line.clear();
            if input.read_until(b'\n', &mut line)? == 0 {
                ended = true;
                break;
            }
            // what editors of Windows put before a text
            if std::mem::take(&mut first) && line.starts_with(b"\xef\xbb\xbf") {
                line.drain(..3);
            }
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            match parse(&line) {
                Ok(request) => {
                    ids.push((request.get("id").cloned().unwrap_or_default(), None));
                    requests.push(request);
                }
                Err(refused) => {
                    let (id, error) = *refused;
                    ids.push((id, Some(error)));
                }
            }
        }
        let mut answers = if requests.is_empty() { Vec::new() } else { answer(&requests) }.into_iter();
        for (id, refused) in ids {
            let result = match refused {
                Some(error) => Err(error),
                None => answers.next().unwrap_or_else(|| Err(PyErr::unsupported("this request"))),
            };
            let mut fields = Map::new();
            fields.insert("id".to_owned(), id);
            match result {
                Ok(rest) => fields.extend(rest),
                Err(error) => {
                    fields.insert("error".to_owned(), error_json(&error));
                }
            }
            serde_json::to_writer(&mut *out, &fields).map_err(std::io::Error::from)?;
            out.write_all(b"\n")?;
        }
        if ended {
            return Ok(Exit::Success);
        }
        // Whoever waits for an answer before asking on must get it.
        if limit > 1 || input.buffer().is_empty() {
            out.flush()?;
        }
    }
}

/// An answer with one field, `ok`.
pub fn ok(value: Json) -> Map<String, Json> {
    Map::from_iter([("ok".to_owned(), value)])
}

/// The `error` of an answer.
pub fn error_json(error: &PyErr) -> Json {
    let mut body = json!({"kind": error.class, "message": error.message});
    if let (Some(hint), Some(body)) = (&error.hint, body.as_object_mut()) {
        body.insert("hint".to_owned(), hint.clone().into());
    }
    body
}

/// A request, or the id it is answered under and what is wrong with it.
fn parse(line: &[u8]) -> Result<Json, Box<(Json, PyErr)>> {
    let problem = match serde_json::from_slice::<Json>(line) {
        Ok(request) => return Ok(request),
        Err(problem) => problem,
    };
    // JSON can spell half of a surrogate pair, which no text can hold: such a request still has an id.
    if let Some(request) = without_lone_surrogates(line) {
        let id = request.get("id").cloned().unwrap_or_default();
        return Err(Box::new((id, PyErr::unsupported("a lone surrogate in the request"))));
    }
    // What nests too deeply to be read can still be answered under its id: skipping takes no stack.
    if problem.to_string().starts_with("recursion limit")
        && let Ok(Id { id }) = serde_json::from_slice::<Id>(line)
    {
        return Err(Box::new((id, PyErr::limit("the request nests more than 127 levels deep"))));
    }
    Err(Box::new((Json::Null, PyErr::new("JSONDecodeError", problem.to_string()))))
}

/// The part of a request that its answer carries too.
#[derive(serde::Deserialize)]
struct Id {
    #[serde(default)]
    id: Json,
}

/// The request with every lone surrogate escape replaced, if that makes it JSON.
fn without_lone_surrogates(line: &[u8]) -> Option<Json> {
    let text = std::str::from_utf8(line).ok()?;
    let unit = |at: usize| -> Option<u32> {
        let escape = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(escape, 16).ok()
    };
    let mut clean = String::with_capacity(text.len());
    let mut at = 0;
    let mut replaced = false;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let taken = match unit(at) {
            Some(0xD800..=0xDBFF) if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) => 12,
            Some(0xD800..=0xDFFF) => {
                clean.push_str("\\ufffd");
                replaced = true;
                at += 6;
                continue;
            }
            Some(_) => 6,
            None if rest.starts_with('\\') => rest.chars().take(2).map(char::len_utf8).sum(),
            None => rest.chars().next().map_or(1, char::len_utf8),
        };
        clean.push_str(rest.get(..taken)?);
        at += taken;
    }
    if replaced { serde_json::from_str(&clean).ok() } else { None }
}

#[cfg(test)]
#[allow(clippy::expect_used, clippy::panic, reason = "a test that fails may say so")]
mod tests {
    use super::*;

    fn answers(input: &str) -> String {
        let mut out = Vec::new();
        let served = serve(input.as_bytes(), &mut out, |request| Ok(ok(request["n"].clone())));
        assert!(served.is_ok());
        String::from_utf8(out).expect("answers are text")
    }

    #[test]
    fn every_line_is_answered_under_its_id() {
        let text =
            answers("{\"id\": 1, \"n\": 12345678901234567890123}\n\nnot json\n{\"id\": \"s\", \"n\": \"\\ud800\"}\n");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], r#"{"id":1,"ok":12345678901234567890123}"#);
        assert!(lines[1].starts_with(r#"{"id":null,"error":{"kind":"JSONDecodeError""#), "{}", lines[1]);
        assert!(lines[2].starts_with(r#"{"id":"s","error":{"kind":"Unsupported""#), "{}", lines[2]);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        let text = answers("\u{feff}{\"id\": 1, \"n\": 2}\n\u{feff}{\"id\": 2, \"n\": 3}\n");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], r#"{"id":1,"ok":2}"#);
        assert!(lines[1].contains("JSONDecodeError"), "{}", lines[1]);
    }

    #[test]
    fn a_line_that_nests_too_deeply_is_answered_under_its_id() {
        let deep = |n: usize| format!("{{\"run\": {}{}, \"id\": \"d\"}}\n", "[".repeat(n), "]".repeat(n));
        let text = answers(&deep(200));
        assert!(text.starts_with(r#"{"id":"d","error":{"kind":"LimitExceeded""#), "{text}");
        assert!(answers(&deep(100_000)).starts_with(r#"{"id":"d","error":{"kind":"LimitExceeded""#));
        // cut off, it is no JSON
        assert!(answers("[[[[\n").starts_with(r#"{"id":null,"error":{"kind":"JSONDecodeError""#));
    }
}
