//! `macros`: Airflow's own functions of `airflow.sdk.execution_time.macros`, and the Python modules it offers.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::babel::{LocaleId, format_datetime};
use crate::python::{
    self, Args, Class, CmpOp, DateTime, HashKey, Interp, PyErr, PyObject, PyResult, Sig, Value, View, downcast,
    function, object, strftime, text, truth, view,
};

/// `MacrosAccessor`, with stubs of the macros of plugins.
#[derive(Debug)]
struct Macros {
    plugins: Arc<BTreeMap<String, Value>>,
}

/// The value of the name `macros`.
pub(super) fn value(plugins: &Arc<BTreeMap<String, Value>>) -> Value {
    object(Macros { plugins: Arc::clone(plugins) })
}

impl PyObject for Macros {
    fn type_name(&self) -> &str {
        "MacrosAccessor"
    }

    fn qualified_name(&self) -> String {
        "airflow.sdk.execution_time.context.MacrosAccessor".into()
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok("<MacrosAccessor (dynamic access to macros)>".into())
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        Some(Ok(match name {
            "datetime" => Class::DateTime.value(),
            "timedelta" => Class::TimeDelta.value(),
            "dateutil" => python::dateutil(),
            "time" => python::time_module(),
            "uuid" => python::uuid_module(),
            "json" => python::json_module(),
            "yaml" => python::yaml_module(),
            "random" => function("random", |_args, _it| {
                Err(PyErr::unsupported("`macros.random()`: the text would differ at each rendering"))
            }),
            "ds_add" => function("ds_add", ds_add),
            "ds_format" => function("ds_format", ds_format),
            "ds_format_locale" => function("ds_format_locale", ds_format_locale),
            "datetime_diff_for_humans" => function("datetime_diff_for_humans", datetime_diff_for_humans),
            "TYPE_CHECKING" => Value::from(false),
            _ if self.plugins.contains_key(name) => self.plugins.get(name).cloned().unwrap_or_else(python::none),
            "annotations" | "Any" => return Some(Err(PyErr::unsupported(format!("`macros.{name}`")))),
            _ => return None,
        }))
    }

    fn compare(&self, op: CmpOp, other: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let same = downcast::<Macros>(other).is_some();
        match op {
            CmpOp::Eq => Some(Ok(same)),
            CmpOp::Ne => Some(Ok(!same)),
            _ => None,
        }
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Ok(HashKey::Parts("macros", Vec::new()))
    }
}

/// The n-th argument of a bound call; `None` without.
fn argument(bound: &[Option<&Value>], at: usize) -> Value {
    bound.get(at).copied().flatten().cloned().unwrap_or_else(python::none)
}

/// The format argument of `strptime` and `strftime`.
fn format_text(value: &Value, what: &str) -> PyResult<String> {
    text(value).map(str::to_owned).ok_or_else(|| {
        let name = if matches!(view(value), View::None) { "None".to_owned() } else { python::type_name(value) };
        PyErr::type_error(format!("{what} must be str, not {name}"))
    })
}

/// `ds_add(ds, days)`: no days leave the text as it is, whatever it is.
fn ds_add(args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let bound = Sig::new("ds_add", &["ds", "days"]).bind(args)?;
    let (ds, days) = (argument(&bound, 0), argument(&bound, 1));
    let ds = python::str(&ds, it)?;
    if !truth(&days, it)? {
        return Ok(Value::from(ds));
    }
    let date = python::parse_text(&ds, "%Y-%m-%d")?;
    let kw = [("days".into(), days)];
    let delta = python::call(&Class::TimeDelta.value(), &Args { pos: &[], kw: &kw }, it)?;
    let moved = python::binary(python::BinOp::Add, &object(date), &delta, it)?;
    match downcast::<DateTime>(&moved) {
        Some(dt) => strftime("%Y-%m-%d", &dt.fields()).map(Value::from),
        None => Err(PyErr::unsupported("ds_add of this")),
    }
}

/// `ds_format(ds, input_format, output_format)`
fn ds_format(args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let bound = Sig::new("ds_format", &["ds", "input_format", "output_format"]).bind(args)?;
    let ds = python::str(&argument(&bound, 0), it)?;
    let date = python::parse_text(&ds, &format_text(&argument(&bound, 1), "strptime() argument 2")?)?;
    let format = format_text(&argument(&bound, 2), "strftime() argument 1")?;
    strftime(&format, &date.fields()).map(Value::from)
}

/// `ds_format_locale(ds, input_format, output_format, locale=None)`: a CLDR pattern, names in the locale's language.
fn ds_format_locale(args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let names = ["ds", "input_format", "output_format", "locale"];
    let bound = Sig::new("ds_format_locale", &names).required(3).bind(args)?;
    let ds = python::str(&argument(&bound, 0), it)?;
    let date = python::parse_text(&ds, &format_text(&argument(&bound, 1), "strptime() argument 2")?)?;
    let locale = argument(&bound, 3);
    let locale = match text(&locale) {
        Some(name) if !name.is_empty() => LocaleId::parse(name)?,
        None if truth(&locale, it)? => {
            return Err(PyErr::type_error(format!("Unexpected value for identifier: {}", python::repr(&locale, it)?)));
        }
        _ => LocaleId::DEFAULT,
    };
    let format = argument(&bound, 2);
    let format = text(&format).ok_or_else(|| {
        PyErr::attribute_error(format!("'{}' object has no attribute 'replace'", python::type_name(&format)))
    })?;
    it.charge(format.len() as u64)?;
    format_datetime(&date, format, locale).map(Value::from)
}

/// `datetime_diff_for_humans(dt, since=None)`
fn datetime_diff_for_humans(args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let bound = Sig::new("datetime_diff_for_humans", &["dt", "since"]).required(1).bind(args)?;
    let dt = python::pendulum_instance(&argument(&bound, 0), it)?;
    let since = argument(&bound, 1);
    python::call_method(&dt, "diff_for_humans", &Args::positional(&[since]), it)
}
