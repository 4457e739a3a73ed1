//! Filters that sort, group or compare by an attribute.

use std::collections::HashSet;

use crate::jinja::Cx;
use crate::python::{self, Args, CmpOp, HashKey, Interp, Named, PyErr, PyIter, PyResult, Value, View, downcast, view};

use super::attrs::{Getter, MultiGetter, ignore_case};
use super::bind::Sig;
use super::sequence::flag;
use super::sort::{order, order_by};

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
    let unordered = downcast::<python::Set>(value).is_some_and(|set| !set.is_ordered());
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
        _ => {
            Err(PyErr::type_error(format!("'{}' object cannot be interpreted as an integer", python::type_name(value))))
        }
    }
}

/// `do_dictsort`
pub fn dictsort(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [case_sensitive, by, reverse] =
        Sig { name: "do_dictsort", leading: &["value"], params: ["case_sensitive", "by", "reverse"], required: 0 }
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
            Some((key, _)) => same_key(key, &keys[index], it)?,
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

/// `a is b or a == b`, for keys of groups.
fn same_key(a: &Value, b: &Value, it: &mut dyn Interp) -> PyResult<bool> {
    let nan = |value: &Value| matches!(view(value), View::Float(float) if float.is_nan());
    if nan(a) && nan(b) {
        return Err(PyErr::unsupported("groupby with nan as key: whether two are one object, only CPython knows"));
    }
    python::identical_or_equal(a, b, it)
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
