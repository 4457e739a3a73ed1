//! Addresses of metadata databases, as Airflow's `[database] sql_alchemy_conn` has them.

use camino::Utf8PathBuf;
use percent_encoding::percent_decode_str;

use crate::airflow::SourceError;

/// A database's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A file of SQLite.
    Sqlite(Utf8PathBuf),
    /// A PostgreSQL server.
    Postgres(Server),
}

/// A PostgreSQL server and how to reach it.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Server {
    /// Host name, address, or the folder of a Unix socket.
    pub host: Option<String>,
    /// Port; 5432 without one.
    pub port: Option<u16>,
    /// User.
    pub user: Option<String>,
    /// Password.
    pub password: Option<String>,
    /// Database; the user's name without one.
    pub database: Option<String>,
    /// `sslmode`
    pub tls: Tls,
    /// `sslrootcert`
    pub root_certificate: Option<Utf8PathBuf>,
    /// `options` of the connection, such as `-csearch_path=airflow`.
    pub options: Option<String>,
    /// `connect_timeout` in seconds.
    pub connect_timeout: Option<u64>,
}

/// `sslmode` of libpq.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tls {
    /// `disable`: never.
    Disable,
    /// `allow` and `prefer`: when the server can.
    #[default]
    Prefer,
    /// `require`: always, whoever the server is.
    Require,
    /// `verify-ca`: with a certificate of a known authority.
    VerifyCa,
    /// `verify-full`: and the server is who it says.
    VerifyFull,
}

/// Options of a URL that say nothing about reading.
const WITHOUT_EFFECT: [&str; 14] = [
    "application_name",
    "cache",
    "cached_statements",
    "check_same_thread",
    "detect_types",
    "fallback_application_name",
    "gssencmode",
    "isolation_level",
    "keepalives",
    "keepalives_idle",
    "mode",
    "target_session_attrs",
    "timeout",
    "uri",
];

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&Address::Postgres(self.clone()).to_string())
    }
}

impl std::fmt::Display for Address {
    /// The address without its password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Address::Sqlite(path) => write!(f, "{path}"),
            Address::Postgres(server) => {
                f.write_str("postgresql://")?;
                if let Some(user) = &server.user {
                    f.write_str(user)?;
                    f.write_str(if server.password.is_some() { ":***@" } else { "@" })?;
                }
                let host = server.host.as_deref().unwrap_or("localhost");
                if !host.starts_with('/') {
                    f.write_str(host)?;
                    write!(f, ":{}", server.port.unwrap_or(5432))?;
                }
                write!(f, "/{}", server.database.as_deref().unwrap_or_default())?;
                if host.starts_with('/') {
                    write!(f, "?host={host}")?;
                }
                Ok(())
            }
        }
    }
}

impl Address {
    /// Reads a URL, with or without a driver's name (`postgresql+psycopg2://`), or the path of a SQLite file.
    ///
    /// # Errors
    /// A database of another kind, an option that is not known. The message never holds the password.
    pub fn parse(text: &str) -> Result<Self, SourceError> {
        let Some((scheme, rest)) = text.split_once("://") else {
            return match text.split_once(':') {
                Some((scheme, _)) if scheme.starts_with("sqlite") || scheme.starts_with("postgres") => {
                    Err(SourceError::new(format!("`{scheme}:` is followed by `//` in the URL of a database")))
                }
                _ if text.is_empty() => Err(SourceError::new("the URL of the database is empty")),
                _ => Ok(Address::Sqlite(text.into())),
            };
        };
        let dialect = scheme.split('+').next().unwrap_or(scheme).to_ascii_lowercase();
        match dialect.as_str() {
            "sqlite" => sqlite(rest),
            "postgresql" | "postgres" => postgres(rest).map(Address::Postgres),
            "mysql" | "mariadb" => Err(SourceError::new("databases of MySQL are not read")
                .help("SQLite and PostgreSQL are; `partita import serialized` reads Dags exported from any of them")),
            _ => Err(SourceError::new(format!("`{scheme}://` is not the URL of a database that Airflow uses")).help(
                "write `sql_alchemy_conn` as Airflow has it: sqlite:////path, postgresql://user:password@host/db",
            )),
        }
    }
}

fn sqlite(rest: &str) -> Result<Address, SourceError> {
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    for (name, _) in pairs(query)? {
        if !WITHOUT_EFFECT.contains(&name.as_str()) && name != "immutable" {
            return Err(SourceError::new(format!("`{name}` in the URL of a SQLite file is not known")));
        }
    }
    let path = match rest.strip_prefix('/') {
        Some("") => return Err(SourceError::new("a SQLite database in memory cannot be read")),
        Some(path) => path,
        None if rest.is_empty() => return Err(SourceError::new("a SQLite database in memory cannot be read")),
        None => {
            return Err(SourceError::new("a SQLite URL has no host").help(
                "three slashes and a relative path, or four and an absolute one: sqlite:////opt/airflow/airflow.db",
            ));
        }
    };
    let path = path.strip_prefix("file:").unwrap_or(path);
    if path == ":memory:" {
        return Err(SourceError::new("a SQLite database in memory cannot be read"));
    }
    Ok(Address::Sqlite(path.into()))
}

fn postgres(rest: &str) -> Result<Server, SourceError> {
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    let (login, host) = match authority.rsplit_once('@') {
        Some((login, host)) => (Some(login), host),
        None => (None, authority),
    };
    let mut server = Server::default();
    if let Some(login) = login {
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(password)),
            None => (login, None),
        };
        server.user = Some(decoded(user)?).filter(|user| !user.is_empty());
        server.password = password.map(decoded).transpose()?;
    }
    let (host, port) = if let Some(rest) = host.strip_prefix('[') {
        let (host, after) = rest
            .split_once(']')
            .ok_or_else(|| SourceError::new("`[` without `]` in the host of the database's URL"))?;
        (host, after.strip_prefix(':'))
    } else {
        host.rsplit_once(':').map_or((host, None), |(host, port)| (host, Some(port)))
    };
    if !host.is_empty() {
        server.host = Some(decoded(host)?);
    }
    if let Some(port) = port.filter(|port| !port.is_empty()) {
        server.port = Some(number(port, "port")?);
    }
    server.database = Some(database.to_owned()).filter(|name| !name.is_empty());
    for (name, value) in pairs(query)? {
        match name.as_str() {
            "sslmode" | "ssl" => {
                server.tls = match value.as_str() {
                    "disable" => Tls::Disable,
                    "allow" | "prefer" => Tls::Prefer,
                    "require" | "true" => Tls::Require,
                    "verify-ca" => Tls::VerifyCa,
                    "verify-full" => Tls::VerifyFull,
                    _ => return Err(SourceError::new(format!("`{name}={value}` in the database's URL is not known"))),
                }
            }
            "sslrootcert" => server.root_certificate = Some(value.into()),
            "host" if value.contains(',') => {
                return Err(SourceError::new("several hosts in the database's URL: name one of them"));
            }
            // host:port, as SQLAlchemy's psycopg2 dialect takes it
            "host" => match value.rsplit_once(':') {
                Some((host, port)) if !host.contains(':') => {
                    server.host = Some(host.to_owned());
                    server.port = Some(number(port, "port")?);
                }
                _ => server.host = Some(value),
            },
            "port" => server.port = Some(number(&value, "port")?),
            "user" => server.user = Some(value),
            "password" => server.password = Some(value),
            "dbname" => server.database = Some(value),
            "options" => server.options = Some(value),
            "connect_timeout" => server.connect_timeout = Some(number(&value, "connect_timeout")?),
            _ if WITHOUT_EFFECT.contains(&name.as_str()) => {}
            "sslcert" | "sslkey" | "sslpassword" | "sslcrl" => {
                return Err(SourceError::new(format!(
                    "`{name}` in the database's URL: client certificates are not supported"
                )));
            }
            _ => return Err(SourceError::new(format!("`{name}` in the database's URL is not known"))),
        }
    }
    Ok(server)
}

fn number<T: std::str::FromStr>(text: &str, what: &str) -> Result<T, SourceError> {
    // The text may be a part of a password that was not escaped: it is not shown.
    text.parse().map_err(|_| {
        SourceError::new(format!("`{what}` in the database's URL is no number"))
            .help("escape `:`, `/`, `@` in a password: %3A, %2F, %40")
    })
}

fn decoded(text: &str) -> Result<String, SourceError> {
    percent_decode_str(text)
        .decode_utf8()
        .map(|text| text.into_owned())
        .map_err(|_| SourceError::new("an escape in the database's URL is not UTF-8"))
}

fn pairs(query: &str) -> Result<Vec<(String, String)>, SourceError> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decoded(name)?, decoded(&value.replace('+', " "))?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(text: &str) -> Server {
        match Address::parse(text) {
            Ok(Address::Postgres(server)) => server,
            other => unreachable!("{other:?}"),
        }
    }

    #[test]
    fn files() {
        let path = |text: &str| match Address::parse(text) {
            Ok(Address::Sqlite(path)) => path.into_string(),
            other => unreachable!("{other:?}"),
        };
        assert_eq!(path("sqlite:////opt/airflow/airflow.db"), "/opt/airflow/airflow.db");
        assert_eq!(path("sqlite:///airflow.db"), "airflow.db");
        assert_eq!(path("sqlite+aiosqlite:///a%20b.db?timeout=5"), "a%20b.db");
        assert_eq!(path("tests/airflow.db"), "tests/airflow.db");
        for bad in [
            "sqlite://",
            "sqlite:///",
            "sqlite:///:memory:",
            "sqlite://host/x",
            "sqlite:x",
            "",
            "mysql://h/db",
            "http://h",
        ] {
            assert!(Address::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn servers() {
        let full = server(
            "postgresql+psycopg2://air%40flow:p%3Aw%2F@db.example:6543/meta?sslmode=require&options=-csearch_path%3Dx",
        );
        assert_eq!(full.user.as_deref(), Some("air@flow"));
        assert_eq!(full.password.as_deref(), Some("p:w/"));
        assert_eq!((full.host.as_deref(), full.port), (Some("db.example"), Some(6543)));
        assert_eq!(full.database.as_deref(), Some("meta"));
        assert_eq!(full.tls, Tls::Require);
        assert_eq!(full.options.as_deref(), Some("-csearch_path=x"));
        assert_eq!(Address::Postgres(full.clone()).to_string(), "postgresql://air@flow:***@db.example:6543/meta");
        assert!(!format!("{full:?}").contains("p:w"));
        let six = server("postgres://[::1]/db");
        assert_eq!((six.host.as_deref(), six.port), (Some("::1"), None));
        let socket = server("postgresql+asyncpg://u@/db?host=/run/postgresql&port=5433");
        assert_eq!((socket.host.as_deref(), socket.port), (Some("/run/postgresql"), Some(5433)));
        for bad in ["postgresql://h:x/db", "postgresql://h/db?sslmode=maybe", "postgresql://h/db?nonsense=1"] {
            assert!(Address::parse(bad).is_err(), "{bad}");
        }
        let slash = Address::parse("postgresql://u:sec/ret@h/db");
        assert!(slash.is_err_and(|error| !error.to_string().contains("sec")));
    }
}
