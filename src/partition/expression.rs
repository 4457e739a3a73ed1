//! `ExpressionMapper`: a custom mapper made of Jinja expressions, for what a user's own Python class does.

use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value as Json, json};

use super::{Decoded, DecodedType, Downstream, KeyCap, Moment, PartitionMapper};
use crate::asset::pytext::{repr, type_name};
use crate::jinja::as_undefined;
use crate::python::{self, PyErr, PyResult, Value, View, view};

/// Evaluates one expression, such as `{{ key[:10] }}`, with names bound to values.
pub trait Evaluate: fmt::Debug + Send + Sync {
    /// The value of the expression: an object, not its text.
    fn evaluate(&self, expression: &str, names: &[(&str, Value)]) -> PyResult<Value>;

    /// Whether it is an expression at all.
    ///
    /// # Errors
    /// What the parser says, before any key comes.
    fn check(&self, _expression: &str) -> PyResult<()> {
        Ok(())
    }
}

/// The expressions of an [`ExpressionMapper`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Expressions {
    /// Over `key`: a text, or a list of texts.
    pub to_downstream: String,
    /// Over `key`, a downstream key: a datetime or None.
    pub to_partition_date: Option<String>,
    /// Over `source_partition_date`: a datetime or None.
    pub carry_partition_date: Option<String>,
    /// Over `key`, a downstream key: a datetime or a text.
    pub decode_downstream: Option<String>,
    /// Over `decoded`: a text.
    pub encode_upstream: Option<String>,
}

/// A mapper whose methods are expressions.
#[derive(Debug, Clone)]
pub struct ExpressionMapper {
    expressions: Expressions,
    evaluate: Arc<dyn Evaluate>,
    cap: Option<KeyCap>,
}

impl ExpressionMapper {
    /// The constructor; decode and encode come together or not at all.
    ///
    /// # Errors
    /// `TypeError` with Airflow's words when only one of the pair is given.
    pub fn new(expressions: Expressions, evaluate: Arc<dyn Evaluate>, cap: Option<KeyCap>) -> PyResult<Self> {
        if expressions.decode_downstream.is_some() != expressions.encode_upstream.is_some() {
            return Err(PyErr::type_error(
                "ExpressionMapper overrides only one side of the decode/encode pair. Both 'decode_downstream' and \
                 'encode_upstream' must be overridden together or not at all.",
            )
            .with_hint("with one of them alone a rollup would wait for keys that never come"));
        }
        Ok(ExpressionMapper { expressions, evaluate, cap })
    }

    /// Reads the arguments of a pipeline file: a mapping of method to expression, or `to_downstream` alone.
    pub fn read(arguments: &Json, evaluate: Arc<dyn Evaluate>) -> PyResult<Self> {
        let mut expressions = Expressions::default();
        let mut cap = None;
        match arguments {
            Json::String(text) => text.clone_into(&mut expressions.to_downstream),
            Json::Object(map) => {
                for (name, value) in map {
                    if name == "max_downstream_keys" {
                        cap = KeyCap::check(Some(value))?;
                        continue;
                    }
                    let Json::String(text) = value else {
                        return Err(PyErr::type_error(format!(
                            "{name} must be an expression, not {}",
                            type_name(value)
                        )));
                    };
                    match name.as_str() {
                        "to_downstream" => text.clone_into(&mut expressions.to_downstream),
                        "to_partition_date" => expressions.to_partition_date = Some(text.clone()),
                        "carry_partition_date" => expressions.carry_partition_date = Some(text.clone()),
                        "decode_downstream" => expressions.decode_downstream = Some(text.clone()),
                        "encode_upstream" => expressions.encode_upstream = Some(text.clone()),
                        other => {
                            return Err(PyErr::type_error(format!(
                                "ExpressionMapper.__init__() got an unexpected keyword argument '{other}'"
                            )));
                        }
                    }
                }
            }
            other => {
                return Err(PyErr::type_error(format!("ExpressionMapper takes expressions, not {}", repr(other))));
            }
        }
        if expressions.to_downstream.is_empty() {
            return Err(PyErr::type_error("ExpressionMapper needs `to_downstream`"));
        }
        Self::new(expressions, evaluate, cap)
    }

    fn evaluate(&self, expression: &str, name: &str, value: Value) -> PyResult<Value> {
        let value = self.evaluate.evaluate(expression, &[(name, value)])?;
        match as_undefined(&value) {
            Some(undefined) => Err(undefined.error(&mut python::Plain::default())),
            None => Ok(value),
        }
    }

    fn date(&self, method: &str, value: &Value) -> PyResult<Option<Moment>> {
        if matches!(view(value), View::None) {
            return Ok(None);
        }
        match Moment::from_value(value) {
            Some(moment) => Ok(Some(moment)),
            None => Err(PyErr::type_error(format!(
                "ExpressionMapper.{method} must give a datetime or None, not {}",
                python::type_name(value)
            ))),
        }
    }
}

impl PartitionMapper for ExpressionMapper {
    fn class_name(&self) -> &str {
        "ExpressionMapper"
    }

    fn label(&self) -> String {
        format!("ExpressionMapper({})", self.expressions.to_downstream)
    }

    fn to_downstream(&self, key: &str) -> PyResult<Downstream> {
        let value = self.evaluate(&self.expressions.to_downstream, "key", Value::from(key))?;
        if let Some(text) = python::text(&value) {
            return Ok(Downstream::One(text.to_owned()));
        }
        let wrong = |value: &Value| {
            PyErr::type_error(format!(
                "ExpressionMapper.to_downstream must give a text or a list of texts, not {}",
                python::type_name(value)
            ))
        };
        if !matches!(view(&value), View::Object(_)) {
            return Err(wrong(&value));
        }
        let items = python::to_vec(&value, &mut python::Plain::default())?;
        let key = |item: &Value| python::text(item).map(str::to_owned).ok_or_else(|| wrong(item));
        items.iter().map(key).collect::<PyResult<Vec<String>>>().map(Downstream::Many)
    }

    fn decode_downstream(&self, downstream_key: &str) -> PyResult<Decoded> {
        let Some(expression) = &self.expressions.decode_downstream else {
            return Ok(Decoded::Key(downstream_key.to_owned()));
        };
        let value = self.evaluate(expression, "key", Value::from(downstream_key))?;
        if let Some(text) = python::text(&value) {
            return Ok(Decoded::Key(text.to_owned()));
        }
        match self.date("decode_downstream", &value)? {
            Some(moment) => Ok(Decoded::Date(moment)),
            None => Err(PyErr::type_error("ExpressionMapper.decode_downstream gave None")),
        }
    }

    fn encode_upstream(&self, decoded: &Decoded) -> PyResult<String> {
        let value = match decoded {
            Decoded::Key(key) => Value::from(key.as_str()),
            Decoded::Date(moment) => moment.to_value(),
        };
        let Some(expression) = &self.expressions.encode_upstream else {
            return match decoded {
                Decoded::Key(key) => Ok(key.clone()),
                Decoded::Date(_) => Err(PyErr::unsupported("ExpressionMapper.encode_upstream of a datetime")),
            };
        };
        let value = self.evaluate(expression, "decoded", value)?;
        python::text(&value).map(str::to_owned).ok_or_else(|| {
            PyErr::type_error(format!(
                "ExpressionMapper.encode_upstream must give a text, not {}",
                python::type_name(&value)
            ))
        })
    }

    fn to_partition_date(&self, downstream_key: &str) -> PyResult<Option<Moment>> {
        let Some(expression) = &self.expressions.to_partition_date else { return Ok(None) };
        let value = self.evaluate(expression, "key", Value::from(downstream_key))?;
        match self.date("to_partition_date", &value)? {
            // Airflow's database refuses it, and with it the whole pass of the scheduler.
            Some(Moment { offset: None, .. }) => {
                Err(PyErr::unsupported("ExpressionMapper.to_partition_date that gives a datetime without a time zone")
                    .with_hint("read the key with %z, or use .replace(tzinfo=...)"))
            }
            date => Ok(date),
        }
    }

    fn carry_partition_date(&self, source: Option<DateTime<Utc>>) -> PyResult<Option<DateTime<Utc>>> {
        let Some(expression) = &self.expressions.carry_partition_date else { return Ok(None) };
        let source = match source {
            Some(source) => Moment::utc(source).to_value(),
            None => Value::from(()),
        };
        let value = self.evaluate(expression, "source_partition_date", source)?;
        Ok(self.date("carry_partition_date", &value)?.map(|moment| moment.instant()))
    }

    fn max_downstream_keys(&self) -> Option<&KeyCap> {
        self.cap.as_ref()
    }

    fn decodes_to(&self) -> DecodedType {
        if self.expressions.decode_downstream.is_some() { DecodedType::Any } else { DecodedType::Str }
    }

    fn encode(&self) -> Json {
        let mut fields = Map::new();
        let pairs = [
            ("to_downstream", Some(&self.expressions.to_downstream)),
            ("to_partition_date", self.expressions.to_partition_date.as_ref()),
            ("carry_partition_date", self.expressions.carry_partition_date.as_ref()),
            ("decode_downstream", self.expressions.decode_downstream.as_ref()),
            ("encode_upstream", self.expressions.encode_upstream.as_ref()),
        ];
        for (name, expression) in pairs {
            if let Some(expression) = expression {
                fields.insert(name.to_owned(), expression.clone().into());
            }
        }
        if let Some(cap) = &self.cap {
            fields.insert("max_downstream_keys".to_owned(), cap.json().clone());
        }
        json!({"__type": "partita.ExpressionMapper", "__var": fields})
    }
}
