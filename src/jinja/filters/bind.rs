//! Binding arguments to the parameters of Jinja2's filter functions, with CPython's errors for functions written in Python.

use crate::python::{Args, PyErr, PyResult, Value};

/// A filter or test function as Python sees it.
#[derive(Debug, Clone, Copy)]
pub struct Sig<const N: usize> {
    /// The function's own name, which is in each message.
    pub name: &'static str,
    /// Parameters before the others: what Jinja2 passes (`environment`, `context`, `eval_ctx`), then the subject.
    pub leading: &'static [&'static str],
    /// The parameters a template gives.
    pub params: [&'static str; N],
    /// How many of `params` have no default.
    pub required: usize,
}

impl<const N: usize> Sig<N> {
    /// The argument of each parameter; `None` where the call leaves the default.
    pub fn bind<'a>(&self, args: &Args<'a>) -> PyResult<[Option<&'a Value>; N]> {
        let mut bound = [None; N];
        for (slot, value) in bound.iter_mut().zip(args.pos) {
            *slot = Some(value);
        }
        for (key, value) in args.kw {
            match self.params.iter().position(|param| *param == &**key) {
                Some(index) => match &mut bound[index] {
                    slot @ None => *slot = Some(value),
                    Some(_) => return Err(self.multiple(key)),
                },
                None if self.leading.contains(&&**key) => return Err(self.multiple(key)),
                None => return Err(self.unexpected(key)),
            }
        }
        let given = args.pos.len();
        if given > N {
            return Err(self.too_many(given));
        }
        let missing: Vec<String> = self
            .params
            .iter()
            .zip(&bound)
            .take(self.required)
            .filter(|(_, slot)| slot.is_none())
            .map(|(param, _)| format!("'{param}'"))
            .collect();
        if !missing.is_empty() {
            return Err(self.missing(&missing));
        }
        Ok(bound)
    }

    fn multiple(&self, key: &str) -> PyErr {
        PyErr::type_error(format!("{}() got multiple values for argument {}", self.name, repr_key(key)))
    }

    fn unexpected(&self, key: &str) -> PyErr {
        PyErr::type_error(format!("{}() got an unexpected keyword argument {}", self.name, repr_key(key)))
    }

    fn too_many(&self, given: usize) -> PyErr {
        let leading = self.leading.len();
        let most = leading + N;
        let takes = if self.required < N {
            format!("from {} to {most} positional arguments", leading + self.required)
        } else {
            format!("{most} positional argument{}", if most == 1 { "" } else { "s" })
        };
        let given = given + leading;
        let were = if given == 1 { "was" } else { "were" };
        PyErr::type_error(format!("{}() takes {takes} but {given} {were} given", self.name))
    }

    fn missing(&self, names: &[String]) -> PyErr {
        let list = match names {
            [] => String::new(),
            [one] => one.clone(),
            [one, two] => format!("{one} and {two}"),
            [init @ .., last] => format!("{}, and {last}", init.join(", ")),
        };
        PyErr::type_error(format!(
            "{}() missing {} required positional argument{}: {list}",
            self.name,
            names.len(),
            if names.len() == 1 { "" } else { "s" }
        ))
    }
}

// CPython puts the name between quotes as it is
fn repr_key(key: &str) -> String {
    format!("'{key}'")
}

/// Checks the keywords of a function that takes any (`**kwargs`) against the names of its leading parameters.
pub fn reject_leading(name: &str, leading: &[&str], args: &Args<'_>) -> PyResult<()> {
    match args.kw.iter().find(|(key, _)| leading.contains(&&**key)) {
        Some((key, _)) => {
            Err(PyErr::type_error(format!("{name}() got multiple values for argument {}", repr_key(key))))
        }
        None => Ok(()),
    }
}

/// Checks the arguments of a function in C that takes the subject alone, such as `len`.
pub fn only_subject(name: &str, args: &Args<'_>) -> PyResult<()> {
    if !args.kw.is_empty() {
        return Err(PyErr::type_error(format!("{name}() takes no keyword arguments")));
    }
    if !args.pos.is_empty() {
        return Err(PyErr::type_error(format!("{name}() takes exactly one argument ({} given)", args.pos.len() + 1)));
    }
    Ok(())
}

/// Checks the arguments of a function in Python whose only parameter is positional-only, such as markupsafe's `escape(s, /)`.
pub fn only_positional_subject(name: &str, param: &str, args: &Args<'_>) -> PyResult<()> {
    if let Some((key, _)) = args.kw.first() {
        if args.kw.iter().any(|(key, _)| &**key == param) {
            return Err(PyErr::type_error(format!(
                "{name}() got some positional-only arguments passed as keyword arguments: '{param}'"
            )));
        }
        return Err(PyErr::type_error(format!("{name}() got an unexpected keyword argument {}", repr_key(key))));
    }
    if !args.pos.is_empty() {
        return Err(PyErr::type_error(format!(
            "{name}() takes 1 positional argument but {} were given",
            args.pos.len() + 1
        )));
    }
    Ok(())
}
