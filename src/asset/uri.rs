//! URIs of assets: Airflow 3.3's validation and normalisation on top of the rules of Python's `urllib.parse`.

use std::net::{Ipv4Addr, Ipv6Addr};

use unicode_normalization::UnicodeNormalization;

use crate::python::{PyErr, PyResult, repr_str};

/// Schemes after which an empty authority is kept when a URI is put together (`urllib.parse.uses_netloc`).
const USES_NETLOC: [&str; 25] = [
    "ftp", "http", "gopher", "nntp", "telnet", "imap", "wais", "file", "mms", "https", "shttp", "snews", "prospero",
    "rtsp", "rtsps", "rtspu", "rsync", "svn", "svn+ssh", "sftp", "nfs", "git", "git+ssh", "ws", "wss",
];

const PASSWORD_WARNING: &str = "An Asset URI should not contain a password. User info has been automatically dropped.";

/// A URI as Airflow stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SanitizedUri {
    /// The normalised URI.
    pub uri: String,
    /// Warnings Airflow shows.
    pub warnings: Vec<String>,
}

/// The five parts of a URI (`urllib.parse.SplitResult`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SplitUri {
    pub scheme: String,
    pub netloc: String,
    pub path: String,
    pub query: String,
    pub fragment: String,
}

impl SplitUri {
    /// `urlsplit(text)`
    pub fn parse(text: &str) -> PyResult<Self> {
        let text = text.trim_start_matches(|c: char| c <= ' ');
        let text: String = text.chars().filter(|c| !matches!(c, '\t' | '\r' | '\n')).collect();
        let mut rest = text.as_str();
        let mut scheme = String::new();
        if let Some((head, tail)) = rest.split_once(':') {
            let starts_well = head.starts_with(|c: char| c.is_ascii_alphabetic());
            if starts_well && head.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')) {
                scheme = head.to_ascii_lowercase();
                rest = tail;
            }
        }
        let mut netloc = "";
        if let Some(after) = rest.strip_prefix("//") {
            let end = after.find(['/', '?', '#']).unwrap_or(after.len());
            (netloc, rest) = after.split_at(end);
            check_brackets(netloc)?;
        }
        let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        check_netloc(netloc)?;
        Ok(SplitUri {
            scheme,
            netloc: netloc.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            fragment: fragment.to_owned(),
        })
    }

    /// `urlunsplit(self)`
    pub fn join(&self) -> String {
        let mut text = self.path.clone();
        let keeps_empty = USES_NETLOC.contains(&self.scheme.as_str()) && !text.starts_with("//");
        if !self.netloc.is_empty() || keeps_empty {
            if !text.is_empty() && !text.starts_with('/') {
                text.insert(0, '/');
            }
            text = format!("//{}{text}", self.netloc);
        }
        if !self.scheme.is_empty() {
            text = format!("{}:{text}", self.scheme);
        }
        if !self.query.is_empty() {
            text = format!("{text}?{}", self.query);
        }
        if !self.fragment.is_empty() {
            text = format!("{text}#{}", self.fragment);
        }
        text
    }

    /// The password in the authority; an empty one counts as given.
    pub fn password(&self) -> Option<&str> {
        let (user_info, _) = self.netloc.rsplit_once('@')?;
        user_info.split_once(':').map(|(_, password)| password)
    }

    /// The port, `None` when absent.
    pub fn port(&self) -> PyResult<Option<u32>> {
        let host_info = self.netloc.rsplit_once('@').map_or(self.netloc.as_str(), |(_, host)| host);
        let port = match host_info.split_once('[') {
            Some((_, bracketed)) => {
                let after = bracketed.split_once(']').map_or("", |(_, after)| after);
                after.split_once(':').map_or("", |(_, port)| port)
            }
            None => host_info.split_once(':').map_or("", |(_, port)| port),
        };
        if port.is_empty() {
            return Ok(None);
        }
        if !port.bytes().all(|b| b.is_ascii_digit()) {
            return Err(PyErr::value_error(format!("Port could not be cast to integer value as {}", repr_str(port))));
        }
        match port.parse::<u32>() {
            Ok(port) if port <= 65535 => Ok(Some(port)),
            _ => Err(PyErr::value_error("Port out of range 0-65535")),
        }
    }
}

fn check_brackets(netloc: &str) -> PyResult<()> {
    let (open, close) = (netloc.contains('['), netloc.contains(']'));
    if open != close {
        return Err(PyErr::value_error("Invalid IPv6 URL"));
    }
    if !open {
        return Ok(());
    }
    let host = netloc.split_once('[').map_or("", |(_, after)| after);
    let host = host.split_once(']').map_or(host, |(before, _)| before);
    if let Some(future) = host.strip_prefix('v') {
        let valid = future.split_once('.').is_some_and(|(version, address)| {
            !version.is_empty()
                && version.bytes().all(|b| b.is_ascii_hexdigit())
                && !address.is_empty()
                && !address.contains('\n')
        });
        return if valid { Ok(()) } else { Err(PyErr::value_error("IPvFuture address is invalid")) };
    }
    if host.parse::<Ipv4Addr>().is_ok() {
        return Err(PyErr::value_error("An IPv4 address cannot be in brackets"));
    }
    let (address, scope) = host.split_once('%').map_or((host, None), |(address, scope)| (address, Some(scope)));
    let scope_valid = scope.is_none_or(|scope| !scope.is_empty() && !scope.contains('%'));
    if !scope_valid || address.parse::<Ipv6Addr>().is_err() {
        return Err(PyErr::value_error(format!("{} does not appear to be an IPv4 or IPv6 address", repr_str(host))));
    }
    Ok(())
}

/// Refuses an authority in which a character stands for one of the delimiters after NFKC normalisation.
fn check_netloc(netloc: &str) -> PyResult<()> {
    if netloc.is_ascii() {
        return Ok(());
    }
    let plain: String = netloc.chars().filter(|c| !matches!(c, '@' | ':' | '#' | '?')).collect();
    let normal: String = plain.nfkc().collect();
    if plain != normal && normal.contains(['/', '?', '#', '@', ':']) {
        return Err(PyErr::value_error(format!(
            "netloc '{netloc}' contains invalid characters under NFKC normalization"
        )));
    }
    Ok(())
}

/// The URI as Airflow 3.3 stores it: scheme in lower case, password and its user dropped with a warning, query sorted,
/// trailing slashes and fragment removed, then the provider's own normaliser. Text that does not look like a URI and `x-`
/// schemes stay as they are; `airflow` is reserved.
pub fn sanitize_uri(text: &str) -> PyResult<SanitizedUri> {
    let unchanged = || Ok(SanitizedUri { uri: text.to_owned(), warnings: Vec::new() });
    let mut parts = SplitUri::parse(text)?;
    // Without a scheme there is nothing to go by, with or without an authority.
    if parts.scheme.is_empty() || parts.scheme.starts_with("x-") {
        return unchanged();
    }
    if parts.scheme == "airflow" {
        return Err(PyErr::value_error("Asset scheme 'airflow' is reserved"));
    }
    let mut warnings = Vec::new();
    if parts.password().is_some_and(|password| !password.is_empty()) {
        warnings.push(PASSWORD_WARNING.to_owned());
        parts.netloc = parts.netloc.rsplit_once('@').map_or(String::new(), |(_, host)| host.to_owned());
    }
    parts.query = normalized_query(&parts.query);
    let path = parts.path.trim_end_matches('/');
    parts.path = if path.is_empty() { "/".to_owned() } else { path.to_owned() };
    parts.fragment.clear();
    let parts = provider_normalizer(parts)?.1;
    Ok(SanitizedUri { uri: parts.join(), warnings })
}

/// `Asset.normalized_uri`: the URI after its provider's normaliser; `None` where there is none or it refuses.
pub fn normalized_uri(uri: &str) -> PyResult<Option<String>> {
    let parts = SplitUri::parse(uri)?;
    Ok(match provider_normalizer(parts) {
        Ok((true, parts)) => Some(parts.join()),
        Ok((false, _)) => None,
        Err(error) if error.class == "ValueError" => None,
        Err(error) => return Err(error),
    })
}

/// Applies the normaliser that the providers `common.io` and `postgres` register for a scheme. The flag says whether the
/// scheme has one.
fn provider_normalizer(mut parts: SplitUri) -> PyResult<(bool, SplitUri)> {
    match parts.scheme.as_str() {
        "file" => Ok((true, parts)),
        "postgres" | "postgresql" => {
            if parts.netloc.is_empty() {
                return Err(PyErr::value_error("URI format postgres:// must contain a host"));
            }
            if parts.port()?.is_none() {
                parts.netloc = format!("{}:5432", parts.netloc.trim_end_matches(':'));
            }
            let mut segments: Vec<&str> = parts.path.split('/').collect();
            if segments.len() != 4 {
                return Err(PyErr::value_error(
                    "URI format postgres:// must contain database, schema, and table names",
                ));
            }
            if let Some(schema) = segments.get_mut(2).filter(|schema| schema.is_empty()) {
                *schema = "default";
            }
            parts.path = segments.join("/");
            parts.scheme = "postgres".to_owned();
            Ok((true, parts))
        }
        _ => Ok((false, parts)),
    }
}

/// `urlencode(sorted(parse_qsl(query)))`: blank values are dropped.
pub(super) fn normalized_query(query: &str) -> String {
    let mut pairs: Vec<(String, String)> = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (unquote_plus(name), unquote_plus(value)))
        .collect();
    pairs.sort();
    let pairs: Vec<String> =
        pairs.iter().map(|(name, value)| format!("{}={}", quote_plus(name), quote_plus(value))).collect();
    pairs.join("&")
}

fn unquote_plus(text: &str) -> String {
    unquote(&text.replace('+', " "))
}

/// Undoes percent-encoding (`urllib.parse.unquote`): what is not valid UTF-8 then becomes U+FFFD.
pub(crate) fn unquote(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&byte, tail)) = rest.split_first() {
        let escaped = (byte == b'%').then(|| match tail {
            [high, low, ..] => Some((hex(*high)? << 4) | hex(*low)?),
            _ => None,
        });
        match escaped.flatten() {
            Some(decoded) => {
                out.push(decoded);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                out.push(byte);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

fn quote_plus(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => out.push(char::from(byte)),
            b' ' => out.push('+'),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}
