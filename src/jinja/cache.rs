//! Compiled templates by content, bounded.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use foldhash::fast::FixedState;
use minijinja::{AutoEscape, Environment as Mini};

use super::code::{Codes, Site};
use super::env::Env;
use super::fold::Folder;
use super::lower::{Place, Settings, lower};
use super::runtime;
use super::runtime::context::BlockUnit;
use super::trace::{Lines, Trace};
use super::{Environment, TemplateError, parse};

/// Bytes of lowered source after which a cache starts anew.
const MAX_BYTES: usize = 64 << 20;
/// Templates after which a cache starts anew.
const MAX_TEMPLATES: usize = 20_000;
/// Nesting inside minijinja; calls are counted against the environment's own limit before it is reached.
const RECURSION: usize = 1_000_000;
/// Mark of units that start with autoescape on.
const ESCAPED: &str = "+html";

/// A compiled template.
#[derive(Debug)]
pub(crate) struct Program {
    source: Arc<str>,
    name: Option<Arc<str>>,
    settings: u64,
    root: Arc<str>,
    blocks: Vec<(Arc<str>, Arc<str>)>,
    /// True once minijinja has parsed the root.
    parsed: AtomicBool,
}

impl Program {
    /// minijinja's name of its root.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// minijinja's template of its root. Parsing it, the first time, may take more than the stack at hand; a stack of its own
    /// costs more than most renderings.
    pub fn template<'g>(&self, generation: &'g Generation) -> Result<minijinja::Template<'g, 'g>, minijinja::Error> {
        let get = || generation.mini.get_template(&self.root);
        if self.parsed.load(Ordering::Relaxed) {
            return get();
        }
        let template = with_stack(get)?;
        self.parsed.store(true, Ordering::Relaxed);
        Ok(template)
    }

    /// Its name, if a loader gave it.
    pub fn name(&self) -> Option<Arc<str>> {
        self.name.clone()
    }

    /// Its blocks, as a context holds them.
    pub fn blocks(&self) -> HashMap<Arc<str>, Vec<BlockUnit>> {
        self.blocks.iter().map(|(name, unit)| (name.clone(), vec![BlockUnit { unit: unit.clone() }])).collect()
    }

    /// The units of its blocks by name.
    pub fn block_units(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
        self.blocks.iter().map(|(name, unit)| (name, unit))
    }
}

/// A unit: its lowered source and where its parts come from.
#[derive(Debug)]
pub(crate) struct UnitInfo {
    source: String,
    places: Vec<Place>,
    /// The template it belongs to.
    pub template: Option<Arc<str>>,
}

impl UnitInfo {
    /// The part of the original that a byte of the lowered source belongs to.
    pub fn place(&self, at: usize) -> Option<Site> {
        let index = self.places.partition_point(|place| place.at <= at);
        index.checked_sub(1).and_then(|index| self.places.get(index)).map(|place| place.site)
    }
}

type Units = Arc<RwLock<HashMap<Arc<str>, Arc<UnitInfo>>>>;

/// One filling of the cache: minijinja's environment and everything compiled into it.
pub(crate) struct Generation {
    mini: Mini<'static>,
    programs: RwLock<HashMap<u64, Vec<Arc<Program>>>>,
    units: Units,
    codes: Arc<Codes>,
    bytes: AtomicUsize,
    count: AtomicUsize,
}

impl std::fmt::Debug for Generation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Generation").field("count", &self.count).field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl Default for Generation {
    fn default() -> Self {
        let units: Units = Units::default();
        let mut mini = Mini::empty();
        let codes = Arc::<Codes>::default();
        runtime::register(&mut mini, &codes);
        mini.set_keep_trailing_newline();
        mini.set_recursion_limit(RECURSION);
        mini.set_auto_escape_callback(|name| if name.ends_with(ESCAPED) { AutoEscape::Html } else { AutoEscape::None });
        let table = units.clone();
        mini.set_loader(move |name| {
            let units = table.read().unwrap_or_else(PoisonError::into_inner);
            Ok(units.get(name).map(|unit| unit.source.clone()))
        });
        Generation {
            mini,
            programs: RwLock::default(),
            units,
            codes,
            bytes: AtomicUsize::new(0),
            count: AtomicUsize::new(0),
        }
    }
}

/// Keeps the line break at the end of units; the lowering has dropped what Jinja2 drops.
trait KeepTrailingNewline {
    fn set_keep_trailing_newline(&mut self);
}

impl KeepTrailingNewline for Mini<'static> {
    fn set_keep_trailing_newline(&mut self) {
        let syntax = minijinja::syntax::SyntaxConfig::builder().keep_trailing_newline(true).build();
        if let Ok(syntax) = syntax {
            self.set_syntax(syntax);
        }
    }
}

impl Generation {
    /// The codes its templates call.
    pub fn codes(&self) -> &Codes {
        &self.codes
    }

    /// True when a new generation should take over.
    pub fn is_full(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) > MAX_BYTES || self.count.load(Ordering::Relaxed) > MAX_TEMPLATES
    }

    /// A unit by minijinja's name.
    pub fn unit(&self, name: &str) -> Option<Arc<UnitInfo>> {
        self.units.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// The compiled form of a source.
    pub fn program(
        &self,
        env: &Environment,
        run: &Arc<Env>,
        source: &str,
        name: Option<&str>,
        options: Options,
    ) -> Result<Arc<Program>, TemplateError> {
        let settings = fingerprint(env, options);
        let key = FixedState::default().hash_one((source, name, settings));
        let same = |program: &&Arc<Program>| {
            &*program.source == source && program.name.as_deref() == name && program.settings == settings
        };
        {
            let programs = self.programs.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(found) = programs.get(&key).and_then(|programs| programs.iter().find(same)) {
                return Ok(found.clone());
            }
        }
        let program = Arc::new(self.compile(env, run, source, name, options, settings)?);
        let mut programs = self.programs.write().unwrap_or_else(PoisonError::into_inner);
        programs.entry(key).or_default().push(program.clone());
        Ok(program)
    }

    fn compile(
        &self,
        env: &Environment,
        run: &Arc<Env>,
        source: &str,
        name: Option<&str>,
        options: Options,
        settings: u64,
    ) -> Result<Program, TemplateError> {
        let lowered = compile_units(env, run, source, name, options, &self.codes)?;
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let suffix = if env.autoescape { ESCAPED } else { "" };
        let template: Option<Arc<str>> = name.map(Arc::from);
        let mut root: Arc<str> = "".into();
        let mut blocks = Vec::new();
        let mut units = self.units.write().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = source.len();
        for unit in lowered {
            let label = unit.block.as_deref().map_or_else(|| "root".to_owned(), |block| format!("block_{block}"));
            let unit_name: Arc<str> = format!("{number}_{label}{suffix}").into();
            match unit.block {
                Some(block) => blocks.push((block, unit_name.clone())),
                None => root = unit_name.clone(),
            }
            bytes += unit.source.len() * 2 + unit.weight * 8;
            let info = UnitInfo { source: unit.source, places: unit.places, template: template.clone() };
            units.insert(unit_name, Arc::new(info));
        }
        drop(units);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(Program { source: source.into(), name: template, settings, root, blocks, parsed: AtomicBool::new(false) })
    }
}

/// Runs something whose depth is bounded but may be more than the stack at hand takes.
pub(crate) fn with_stack<T>(run: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(2 << 20, 16 << 20, run)
}

/// How a template is compiled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Options {
    /// Another template may load it.
    pub exports: bool,
    /// What is written is counted, and what cannot be joined fails only when it is joined.
    pub exact: bool,
    /// What is marked with where it comes from.
    pub trace: Trace,
}

/// Parses and lowers a template.
pub(crate) fn compile_units(
    env: &Environment,
    run: &Arc<Env>,
    source: &str,
    name: Option<&str>,
    options: Options,
    codes: &Codes,
) -> Result<Vec<super::lower::Unit>, TemplateError> {
    with_stack(|| parse_and_lower(env, run, source, name, options, codes))
}

fn parse_and_lower(
    env: &Environment,
    run: &Arc<Env>,
    source: &str,
    name: Option<&str>,
    options: Options,
    codes: &Codes,
) -> Result<Vec<super::lower::Unit>, TemplateError> {
    let named = |mut error: TemplateError| {
        if error.template.is_none() {
            error.template = name.map(str::to_owned);
        }
        error
    };
    let template = parse(source, &env.syntax).map_err(named)?;
    let settings = Settings {
        native: env.native,
        filters: env.filters.keys().map(String::as_str).collect(),
        tests: env.tests.keys().map(String::as_str).collect(),
        name,
        exports: options.exports,
        exact: options.exact,
        trace: options.trace,
        lines: (options.trace != Trace::Off).then(|| Lines::of(source)),
        folder: Folder::new(run, env.autoescape),
        codes,
    };
    lower(&template, &settings).map_err(named)
}

/// What of the environment decides how a template compiles.
fn fingerprint(env: &Environment, options: Options) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    (env.native, env.autoescape, env.undefined, options, &env.syntax).hash(&mut hasher);
    for name in env.filters.keys() {
        name.hash(&mut hasher);
    }
    0xff_u8.hash(&mut hasher);
    for name in env.tests.keys() {
        name.hash(&mut hasher);
    }
    hasher.finish()
}
