//! Filters over sequences and mappings.

use crate::jinja::Cx;
use crate::jinja::markup::{escape, has_html, markup, soft_str};
use crate::jinja::undefined::{Undefined, as_undefined, is_undefined};
use crate::python::{self, Args, BinOp, CmpOp, Interp, PyErr, PyIter, PyResult, Value, View, downcast, text, view};

use super::attrs::Getter;
use super::bind::Sig;

pub(super) fn flag(value: Option<&Value>, it: &mut dyn Interp) -> PyResult<bool> {
    value.map_or(Ok(false), |value| python::truth(value, it))
}

fn undefined(cx: &Cx, hint: &'static str) -> Value {
    Undefined::hint(cx.env.undefined, hint)
}

/// `sync_do_first`
pub fn first(cx: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    Sig::<0> { name: "sync_do_first", leading: &["environment", "seq"], params: [], required: 0 }.bind(args)?;
    let mut items = python::iter(subject, it)?;
    Ok(items.next(it)?.unwrap_or_else(|| undefined(cx, "No first item, sequence was empty.")))
}

/// `do_last`
pub fn last(cx: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    Sig::<0> { name: "do_last", leading: &["environment", "seq"], params: [], required: 0 }.bind(args)?;
    let items = match reversible(subject, it)? {
        Some((_, items)) => items,
        None if text(subject).is_some() => {
            // reversed() subscripts, and a part of a Markup is a Markup
            let last = python::to_vec(subject, it)?.pop();
            return Ok(match last {
                Some(last) if subject.is_safe() => markup(text(&last).unwrap_or_default()),
                Some(last) => last,
                None => undefined(cx, "No last item, sequence was empty."),
            });
        }
        None => {
            return Err(PyErr::type_error(format!("'{}' object is not reversible", python::type_name(subject))));
        }
    };
    Ok(items.last().cloned().unwrap_or_else(|| undefined(cx, "No last item, sequence was empty.")))
}

/// The items of what `reversed()` takes, in their order, and the class of the iterator it makes. Strings are not among
/// them here.
fn reversible(value: &Value, it: &mut dyn Interp) -> PyResult<Option<(&'static str, Vec<Value>)>> {
    if let Some(undefined) = as_undefined(value) {
        if python::len(value, it)? != 0 {
            return Err(undefined.error(it));
        }
        return Ok(Some(("reversed", Vec::new())));
    }
    let class = match view(value) {
        View::Bytes(_) => "reversed",
        View::Object(object) => match object.type_name() {
            "list" => "list_reverseiterator",
            "dict" => "dict_reversekeyiterator",
            "dict_keys" => "dict_reversekeyiterator",
            "dict_values" => "dict_reversevalueiterator",
            "dict_items" => "dict_reverseitemiterator",
            "range" => "range_iterator",
            "tuple" => "reversed",
            "set" | "frozenset" => return Ok(None),
            _ if downcast::<python::Tuple>(value).is_some() => "reversed",
            // a class written in Python: sequences can be reversed, mappings refuse
            _ if object.has_method("keys") => return Ok(None),
            _ if object.len(it).is_some() && object.getitem(&Value::from(0), it).is_some() => "reversed",
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    Ok(Some((class, python::to_vec(value, it)?)))
}

/// `do_reverse`
pub fn reverse(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    Sig::<0> { name: "do_reverse", leading: &["value"], params: [], required: 0 }.bind(args)?;
    if text(subject).is_some() {
        let none = python::none();
        return python::slice(subject, &none, &none, &Value::from(-1), it);
    }
    if let Some((class, mut items)) = reversible(subject, it)? {
        items.reverse();
        return Ok(python::iterator(class, python::values(items)));
    }
    match python::to_vec(subject, it) {
        Ok(mut items) => {
            items.reverse();
            Ok(python::list(items))
        }
        Err(error) if error.class == "TypeError" => Err(PyErr::new("FilterArgumentError", "argument must be iterable")),
        Err(error) => Err(error),
    }
}

/// `do_random`: a sequence of one item has one answer; of others partita does not guess.
pub fn random(cx: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    Sig::<0> { name: "do_random", leading: &["context", "seq"], params: [], required: 0 }.bind(args)?;
    match python::len(subject, it)? {
        0 => Ok(undefined(cx, "No random item, sequence was empty.")),
        1 => match python::getitem(subject, &Value::from(0), it) {
            Err(error) if error.class == "IndexError" => Ok(undefined(cx, "No random item, sequence was empty.")),
            item => item,
        },
        _ => {
            python::getitem(subject, &Value::from(0), it)?;
            Err(PyErr::unsupported("the filter random: its result differs at every run"))
        }
    }
}

/// `sync_do_list`
pub fn list(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    Sig::<0> { name: "sync_do_list", leading: &["value"], params: [], required: 0 }.bind(args)?;
    Ok(python::list(python::to_vec(subject, it)?))
}

/// `do_items`
pub fn items(_: &Cx, subject: &Value, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    Sig::<0> { name: "do_items", leading: &["value"], params: [], required: 0 }.bind(args)?;
    let subject = subject.clone();
    let mut started: Option<PyIter> = None;
    Ok(python::generator(python::from_fn(move |it| {
        let items = match &mut started {
            Some(items) => items,
            None => {
                if is_undefined(&subject) {
                    return Ok(None);
                }
                if !is_mapping(&subject) {
                    return Err(PyErr::type_error("Can only get item pairs from a mapping."));
                }
                let items = python::call_method(&subject, "items", &Args::default(), it)?;
                started.insert(python::iter(&items, it)?)
            }
        };
        items.next(it)
    })))
}

/// `isinstance(value, collections.abc.Mapping)`
pub fn is_mapping(value: &Value) -> bool {
    match view(value) {
        View::Object(object) => {
            downcast::<python::Dict>(value).is_some()
                || (object.has_method("keys") && object.has_method("items") && object.has_method("get"))
        }
        _ => false,
    }
}

/// `sync_do_join`
pub fn join(cx: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [separator, attribute] =
        Sig { name: "sync_do_join", leading: &["eval_ctx", "value"], params: ["d", "attribute"], required: 0 }
            .bind(args)?;
    let getter = match attribute {
        Some(attribute) if !attribute.is_none() => {
            let getter = Getter::new(Some(attribute), false, None)?;
            // map() asks for the iterator before anything else happens
            python::iter(subject, it)?;
            Some(getter)
        }
        _ => None,
    };
    let empty = Value::from("");
    let separator = separator.unwrap_or(&empty);
    if !cx.autoescape {
        let separator = python::str(separator, it)?;
        let mut out = String::new();
        each(cx, subject, getter.as_ref(), it, |index, item, it| {
            if index > 0 {
                out.push_str(&separator);
            }
            match view(item) {
                View::Str(text) => out.push_str(text),
                _ => out.push_str(&python::str(item, it)?),
            }
            if out.len() > it.limits().allocation { it.allocate(out.len()) } else { Ok(()) }
        })?;
        return Ok(Value::from(out));
    }
    let mut parts = Vec::new();
    if has_html(separator) {
        each(cx, subject, getter.as_ref(), it, |_, item, it| {
            parts.push(soft_str(item, it)?);
            Ok(())
        })?;
        let separator = soft_str(separator, it)?;
        return python::call_method(&separator, "join", &Args::positional(&[python::list(parts)]), it);
    }
    let mut safe = false;
    each(cx, subject, getter.as_ref(), it, |_, item, it| {
        safe |= has_html(item);
        parts.push(if has_html(item) { item.clone() } else { Value::from(python::str(item, it)?) });
        Ok(())
    })?;
    let separator = if safe { escape(separator, it)? } else { Value::from(python::str(separator, it)?) };
    python::call_method(&separator, "join", &Args::positional(&[python::list(parts)]), it)
}

/// Calls back with each item, or the attribute of each.
fn each(
    cx: &Cx,
    subject: &Value,
    getter: Option<&Getter>,
    it: &mut dyn Interp,
    mut body: impl FnMut(usize, &Value, &mut dyn Interp) -> PyResult<()>,
) -> PyResult<()> {
    let mut items = python::iter(subject, it)?;
    let mut index = 0;
    while let Some(item) = items.next(it)? {
        it.charge(1)?;
        match getter {
            Some(getter) => body(index, &getter.get(cx, &item, it)?, it)?,
            None => body(index, &item, it)?,
        }
        index += 1;
    }
    Ok(())
}

/// `sync_do_sum`
pub fn sum(cx: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [attribute, start] =
        Sig { name: "sync_do_sum", leading: &["environment", "iterable"], params: ["attribute", "start"], required: 0 }
            .bind(args)?;
    let getter = match attribute {
        Some(attribute) if !attribute.is_none() => Some(Getter::new(Some(attribute), false, None)?),
        _ => None,
    };
    python::iter(subject, it)?;
    let mut total = start.cloned().unwrap_or_else(|| Value::from(0));
    if text(&total).is_some() {
        return Err(PyErr::type_error("sum() can't sum strings [use ''.join(seq) instead]"));
    }
    if matches!(view(&total), View::Bytes(_)) {
        return Err(PyErr::type_error("sum() can't sum bytes [use b''.join(seq) instead]"));
    }
    each(cx, subject, getter.as_ref(), it, |_, item, it| {
        total = python::binary(BinOp::Add, &total, item, it)?;
        Ok(())
    })?;
    Ok(total)
}

/// `do_min`
pub fn min(cx: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    extreme("do_min", CmpOp::Lt, cx, subject, args, it)
}

/// `do_max`
pub fn max(cx: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    extreme("do_max", CmpOp::Gt, cx, subject, args, it)
}

fn extreme(
    name: &'static str,
    better: CmpOp,
    cx: &Cx,
    subject: &Value,
    args: &Args<'_>,
    it: &mut dyn Interp,
) -> PyResult {
    let [case_sensitive, attribute] =
        Sig { name, leading: &["environment", "value"], params: ["case_sensitive", "attribute"], required: 0 }
            .bind(args)?;
    let mut items = python::iter(subject, it)?;
    let Some(mut best) = items.next(it)? else {
        return Ok(undefined(cx, "No aggregated item, sequence was empty."));
    };
    let getter = Getter::new(attribute, !flag(case_sensitive, it)?, None)?;
    let mut best_key = getter.get(cx, &best, it)?;
    while let Some(item) = items.next(it)? {
        it.charge(1)?;
        let key = getter.get(cx, &item, it)?;
        if python::compare(better, &key, &best_key, it)? {
            best = item;
            best_key = key;
        }
    }
    Ok(best)
}

/// `do_default`
pub fn default(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [default, boolean] =
        Sig { name: "do_default", leading: &["value"], params: ["default_value", "boolean"], required: 0 }
            .bind(args)?;
    if is_undefined(subject) || (flag(boolean, it)? && !python::truth(subject, it)?) {
        return Ok(default.cloned().unwrap_or_else(|| Value::from("")));
    }
    Ok(subject.clone())
}

/// `do_attr`: the attribute, never the item.
pub fn attr(cx: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [name] = Sig { name: "do_attr", leading: &["environment", "obj"], params: ["name"], required: 1 }.bind(args)?;
    let name = name.cloned().unwrap_or_default();
    match text(&name) {
        Some(attribute) => match cx.env.attribute(subject, attribute, it)? {
            Some(value) => Ok(value),
            None => Ok(Undefined::element(cx.env.undefined, subject, &name)),
        },
        None => {
            python::hash_key(&name)?;
            Err(PyErr::type_error(format!("attribute name must be string, not '{}'", python::type_name(&name))))
        }
    }
}
