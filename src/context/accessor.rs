//! What the three event accessors share (`_AssetEventAccessorsMixin` and `Mapping` of Python).

use crate::asset::{Asset, AssetAlias, AssetRef};
use crate::python::{self, Args, Interp, PyErr, PyResult, Sig, Value, View};

use super::asset::{alias_value, asset_value, ref_value};
use super::views::{self, ViewKind};

/// True for the methods every accessor has.
pub(super) fn has_method(name: &str) -> bool {
    matches!(name, "for_asset" | "for_asset_alias" | "get") || ViewKind::of_method(name).is_some()
}

/// Calls one of them; `this` is the accessor.
pub(super) fn call_method(this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    match name {
        "for_asset" => {
            let key = for_asset(args, it)?;
            python::getitem(this, &key, it)
        }
        "for_asset_alias" => {
            let key = for_asset_alias(args)?;
            python::getitem(this, &key, it)
        }
        "get" => {
            let bound = Sig::new("Mapping.get", &["key", "default"]).required(1).method().bind(args)?;
            let key = bound.first().copied().flatten().cloned().unwrap_or_else(python::none);
            match python::getitem(this, &key, it) {
                Err(error) if error.class == "KeyError" => {
                    Ok(bound.get(1).copied().flatten().cloned().unwrap_or_else(python::none))
                }
                result => result,
            }
        }
        _ => match ViewKind::of_method(name) {
            Some(kind) => {
                Sig::new(&format!("Mapping.{name}"), &[]).method().bind(args)?;
                Ok(views::view(kind, this.clone()))
            }
            None => Err(PyErr::unsupported(format!("method `{name}`"))),
        },
    }
}

/// `key in accessor`, as `Mapping.__contains__`: subscript and see.
pub(super) fn contains(this: PyResult) -> PyResult<bool> {
    match this {
        Ok(_) => Ok(true),
        Err(error) if error.class == "KeyError" => Ok(false),
        Err(error) => Err(error),
    }
}

fn for_asset(args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let bound =
        Sig::new("_AssetEventAccessorsMixin.for_asset", &[]).method().keyword_only(&["name", "uri"]).bind(args)?;
    let mut given = [None, None];
    for (slot, value) in given.iter_mut().zip(&bound) {
        if let Some(value) = value
            && python::truth(value, it)?
        {
            *slot = Some(*value);
        }
    }
    let text = |value: &Value| match python::view(value) {
        _ if python::text(value).is_some() => Ok(python::text(value).unwrap_or_default().to_owned()),
        View::Object(object) => Err(PyErr::unsupported(format!("`for_asset` with a {}", object.type_name()))),
        _ => Err(PyErr::unsupported(format!("`for_asset` with a {}", python::type_name(value)))),
    };
    match given {
        [Some(name), Some(uri)] => asset_value(Asset::new(Some(&text(name)?), Some(&text(uri)?))?.0),
        [Some(name), None] => Ok(ref_value(AssetRef::Name(text(name)?))),
        [None, Some(uri)] => Ok(ref_value(AssetRef::Uri(text(uri)?))),
        [None, None] => Err(PyErr::value_error("name and uri cannot both be None")),
    }
}

fn for_asset_alias(args: &Args<'_>) -> PyResult {
    let name = "_AssetEventAccessorsMixin.for_asset_alias";
    let bound = Sig::new(name, &[]).method().keyword_only(&["name"]).bind(args)?;
    let Some(value) = bound.first().copied().flatten() else {
        return Err(PyErr::type_error(format!("{name}() missing 1 required keyword-only argument: 'name'")));
    };
    let Some(text) = python::text(value) else {
        return Err(PyErr::value_error("AssetAlias name must be a string"));
    };
    Ok(alias_value(AssetAlias::new(text)?))
}
