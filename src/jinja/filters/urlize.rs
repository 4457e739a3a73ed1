//! `urlize`: URLs and addresses in text become links.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::jinja::Cx;
use crate::jinja::markup::markup;
use crate::python::{self, Args, CmpOp, Interp, PyErr, PyResult, Value, chars, text};

use super::bind::Sig;
use super::web::{escaped, searched, split_white};

/// `\w` of Python's `re` as the regex crate spells it.
const WORD: &str = r"\p{L}\p{N}_";

#[expect(clippy::expect_used, reason = "the patterns are constants, built in every test run")]
fn pattern(source: &str) -> Regex {
    Regex::new(&source.replace(r"\w", WORD)).expect("a constant pattern")
}

/// An address of the web: a scheme or `www.`, or a host below a well-known top-level domain, or a scheme and an IP address.
static HTTP: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"^(?i:(?:https?://|www\.)(?:[\w%-]+\.)*(?:[a-zıİ]{2,63}|xn--[\w%]{2,59})",
        r"|(?:[\w%-]{2,63}\.)+(?:com|net|int|edu|gov|org|info|mil)",
        r"|https?://(?:\d{1,3}(?:\.\d{1,3}){3}|\[(?:[\da-f]{0,4}:){2}(?:[\da-f]{0,4}:?){1,6}\]))",
        r"(?::\d{1,5})?(?s:[/?#].*)?$"
    ))
});

static EMAIL: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(?s:.+)@[\w][\w.-]*\.[\w]+$"));

static SCHEME: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[\w.+-]{2,}:/{0,2}$"));

/// `do_urlize`
pub fn urlize(cx: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [limit, nofollow, target, rel, schemes] = Sig {
        name: "do_urlize",
        leading: &["eval_ctx", "value"],
        params: ["trim_url_limit", "nofollow", "target", "rel", "extra_schemes"],
        required: 0,
    }
    .bind(args)?;
    let mut rels: BTreeSet<String> = BTreeSet::from(["noopener".to_owned()]);
    if let Some(rel) = rel
        && python::truth(rel, it)?
    {
        let words = python::call_method(rel, "split", &Args::default(), it)?;
        for word in python::to_vec(&words, it)? {
            rels.insert(text(&word).unwrap_or_default().to_owned());
        }
    }
    if nofollow.map_or(Ok(false), |nofollow| python::truth(nofollow, it))? {
        rels.insert("nofollow".to_owned());
    }
    let rel = rels.into_iter().collect::<Vec<_>>().join(" ");
    let schemes = match schemes.filter(|schemes| !schemes.is_none()) {
        None => Vec::new(),
        Some(schemes) => {
            let given = python::to_vec(schemes, it)?;
            for scheme in &given {
                if !SCHEME.is_match(searched(scheme)?) {
                    let message = format!("{} is not a valid URI scheme prefix.", python::repr(scheme, it)?);
                    return Err(PyErr::new("FilterArgumentError", message));
                }
            }
            // the check has used a generator up
            if python::type_name(schemes) == "generator" { Vec::new() } else { given }
        }
    };
    let source = escaped(subject, it)?;
    let mut attributes = format!(" rel=\"{}\"", escaped(&Value::from(rel), it)?);
    if let Some(target) = target.filter(|target| !target.is_none())
        && python::truth(target, it)?
    {
        attributes.push_str(&format!(" target=\"{}\"", escaped(target, it)?));
    }
    it.charge(source.len() as u64 / 8)?;
    let links = Links { attributes, limit: limit.filter(|limit| !limit.is_none()), schemes };
    let mut out = String::with_capacity(source.len());
    for word in split_white(&source) {
        if word.starts_with(chars::is_space) {
            out.push_str(word);
        } else {
            links.word(word, &mut out, it)?;
        }
    }
    Ok(if cx.autoescape { markup(out) } else { Value::from(out) })
}

struct Links<'a> {
    attributes: String,
    limit: Option<&'a Value>,
    schemes: Vec<Value>,
}

impl Links<'_> {
    fn word(&self, word: &str, out: &mut String, it: &mut dyn Interp) -> PyResult<()> {
        let start = word.len() - strip_start(word).len();
        let (head, rest) = word.split_at(start);
        let (middle, tail) = rest.split_at(strip_end(rest));
        let (mut middle, mut tail) = (middle.to_owned(), tail);
        // brackets opened in the middle take their closing ones back from the tail
        for (open, close) in [("(", ")"), ("<", ">"), ("&lt;", "&gt;")] {
            let opened = middle.matches(open).count();
            if opened <= middle.matches(close).count() {
                continue;
            }
            for _ in 0..opened.min(tail.matches(close).count()) {
                let Some(at) = tail.find(close) else { break };
                let (taken, rest) = tail.split_at(at + close.len());
                middle.push_str(taken);
                tail = rest;
            }
        }
        out.push_str(head);
        out.push_str(&self.link(middle, it)?);
        out.push_str(tail);
        Ok(())
    }

    fn link(&self, mut middle: String, it: &mut dyn Interp) -> PyResult<String> {
        let attributes = &self.attributes;
        if HTTP.is_match(&middle) {
            let scheme = if middle.starts_with("https://") || middle.starts_with("http://") { "" } else { "https://" };
            let shown = self.trim(&middle, it)?;
            return Ok(format!("<a href=\"{scheme}{middle}\"{attributes}>{shown}</a>"));
        }
        if let Some(address) = middle.strip_prefix("mailto:")
            && EMAIL.is_match(address)
        {
            return Ok(format!("<a href=\"{middle}\">{address}</a>"));
        }
        let may_be_address = middle.contains('@')
            && !middle.starts_with("www.")
            && !middle.starts_with('@')
            && !middle.contains(':')
            && EMAIL.is_match(&middle);
        if may_be_address {
            return Ok(format!("<a href=\"mailto:{middle}\">{middle}</a>"));
        }
        for scheme in &self.schemes {
            let scheme = text(scheme).unwrap_or_default();
            if middle != scheme && middle.starts_with(scheme) {
                middle = format!("<a href=\"{middle}\"{attributes}>{middle}</a>");
            }
        }
        Ok(middle)
    }

    fn trim(&self, url: &str, it: &mut dyn Interp) -> PyResult<String> {
        let Some(limit) = self.limit else { return Ok(url.to_owned()) };
        if !python::compare(CmpOp::Gt, &python::int(url.chars().count()), limit, it)? {
            return Ok(url.to_owned());
        }
        let none = python::none();
        let shown = python::slice(&Value::from(url), &none, limit, &none, it)?;
        Ok(format!("{}...", text(&shown).unwrap_or_default()))
    }
}

/// Without opening brackets.
fn strip_start(word: &str) -> &str {
    let mut rest = word;
    while let Some(shorter) = rest.strip_prefix(['(', '<']).or_else(|| rest.strip_prefix("&lt;")) {
        rest = shorter;
    }
    rest
}

/// Where closing brackets and punctuation begin.
fn strip_end(word: &str) -> usize {
    let mut rest = word;
    while let Some(shorter) = rest.strip_suffix([')', '>', '.', ',', '\n']).or_else(|| rest.strip_suffix("&gt;")) {
        rest = shorter;
    }
    rest.len()
}
