//! Binding arguments to the parameters of a function written in Python.

use super::{Args, PyErr, PyResult, Value};

/// The parameters of a Python-level function, to bind arguments as CPython does and to fail in its words.
#[derive(Debug, Clone, Copy)]
pub struct Sig<'s> {
    name: &'s str,
    params: &'s [&'s str],
    required: usize,
    keyword_only: &'s [&'s str],
    bound_self: bool,
    positional_only: usize,
}

impl<'s> Sig<'s> {
    /// A function of these parameters, all required. `name` is what error messages call it (`__qualname__`).
    pub const fn new(name: &'s str, params: &'s [&'s str]) -> Self {
        Sig { name, params, required: params.len(), keyword_only: &[], bound_self: false, positional_only: 0 }
    }

    /// Only the first `required` parameters have no default.
    #[must_use]
    pub const fn required(mut self, required: usize) -> Self {
        self.required = required;
        self
    }

    /// Further parameters that can only be given by name; all have defaults.
    #[must_use]
    pub const fn keyword_only(mut self, names: &'s [&'s str]) -> Self {
        self.keyword_only = names;
        self
    }

    /// The first parameters cannot be given by name.
    #[must_use]
    pub const fn positional_only(mut self, count: usize) -> Self {
        self.positional_only = count;
        self
    }

    /// A method: `self` is not among the parameters, but messages count it.
    #[must_use]
    pub const fn method(mut self) -> Self {
        self.bound_self = true;
        self
    }

    /// The value of each parameter in order, keyword-only ones last; `None` where the default counts.
    pub fn bind<'a>(&self, args: &Args<'a>) -> PyResult<Vec<Option<&'a Value>>> {
        let mut out: Vec<Option<&'a Value>> = vec![None; self.params.len() + self.keyword_only.len()];
        for (slot, value) in out.iter_mut().zip(args.pos.iter().take(self.params.len())) {
            *slot = Some(value);
        }
        let mut keyword_only_given = 0;
        let mut positional_only_names = Vec::new();
        for (key, value) in args.kw {
            let at = self.params.iter().chain(self.keyword_only).position(|name| *name == &**key);
            match at {
                Some(at) if at < self.positional_only => positional_only_names.push(key.to_string()),
                Some(at) => {
                    keyword_only_given += usize::from(at >= self.params.len());
                    let Some(slot) = out.get_mut(at) else { continue };
                    if slot.is_some() {
                        return Err(self.error(format!("got multiple values for argument '{key}'")));
                    }
                    *slot = Some(value);
                }
                None => return Err(self.error(format!("got an unexpected keyword argument '{key}'"))),
            }
        }
        if !positional_only_names.is_empty() {
            return Err(self.error(format!(
                "got some positional-only arguments passed as keyword arguments: '{}'",
                positional_only_names.join(", ")
            )));
        }
        if args.pos.len() > self.params.len() {
            return Err(self.too_many(args.pos.len(), keyword_only_given));
        }
        let missing: Vec<&str> = self
            .params
            .iter()
            .zip(&out)
            .take(self.required)
            .filter(|(_, slot)| slot.is_none())
            .map(|(name, _)| *name)
            .collect();
        if !missing.is_empty() {
            return Err(self.missing(&missing));
        }
        Ok(out)
    }

    fn error(&self, what: String) -> PyErr {
        PyErr::type_error(format!("{}() {what}", self.name))
    }

    fn too_many(&self, given: usize, keyword_only_given: usize) -> PyErr {
        let own = usize::from(self.bound_self);
        let (max, min, given) = (self.params.len() + own, self.required + own, given + own);
        let takes = if min < max { format!("from {min} to {max}") } else { max.to_string() };
        let plural = if max == 1 && min == max { "" } else { "s" };
        let (kind, verb) = if keyword_only_given > 0 {
            let s = if keyword_only_given == 1 { "" } else { "s" };
            let positional = if given == 1 { "" } else { "s" };
            (format!(" positional argument{positional} (and {keyword_only_given} keyword-only argument{s})"), "were")
        } else {
            (String::new(), if given == 1 { "was" } else { "were" })
        };
        self.error(format!("takes {takes} positional argument{plural} but {given}{kind} {verb} given"))
    }

    fn missing(&self, names: &[&str]) -> PyErr {
        let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
        let list = match quoted.as_slice() {
            [one] => one.clone(),
            [one, two] => format!("{one} and {two}"),
            [first @ .., last] => format!("{}, and {last}", first.join(", ")),
            [] => String::new(),
        };
        let plural = if names.len() == 1 { "" } else { "s" };
        self.error(format!("missing {} required positional argument{plural}: {list}", names.len()))
    }
}
