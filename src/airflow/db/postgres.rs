//! PostgreSQL servers, asked in one read-only transaction.

use std::time::Duration;

use postgres::config::SslMode;
use postgres::{Client, Config, SimpleQueryMessage};

use super::row::{Cell, Connection, Row};
use super::tls;
use super::url::{Address, Server, Tls};
use crate::airflow::SourceError;

/// How long connecting may take.
const CONNECT: u64 = 10;

/// How long the server may take for its greeting after that.
const GREETING: u64 = 5;

/// A PostgreSQL server.
pub(super) struct PostgresServer {
    shown: String,
    client: Client,
}

impl PostgresServer {
    /// Connects and begins a transaction that can only read.
    ///
    /// # Errors
    /// A server that is not reached in ten seconds, a wrong password, TLS that is asked for and not there.
    pub fn connect(server: &Server) -> Result<Self, SourceError> {
        let shown = Address::Postgres(server.clone()).to_string();
        let mut config = Config::new();
        config.application_name("partita");
        config
            .connect_timeout(Duration::from_secs(server.connect_timeout.filter(|limit| *limit > 0).unwrap_or(CONNECT)));
        config.tcp_user_timeout(Duration::from_secs(60));
        config.host(server.host.as_deref().unwrap_or("localhost"));
        if let Some(port) = server.port {
            config.port(port);
        }
        if let Some(user) = &server.user {
            config.user(user);
        }
        if let Some(password) = &server.password {
            config.password(password);
        }
        if let Some(database) = server.database.as_ref().or(server.user.as_ref()) {
            config.dbname(database);
        }
        if let Some(options) = &server.options {
            config.options(options);
        }
        let mut client = connect(&mut config, server).map_err(|error| explained(&shown, &error))?;
        client
            .batch_execute(
                "SET TIME ZONE 'UTC'; SET DateStyle TO 'ISO'; SET IntervalStyle TO 'postgres'; \
                 SET standard_conforming_strings TO on; SET bytea_output TO 'hex'; SET statement_timeout TO '10min'; \
                 BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            )
            .map_err(|error| explained(&shown, &error))?;
        Ok(PostgresServer { shown, client })
    }
}

/// Connects in a thread of its own: a server that takes the connection and says nothing is given up.
fn connect(config: &mut Config, server: &Server) -> Result<Client, ConnectError> {
    let limit = server.connect_timeout.filter(|limit| *limit > 0).unwrap_or(CONNECT);
    let socket = server.host.as_deref().is_some_and(|host| host.starts_with('/'));
    // As libpq: a connection within the machine is never under TLS.
    config.ssl_mode(match server.tls {
        Tls::Disable => SslMode::Disable,
        _ if socket => SslMode::Disable,
        Tls::Prefer => SslMode::Prefer,
        Tls::Require | Tls::VerifyCa | Tls::VerifyFull => SslMode::Require,
    });
    let connector = tls::connector(server).map_err(ConnectError::Tls)?;
    let config = config.clone();
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        // Nobody listens any more when it took too long.
        let _ = send.send(config.connect(connector));
    });
    match receive.recv_timeout(Duration::from_secs(limit + GREETING)) {
        Ok(connected) => connected.map_err(ConnectError::Server),
        Err(_) => Err(ConnectError::Silent(limit + GREETING)),
    }
}

enum ConnectError {
    Server(postgres::Error),
    Tls(SourceError),
    Silent(u64),
}

impl From<postgres::Error> for ConnectError {
    fn from(error: postgres::Error) -> Self {
        ConnectError::Server(error)
    }
}

fn explained(shown: &str, error: &impl Explain) -> SourceError {
    error.explain(shown)
}

trait Explain {
    fn explain(&self, shown: &str) -> SourceError;
}

impl Explain for ConnectError {
    fn explain(&self, shown: &str) -> SourceError {
        match self {
            ConnectError::Server(error) => error.explain(shown),
            ConnectError::Silent(seconds) => {
                SourceError::new(format!("{shown}: no answer within {seconds} s; is it a PostgreSQL server?"))
            }
            ConnectError::Tls(error) => error.clone(),
        }
    }
}

impl Explain for postgres::Error {
    fn explain(&self, shown: &str) -> SourceError {
        let Some(error) = self.as_db_error() else {
            if self.to_string().contains("password missing") {
                return SourceError::new(format!("{shown}: the server asks for a password"))
                    .help("write it into the URL, user:password@host, or set PGPASSWORD");
            }
            let cause = std::error::Error::source(self).map(|cause| format!(": {cause}")).unwrap_or_default();
            return SourceError::new(format!(
                "{shown} cannot be reached: {self}{}",
                if self.to_string().contains(&cause) { "" } else { &cause }
            ));
        };
        // The server's own sentence: it names users, databases and tables, never a password.
        let message = SourceError::new(format!("{shown}: {}", error.message()));
        match error.code().code() {
            "28P01" | "28000" => message.help("the user's name and password are those of Airflow's sql_alchemy_conn"),
            "42P01" => message.help("another schema? add ?options=-csearch_path=SCHEMA to the URL"),
            _ => message,
        }
    }
}

impl Connection for PostgresServer {
    fn rows(&mut self, sql: &str) -> Result<Vec<Row>, SourceError> {
        let messages = self.client.simple_query(sql).map_err(|error| explained(&self.shown, &error))?;
        let rows = messages.into_iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(Row {
                cells: (0..row.len())
                    .map(|at| row.get(at).map_or(Cell::Null, |text| Cell::Text(text.to_owned())))
                    .collect(),
            }),
            _ => None,
        });
        Ok(rows.collect())
    }

    fn row_order(&self) -> &'static str {
        "ctid"
    }

    fn tables(&mut self) -> Result<Vec<String>, SourceError> {
        let rows = self.rows(
            "SELECT c.relname FROM pg_catalog.pg_class c WHERE c.relkind IN ('r', 'p') AND pg_catalog.pg_table_is_visible(c.oid)",
        )?;
        Ok(rows.iter().map(|row| row.string(0)).collect())
    }
}
