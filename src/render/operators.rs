//! Airflow's operators: which of their arguments are templates, and which endings make a string a file name.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value as Json;

use super::FieldValue;

/// What a field is when the author does not give it.
#[derive(Debug, Clone, PartialEq)]
pub enum Default {
    /// The constructor demands it.
    Required,
    /// This value.
    Value(FieldValue),
    /// The constructor works it out from other arguments.
    Computed,
    /// Not known.
    Unknown,
}

/// A template field of an operator.
#[derive(Debug, Clone)]
pub struct Field {
    /// The attribute's name, as in `template_fields`.
    pub name: &'static str,
    /// What it is when not given.
    pub default: Default,
}

impl Field {
    /// The constructor's argument behind the attribute: `_output_path` is given as `output_path`.
    pub fn argument(&self) -> &'static str {
        self.name.trim_start_matches('_')
    }
}

/// An operator of Airflow or of one of its providers.
#[derive(Debug, Clone)]
pub struct Operator {
    /// The class name.
    pub class: &'static str,
    /// The provider, dotted (`common.sql`).
    pub provider: &'static str,
    /// `template_ext`
    pub template_ext: Vec<&'static str>,
    /// `template_fields`, in order.
    pub fields: Vec<Field>,
}

static TABLE: LazyLock<BTreeMap<&'static str, Operator>> = LazyLock::new(|| {
    include_str!("operators.tsv")
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .filter_map(parse)
        .map(|operator| (operator.class, operator))
        .collect()
});

fn parse(line: &'static str) -> Option<Operator> {
    let mut columns = line.split('\t');
    let class = columns.next()?;
    let provider = columns.next()?;
    let template_ext = columns.next()?.split_whitespace().collect();
    let fields = columns.filter(|column| !column.is_empty()).map(field).collect();
    Some(Operator { class, provider, template_ext, fields })
}

fn field(column: &'static str) -> Field {
    if let Some((name, default)) = column.split_once('=') {
        let default = match default {
            "()" => Default::Value(FieldValue::Tuple(Vec::new())),
            json => serde_json::from_str::<Json>(json)
                .map_or(Default::Unknown, |value| Default::Value(FieldValue::from(&value))),
        };
        return Field { name, default };
    }
    if let Some(name) = column.strip_suffix('!') {
        return Field { name, default: Default::Required };
    }
    match column.strip_suffix('~') {
        Some(name) => Field { name, default: Default::Computed },
        None => Field { name: column, default: Default::Unknown },
    }
}

/// The operator of that class name. Names with a module path are known by their last part.
pub fn find(class: &str) -> Option<&'static Operator> {
    TABLE.get(class.rsplit('.').next().unwrap_or(class))
}

/// Every known class name.
pub fn names() -> impl Iterator<Item = &'static str> {
    TABLE.keys().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_reads() {
        let bash = find("airflow.providers.standard.operators.bash.BashOperator").unwrap();
        assert_eq!(bash.template_ext, [".sh", ".bash"]);
        assert_eq!(bash.fields.iter().map(|field| field.name).collect::<Vec<_>>(), ["bash_command", "env", "cwd"]);
        assert_eq!(bash.fields[0].default, Default::Required);
        let python = find("PythonOperator").unwrap();
        assert_eq!(python.fields[1].default, Default::Value(FieldValue::Tuple(Vec::new())));
        assert_eq!(find("EmptyOperator").unwrap().fields.len(), 0);
        assert!(names().count() > 1000);
        for class in
            ["SQLExecuteQueryOperator", "KubernetesPodOperator", "SparkSubmitOperator", "EmailOperator", "HttpOperator"]
        {
            assert!(find(class).is_some(), "{class}");
        }
    }
}
