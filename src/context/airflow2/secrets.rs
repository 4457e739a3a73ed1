//! `var`, `conn` and `conf` (`airflow.utils.context` of Airflow 2.10).

use std::sync::{Arc, Mutex, PoisonError};

use crate::asset::unquote;
use crate::python::{self, Args, Interp, PyErr, PyObject, PyResult, Sig, Value, object, repr_str, text};
use crate::run::{Json, readable_json, unreadable_error};

use super::super::connection;
use super::super::convert;
use super::record::unmodelled;
use super::world::World;

/// What was read last, `None` before: the accessors print it.
#[derive(Debug)]
struct Last(Mutex<Value>);

impl Last {
    fn nothing() -> Self {
        Last(Mutex::new(python::none()))
    }

    fn value(&self) -> Value {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep(&self, value: &Value) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone_from(value);
    }
}

/// `var.value` or `var.json`; it prints the variable that was read last.
#[derive(Debug)]
struct VariableAccessor {
    world: Arc<World>,
    json: bool,
    last: Last,
}

/// `var`
pub(super) fn var(world: &Arc<World>) -> Value {
    let accessor = |json| object(VariableAccessor { world: world.clone(), json, last: Last::nothing() });
    python::str_dict([("json", accessor(true)), ("value", accessor(false))])
}

impl VariableAccessor {
    fn read(&self, key: &str, it: &mut dyn Interp) -> PyResult<Option<Value>> {
        let Some(raw) = self.world.variables.get(key) else { return Ok(None) };
        match raw.as_str().or_else(|| readable_json(raw).filter(|_| self.json)) {
            Some(raw) if self.json => python::json::loads(raw, it).map(Some),
            Some(raw) => Ok(Some(Value::from(raw))),
            None => unreadable_error(raw).map_or(Ok(None), Err),
        }
    }
}

fn no_variable(key: &str) -> PyErr {
    PyErr::new("KeyError", repr_str(&format!("Variable {key} does not exist")))
        .with_hint(format!("add `{key}` to `variables`"))
}

impl PyObject for VariableAccessor {
    fn type_name(&self) -> &str {
        "VariableAccessor"
    }

    fn qualified_name(&self) -> String {
        "airflow.utils.context.VariableAccessor".to_owned()
    }

    fn repr(&self, it: &mut dyn Interp) -> PyResult<String> {
        python::str(&self.last.value(), it)
    }

    fn getattr(&self, name: &str, it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "get" => None,
            "_deserialize_json" => Some(Ok(Value::from(self.json))),
            "var" => Some(Ok(self.last.value())),
            _ if convert::is_of_object(name) => None,
            _ => {
                let found = self.read(name, it).and_then(|found| found.ok_or_else(|| no_variable(name)));
                Some(found.inspect(|value| self.last.keep(value)))
            }
        }
    }

    fn has_method(&self, name: &str) -> bool {
        name == "get"
    }

    fn call_method(&self, _this: &Value, _name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        let bound = Sig::new("VariableAccessor.get", &["key", "default"]).required(1).method().bind(args)?;
        let Some(key) = bound.first().copied().flatten().and_then(text) else {
            return Err(PyErr::unsupported("`var.value.get` of something else than a text"));
        };
        match (self.read(key, it)?, bound.get(1).copied().flatten()) {
            (Some(value), _) => Ok(value),
            (None, Some(default)) => Ok(default.clone()),
            (None, None) => Err(no_variable(key)),
        }
    }
}

/// `conn`; it prints the connection that was read last.
#[derive(Debug)]
struct ConnectionAccessor {
    world: Arc<World>,
    last: Last,
}

/// `conn`
pub(super) fn conn(world: &Arc<World>) -> Value {
    object(ConnectionAccessor { world: world.clone(), last: Last::nothing() })
}

impl ConnectionAccessor {
    fn read(&self, conn_id: &str) -> PyResult {
        let missing = || {
            PyErr::new("AirflowNotFoundException", format!("The conn_id `{conn_id}` isn't defined"))
                .with_hint(format!("add `{conn_id}` to `connections`"))
        };
        let raw = self.world.connections.get(conn_id).ok_or_else(missing)?;
        if let Some(error) = unreadable_error(raw) {
            return Err(error);
        }
        let fields = match raw {
            Json::String(uri) => fields_of_uri(uri)?,
            Json::Object(_) => raw.clone(),
            _ => return Err(PyErr::unsupported(format!("connection `{conn_id}` of this form"))),
        };
        let inner = connection::from_fields(conn_id, &fields)
            .ok_or_else(|| PyErr::unsupported(format!("the fields of connection `{conn_id}`")))?;
        Ok(object(Connection { conn_id: conn_id.to_owned(), inner }))
    }
}

/// The parts of a connection URI (`Connection._parse_from_uri`), for URIs that hold no second scheme and no `__extra__`.
fn fields_of_uri(uri: &str) -> PyResult<Json> {
    let refuse = || PyErr::unsupported("a connection URI of this form; give the connection's fields instead");
    let (scheme, rest) = uri.split_once("://").ok_or_else(refuse)?;
    if rest.contains("://") || rest.contains('#') || rest.contains('[') || rest.contains("__extra__") || !uri.is_ascii()
    {
        return Err(refuse());
    }
    let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
    let (netloc, path) = rest.split_once('/').map_or((rest, ""), |(netloc, path)| (netloc, path));
    let (user, host) = netloc.rsplit_once('@').map_or((None, netloc), |(user, host)| (Some(user), host));
    let (login, password) = match user {
        None => (None, None),
        Some(user) => {
            user.split_once(':').map_or((Some(user), None), |(login, password)| (Some(login), Some(password)))
        }
    };
    let (host, port) = host.split_once(':').map_or((host, None), |(host, port)| (host, Some(port)));
    if host.contains('%') {
        return Err(refuse());
    }
    let port = match port.filter(|port| !port.is_empty()) {
        None => Json::Null,
        Some(port) => port.parse::<u16>().map_err(|_| refuse())?.into(),
    };
    let part = |text: Option<&str>| text.map_or(Json::Null, |text| unquote(text).into());
    let mut conn_type = scheme.to_ascii_lowercase().replace('-', "_");
    if conn_type == "postgresql" {
        "postgres".clone_into(&mut conn_type);
    }
    let mut fields = serde_json::Map::new();
    fields.insert("conn_type".to_owned(), conn_type.into());
    fields.insert("host".to_owned(), host.to_ascii_lowercase().into());
    fields.insert("schema".to_owned(), part(Some(path)));
    fields.insert("login".to_owned(), part(login));
    fields.insert("password".to_owned(), part(password));
    fields.insert("port".to_owned(), port);
    if let Some(query) = query.filter(|query| !query.is_empty()) {
        let mut extra = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let read = |text: &str| unquote(&text.replace('+', " "));
            let (name, value) = (read(name), read(value));
            if !name.is_ascii() || !value.is_ascii() {
                return Err(refuse());
            }
            extra.push(format!("{}: {}", Json::from(name), Json::from(value)));
        }
        fields.insert("extra".to_owned(), format!("{{{}}}", extra.join(", ")).into());
    }
    Ok(Json::Object(fields))
}

impl PyObject for ConnectionAccessor {
    fn type_name(&self) -> &str {
        "ConnectionAccessor"
    }

    fn qualified_name(&self) -> String {
        "airflow.utils.context.ConnectionAccessor".to_owned()
    }

    fn repr(&self, it: &mut dyn Interp) -> PyResult<String> {
        python::str(&self.last.value(), it)
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "get" => None,
            "var" => Some(Ok(self.last.value())),
            _ if convert::is_of_object(name) => None,
            _ => Some(self.read(name).inspect(|value| self.last.keep(value))),
        }
    }

    fn has_method(&self, name: &str) -> bool {
        name == "get"
    }

    fn call_method(&self, _this: &Value, _name: &str, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
        let bound = Sig::new("ConnectionAccessor.get", &["key", "default_conn"]).required(1).method().bind(args)?;
        let Some(key) = bound.first().copied().flatten().and_then(text) else {
            return Err(PyErr::unsupported("`conn.get` of something else than a text"));
        };
        match self.read(key) {
            Err(error) if error.class == "AirflowNotFoundException" => {
                Ok(bound.get(1).copied().flatten().cloned().unwrap_or_else(python::none))
            }
            result => result,
        }
    }
}

/// `airflow.models.connection.Connection`: it prints its id.
#[derive(Debug)]
struct Connection {
    conn_id: String,
    inner: Value,
}

impl PyObject for Connection {
    fn type_name(&self) -> &str {
        "Connection"
    }

    fn qualified_name(&self) -> String {
        "airflow.models.connection.Connection".to_owned()
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok(self.conn_id.clone())
    }

    fn getattr(&self, name: &str, it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "conn_id" | "conn_type" | "host" | "schema" | "login" | "password" | "port" | "extra" | "extra_dejson" => {
                python::getattr(&self.inner, name, it).transpose()
            }
            "description" => Some(Ok(python::none())),
            "get_uri" => None,
            _ => unmodelled("Connection", name),
        }
    }

    fn has_method(&self, name: &str) -> bool {
        name == "get_uri"
    }

    fn call_method(&self, _this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        python::call_method(&self.inner, name, args, it)
    }
}

/// `conf`: the configuration of the deployment, which nobody gave.
#[derive(Debug)]
pub(super) struct Configuration;

impl PyObject for Configuration {
    fn type_name(&self) -> &str {
        "AirflowConfigParser"
    }

    fn qualified_name(&self) -> String {
        "airflow.configuration.AirflowConfigParser".to_owned()
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Err(convert::address("AirflowConfigParser"))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        Some(Err(PyErr::unsupported(format!("`conf.{name}`: the configuration of the deployment is not known"))))
    }

    fn getitem(&self, _key: &Value, _it: &mut dyn Interp) -> Option<PyResult> {
        Some(Err(PyErr::unsupported("the configuration of the deployment is not known")))
    }
}

/// `airflow.macros`: a module with the functions of 3.x.
#[derive(Debug)]
pub(super) struct MacrosModule(pub Value);

impl PyObject for MacrosModule {
    fn type_name(&self) -> &str {
        "module"
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Err(PyErr::unsupported("printing the module `macros`: it names a path of the deployment"))
    }

    fn getattr(&self, name: &str, it: &mut dyn Interp) -> Option<PyResult> {
        const OWN: &[&str] = &[
            "datetime",
            "timedelta",
            "dateutil",
            "time",
            "uuid",
            "json",
            "yaml",
            "random",
            "ds_add",
            "ds_format",
            "ds_format_locale",
            "datetime_diff_for_humans",
            "TYPE_CHECKING",
        ];
        match name {
            _ if OWN.contains(&name) => python::getattr(&self.0, name, it).transpose(),
            "annotations" | "Any" | "Locale" | "LC_TIME" | "format_datetime" | "add_deprecated_classes" | "hive" => {
                Some(Err(PyErr::unsupported(format!("`macros.{name}`"))))
            }
            _ if name.starts_with('_') => Some(Err(PyErr::unsupported(format!("`macros.{name}`")))),
            // plugins add their macros here: which there are is not known
            _ => Some(Err(PyErr::unsupported(format!("`macros.{name}`: no macro of Airflow 2.10 itself")))),
        }
    }
}
