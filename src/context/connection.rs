//! `conn` and connections (`airflow.sdk.execution_time.context.ConnectionAccessor`, `airflow.sdk.Connection`).

use std::fmt::Write as _;

use crate::python::{
    self, Args, CmpOp, Dict, HashKey, Interp, PyErr, PyObject, PyResult, Sig, Value, downcast, object, repr_str,
};
use crate::run::{Json, JsonMap, Validator, readable_json, unreadable_error};

use super::Shared;
use super::convert;

/// Reads connections by attribute.
#[derive(Debug)]
struct ConnectionAccessor {
    shared: Shared,
}

/// `conn`
pub(super) fn conn(shared: &Shared) -> Value {
    object(ConnectionAccessor { shared: shared.clone() })
}

/// A connection.
#[derive(Debug, Clone, PartialEq)]
struct Connection {
    conn_id: String,
    conn_type: String,
    host: Option<String>,
    schema: Option<String>,
    login: Option<String>,
    password: Option<String>,
    port: Option<i128>,
    extra: Option<String>,
    /// Fields that are there and cannot be read.
    unreadable: JsonMap,
}

/// A connection of these fields; `None` when they do not have the types Airflow asks for.
pub(super) fn from_fields(conn_id: &str, fields: &Json) -> Option<Value> {
    Connection::read(conn_id, fields).map(object)
}

impl ConnectionAccessor {
    fn read(&self, conn_id: &str) -> PyResult {
        let raw = self.shared.run.connections.get(conn_id);
        if let Some(error) = raw.and_then(unreadable_error) {
            return Err(error);
        }
        // one that does not validate is as good as none: the backend that raised is passed over
        match raw.and_then(|raw| Connection::read(conn_id, raw)) {
            Some(connection) => Ok(object(connection)),
            None => Err(PyErr::new("AirflowNotFoundException", format!("The conn_id `{conn_id}` isn't defined"))
                .with_hint(match raw {
                    Some(_) => format!(
                        "connection `{conn_id}` is there, but its fields do not have the types Airflow asks for"
                    ),
                    None => format!("add `{conn_id}` to `connections`"),
                })),
        }
    }
}

impl Connection {
    fn read(conn_id: &str, raw: &Json) -> Option<Self> {
        let mut readable = raw.clone();
        let mut unreadable = JsonMap::new();
        if let Some(fields) = readable.as_object_mut() {
            let hidden: Vec<String> = fields
                .iter()
                .filter(|(_, value)| unreadable_error(value).is_some())
                .map(|(name, _)| name.clone())
                .collect();
            for name in hidden {
                if let Some(marker) = fields.shift_remove(&name) {
                    unreadable.insert(name, marker);
                }
            }
        }
        let raw = &readable;
        let mut v = Validator::new("ConnectionResult");
        v.model(raw)?;
        let connection = Connection {
            conn_id: conn_id.to_owned(),
            conn_type: v.field(raw, "conn_type", true, Validator::string),
            host: v.field(raw, "host", false, Validator::opt_string),
            schema: v.field(raw, "schema", false, Validator::opt_string),
            login: v.field(raw, "login", false, Validator::opt_string),
            password: v.field(raw, "password", false, Validator::opt_string),
            port: v.field(raw, "port", false, Validator::opt_int),
            extra: v.field(raw, "extra", false, Validator::opt_string),
            unreadable,
        };
        matches!(v.finish(), Ok(None)).then_some(connection)
    }

    /// The error of a field that cannot be read.
    fn refuse(&self, field: &str) -> PyResult<()> {
        self.unreadable.get(field).and_then(unreadable_error).map_or(Ok(()), Err)
    }

    /// The error of what reads every field.
    fn refuse_any(&self) -> PyResult<()> {
        self.unreadable.values().find_map(unreadable_error).map_or(Ok(()), Err)
    }

    fn extra_dejson(&self, it: &mut dyn Interp) -> PyResult {
        let empty = || python::str_dict(Vec::<(&str, Value)>::new());
        let json = self.unreadable.get("extra").and_then(readable_json);
        if json.is_none() {
            self.refuse("extra")?;
        }
        match self.extra.as_deref().or(json) {
            None | Some("") => Ok(empty()),
            Some(extra) => match python::json::loads(extra, it) {
                Err(error) if error.class == "JSONDecodeError" => Ok(empty()),
                result => result,
            },
        }
    }

    fn uri(&self, it: &mut dyn Interp) -> PyResult<String> {
        self.refuse_any()?;
        let mut uri = if self.conn_type.is_empty() {
            "//".to_owned()
        } else {
            format!("{}://", python::lower(&self.conn_type).replace('_', "-"))
        };
        let mut host = self.host.as_deref();
        if let Some((protocol, rest)) = self.host.as_deref().and_then(|host| host.split_once("://"))
            && protocol != self.conn_type
        {
            host = Some(rest);
            if !protocol.is_empty() {
                let _ = write!(uri, "{protocol}://");
            }
        }
        let mut authority = String::new();
        if let Some(login) = &self.login {
            authority.push_str(&quote(login, false));
        }
        if let Some(password) = &self.password {
            let _ = write!(authority, ":{}", quote(password, false));
        }
        if !authority.is_empty() {
            authority.push('@');
        }
        uri.push_str(&authority);
        let host = host.filter(|host| !host.is_empty()).map(|host| quote(host, false)).unwrap_or_default();
        uri.push_str(&host);
        if let Some(port) = self.port.filter(|port| *port != 0) {
            let at = if host.is_empty() && authority.is_empty() { "@" } else { "" };
            let _ = write!(uri, "{at}:{port}");
        }
        let schema = self.schema.as_deref().filter(|schema| !schema.is_empty());
        if let Some(schema) = schema {
            let _ = write!(uri, "/{}", quote(schema, false));
        }
        if let Some(extra) = self.extra.as_deref().filter(|extra| !extra.is_empty()) {
            uri.push_str(if schema.is_some() { "?" } else { "/?" });
            match plain_query(&self.extra_dejson(it)?) {
                Some(query) => uri.push_str(&query),
                None => {
                    let _ = write!(uri, "__extra__={}", quote(extra, true));
                }
            }
        }
        Ok(uri)
    }

    /// `to_dict()`, without the check that it is JSON: everything in it came from JSON.
    fn to_dict(&self, prune_empty: bool, with_id: bool, it: &mut dyn Interp) -> PyResult {
        self.refuse_any()?;
        let mut pairs = Vec::new();
        if with_id {
            pairs.push(("conn_id", Value::from(self.conn_id.as_str())));
        }
        pairs.push(("conn_type", Value::from(self.conn_type.as_str())));
        pairs.push(("description", python::none()));
        for (name, value) in
            [("host", &self.host), ("login", &self.login), ("password", &self.password), ("schema", &self.schema)]
        {
            pairs.push((name, convert::opt_str(value.as_deref())));
        }
        pairs.push(("port", convert::opt_int(self.port)));
        if prune_empty {
            pairs.retain(|(_, value)| !value.is_none());
        }
        let extra = self.extra_dejson(it)?;
        if !prune_empty || python::truth(&extra, it)? {
            pairs.push(("extra", extra));
        }
        Ok(python::str_dict(pairs))
    }
}

/// The query of an extra that is a dict of text only, and so survives being parsed again.
fn plain_query(extra: &Value) -> Option<String> {
    let dict = downcast::<Dict>(extra)?;
    let mut parts = Vec::new();
    for (key, value) in dict.items() {
        let (key, value) = (python::text(&key)?.to_owned(), python::text(&value)?.to_owned());
        parts.push(format!("{}={}", quote(&key, true), quote(&value, true)));
    }
    (!parts.is_empty()).then(|| parts.join("&"))
}

/// `urllib.parse.quote(text, safe="")`, or `quote_plus`.
pub(super) fn quote(text: &str, plus: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => out.push(byte as char),
            b' ' if plus => out.push('+'),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

impl PyObject for ConnectionAccessor {
    fn type_name(&self) -> &str {
        "ConnectionAccessor"
    }

    fn qualified_name(&self) -> String {
        "airflow.sdk.execution_time.context.ConnectionAccessor".to_owned()
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok("<ConnectionAccessor (dynamic access)>".to_owned())
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "get" => None,
            _ if convert::is_of_object(name) => None,
            _ => Some(self.read(name)),
        }
    }

    fn has_method(&self, name: &str) -> bool {
        name == "get"
    }

    fn call_method(&self, _this: &Value, _name: &str, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
        let bound = Sig::new("ConnectionAccessor.get", &["conn_id", "default_conn"]).required(1).method().bind(args)?;
        let conn_id = bound.first().copied().flatten().cloned().unwrap_or_else(python::none);
        let Some(conn_id) = python::text(&conn_id) else {
            // the request does not validate, which looks as if there were no such connection
            return Ok(bound.get(1).copied().flatten().cloned().unwrap_or_else(python::none));
        };
        match self.read(conn_id) {
            Err(error) if error.class == "AirflowNotFoundException" => {
                Ok(bound.get(1).copied().flatten().cloned().unwrap_or_else(python::none))
            }
            result => result,
        }
    }

    fn call(&self, _args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
        // the sandbox asks whether the callee is safe, and that question is a connection's id too
        self.read("unsafe_callable")?;
        Err(PyErr::type_error("'ConnectionAccessor' object is not callable"))
    }

    fn compare(&self, op: CmpOp, other: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let equal = downcast::<ConnectionAccessor>(other).is_some();
        match op {
            CmpOp::Eq => Some(Ok(equal)),
            CmpOp::Ne => Some(Ok(!equal)),
            _ => None,
        }
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Ok(HashKey::Parts("ConnectionAccessor", Vec::new()))
    }
}

impl PyObject for Connection {
    fn type_name(&self) -> &str {
        "Connection"
    }

    fn qualified_name(&self) -> String {
        "airflow.sdk.definitions.connection.Connection".to_owned()
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        self.refuse_any()?;
        let text = |text: &Option<String>| text.as_deref().map_or_else(|| "None".to_owned(), repr_str);
        Ok(format!(
            "Connection(conn_id={}, conn_type={}, description=None, host={}, schema={}, login={}, password={}, port={}, \
             extra={})",
            repr_str(&self.conn_id),
            repr_str(&self.conn_type),
            text(&self.host),
            text(&self.schema),
            text(&self.login),
            text(&self.password),
            self.port.map_or_else(|| "None".to_owned(), |port| port.to_string()),
            text(&self.extra)
        ))
    }

    fn getattr(&self, name: &str, it: &mut dyn Interp) -> Option<PyResult> {
        if let Err(error) = self.refuse(name) {
            return Some(Err(error));
        }
        Some(Ok(match name {
            "conn_id" => Value::from(self.conn_id.as_str()),
            "conn_type" => Value::from(self.conn_type.as_str()),
            "description" => python::none(),
            "host" => convert::opt_str(self.host.as_deref()),
            "schema" => convert::opt_str(self.schema.as_deref()),
            "login" => convert::opt_str(self.login.as_deref()),
            "password" => convert::opt_str(self.password.as_deref()),
            "port" => convert::opt_int(self.port),
            "extra" => convert::opt_str(self.extra.as_deref()),
            "EXTRA_KEY" => Value::from("__extra__"),
            "extra_dejson" => return Some(self.extra_dejson(it)),
            "_build_uri"
            | "_create_host"
            | "_handle_connection_error"
            | "_normalize_conn_type"
            | "aextra_dejson"
            | "aget_uri"
            | "async_get"
            | "from_json"
            | "from_uri"
            | "get"
            | "get_hook"
            | "test_connection" => {
                return Some(Err(convert::not_built("Connection", name)));
            }
            _ => return None,
        }))
    }

    fn has_method(&self, name: &str) -> bool {
        matches!(name, "get_uri" | "get_extra_dejson" | "to_dict" | "as_json")
    }

    fn call_method(&self, _this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        let qualified = format!("Connection.{name}");
        let keywords: &[&str] = if name == "to_dict" { &["prune_empty", "validate"] } else { &[] };
        let bound = Sig::new(&qualified, &[]).method().keyword_only(keywords).bind(args)?;
        match name {
            "get_uri" => self.uri(it).map(Value::from),
            "get_extra_dejson" => self.extra_dejson(it),
            "to_dict" => {
                let prune = match bound.first().copied().flatten() {
                    Some(value) => python::truth(value, it)?,
                    None => false,
                };
                self.to_dict(prune, true, it)
            }
            _ => {
                let dict = self.to_dict(true, false, it)?;
                python::json::dumps(&dict, python::json::Options::default(), it).map(Value::from)
            }
        }
    }

    fn compare(&self, op: CmpOp, other: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let other = downcast::<Connection>(other)?;
        if let Err(error) = self.refuse_any().and_then(|()| other.refuse_any()) {
            return Some(Err(error));
        }
        match op {
            CmpOp::Eq => Some(Ok(self == other)),
            CmpOp::Ne => Some(Ok(self != other)),
            _ => None,
        }
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Err(PyErr::type_error("unhashable type: 'Connection'"))
    }
}
