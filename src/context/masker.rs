//! Hides secrets in text shown or stored for people.
//!
//! Which values are secret follows Airflow's own masker (`airflow.sdk._shared.secrets_masker`): passwords and extras of
//! connections, and variables, params and parts of them whose name is sensitive.

use super::connection::quote;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::python::repr_str;
use crate::run::{Json, JsonMap, Run, unreadable_error};

/// What stands in a secret's place.
pub const MASK: &str = "***";

/// Parts of names that make a value a secret (`DEFAULT_SENSITIVE_FIELDS` of Airflow).
pub const SENSITIVE_NAMES: &[&str] = &[
    "access_key",
    "access_token",
    "api_key",
    "apikey",
    "auth_header",
    "authorization",
    "bearer",
    "connection_string",
    "dsn",
    "keyfile_dict",
    "passphrase",
    "passwd",
    "password",
    "private_key",
    "proxies",
    "proxy",
    "proxy_password",
    "secret",
    "service_account",
    "service_key",
    "token",
    "webhook_url",
];

/// Shorter values are not masked: they would hide ordinary text.
const MIN_LENGTH: usize = 5;

/// Never masked, however it is named.
const COMMON: &str = "airflow";

const DEPTH: usize = 128;

/// True when a value of that name is a secret.
pub fn is_sensitive(name: &str) -> bool {
    let name = name.trim().to_lowercase();
    SENSITIVE_NAMES.iter().any(|part| name.contains(part))
}

/// Replaces every known secret by `***`, in one pass over the text.
#[derive(Debug, Clone, Default)]
pub struct Masker {
    patterns: Option<AhoCorasick>,
}

/// Collects secrets.
#[derive(Debug, Default)]
pub struct Secrets(BTreeSet<String>);

impl Secrets {
    /// What is secret in a run: its connections, variables, params and conf.
    pub fn of_run(run: &Run) -> Self {
        let mut secrets = Secrets::default();
        for connection in run.connections.values() {
            secrets.add_connection(connection);
        }
        secrets.add_named(&run.variables);
        secrets.add_named(&run.params);
        if let Some(conf) = &run.dag_run.conf {
            secrets.add_named(conf);
        }
        for values in run.xcom.values() {
            secrets.add_named(values);
        }
        secrets.add_named(&run.user_macros);
        secrets
    }

    /// A connection: its password, its extra, and what is sensitive inside the extra.
    pub fn add_connection(&mut self, connection: &Json) {
        for field in ["password", "extra"] {
            if let Some(text) = connection.get(field).and_then(Json::as_str) {
                self.add(text);
            }
        }
        if let Some(extra) = connection.get("extra").and_then(Json::as_str)
            && let Ok(extra) = serde_json::from_str::<Json>(extra)
        {
            self.walk(None, &extra, 0);
        }
    }

    /// Values by name: those with a sensitive name, at any depth. Text that is JSON is looked into as well.
    pub fn add_named(&mut self, values: &JsonMap) {
        for (name, value) in values {
            self.walk(Some(name), value, 0);
            if let Some(Ok(parsed @ (Json::Object(_) | Json::Array(_) | Json::String(_)))) =
                value.as_str().map(serde_json::from_str::<Json>)
            {
                self.walk(Some(name), &parsed, 0);
            }
        }
    }

    /// A value that was declared secret: whatever its length.
    pub fn add_declared(&mut self, secret: &str) {
        if !secret.is_empty() {
            self.0.insert(secret.to_owned());
        }
    }

    fn walk(&mut self, name: Option<&str>, value: &Json, depth: usize) {
        if depth > DEPTH {
            return;
        }
        match value {
            // What cannot be read hides nothing: its reason is for people.
            value if unreadable_error(value).is_some() => {}
            Json::Object(map) => {
                let hidden = name.is_some_and(is_sensitive);
                for (key, value) in map {
                    // everything inside a sensitive value is secret, whatever its own key says
                    let name = if hidden { name } else { Some(key.as_str()) };
                    self.walk(name, value, depth + 1);
                }
            }
            Json::Array(items) => items.iter().for_each(|item| self.walk(name, item, depth + 1)),
            Json::String(text) if name.is_some_and(is_sensitive) => self.add(text),
            Json::Number(number) if name.is_some_and(is_sensitive) => self.add(number.as_str()),
            _ => {}
        }
    }

    fn add(&mut self, secret: &str) {
        if secret.chars().count() >= MIN_LENGTH && secret.to_lowercase() != COMMON {
            self.0.insert(secret.to_owned());
        }
    }
}

impl Masker {
    /// A masker of the secrets collected, in each form in which a template may print them: as they are, inside a Python
    /// `repr`, inside JSON, quoted for a URI.
    pub fn new(secrets: Secrets) -> Self {
        let mut patterns = BTreeSet::new();
        for secret in secrets.0 {
            patterns.insert(inner(&repr_str(&secret)));
            if let Ok(json) = serde_json::to_string(&secret) {
                patterns.insert(ascii(&inner(&json)));
                patterns.insert(inner(&json));
            }
            for plus in [false, true] {
                patterns.insert(quote(&secret, plus));
            }
            patterns.insert(html(&secret));
            patterns.insert(secret);
        }
        if patterns.is_empty() {
            return Masker::default();
        }
        let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&patterns);
        Masker { patterns: built.ok() }
    }

    /// A masker of a run's secrets.
    pub fn of_run(run: &Run) -> Self {
        Masker::new(Secrets::of_run(run))
    }

    /// The text with each secret replaced by `***`.
    pub fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match &self.patterns {
            Some(patterns) if patterns.is_match(text) => {
                let mut out = String::with_capacity(text.len());
                patterns.replace_all_with(text, &mut out, |_, _, out| {
                    out.push_str(MASK);
                    true
                });
                Cow::Owned(out)
            }
            _ => Cow::Borrowed(text),
        }
    }

    /// True when there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_none()
    }
}

/// A quoted text without its quotes.
fn inner(quoted: &str) -> String {
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

/// JSON text with everything beyond ASCII escaped, as Python's `json.dumps` writes it.
fn ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}

fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('\'', "&#39;").replace('"', "&#34;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(extra: &str) -> Json {
        serde_json::json!({"conn_type": "postgres", "password": "s3cr3tpw", "extra": extra})
    }

    #[test]
    fn a_password_is_hidden_in_every_form() {
        let mut secrets = Secrets::default();
        secrets.add_connection(&serde_json::json!({"password": "p@ss w'rd"}));
        let masker = Masker::new(secrets);
        assert_eq!(masker.mask("x p@ss w'rd y"), "x *** y");
        assert_eq!(masker.mask("pg://u:p%40ss%20w%27rd@h"), "pg://u:***@h");
        assert_eq!(masker.mask("a=p%40ss+w%27rd"), "a=***");
        assert_eq!(masker.mask("nothing"), "nothing");
    }

    #[test]
    fn names_decide() {
        assert!(is_sensitive("MY_API_KEY") && is_sensitive(" Password ") && !is_sensitive("bucket"));
        let mut secrets = Secrets::default();
        secrets.add_connection(&run(r#"{"token": "abcdef", "region": "eu-west"}"#));
        secrets.add_named(
            serde_json::json!({"api_key": "0123456", "plain": "visible", "cfg": "{\"secret\": \"hush-hush\"}"})
                .as_object()
                .unwrap_or(&JsonMap::new()),
        );
        let masker = Masker::new(secrets);
        assert_eq!(masker.mask("s3cr3tpw abcdef eu-west 0123456 visible hush-hush"), "*** *** eu-west *** visible ***");
    }

    #[test]
    fn short_and_common_values_stay() {
        let mut secrets = Secrets::default();
        secrets.add_connection(&serde_json::json!({"password": "1234"}));
        secrets.add_connection(&serde_json::json!({"password": "airflow"}));
        assert!(Masker::new(secrets).is_empty());
    }
}
