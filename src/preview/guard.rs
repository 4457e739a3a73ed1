//! Who may ask: the checks that every request passes before anything else.

use std::net::IpAddr;

use axum::http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN};
use axum::http::{HeaderMap, Method, Uri};

use super::answer::{Failure, Query};

/// The cookie that holds the token for a browser.
pub const COOKIE_NAME: &str = "partita_token";

/// Who may ask a server.
#[derive(Debug, Clone)]
pub struct Access {
    /// The host it listens on, as it was named.
    pub host: String,
    /// What every request must know; nothing on loopback unless it is wanted.
    pub token: Option<String>,
}

/// What a request that may pass has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// Nothing more to do.
    Granted,
    /// The token stands in the query: the browser gets it as a cookie, and the address loses it.
    ByQuery,
}

impl Access {
    /// Only this machine, without a token.
    pub fn loopback() -> Self {
        Access { host: "127.0.0.1".to_owned(), token: None }
    }

    /// Checks a request.
    ///
    /// `Host` must be a name of the server: a page whose name was made to point at this machine (DNS rebinding) has its
    /// own. `Origin` must be that very host: no page from elsewhere may read or change anything.
    ///
    /// # Errors
    /// 400, 401 or 403.
    pub fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<Pass, Failure> {
        let host = one(headers, HOST.as_str())?
            .or_else(|| uri.authority().map(|authority| authority.as_str()))
            .ok_or_else(|| Failure::bad_request("the request has no Host"))?;
        let foreign =
            |what: &str, name: &str| Failure::new(403, "forbidden", format!("{what} `{name}` is none of this server"));
        if !self.is_own(host) {
            return Err(foreign("the host", host));
        }
        // A request in absolute form names the host twice.
        if let Some(authority) = uri.authority()
            && !self.is_own(authority.as_str())
        {
            return Err(foreign("the host", authority.as_str()));
        }
        if let Some(origin) = one(headers, ORIGIN.as_str())? {
            let of = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            if !of.is_some_and(|of| of.eq_ignore_ascii_case(host)) {
                return Err(foreign("the origin", origin));
            }
        }
        let navigates = method == Method::GET && uri.path() == "/";
        if let Some(site) = one(headers, "sec-fetch-site")?
            && !navigates
            && !matches!(site, "same-origin" | "none")
        {
            return Err(Failure::new(403, "forbidden", "a page from elsewhere may not ask"));
        }
        let Some(token) = &self.token else { return Ok(Pass::Granted) };
        let bearer = one(headers, AUTHORIZATION.as_str())?.and_then(|value| value.strip_prefix("Bearer "));
        let cookies =
            headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok()).flat_map(|all| all.split(';'));
        let mut cookie = cookies.filter_map(|one| one.trim().strip_prefix(COOKIE_NAME)?.strip_prefix('='));
        if bearer.is_some_and(|given| same(given, token)) || cookie.any(|given| same(given, token)) {
            return Ok(Pass::Granted);
        }
        let query = Query::parse(uri.query().unwrap_or_default());
        if navigates && query.all("token").any(|given| same(given, token)) {
            return Ok(Pass::ByQuery);
        }
        Err(Failure::new(401, "unauthorized", "the token is missing or wrong").hinted(Some(
            "open the address that the command printed, or send `Authorization: Bearer TOKEN`".to_owned(),
        )))
    }

    /// Whether a `Host` header means this server. Ports do not matter: a tunnel has one of its own.
    fn is_own(&self, host: &str) -> bool {
        let name = host_name(host);
        let local = |name: &str| {
            name.eq_ignore_ascii_case("localhost") || address(name).is_some_and(|address| address.is_loopback())
        };
        match address(&self.host) {
            // Every address of the machine: only a name could be somebody else's.
            Some(own) if own.is_unspecified() => local(name) || address(name).is_some(),
            Some(own) => address(name) == Some(own) || own.is_loopback() && local(name),
            None => name.eq_ignore_ascii_case(&self.host) || is_loopback(&self.host) && local(name),
        }
    }
}

/// Whether a host that a user names is this machine only.
pub fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || address(host).is_some_and(|address| address.is_loopback())
}

/// A header that may be given once.
fn one<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h str>, Failure> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => {
            value.to_str().map(Some).map_err(|_| Failure::bad_request(format!("the header {name} is not text")))
        }
        (None, _) => Ok(None),
        _ => Err(Failure::bad_request(format!("the header {name} is given twice"))),
    }
}

/// A host without its port.
fn host_name(host: &str) -> &str {
    if host.starts_with('[') {
        return host.split_inclusive(']').next().unwrap_or(host);
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}

fn address(name: &str) -> Option<IpAddr> {
    name.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Compares in a time that says nothing about where the texts differ.
fn same(given: &str, token: &str) -> bool {
    let (given, token) = (given.as_bytes(), token.as_bytes());
    given.len() == token.len() && given.iter().zip(token).fold(0, |differs, (one, other)| differs | (one ^ other)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(access: &Access, method: &str, target: &str, headers: &[(&str, &str)]) -> Result<Pass, u16> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = axum::http::HeaderName::from_bytes(name.as_bytes()).unwrap_or(HOST);
            map.append(name, value.parse().unwrap_or_else(|_| axum::http::HeaderValue::from_static("")));
        }
        let method = Method::from_bytes(method.as_bytes()).unwrap_or_default();
        access.check(&method, &target.parse().unwrap_or_default(), &map).map_err(|failure| failure.status)
    }

    #[test]
    fn hosts_and_origins() {
        let access = Access::loopback();
        for host in ["127.0.0.1:8470", "localhost:8470", "LOCALHOST", "[::1]:8470", "localhost:9999"] {
            assert_eq!(check(&access, "GET", "/", &[("host", host)]), Ok(Pass::Granted), "{host}");
        }
        for host in ["evil.example", "evil.example:8470", "localhost.evil.example", "10.0.0.1:8470", "0.0.0.0:8470", ""]
        {
            assert_eq!(check(&access, "GET", "/", &[("host", host)]), Err(403), "{host}");
        }
        assert_eq!(check(&access, "GET", "/", &[]), Err(400));
        assert_eq!(check(&access, "GET", "/", &[("host", "localhost"), ("host", "evil.example")]), Err(400));
        assert_eq!(check(&access, "GET", "http://evil.example/", &[("host", "localhost")]), Err(403));
        let with =
            |origin: &str| check(&access, "POST", "/api/what-if", &[("host", "localhost:1"), ("origin", origin)]);
        assert_eq!(with("http://localhost:1"), Ok(Pass::Granted));
        for origin in [
            "http://evil.example",
            "null",
            "http://localhost:2",
            "http://127.0.0.1:1",
            "http://localhost:1.evil.example",
        ] {
            assert_eq!(with(origin), Err(403), "{origin}");
        }
        let site = |target: &str, site: &str| {
            check(&access, "GET", target, &[("host", "localhost"), ("sec-fetch-site", site)])
        };
        assert_eq!(site("/", "cross-site"), Ok(Pass::Granted));
        assert_eq!(site("/api/pipelines", "cross-site"), Err(403));
        assert_eq!(site("/api/pipelines", "same-site"), Err(403));
        assert_eq!(site("/api/pipelines", "same-origin"), Ok(Pass::Granted));
    }

    #[test]
    fn tokens() {
        let access = Access { host: "0.0.0.0".to_owned(), token: Some("s3cret".to_owned()) };
        let host = ("host", "192.168.1.2:8470");
        assert_eq!(check(&access, "GET", "/", &[host]), Err(401));
        assert_eq!(check(&access, "GET", "/?token=s3cret", &[host]), Ok(Pass::ByQuery));
        assert_eq!(check(&access, "GET", "/api/pipelines?token=s3cret", &[host]), Err(401));
        assert_eq!(check(&access, "GET", "/api/x", &[host, ("authorization", "Bearer s3cret")]), Ok(Pass::Granted));
        assert_eq!(check(&access, "GET", "/api/x", &[host, ("authorization", "Bearer s3cres")]), Err(401));
        assert_eq!(
            check(&access, "GET", "/api/x", &[host, ("cookie", "a=b; partita_token=s3cret")]),
            Ok(Pass::Granted)
        );
        assert_eq!(
            check(&access, "GET", "/", &[("host", "evil.example"), ("authorization", "Bearer s3cret")]),
            Err(403)
        );
        let named = Access { host: "box.lan".to_owned(), token: Some("t".to_owned()) };
        assert_eq!(
            check(&named, "GET", "/", &[("host", "box.lan:1"), ("authorization", "Bearer t")]),
            Ok(Pass::Granted)
        );
    }
}
