//! Which of three numbers is the year, the month and the day: dateutil's `_ymd`.

use super::parser::{Stop, Unknown};
use super::pendulum::last_day;
use crate::python::PyErr;

/// A number as it was found.
pub(crate) enum Entry<'a> {
    /// Digits of the text
    Text(&'a str),
    /// A number; beyond a hundred it is a year
    Number { whole: i64, beyond_hundred: bool },
}

/// Up to three numbers of a date.
#[derive(Default)]
pub(crate) struct Ymd {
    values: Vec<i64>,
    /// Whether the year was given with its century
    pub century: bool,
    day: Option<usize>,
    month: Option<usize>,
    year: Option<usize>,
}

/// Year, month and day, as far as known.
pub(crate) type Resolved = (Option<i64>, Option<i64>, Option<i64>);

impl Ymd {
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    fn at(&self, index: usize) -> i64 {
        self.values.get(index).copied().unwrap_or_default()
    }

    /// Adds a number, labelled `Y`, `M` or `D` where that is known.
    pub(crate) fn push(&mut self, entry: Entry<'_>, label: Option<char>) -> Result<(), Unknown> {
        let mut label = label;
        let (value, is_year) = match entry {
            Entry::Text(text) => {
                let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
                let value = if digits { text.parse().map_err(|_| Unknown)? } else { return Err(Unknown) };
                (value, text.len() > 2)
            }
            Entry::Number { whole, beyond_hundred } => (whole, beyond_hundred),
        };
        if is_year {
            self.century = true;
            if !matches!(label, None | Some('Y')) {
                return Err(Unknown);
            }
            label = Some('Y');
        }
        self.values.push(value);
        let place = self.values.len() - 1;
        let slot = match label {
            Some('M') => &mut self.month,
            Some('D') => &mut self.day,
            Some(_) => &mut self.year,
            None => return Ok(()),
        };
        if slot.is_some() {
            return Err(Unknown);
        }
        *slot = Some(place);
        Ok(())
    }

    pub(crate) fn could_be_day(&self, value: i64, fraction: bool) -> bool {
        let within = |last: i64| (1..=last).contains(&value) && !(fraction && value == last);
        match (self.day, self.month, self.year) {
            (Some(_), ..) => false,
            (None, None, _) => within(31),
            (None, Some(month), None) => within(i64::from(last_day(2000, self.at(month)))),
            (None, Some(month), Some(year)) => {
                within(i64::from(last_day(self.at(year).rem_euclid(400), self.at(month))))
            }
        }
    }

    /// `resolve_ymd(yearfirst, dayfirst)`
    pub(crate) fn resolve(&self, yearfirst: bool, dayfirst: bool) -> Result<Resolved, Stop> {
        let labels = [self.year, self.month, self.day];
        let known = labels.iter().flatten().count();
        let len = self.len();
        if len == known && known > 0 || len == 3 && known == 2 {
            return self.by_labels(labels, known);
        }
        let v = |index: usize| Some(self.at(index));
        let resolved = match (len, self.month) {
            (4.., _) => return Err(Stop::Unknown),
            (1, _) | (2, Some(_)) => {
                let (month, other) = match self.month {
                    Some(at) => (v(at), self.at(if at == 0 { len - 1 } else { at - 1 })),
                    None => (None, self.at(0)),
                };
                if len > 1 || self.month.is_none() {
                    if other > 31 { (Some(other), month, None) } else { (None, month, Some(other)) }
                } else {
                    (None, month, None)
                }
            }
            (2, None) => {
                if self.at(0) > 31 {
                    (v(0), v(1), None)
                } else if self.at(1) > 31 {
                    (v(1), v(0), None)
                } else if dayfirst && self.at(1) <= 12 {
                    (None, v(1), v(0))
                } else {
                    (None, v(0), v(1))
                }
            }
            (3, Some(0)) => {
                if self.at(1) > 31 {
                    (v(1), v(0), v(2))
                } else {
                    (v(2), v(0), v(1))
                }
            }
            (3, Some(1)) => {
                if self.at(0) > 31 || yearfirst && self.at(2) <= 31 {
                    (v(0), v(1), v(2))
                } else {
                    (v(2), v(1), v(0))
                }
            }
            (3, Some(_)) => {
                if self.at(1) > 31 {
                    (v(1), v(2), v(0))
                } else {
                    (v(0), v(2), v(1))
                }
            }
            (3, None) => {
                if self.at(0) > 31 || self.year == Some(0) || yearfirst && self.at(1) <= 12 && self.at(2) <= 31 {
                    if dayfirst && self.at(2) <= 12 { (v(0), v(2), v(1)) } else { (v(0), v(1), v(2)) }
                } else if self.at(0) > 12 || dayfirst && self.at(1) <= 12 {
                    (v(2), v(1), v(0))
                } else {
                    (v(2), v(0), v(1))
                }
            }
            _ => (None, None, None),
        };
        Ok(resolved)
    }

    fn by_labels(&self, labels: [Option<usize>; 3], known: usize) -> Result<Resolved, Stop> {
        let mut labels = labels;
        if self.len() == 3 && known == 2 {
            let missing = (0..3).find(|at| !labels.contains(&Some(*at)));
            if let Some(slot) = labels.iter_mut().find(|label| label.is_none()) {
                *slot = missing;
            }
        }
        if labels.iter().flatten().count() != self.len() {
            return Err(Stop::Error(PyErr::new("AssertionError", "")));
        }
        let [year, month, day] = labels.map(|label| label.map(|at| self.at(at)));
        Ok((year, month, day))
    }
}
