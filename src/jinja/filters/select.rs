//! `map`, `select`, `reject` and their `attr` forms: lazy, by name of another filter or test.

use std::sync::Arc;

use crate::jinja::Cx;
use crate::python::{self, Args, Interp, Kwarg, PyErr, PyIter, PyResult, Value};

use super::attrs::Getter;
use super::bind::reject_leading;

const LEADING: &[&str] = &["context", "value"];

/// Arguments kept for later calls.
struct Kept {
    pos: Vec<Value>,
    kw: Vec<Kwarg>,
}

impl Kept {
    fn args(&self) -> Args<'_> {
        Args { pos: &self.pos, kw: &self.kw }
    }
}

enum Mapping {
    Attribute(Getter),
    Filter(Value, Kept),
}

/// `sync_do_map`
pub fn map(cx: &Cx, subject: &Value, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    reject_leading("sync_do_map", LEADING, args)?;
    let (cx, subject) = (cx.clone(), subject.clone());
    let (pos, kw) = (args.pos.to_vec(), args.kw.to_vec());
    let mut started: Option<(Mapping, PyIter)> = None;
    Ok(python::generator(python::from_fn(move |it| {
        if started.is_none() {
            if !python::truth(&subject, it)? {
                return Ok(None);
            }
            let mapping = prepare_map(&pos, &kw)?;
            started = Some((mapping, python::iter(&subject, it)?));
        }
        let Some((mapping, items)) = &mut started else { return Ok(None) };
        let Some(item) = items.next(it)? else { return Ok(None) };
        it.charge(1)?;
        match mapping {
            Mapping::Attribute(getter) => getter.get(&cx, &item, it),
            Mapping::Filter(name, kept) => cx.env.call_filter(&cx, name, &item, &kept.args(), it),
        }
        .map(Some)
    })))
}

fn prepare_map(pos: &[Value], kw: &[Kwarg]) -> PyResult<Mapping> {
    let keywords = Args { pos, kw };
    if let (true, Some(attribute)) = (pos.is_empty(), keywords.keyword("attribute")) {
        if let Some((key, _)) = kw.iter().find(|(key, _)| !matches!(&**key, "attribute" | "default")) {
            return Err(filter_error(format!("Unexpected keyword argument {}", python::repr_str(key))));
        }
        return Ok(Mapping::Attribute(Getter::new(Some(attribute), false, keywords.keyword("default"))?));
    }
    match pos.split_first() {
        Some((name, rest)) => Ok(Mapping::Filter(name.clone(), Kept { pos: rest.to_vec(), kw: kw.to_vec() })),
        None => Err(filter_error("map requires a filter argument")),
    }
}

fn filter_error(message: impl Into<String>) -> PyErr {
    PyErr::new("FilterArgumentError", message)
}

/// `sync_do_select`
pub fn select(cx: &Cx, subject: &Value, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    choose("sync_do_select", true, false, cx, subject, args)
}

/// `sync_do_reject`
pub fn reject(cx: &Cx, subject: &Value, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    choose("sync_do_reject", false, false, cx, subject, args)
}

/// `sync_do_selectattr`
pub fn selectattr(cx: &Cx, subject: &Value, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    choose("sync_do_selectattr", true, true, cx, subject, args)
}

/// `sync_do_rejectattr`
pub fn rejectattr(cx: &Cx, subject: &Value, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    choose("sync_do_rejectattr", false, true, cx, subject, args)
}

struct Condition {
    attribute: Option<Getter>,
    test: Option<(Value, Kept)>,
}

impl Condition {
    fn new(pos: &[Value], kw: &[Kwarg], of_attribute: bool) -> PyResult<Self> {
        let (attribute, rest) = if of_attribute {
            let Some((attribute, rest)) = pos.split_first() else {
                return Err(filter_error("Missing parameter for attribute name"));
            };
            (Some(Getter::new(Some(attribute), false, None)?), rest)
        } else {
            (None, pos)
        };
        let test = rest.split_first().map(|(name, rest)| (name.clone(), Kept { pos: rest.to_vec(), kw: kw.to_vec() }));
        Ok(Condition { attribute, test })
    }

    fn holds(&self, cx: &Cx, item: &Value, it: &mut dyn Interp) -> PyResult<bool> {
        let found;
        let subject = match &self.attribute {
            Some(getter) => {
                found = getter.get(cx, item, it)?;
                &found
            }
            None => item,
        };
        match &self.test {
            Some((name, kept)) => {
                let result = cx.env.call_test(cx, name, subject, &kept.args(), it)?;
                python::truth(&result, it)
            }
            None => python::truth(subject, it),
        }
    }
}

fn choose(name: &'static str, wanted: bool, of_attribute: bool, cx: &Cx, subject: &Value, args: &Args<'_>) -> PyResult {
    reject_leading(name, LEADING, args)?;
    let (cx, subject) = (cx.clone(), subject.clone());
    let (pos, kw): (Vec<Value>, Vec<(Arc<str>, Value)>) = (args.pos.to_vec(), args.kw.to_vec());
    let mut started: Option<(Condition, PyIter)> = None;
    Ok(python::generator(python::from_fn(move |it| {
        if started.is_none() {
            if !python::truth(&subject, it)? {
                return Ok(None);
            }
            let condition = Condition::new(&pos, &kw, of_attribute)?;
            started = Some((condition, python::iter(&subject, it)?));
        }
        let Some((condition, items)) = &mut started else { return Ok(None) };
        while let Some(item) = items.next(it)? {
            it.charge(1)?;
            if condition.holds(&cx, &item, it)? == wanted {
                return Ok(Some(item));
            }
        }
        Ok(None)
    })))
}
