//! The templates of imported Dags: which files they name, where those are, and which names exist only in Python.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use super::Shared;
use crate::airflow::Folders;
use crate::jinja::ast::{Const, Expr, ExprKind, Piece, Stmt, StmtKind};
use crate::jinja::{Engine, Environment, Syntax, globals, parse, split_template_path, visit};

/// Files looked into for one Dag.
const FILES: usize = 2_000;

/// The largest file taken, in bytes.
const MAX_FILE: u64 = 8 << 20;

/// What templates of a Dag need besides themselves.
#[derive(Debug, Default)]
pub(super) struct Needs {
    /// Files by the name templates give them (`./` and doubled slashes taken out), as far as they were found.
    pub files: BTreeMap<String, Arc<str>>,
    /// Names that were not found.
    pub missing: BTreeSet<String>,
    /// Names that need not exist: `ignore missing`, and those of a list.
    pub optional: BTreeSet<String>,
    /// True when a name is worked out while the template runs.
    pub dynamic: bool,
    /// Names that neither Airflow nor the template defines.
    pub names: BTreeSet<String>,
    /// Macros of plugins: what follows `macros.`.
    pub plugins: BTreeSet<String>,
    /// Filters and tests that neither Jinja2 nor Airflow has, in the words of the error.
    pub filters: BTreeSet<String>,
}

impl Needs {
    /// Adds what another template needs.
    pub fn extend(&mut self, other: Needs) {
        self.files.extend(other.files);
        self.missing.extend(other.missing);
        self.optional.extend(other.optional);
        self.dynamic |= other.dynamic;
        self.names.extend(other.names);
        self.plugins.extend(other.plugins);
        self.filters.extend(other.filters);
    }
}

/// Folders that a Dag's templates are looked for in: the folder of its file, then the search path.
pub(super) fn search_path(
    dag: &serde_json::Map<String, serde_json::Value>,
    extra: &serde_json::Map<String, serde_json::Value>,
    folders: &Folders,
) -> Vec<Utf8PathBuf> {
    let mut path = Vec::new();
    if let Some(folder) = extra.get("folder").and_then(serde_json::Value::as_str) {
        // The Dag itself said where it looks.
        let own = extra.get("template_searchpath").and_then(serde_json::Value::as_array).into_iter().flatten();
        path.push(folder.into());
        path.extend(own.filter_map(serde_json::Value::as_str).map(Utf8PathBuf::from));
        path.extend(folders.template_searchpath.iter().cloned());
        return path;
    }
    if let Some(dags) = &folders.dags {
        let text = |name: &str| dag.get(name).and_then(serde_json::Value::as_str);
        let relative = text("relative_fileloc").map(Utf8Path::new).or_else(|| {
            let file = Utf8Path::new(text("fileloc")?);
            file.strip_prefix(text("_processor_dags_folder")?).ok()
        });
        // What the row says is data: it must not lead out of the folder that was given.
        let inside =
            |folder: &&Utf8Path| folder.components().all(|part| matches!(part, camino::Utf8Component::Normal(_)));
        let below = relative.and_then(Utf8Path::parent).filter(inside);
        let beside = below.map(|folder| dags.join(folder)).filter(|folder| folder.is_dir());
        path.push(beside.unwrap_or_else(|| dags.clone()));
    }
    path.extend(folders.template_searchpath.iter().cloned());
    path
}

/// Reads a file by the name a template gives it.
pub(super) fn load(name: &str, path: &[Utf8PathBuf]) -> Option<(String, Arc<str>)> {
    let pieces = split_template_path(name).ok()?.join("/");
    if pieces.is_empty() || pieces.len() > 1_000 || pieces.contains('\n') {
        return None;
    }
    let file = path.iter().map(|folder| folder.join(&pieces)).find(|file| file.is_file())?;
    if file.metadata().is_ok_and(|data| data.len() > MAX_FILE) {
        return None;
    }
    Some((pieces, Arc::from(std::fs::read_to_string(file).ok()?.as_str())))
}

/// Looks into texts and the files they name, over and over.
pub(super) struct Look<'a> {
    engine: &'a Engine,
    environment: &'a Arc<Environment>,
    path: &'a [Utf8PathBuf],
    /// Names of the template context.
    context: &'a [&'static str],
    /// What was found.
    pub needs: Needs,
    /// Every text that was looked into.
    pub texts: Vec<Arc<str>>,
}

impl<'a> Look<'a> {
    /// Looks in these folders.
    pub fn new(shared: &'a Shared<'_>, path: &'a [Utf8PathBuf]) -> Self {
        Look {
            engine: &shared.engine,
            environment: &shared.environment,
            path,
            context: &shared.context,
            needs: Needs::default(),
            texts: Vec::new(),
        }
    }

    /// Takes a file by name, and what it names in turn.
    pub fn file(&mut self, name: &str) {
        let mut queue = vec![name.to_owned()];
        while let Some(name) = queue.pop() {
            let known = split_template_path(&name).map(|pieces| pieces.join("/")).unwrap_or_else(|_| name.clone());
            if self.needs.files.contains_key(&known) || self.needs.missing.contains(&known) {
                continue;
            }
            match load(&name, self.path).filter(|_| self.needs.files.len() < FILES) {
                Some((name, text)) => {
                    self.needs.files.insert(name, text.clone());
                    self.one(&text, &mut queue);
                }
                None => {
                    self.needs.missing.insert(known);
                }
            }
        }
    }

    /// Looks into a text.
    pub fn text(&mut self, text: &str) {
        let mut queue = Vec::new();
        self.one(&Arc::from(text), &mut queue);
        for name in queue {
            self.file(&name);
        }
    }

    fn one(&mut self, text: &Arc<str>, queue: &mut Vec<String>) {
        self.texts.push(text.clone());
        if !text.contains("{{") && !text.contains("{%") {
            return;
        }
        // What does not parse is an error when it is rendered; there is nothing to look for.
        let Ok(template) = parse(text, &Syntax::default()) else { return };
        if let Err(error) = self.engine.check(self.environment, text)
            && error.class == "TemplateAssertionError"
        {
            self.needs.filters.insert(error.message);
        }
        let mut own: BTreeSet<String> = BTreeSet::new();
        let mut read: BTreeSet<String> = BTreeSet::new();
        visit::statements(&template.body, &mut |stmt| {
            self.statement(stmt, &mut own, queue);
        });
        let mut see = |name: &str, use_: visit::NameUse| {
            match use_ {
                visit::NameUse::Load => read.insert(name.to_owned()),
                visit::NameUse::Store | visit::NameUse::Param => own.insert(name.to_owned()),
            };
        };
        visit::names_in_body(&template.body, &mut see);
        visit::statements(&template.body, &mut |stmt| {
            if let StmtKind::Block(block) = &stmt.kind {
                visit::names_in_body(&block.body, &mut see);
            }
        });
        const SPECIAL: [&str; 6] = ["loop", "self", "super", "caller", "varargs", "kwargs"];
        let known = |name: &str| {
            SPECIAL.contains(&name)
                || globals::NAMES.contains(&name)
                || self.context.contains(&name)
                || own.contains(name)
        };
        self.needs.names.extend(read.iter().filter(|name| !known(name)).cloned());
    }

    fn statement(&mut self, stmt: &Stmt, own: &mut BTreeSet<String>, queue: &mut Vec<String>) {
        match &stmt.kind {
            StmtKind::Include(node) => {
                let several = matches!(node.template.kind, ExprKind::List(_) | ExprKind::Tuple(_));
                let before = queue.len();
                self.named(&node.template, queue);
                if node.ignore_missing || several {
                    let key = |name: &String| split_template_path(name).map_or(name.clone(), |pieces| pieces.join("/"));
                    self.needs.optional.extend(queue.iter().skip(before).map(key));
                }
            }
            StmtKind::Import(node) => {
                own.insert(node.target.to_string());
                self.named(&node.template, queue);
            }
            StmtKind::FromImport(node) => {
                own.extend(node.names.iter().map(|(_, alias)| alias.to_string()));
                self.named(&node.template, queue);
            }
            StmtKind::Extends(template) => self.named(template, queue),
            StmtKind::Macro(name, ..) => {
                own.insert(name.to_string());
            }
            StmtKind::Output(pieces) => {
                for piece in pieces {
                    if let Piece::Expr(expr) = piece {
                        self.plugin_macros(expr);
                    }
                }
            }
            StmtKind::Assign(_, value) | StmtKind::ExprStmt(value) => self.plugin_macros(value),
            StmtKind::If(branches, _) => branches.iter().for_each(|branch| self.plugin_macros(&branch.test)),
            StmtKind::For(node) => self.plugin_macros(&node.iter),
            _ => {}
        }
    }

    fn named(&mut self, template: &Expr, queue: &mut Vec<String>) {
        match &template.kind {
            ExprKind::Const(Const::Str(name)) => queue.push(name.clone()),
            ExprKind::List(items) | ExprKind::Tuple(items) => items.iter().for_each(|item| self.named(item, queue)),
            ExprKind::CondExpr(cond) => {
                self.named(&cond.then, queue);
                if let Some(otherwise) = &cond.otherwise {
                    self.named(otherwise, queue);
                }
            }
            _ => self.needs.dynamic = true,
        }
    }

    fn plugin_macros(&mut self, expr: &Expr) {
        const OWN: [&str; 13] = [
            "datetime",
            "timedelta",
            "dateutil",
            "time",
            "uuid",
            "random",
            "json",
            "yaml",
            "ds_add",
            "ds_format",
            "ds_format_locale",
            "datetime_diff_for_humans",
            "hive",
        ];
        if let ExprKind::Getattr(base, plugin) = &expr.kind
            && matches!(&base.kind, ExprKind::Name(name) if &**name == "macros")
            && !OWN.contains(&&**plugin)
            && !plugin.starts_with('_')
        {
            self.needs.plugins.insert(plugin.to_string());
        }
        visit::children(expr).into_iter().for_each(|child| self.plugin_macros(child));
    }
}
