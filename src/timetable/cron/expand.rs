//! From the text of an expression to the values of its fields, with croniter's error texts.

use std::collections::HashSet;

use super::{Cron, Field, Nth, field};
use crate::python::{PyErr, PyResult};

/// Lowest and highest value of each field.
const RANGES: [(i64, i64); 7] = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6), (0, 59), (1970, 2099)];
/// As many values as these, and a field is a star.
const EVERY_VALUE: [usize; 7] = [60, 24, 31, 12, 7, 60, 130];
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// One entry of a field's list, once it is down to a single value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Entry {
    Star,
    Last,
    Number(i64),
}

/// What a field is being expanded for: the texts of the errors.
struct Source<'a> {
    /// The expression as given.
    given: &'a str,
    /// Its fields in lower case.
    fields: Vec<&'a str>,
}

impl Source<'_> {
    fn refuse(&self, tail: &str) -> PyErr {
        bad(format!("[{}] is not acceptable{tail}", self.given))
    }

    /// The value of a name in a field.
    fn name(&self, index: usize, name: &str) -> PyResult<Entry> {
        let position = |names: &[&str]| names.iter().position(|known| *known == name);
        let found = match index {
            field::DAY if name == "l" => Some(Entry::Last),
            field::MONTH => position(&MONTHS).map(|at| Entry::Number(at as i64 + 1)),
            field::DAY_OF_WEEK => position(&WEEKDAYS).map(|at| Entry::Number(at as i64)),
            _ => None,
        };
        found.ok_or_else(|| {
            PyErr::new("CroniterNotAlphaError", format!("[{}] is not acceptable", self.fields.join(" ")))
        })
    }
}

fn bad(message: impl Into<String>) -> PyErr {
    PyErr::new("CroniterBadCronError", message)
}

/// Parses an expression: see [`Cron::parse`].
pub(super) fn expand(expression: &str) -> PyResult<Cron> {
    let lower = expression.to_lowercase();
    let text = match lower.as_str() {
        "@hourly" => "0 * * * *",
        "@midnight" | "@daily" => "0 0 * * *",
        "@weekly" => "0 0 * * 0",
        "@monthly" => "0 0 1 * *",
        "@yearly" | "@annually" => "0 0 1 1 *",
        other => other,
    };
    let space = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c');
    let fields: Vec<&str> = text.split(space).filter(|part| !part.is_empty()).collect();
    if !(5..=7).contains(&fields.len()) {
        return Err(bad("Exactly 5, 6 or 7 columns has to be specified for iterator expression."));
    }
    let source = Source { given: expression, fields };
    let mut cron = Cron { fields: Vec::with_capacity(source.fields.len()), nth: Vec::new(), nearest: None };
    for index in 0..source.fields.len() {
        expand_field(&source, index, &mut cron)?;
    }
    check_weekdays(&source, &cron)?;
    Ok(cron)
}

fn expand_field(source: &Source<'_>, index: usize, cron: &mut Cron) -> PyResult<()> {
    let raw = source.fields.get(index).copied().unwrap_or_default();
    refuse_hashed(index, raw)?;
    let raw = if raw.contains('?') {
        if raw != "?" {
            return Err(source.refuse(". Question mark can not used with other characters"));
        }
        if index != field::DAY && index != field::DAY_OF_WEEK {
            return Err(source.refuse(". Question mark can only used in day_of_month or day_of_week"));
        }
        "*"
    } else {
        raw
    };
    let mut waiting: Vec<String> = raw.split(',').map(str::to_owned).collect();
    let mut seen: HashSet<String> = HashSet::new();
    let mut found: Vec<Entry> = Vec::new();
    while let Some(mut entry) = waiting.pop() {
        let mut nth = None;
        if index == field::DAY_OF_WEEK
            && let Some((rest, which)) = nth_weekday(source, &entry)?
        {
            entry = rest;
            nth = Some(which);
        }
        if index == field::DAY
            && let Some(day) = nearest_weekday(&entry)
        {
            if !(1..=31).contains(&day) {
                return Err(source.refuse(&format!(", nearest weekday day value '{day}' out of range")));
            }
            if !waiting.is_empty() || !found.is_empty() {
                return Err(source.refuse(". 'W' can only be used with a single day value, not in a list or range"));
            }
            cron.nearest = u32::try_from(day).ok();
            found.push(Entry::Number(day));
            continue;
        }
        let (low, high) = RANGES.get(index).copied().unwrap_or_default();
        if let Some((range, start_with_step)) = Range::read(&entry, low, high) {
            let items: Vec<String> = range
                .values(source, index, start_with_step)?
                .into_iter()
                .map(|value| match nth {
                    Some(Nth::Number(n)) => format!("{value}#{n}"),
                    _ => value.to_string(),
                })
                .collect();
            waiting.extend(items.iter().filter(|item| !seen.contains(*item)).cloned());
            seen.extend(items);
            continue;
        }
        // A start with a step that is no range after all is judged in its lengthened form.
        let entry = lengthened(&entry, low, high);
        if entry.starts_with('-') {
            return Err(source.refuse(", negative numbers not allowed"));
        }
        let value = match entry.as_str() {
            "*" => Entry::Star,
            digits if is_digits(digits) => Entry::Number(alias(index, number(digits))),
            name => source.name(index, name)?,
        };
        if let Entry::Number(value) = value
            && !(low..=high).contains(&value)
        {
            return Err(source.refuse(", out of range"));
        }
        found.push(value);
        if let (Some(which), Entry::Number(day)) = (nth, value) {
            let day = u32::try_from(day).unwrap_or_default();
            match cron.nth.iter_mut().find(|(known, _)| *known == day) {
                Some((_, list)) if list.contains(&which) => {}
                Some((_, list)) => list.push(which),
                None => cron.nth.push((day, vec![which])),
            }
        }
    }
    cron.fields.push(collect(source, index, found));
    Ok(())
}

/// Puts the entries of a field together; a field that lists every value becomes a star, except where that would change
/// how day of month and day of week combine.
fn collect(source: &Source<'_>, index: usize, found: Vec<Entry>) -> Field {
    let distinct: HashSet<Entry> = found.into_iter().collect();
    let mut every = distinct.len() == EVERY_VALUE.get(index).copied().unwrap_or_default();
    let other = match index {
        field::DAY => Some(field::DAY_OF_WEEK),
        field::DAY_OF_WEEK => Some(field::DAY),
        _ => None,
    };
    if let Some(other) = other {
        every &= source.fields.get(other).is_some_and(|text| text.contains('*'));
    }
    if every {
        return Field { star: true, only_star: true, ..Field::default() };
    }
    let mut field = Field::default();
    for entry in &distinct {
        match entry {
            Entry::Star => field.star = true,
            Entry::Last => field.last = true,
            Entry::Number(value) => field.values.extend(u32::try_from(*value)),
        }
    }
    field.only_star = field.star && distinct.len() == 1;
    field.values.sort_unstable();
    field
}

/// `5#2` beside a plain weekday is refused, unless all seven days are there.
fn check_weekdays(source: &Source<'_>, cron: &Cron) -> PyResult<()> {
    let Some(days) = cron.field(field::DAY_OF_WEEK) else { return Ok(()) };
    if cron.nth.is_empty() {
        return Ok(());
    }
    let plain: Vec<String> =
        days.values.iter().filter(|day| !cron.nth.iter().any(|(known, _)| known == *day)).map(u32::to_string).collect();
    let entries = days.values.len() + usize::from(days.star);
    if plain.is_empty() || entries == 7 {
        return Ok(());
    }
    let nth: Vec<String> = cron
        .nth
        .iter()
        .map(|(day, list)| {
            let mut numbers: Vec<u32> =
                list.iter().filter_map(|which| if let Nth::Number(n) = which { Some(*n) } else { None }).collect();
            numbers.sort_unstable();
            let mut texts: Vec<String> = numbers.iter().map(u32::to_string).collect();
            if list.contains(&Nth::Last) {
                texts.push("'l'".to_owned());
            }
            format!("{day}: {{{}}}", texts.join(", "))
        })
        .collect();
    Err(PyErr::new(
        "CroniterUnsupportedSyntaxError",
        format!(
            "day-of-week field does not support mixing literal values and nth day of week syntax.  Cron: '{}'    \
             dow={{{}}} vs nth={{{}}}",
            source.given,
            plain.join(", "),
            nth.join(", ")
        ),
    ))
}

/// A range `low-high/step` as written.
struct Range<'a> {
    low: std::borrow::Cow<'a, str>,
    high: std::borrow::Cow<'a, str>,
    step: &'a str,
}

impl<'a> Range<'a> {
    /// Reads `a-b`, `a-b/n`, `*/n` and `a/n`; true in second place for the last of these.
    fn read(text: &'a str, lowest: i64, highest: i64) -> Option<(Range<'a>, bool)> {
        if let Some(step) = text.strip_prefix("*/").filter(|step| !step.is_empty()) {
            if is_digits(step) {
                let (low, high) = (lowest.to_string().into(), highest.to_string().into());
                return Some((Range { low, high, step }, false));
            }
            return None;
        }
        let (body, step) = match text.rsplit_once('/') {
            Some((body, step)) if is_digits(step) => (body, step),
            Some(_) => return None,
            None => (text, "1"),
        };
        // The low bound may hold a slash, as in `1/2-5`; the high bound may not.
        let bounds = body
            .split_once('-')
            .filter(|(low, high)| !low.is_empty() && !high.is_empty() && !high.contains(['-', '/']));
        if let Some((low, high)) = bounds {
            return Some((Range { low: low.into(), high: high.into(), step }, false));
        }
        if text.contains('/') && !body.is_empty() && !body.contains('-') {
            return Some((Range { low: body.into(), high: highest.to_string().into(), step }, true));
        }
        None
    }

    /// The values, in croniter's order.
    fn values(&self, source: &Source<'_>, index: usize, start_with_step: bool) -> PyResult<Vec<i64>> {
        let (lowest, highest) = RANGES.get(index).copied().unwrap_or_default();
        let high = if index == field::DAY && self.high == "l" { "31" } else { &self.high };
        let low_text = bound(source, index, &self.low)?;
        let high_text = bound(source, index, high)?;
        let step = number(self.step);
        if step == 0 {
            return Err(bad(format!("[{}] step '0' in field {index} is not acceptable", source.given)));
        }
        if !is_digits(&low_text) || !is_digits(&high_text) {
            return Err(bad(format!(
                "[{}] bands '{low_text}-{high_text}' in field {index} are not acceptable",
                source.given
            )));
        }
        let (mut low, mut high) = (alias(index, number(&low_text)), alias(index, number(&high_text)));
        if low.max(high) > highest {
            return Err(bad(format!("{} is out of bands", source.given)));
        }
        if low == high && start_with_step {
            return Ok(vec![low]);
        }
        if low == high {
            // `Jan-Jan` is the whole cycle.
            (low, high) = (lowest, highest);
        }
        let stride = usize::try_from(step).unwrap_or(usize::MAX);
        if low <= high {
            return Ok((low..=high).step_by(stride).collect());
        }
        // A range that wraps: to the end of the field, then on from its beginning.
        let mut values: Vec<i64> = (low..=highest).step_by(stride).collect();
        let mut skip = 0;
        if let Some(last) = values.last() {
            if *last < lowest {
                return Err(PyErr::unsupported(format!("the cron range {}-{} below its field", self.low, self.high)));
            }
            let left = highest - last;
            if last - lowest + step > highest - lowest + 1 && left < step {
                skip = step - left;
            }
        }
        values.extend((lowest.saturating_add(skip)..=high).step_by(stride));
        Ok(values)
    }
}

/// A bound of a range with names resolved; `L` stays what it is.
fn bound(source: &Source<'_>, index: usize, text: &str) -> PyResult<String> {
    if is_digits(text) {
        return Ok(text.to_owned());
    }
    Ok(match source.name(index, text)? {
        Entry::Number(value) => value.to_string(),
        Entry::Last => "l".to_owned(),
        Entry::Star => "*".to_owned(),
    })
}

/// `*/n` and `a/n` with their bounds spelled out, whatever `n` is.
fn lengthened(text: &str, lowest: i64, highest: i64) -> String {
    if let Some(step) = text.strip_prefix("*/").filter(|step| !step.is_empty()) {
        let text = format!("{lowest}-{highest}/{step}");
        return lengthened_start(&text, highest);
    }
    lengthened_start(text, highest)
}

fn lengthened_start(text: &str, highest: i64) -> String {
    match text.rsplit_once('/') {
        Some((start, step)) if !start.is_empty() && !step.is_empty() => format!("{start}-{highest}/{step}"),
        _ => text.to_owned(),
    }
}

/// `7` is Sunday too.
fn alias(index: usize, value: i64) -> i64 {
    if index == field::DAY_OF_WEEK && value == 7 { 0 } else { value }
}

/// `5#2`, `mon-wed#1` or `L5`: what is left of the entry and which occurrence it means.
fn nth_weekday(source: &Source<'_>, entry: &str) -> PyResult<Option<(String, Nth)>> {
    if let Some(day) = entry.strip_prefix('l').filter(|day| is_digits(day)) {
        return Ok(Some((day.to_owned(), Nth::Last)));
    }
    let Some((head, which)) = entry.rsplit_once('#').filter(|(_, which)| is_digits(which)) else { return Ok(None) };
    let word = !head.is_empty() && head.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let span =
        |names: &[&str]| head.split_once('-').is_some_and(|(from, to)| names.contains(&from) && names.contains(&to));
    if !(word || span(&WEEKDAYS) || span(&MONTHS)) {
        return Ok(None);
    }
    match which.trim_start_matches('0').parse::<u32>() {
        Ok(n @ 1..=5) => Ok(Some((head.to_owned(), Nth::Number(n)))),
        _ => Err(source.refuse(&format!(". Invalid day_of_week value: '{which}'"))),
    }
}

/// `15W` or `W15`.
fn nearest_weekday(entry: &str) -> Option<i64> {
    let digits = entry.strip_suffix('w').filter(|digits| is_digits(digits)).or_else(|| entry.strip_prefix('w'))?;
    is_digits(digits).then(|| number(digits))
}

/// Jenkins' `H` needs a seed that Airflow never gives; `R` is random.
fn refuse_hashed(index: usize, text: &str) -> PyResult<()> {
    let (hashed, rest) = match (text.strip_prefix('h'), text.strip_prefix('r')) {
        (Some(rest), _) => (true, rest),
        (_, Some(rest)) => (false, rest),
        _ => return Ok(()),
    };
    let (range, rest) = match rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((range, rest)) => match range.split_once('-') {
            Some((from, to)) if is_digits(from) && is_digits(to) => (Some((number(from), number(to))), rest),
            _ => return Ok(()),
        },
        None => (None, rest),
    };
    let divisor = match rest.strip_prefix('/') {
        Some(divisor) if is_digits(divisor) => Some(number(divisor)),
        None if rest.is_empty() => None,
        _ => return Ok(()),
    };
    if hashed {
        return Err(bad("Hashed definitions must include hash_id"));
    }
    if let Some((from, to)) = range {
        if from >= to {
            return Err(bad("Range end must be greater than range begin"));
        }
        let (lowest, highest) = RANGES.get(index).copied().unwrap_or_default();
        if [from, to].iter().any(|end| !(lowest..=highest).contains(&alias(index, *end))) {
            return Err(bad(format!("[{text}] is not acceptable, out of range")));
        }
    }
    if divisor == Some(0) {
        return Err(bad(format!("Bad expression: {text}")));
    }
    Err(PyErr::unsupported(format!("the cron field {text:?} is random")))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The value of digits; what is too large for any field stays too large.
fn number(digits: &str) -> i64 {
    digits.parse().unwrap_or(i64::MAX / 4)
}
