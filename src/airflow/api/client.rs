//! Requests to Airflow's public REST API (`/api/v2`), and what is made of answers that are none.

use std::time::Duration;

use camino::Utf8PathBuf;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value as Json, json};
use ureq::config::RedirectAuthHeaders;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

use crate::airflow::SourceError;

/// Most bytes of one answer.
const BODY_LIMIT: u64 = 64 << 20;

/// Most redirects that are followed.
const REDIRECTS: u32 = 5;

/// How often a request is tried.
const TRIES: u32 = 4;

/// The wait before the second try; it doubles.
const BACK_OFF: Duration = Duration::from_millis(400);

/// The longest wait that a server may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// What a segment of a path may hold.
const SEGMENT: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Who is asking.
#[derive(Clone, Default)]
pub enum Credentials {
    /// Nobody in particular.
    #[default]
    None,
    /// A token.
    Token(String),
    /// A user and a password, for `POST /auth/token`.
    Login(String, String),
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Credentials::None => "None",
            Credentials::Token(_) => "Token(***)",
            Credentials::Login(..) => "Login(***)",
        })
    }
}

/// How to reach the API.
#[derive(Debug, Clone)]
pub struct Options {
    /// Who is asking.
    pub credentials: Credentials,
    /// Certificates to trust in place of the system's, in PEM.
    pub ca_file: Option<Utf8PathBuf>,
    /// How long one request may take.
    pub timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options { credentials: Credentials::None, ca_file: None, timeout: Duration::from_secs(30) }
    }
}

/// A client of one Airflow.
pub struct Client {
    agent: ureq::Agent,
    base: String,
    token: Option<String>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("base", &self.base).finish_non_exhaustive()
    }
}

/// What a request came to.
enum Attempt {
    /// JSON.
    Answer(Json),
    /// Worth another try, after a wait that the server may have asked for.
    Again(SourceError, Option<Duration>),
}

impl Client {
    /// A client for the API server at a URL (`https://airflow.example/prefix`, with or without `/api/v2`), logged in.
    ///
    /// # Errors
    /// A URL that is none, certificates that cannot be read, a login that is refused.
    pub fn connect(url: &str, options: &Options) -> Result<Self, SourceError> {
        let base = url.trim_end_matches('/');
        let base = base.strip_suffix("/api/v2").unwrap_or(base);
        if !(base.starts_with("http://") || base.starts_with("https://")) {
            return Err(SourceError::new("the URL of the API server begins with http:// or https://"));
        }
        let host = base.split_once("://").map(|(_, rest)| rest.split('/').next().unwrap_or(rest)).unwrap_or_default();
        if host.is_empty() || host.contains('@') {
            return Err(SourceError::new(match host.is_empty() {
                true => "the URL of the API server has no host",
                false => "credentials do not belong into the URL of the API server",
            })
            .help("give AIRFLOW_API_TOKEN, or AIRFLOW_API_USERNAME and AIRFLOW_API_PASSWORD in the environment"));
        }
        let mut config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(REDIRECTS)
            .redirect_auth_headers(RedirectAuthHeaders::SameHost)
            .timeout_connect(Some(options.timeout.min(Duration::from_secs(10))))
            .timeout_per_call(Some(options.timeout))
            .user_agent(concat!("partita/", env!("CARGO_PKG_VERSION")))
            .accept("application/json");
        let roots = match &options.ca_file {
            Some(path) => certificates(path)?,
            None => RootCerts::PlatformVerifier,
        };
        config = config.tls_config(TlsConfig::builder().root_certs(roots).build());
        let mut client = Client { agent: config.build().into(), base: base.to_owned(), token: None };
        client.log_in(&options.credentials)?;
        Ok(client)
    }

    /// Where it is.
    pub fn base(&self) -> &str {
        &self.base
    }

    fn log_in(&mut self, credentials: &Credentials) -> Result<(), SourceError> {
        let url = format!("{}/auth/token", self.base);
        let answer = match credentials {
            Credentials::Token(token) => {
                if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
                    return Err(SourceError::new("AIRFLOW_API_TOKEN is no token: it is empty or holds spaces"));
                }
                self.token = Some(token.clone());
                return Ok(());
            }
            Credentials::Login(username, password) => {
                let body = json!({"username": username, "password": password});
                self.retried(&url, Some(&body)).map_err(|error| match error.message.contains("HTTP 401") {
                    true => SourceError::new(format!("{}: the user name or password is wrong (HTTP 401)", self.base))
                        .help("AIRFLOW_API_USERNAME and AIRFLOW_API_PASSWORD are those of the login page"),
                    false => error,
                })?
            }
            // An Airflow whose users are all administrators gives a token to anybody. Others say at the first request
            // what they want.
            Credentials::None => match self.attempt(&url, None) {
                Ok(Attempt::Answer(answer)) => answer,
                Ok(Attempt::Again(..)) | Err(_) => return Ok(()),
            },
        };
        self.token = answer.get("access_token").and_then(Json::as_str).map(str::to_owned);
        match (&self.token, credentials) {
            (None, Credentials::Login(..)) => {
                Err(SourceError::new(format!("{url}: the answer holds no `access_token`")))
            }
            _ => Ok(()),
        }
    }

    /// The JSON at a path below `/api/v2`. Segments are escaped.
    ///
    /// # Errors
    /// A server that is not reached or does not answer with JSON, after several tries where that may help.
    pub fn get(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Json, SourceError> {
        self.retried(&self.url(path, query), None)
    }

    /// The same; `None` for what is not there.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub fn find(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Option<Json>, SourceError> {
        match self.get(path, query) {
            Err(error) if error.message.contains("HTTP 404") && !error.message.contains("HTML") => Ok(None),
            other => other.map(Some),
        }
    }

    /// Every item of a collection, page after page.
    ///
    /// # Errors
    /// As [`Client::get`], and an answer without the collection.
    pub fn all(&self, path: &[&str], query: &[(&str, &str)], items: &str) -> Result<Vec<Json>, SourceError> {
        let mut found = Vec::new();
        loop {
            let (page, total) = self.page(path, query, items, found.len())?;
            let empty = page.is_empty();
            found.extend(page);
            if empty || found.len() >= total {
                return Ok(found);
            }
        }
    }

    /// A page of a collection and how many items there are in all.
    ///
    /// # Errors
    /// As [`Client::all`].
    pub fn page(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        items: &str,
        offset: usize,
    ) -> Result<(Vec<Json>, usize), SourceError> {
        let offset_text = offset.to_string();
        let mut query = query.to_vec();
        if !query.iter().any(|(name, _)| *name == "limit") {
            query.push(("limit", "100"));
        }
        query.push(("offset", &offset_text));
        let mut body = self.get(path, &query)?;
        let total = body.get("total_entries").and_then(Json::as_u64).and_then(|total| usize::try_from(total).ok());
        match body.get_mut(items).map(Json::take) {
            Some(Json::Array(page)) => {
                let total = total.unwrap_or(offset + page.len());
                Ok((page, total))
            }
            _ => Err(SourceError::new(format!("{}: the answer holds no list `{items}`", self.url(path, &[])))
                .help("is this the API server of Airflow 3?")),
        }
    }

    fn url(&self, path: &[&str], query: &[(&str, &str)]) -> String {
        let mut url = format!("{}/api/v2", self.base);
        for segment in path {
            url.push('/');
            url.extend(utf8_percent_encode(segment, &SEGMENT));
        }
        for (at, (name, value)) in query.iter().enumerate() {
            url.push(if at == 0 { '?' } else { '&' });
            url.push_str(name);
            url.push('=');
            url.extend(utf8_percent_encode(value, &SEGMENT));
        }
        url
    }

    fn retried(&self, url: &str, body: Option<&Json>) -> Result<Json, SourceError> {
        let mut wait = BACK_OFF;
        let mut tried = 1;
        loop {
            match self.attempt(url, body)? {
                Attempt::Answer(answer) => return Ok(answer),
                Attempt::Again(error, _) if tried == TRIES => {
                    return Err(SourceError { message: format!("{} ({TRIES} tries)", error.message), ..error });
                }
                Attempt::Again(error, asked) => {
                    let pause = asked.unwrap_or(wait);
                    if pause > LONGEST_WAIT {
                        return Err(error.help(format!("the server asks to wait for {} s", pause.as_secs())));
                    }
                    std::thread::sleep(pause);
                    wait *= 2;
                    tried += 1;
                }
            }
        }
    }

    fn attempt(&self, url: &str, body: Option<&Json>) -> Result<Attempt, SourceError> {
        let sent = match body {
            Some(body) => self.agent.post(url).send_json(body),
            None => {
                let mut request = self.agent.get(url);
                if let Some(token) = &self.token {
                    request = request.header("Authorization", format!("Bearer {token}"));
                }
                request.call()
            }
        };
        // A query holds nothing that a person wants to read.
        let shown = url.split('?').next().unwrap_or(url);
        let mut response = match sent {
            Ok(response) => response,
            Err(error) => return failed(shown, error),
        };
        let status = response.status().as_u16();
        let wait = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let kind = response.headers().get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let html = kind.to_ascii_lowercase().contains("html");
        let read = response.body_mut().with_config().limit(BODY_LIMIT).read_to_vec();
        let bytes = match read {
            Ok(bytes) => bytes,
            Err(ureq::Error::BodyExceedsLimit(_)) => {
                return Err(SourceError::new(format!("{shown}: the answer has more than {} MB", BODY_LIMIT >> 20)));
            }
            Err(error) => return failed(shown, error),
        };
        let parsed = serde_json::from_slice::<Json>(&bytes);
        if !(200..300).contains(&status) {
            let detail = parsed.ok().and_then(|body| detail(&body)).unwrap_or_default();
            let what =
                format!("{shown}: HTTP {status}{}{detail}", if html { ", and HTML in place of JSON" } else { "" });
            let error = SourceError::new(what);
            return match status {
                401 => Err(error.help(match self.token {
                    Some(_) => "the token is wrong, or expired: `POST /auth/token` gives a new one",
                    None => {
                        "give AIRFLOW_API_TOKEN, or AIRFLOW_API_USERNAME and AIRFLOW_API_PASSWORD in the environment"
                    }
                })),
                // A token that is none of this Airflow's.
                403 if error.message.contains("token") || error.message.contains("JWT") => {
                    Err(error.help("the token is wrong, or expired: `POST /auth/token` gives a new one"))
                }
                403 => Err(error.help("the user may not read this")),
                408 | 425 | 429 | 500 | 502 | 503 | 504 => Ok(Attempt::Again(error, wait.map(Duration::from_secs))),
                _ => Err(error),
            };
        }
        match parsed {
            Ok(answer) => Ok(Attempt::Answer(answer)),
            Err(_) if html || bytes.trim_ascii_start().starts_with(b"<") => {
                Err(SourceError::new(format!("{shown}: the server answers with HTML in place of JSON"))
                    .help("a login page of a proxy, or not the address of the API server?"))
            }
            Err(error) => Err(SourceError::new(format!("{shown}: the answer is no JSON, or cut: {error}"))),
        }
    }
}

/// What Airflow says about an error: `{"detail": ...}`.
fn detail(body: &Json) -> Option<String> {
    let detail = body.get("detail")?;
    let text = detail.as_str().map(str::to_owned).or_else(|| detail.get("message")?.as_str().map(str::to_owned))?;
    Some(format!(" ({})", text.chars().take(200).collect::<String>()))
}

fn failed(shown: &str, error: ureq::Error) -> Result<Attempt, SourceError> {
    let again = |text: String| Ok(Attempt::Again(SourceError::new(format!("{shown}: {text}")), None));
    match error {
        ureq::Error::Timeout(timeout) => {
            Err(SourceError::new(format!("{shown}: no answer in time ({timeout})"))
                .help("--timeout SECONDS allows more"))
        }
        ureq::Error::HostNotFound => Err(SourceError::new(format!("{shown}: there is no such host"))),
        ureq::Error::TooManyRedirects => {
            Err(SourceError::new(format!("{shown}: the server redirects more than {REDIRECTS} times")))
        }
        ureq::Error::RedirectFailed => Err(SourceError::new(format!("{shown}: the server redirects the login"))
            .help("give the address it redirects to")),
        ureq::Error::ConnectionFailed => again("the server cannot be reached".to_owned()),
        ureq::Error::Io(error) => {
            match error.get_ref().is_some_and(|inner| inner.to_string().contains("certificate")) {
                true => Err(SourceError::new(format!("{shown}: TLS: {error}"))
                    .help("--ca-file FILE trusts the certificates of your organisation")),
                false if error.to_string().contains("corrupt message") => {
                    Err(SourceError::new(format!("{shown}: the server does not speak TLS: {error}"))
                        .help("http:// in place of https://?"))
                }
                false => again(error.to_string()),
            }
        }
        error => Err(SourceError::new(format!("{shown}: {error}"))),
    }
}

fn certificates(path: &Utf8PathBuf) -> Result<RootCerts, SourceError> {
    let bytes = std::fs::read(path).map_err(|error| SourceError::new(format!("cannot read {path}: {error}")))?;
    let mut certificates = Vec::new();
    for item in parse_pem(&bytes) {
        match item {
            Ok(PemItem::Certificate(certificate)) => certificates.push(certificate),
            Ok(_) => {}
            Err(error) => return Err(SourceError::new(format!("{path} is no PEM file: {error}"))),
        }
    }
    if certificates.is_empty() {
        return Err(SourceError::new(format!("{path} holds no certificate in PEM")));
    }
    Ok(certificates.into())
}
