//! Filters that cut a sequence into lists.

use std::sync::Arc;

use crate::jinja::Cx;
use crate::python::{self, Args, BinOp, CmpOp, Interp, PyErr, PyIter, PyResult, Value, View, view};

use super::bind::Sig;

/// `do_batch`
pub fn batch(_: &Cx, subject: &Value, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    let [size, fill] =
        Sig { name: "do_batch", leading: &["value"], params: ["linecount", "fill_with"], required: 1 }.bind(args)?;
    let (subject, size) = (subject.clone(), size.cloned().unwrap_or_default());
    let fill = fill.filter(|fill| !fill.is_none()).cloned();
    let mut started: Option<PyIter> = None;
    let mut current: Vec<Value> = Vec::new();
    let mut done = false;
    Ok(python::generator(python::from_fn(move |it| {
        if done {
            return Ok(None);
        }
        if started.is_none() {
            started = Some(python::iter(&subject, it)?);
        }
        let Some(items) = &mut started else { return Ok(None) };
        while let Some(item) = items.next(it)? {
            it.charge(1)?;
            let full = python::compare(CmpOp::Eq, &python::int(current.len()), &size, it)?;
            let finished = if full { Some(std::mem::take(&mut current)) } else { None };
            current.push(item);
            if let Some(finished) = finished {
                return Ok(Some(python::list(finished)));
            }
        }
        done = true;
        if current.is_empty() {
            return Ok(None);
        }
        if let Some(fill) = &fill {
            let have = python::int(current.len());
            if python::compare(CmpOp::Lt, &have, &size, it)? {
                let missing = python::binary(BinOp::Sub, &size, &have, it)?;
                let filler = python::binary(BinOp::Mul, &python::list(vec![fill.clone()]), &missing, it)?;
                current.extend(python::to_vec(&filler, it)?);
            }
        }
        Ok(Some(python::list(std::mem::take(&mut current))))
    })))
}

/// `sync_do_slice`
pub fn slice(_: &Cx, subject: &Value, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    let [slices, fill] =
        Sig { name: "sync_do_slice", leading: &["value"], params: ["slices", "fill_with"], required: 1 }.bind(args)?;
    let (subject, slices) = (subject.clone(), slices.cloned().unwrap_or_default());
    let fill = fill.filter(|fill| !fill.is_none()).cloned();
    let mut started: Option<(Arc<[Value]>, usize, usize)> = None;
    let mut number = 0;
    let mut start = 0;
    Ok(python::generator(python::from_fn(move |it| {
        if started.is_none() {
            let items: Arc<[Value]> = python::to_vec(&subject, it)?.into();
            let count = slice_count(items.len(), &slices, it)?;
            started = Some((items, count.0, count.1));
        }
        let Some((items, count, with_extra)) = &started else { return Ok(None) };
        if number >= *count {
            return Ok(None);
        }
        it.charge(1)?;
        let extra = number < *with_extra;
        let end = start + items.len() / count + usize::from(extra);
        let mut part = items.get(start..end).unwrap_or_default().to_vec();
        if let (Some(fill), false) = (&fill, extra) {
            part.push(fill.clone());
        }
        start = end;
        number += 1;
        Ok(Some(python::list(part)))
    })))
}

/// The number of slices, and how many get one item more.
fn slice_count(len: usize, slices: &Value, it: &mut dyn Interp) -> PyResult<(usize, usize)> {
    let size = python::int(len);
    python::binary(BinOp::FloorDiv, &size, slices, it)?;
    python::binary(BinOp::Mod, &size, slices, it)?;
    match view(slices) {
        View::Int(count) => {
            let count = usize::try_from(count).unwrap_or(0);
            Ok((count, if count == 0 { 0 } else { len % count }))
        }
        View::Bool(_) => Ok((1, 0)),
        _ if python::big(slices).is_some() => Err(PyErr::limit("slice: more slices than can be made")),
        _ => Err(PyErr::type_error(format!(
            "'{}' object cannot be interpreted as an integer",
            python::type_name(slices)
        ))),
    }
}
