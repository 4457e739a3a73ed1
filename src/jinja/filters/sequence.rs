//! Filters over sequences and mappings.

use std::collections::HashSet;
use std::sync::Arc;

use crate::jinja::Cx;
use crate::jinja::markup::{escape, has_html, soft_str};
use crate::jinja::undefined::{Undefined, as_undefined, is_undefined};
use crate::python::{
    self, Args, BinOp, CmpOp, HashKey, Interp, Named, PyErr, PyIter, PyResult, Value, View, downcast, text, view,
};

use super::attrs::{Getter, MultiGetter, ignore_case};
use super::bind::Sig;
use super::sort::{order, order_by};

fn flag(value: Option<&Value>, it: &mut dyn Interp) -> PyResult<bool> {
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
        None if text(subject).is_some() => python::to_vec(subject, it)?,
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
        Err(error) if error.class == "TypeError" => {
            Err(PyErr::new("FilterArgumentError", "argument must be iterable"))
        }
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
    let [separator, attribute] = Sig {
        name: "sync_do_join",
        leading: &["eval_ctx", "value"],
        params: ["d", "attribute"],
        required: 0,
    }
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
    let [attribute, start] = Sig {
        name: "sync_do_sum",
        leading: &["environment", "iterable"],
        params: ["attribute", "start"],
        required: 0,
    }
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
    let [case_sensitive, attribute] = Sig {
        name,
        leading: &["environment", "value"],
        params: ["case_sensitive", "attribute"],
        required: 0,
    }
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

/// `sync_do_unique`
pub fn unique(cx: &Cx, subject: &Value, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    let [case_sensitive, attribute] = Sig {
        name: "sync_do_unique",
        leading: &["environment", "value"],
        params: ["case_sensitive", "attribute"],
        required: 0,
    }
    .bind(args)?;
    let (cx, subject) = (cx.clone(), subject.clone());
    let (case_sensitive, attribute) = (case_sensitive.cloned(), attribute.cloned());
    let mut seen: HashSet<HashKey> = HashSet::new();
    let mut started: Option<(Getter, PyIter)> = None;
    Ok(python::generator(python::from_fn(move |it| {
        if started.is_none() {
            let getter = Getter::new(attribute.as_ref(), !flag(case_sensitive.as_ref(), it)?, None)?;
            started = Some((getter, python::iter(&subject, it)?));
        }
        let Some((getter, items)) = &mut started else { return Ok(None) };
        while let Some(item) = items.next(it)? {
            it.charge(1)?;
            let key = getter.get(&cx, &item, it)?;
            if seen.insert(python::hash_key(&key)?) {
                return Ok(Some(item));
            }
        }
        Ok(None)
    })))
}

/// The items of something to be sorted: also of a set, whose own order then does not matter.
fn sortable(value: &Value, it: &mut dyn Interp) -> PyResult<(Vec<Value>, bool)> {
    let unordered = downcast::<python::Set>(value).is_some();
    Ok((python::to_vec_unordered(value, it)?, unordered))
}

/// Refuses a result in which equal keys would stand in an order that only the process of Airflow knows.
fn no_ties(keys: &[Value], order: &[usize], unordered: bool, reverse: bool, it: &mut dyn Interp) -> PyResult<()> {
    if !unordered {
        return Ok(());
    }
    for pair in order.windows(2) {
        let (low, high) = if reverse { (pair[1], pair[0]) } else { (pair[0], pair[1]) };
        if !python::compare(CmpOp::Lt, &keys[low], &keys[high], it)? {
            return Err(PyErr::unsupported("sorting a set with equal keys: their order differs in every process"));
        }
    }
    Ok(())
}

/// `do_sort`
pub fn sort(cx: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [reverse, case_sensitive, attribute] = Sig {
        name: "do_sort",
        leading: &["environment", "value"],
        params: ["reverse", "case_sensitive", "attribute"],
        required: 0,
    }
    .bind(args)?;
    let getter = MultiGetter::new(attribute, !flag(case_sensitive, it)?)?;
    let (items, unordered) = sortable(subject, it)?;
    let reverse = c_flag(reverse)?;
    let keys = items.iter().map(|item| getter.get(cx, item, it)).collect::<PyResult<Vec<_>>>()?;
    let order = order(&keys, reverse, it)?;
    no_ties(&keys, &order, unordered, reverse, it)?;
    Ok(python::list(order.into_iter().map(|index| items[index].clone()).collect()))
}

/// A flag of a function in C that is read as an `int`.
fn c_flag(value: Option<&Value>) -> PyResult<bool> {
    let Some(value) = value else { return Ok(false) };
    match view(value) {
        View::Bool(flag) => Ok(flag),
        View::Int(int) if i32::try_from(int).is_ok() => Ok(int != 0),
        View::Int(_) => Err(PyErr::overflow("Python int too large to convert to C int")),
        _ if python::big(value).is_some() => Err(PyErr::overflow("Python int too large to convert to C int")),
        _ => Err(PyErr::type_error(format!(
            "'{}' object cannot be interpreted as an integer",
            python::type_name(value)
        ))),
    }
}

/// `do_dictsort`
pub fn dictsort(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [case_sensitive, by, reverse] = Sig {
        name: "do_dictsort",
        leading: &["value"],
        params: ["case_sensitive", "by", "reverse"],
        required: 0,
    }
    .bind(args)?;
    let position = match by {
        None => 0,
        Some(by) if python::compare(CmpOp::Eq, by, &Value::from("key"), it)? => 0,
        Some(by) if python::compare(CmpOp::Eq, by, &Value::from("value"), it)? => 1,
        Some(_) => {
            return Err(PyErr::new("FilterArgumentError", "You can only sort by either \"key\" or \"value\""));
        }
    };
    let pairs = python::call_method(subject, "items", &Args::default(), it)?;
    let pairs = python::to_vec(&pairs, it)?;
    let reverse = c_flag(reverse)?;
    let mut keys = Vec::with_capacity(pairs.len());
    for pair in &pairs {
        let key = python::getitem(pair, &Value::from(position), it)?;
        keys.push(if flag(case_sensitive, it)? { key } else { ignore_case(key, it)? });
    }
    let order = order(&keys, reverse, it)?;
    Ok(python::list(order.into_iter().map(|index| pairs[index].clone()).collect()))
}

/// `_GroupTuple` of Jinja2: prints like a plain tuple.
const GROUP: Named = Named { class: "_GroupTuple", fields: &["grouper", "list"], plain_repr: true };

/// `sync_do_groupby`
pub fn groupby(cx: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [attribute, default, case_sensitive] = Sig {
        name: "sync_do_groupby",
        leading: &["environment", "value"],
        params: ["attribute", "default", "case_sensitive"],
        required: 1,
    }
    .bind(args)?;
    let case_sensitive = flag(case_sensitive, it)?;
    let getter = Getter::new(attribute, !case_sensitive, default)?;
    let (items, unordered) = sortable(subject, it)?;
    let keys = items.iter().map(|item| getter.get(cx, item, it)).collect::<PyResult<Vec<_>>>()?;
    let order = order(&keys, false, it)?;
    no_ties(&keys, &order, unordered, false, it)?;
    let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
    for index in order {
        let same = match groups.last() {
            Some((key, _)) => python::compare(CmpOp::Eq, key, &keys[index], it)?,
            None => false,
        };
        match groups.last_mut() {
            Some((_, members)) if same => members.push(items[index].clone()),
            _ => groups.push((keys[index].clone(), vec![items[index].clone()])),
        }
    }
    if !case_sensitive {
        // the key as the first item of the group spells it
        let plain = Getter::new(attribute, false, default)?;
        for (key, members) in &mut groups {
            if let Some(first) = members.first() {
                *key = plain.get(cx, first, it)?;
            }
        }
    }
    let groups = groups.into_iter().map(|(key, members)| python::named_tuple(GROUP, vec![key, python::list(members)]));
    Ok(python::list(groups.collect()))
}

/// `do_batch`
pub fn batch(_: &Cx, subject: &Value, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    let [size, fill] = Sig {
        name: "do_batch",
        leading: &["value"],
        params: ["linecount", "fill_with"],
        required: 1,
    }
    .bind(args)?;
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
    let [slices, fill] = Sig {
        name: "sync_do_slice",
        leading: &["value"],
        params: ["slices", "fill_with"],
        required: 1,
    }
    .bind(args)?;
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

/// Keys sorted as `pprint` sorts those of a dict or set: what cannot be compared goes by the name of its type.
pub(super) fn safe_order(keys: &[Value], it: &mut dyn Interp) -> PyResult<Vec<usize>> {
    let less = &mut |a: usize, b: usize, it: &mut dyn Interp| match python::compare(CmpOp::Lt, &keys[a], &keys[b], it) {
        Err(error) if error.class == "TypeError" => {
            let (a, b) = (class_text(&keys[a]), class_text(&keys[b]));
            if a == b {
                return Err(PyErr::unsupported("pprint of keys that have no order: it goes by memory addresses"));
            }
            Ok(a < b)
        }
        result => result,
    };
    order_by(keys.len(), false, it, less, &|| false)
}

/// `str(type(value))`
fn class_text(value: &Value) -> String {
    match view(value) {
        View::Object(object) => format!("<class '{}'>", object.qualified_name()),
        View::Str(_) if value.is_safe() => "<class 'markupsafe.Markup'>".to_owned(),
        _ => format!("<class '{}'>", python::type_name(value)),
    }
}

/// `do_default`
pub fn default(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [default, boolean] = Sig {
        name: "do_default",
        leading: &["value"],
        params: ["default_value", "boolean"],
        required: 0,
    }
    .bind(args)?;
    if is_undefined(subject) || (flag(boolean, it)? && !python::truth(subject, it)?) {
        return Ok(default.cloned().unwrap_or_else(|| Value::from("")));
    }
    Ok(subject.clone())
}

/// `do_attr`: the attribute, never the item.
pub fn attr(cx: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [name] = Sig {
        name: "do_attr",
        leading: &["environment", "obj"],
        params: ["name"],
        required: 1,
    }
    .bind(args)?;
    let name = name.cloned().unwrap_or_default();
    match text(&name) {
        Some(attribute) => match cx.env.attribute(subject, attribute, it)? {
            Some(value) => Ok(value),
            None => Ok(Undefined::element(cx.env.undefined, subject, &name)),
        },
        None => Err(PyErr::type_error(format!(
            "attribute name must be string, not '{}'",
            python::type_name(&name)
        ))),
    }
}
