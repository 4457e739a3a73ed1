//! What a pipeline file says, with defaults filled in.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use chrono::{DateTime, Utc};
use serde_json::{Map, Value as Json};

use super::reader::Renamed;
use super::source::{Place, Problem, Source};
use crate::asset::{Asset, AssetAlias, AssetCondition, dataset_uri};
use crate::jinja::{Syntax, UndefinedKind};
use crate::partition::Evaluate;
use crate::render::FieldValue;
use crate::timetable::Timetable;

/// The version of Airflow whose behaviour is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// Airflow 3.3
    #[default]
    Airflow33,
    /// Airflow 2.10
    Airflow210,
}

impl Profile {
    /// The profile of that name.
    pub fn parse(name: &str) -> Option<Self> {
        [Profile::Airflow33, Profile::Airflow210].into_iter().find(|profile| profile.name() == name)
    }

    /// Its name in files and flags.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Airflow33 => "airflow-3.3",
            Profile::Airflow210 => "airflow-2.10",
        }
    }
}

/// A pipeline: Dags, assets, and the folder their templates are in.
#[derive(Debug, Clone)]
pub struct Pipeline {
    /// The folder's name, used in reports and snapshot paths.
    pub name: String,
    /// The folder.
    pub root: Utf8PathBuf,
    /// The file.
    pub source: Arc<Source>,
    /// Files of the folder that are in memory (paths below the folder): an imported pipeline's templates.
    pub files: Arc<BTreeMap<Utf8PathBuf, Arc<str>>>,
    /// `profile`
    pub profile: Profile,
    /// `template_searchpath`, joined to every Dag's own.
    pub template_searchpath: Vec<Utf8PathBuf>,
    /// `assets`, in order.
    pub assets: Vec<AssetDef>,
    /// `asset_aliases`
    pub asset_aliases: Vec<AssetAlias>,
    /// `dags`, in order.
    pub dags: Vec<Dag>,
    /// `user_defined_macros`
    pub user_defined_macros: Map<String, Json>,
    /// `user_defined_filters`
    pub user_defined_filters: Map<String, Json>,
    /// `variables`
    pub variables: Map<String, Json>,
    /// `connections`
    pub connections: Map<String, Json>,
    /// `secrets`: names whose values are masked.
    pub secrets: Vec<String>,
    /// What runs the expressions of `ExpressionMapper`.
    pub evaluate: Option<Arc<dyn Evaluate>>,
    /// True when the file is a scenario document: its own only scenario.
    pub document: bool,
    /// Warnings found while reading.
    pub warnings: Vec<Problem>,
    /// Names of Airflow 2 that the file uses.
    pub renamed: Vec<Renamed>,
}

/// An asset of the pipeline.
#[derive(Debug, Clone)]
pub struct AssetDef {
    /// The key in the file; expressions use it.
    pub key: String,
    /// The asset.
    pub asset: Asset,
    /// Where it is written.
    pub place: Place,
}

/// A Dag.
#[derive(Debug, Clone)]
pub struct Dag {
    /// The key in the file.
    pub dag_id: String,
    /// Where the key is written.
    pub place: Place,
    /// `schedule`: the timetable
    pub timetable: Arc<dyn Timetable>,
    /// Where `schedule` is written.
    pub schedule_place: Place,
    /// The schedule where it is a text: a preset or a cron expression, as written.
    pub schedule_text: Option<String>,
    /// `start_date`
    pub start_date: Option<DateTime<Utc>>,
    /// `end_date`
    pub end_date: Option<DateTime<Utc>>,
    /// `timezone`, by name
    pub timezone: String,
    /// `catchup`
    pub catchup: bool,
    /// `max_active_runs`
    pub max_active_runs: i64,
    /// `is_paused`
    pub is_paused: bool,
    /// `params`, as written: plain values.
    pub params: Map<String, Json>,
    /// `default_args`
    pub default_args: Vec<(String, FieldValue)>,
    /// `render_template_as_native_obj`
    pub native: bool,
    /// `template_undefined`
    pub undefined: UndefinedKind,
    /// `jinja_environment_kwargs`
    pub syntax: Syntax,
    /// `autoescape` of `jinja_environment_kwargs`
    pub autoescape: bool,
    /// `template_searchpath` of this Dag, then the pipeline's; the pipeline's folder comes first of all.
    pub template_searchpath: Vec<Utf8PathBuf>,
    /// `user_defined_macros` of this Dag
    pub user_defined_macros: Map<String, Json>,
    /// `user_defined_filters` of this Dag
    pub user_defined_filters: Map<String, Json>,
    /// `unsupported`: attributes of the Dag that templates must not read, and why.
    pub unsupported: Vec<(String, String)>,
    /// `tasks`, in order.
    pub tasks: Vec<Task>,
}

/// A task.
#[derive(Debug, Clone)]
pub struct Task {
    /// The key in the file.
    pub task_id: String,
    /// Where the key is written.
    pub place: Place,
    /// `operator`, as written.
    pub operator: Option<String>,
    /// `template_fields`: as written, else the operator's; with what the author gave, or the operator's default.
    pub fields: Vec<TaskField>,
    /// `template_ext`
    pub template_ext: Vec<String>,
    /// `inlets`
    pub inlets: Vec<AssetCondition>,
    /// `outlets`
    pub outlets: Vec<AssetCondition>,
    /// `params` of the task; they win over the Dag's.
    pub params: Map<String, Json>,
    /// `retries`
    pub retries: i64,
    /// `owner`
    pub owner: String,
    /// `expand`: arguments with one value per map index.
    pub expand: Vec<(String, Vec<FieldValue>)>,
    /// `expand_kwargs`: the arguments of each map index.
    pub expand_kwargs: Option<Vec<Vec<(String, FieldValue)>>>,
    /// `render_template_as_native_obj` of the task; it wins over the Dag's.
    pub native: Option<bool>,
    /// `unsupported`: fields that must not be rendered as they stand, other attributes that templates must not read, and why.
    pub unsupported: Vec<(String, String)>,
    /// Every other argument of the operator, as written.
    pub arguments: Vec<(String, FieldValue)>,
    /// True when the task is mapped.
    pub mapped: bool,
}

/// A template field of a task.
#[derive(Debug, Clone)]
pub struct TaskField {
    /// The attribute's name.
    pub name: String,
    /// Its value; `None` when the author gave none and the operator's own is not known.
    pub value: Option<FieldValue>,
    /// Where it is written.
    pub place: Option<Place>,
}

impl Dag {
    /// A Dag with a timetable and Airflow's defaults, without tasks.
    pub fn plain(dag_id: &str, timetable: Arc<dyn Timetable>, place: Place) -> Self {
        Dag {
            dag_id: dag_id.to_owned(),
            schedule_place: place.clone(),
            place,
            timetable,
            schedule_text: None,
            start_date: None,
            end_date: None,
            timezone: "UTC".to_owned(),
            catchup: false,
            max_active_runs: 16,
            is_paused: false,
            params: Map::new(),
            default_args: Vec::new(),
            native: false,
            undefined: UndefinedKind::default(),
            syntax: Syntax::default(),
            autoescape: false,
            template_searchpath: Vec::new(),
            user_defined_macros: Map::new(),
            user_defined_filters: Map::new(),
            unsupported: Vec::new(),
            tasks: Vec::new(),
        }
    }
}

/// Whether a field of that name takes its value from an argument: the attribute may have a leading underscore.
pub(super) fn is_behind(argument: &str, field: &str) -> bool {
    argument == field || argument == field.trim_start_matches('_')
}

impl Task {
    /// Whether the argument of that name, or behind the attribute of that name, has a value of its own at some map index.
    pub fn expands(&self, argument: &str) -> bool {
        let mut by_index = self.expand_kwargs.iter().flatten().flatten();
        self.expand.iter().any(|(name, _)| is_behind(name, argument))
            || by_index.any(|(name, _)| is_behind(name, argument))
    }

    /// True when the task is mapped over what only a run can tell: how many map indexes there are is not known.
    pub fn expansion_unknown(&self) -> bool {
        let refused = || self.fields.iter().any(|field| self.unsupported(&field.name).is_some());
        self.mapped && self.expand.is_empty() && self.expand_kwargs.is_none() && refused()
    }

    /// Why a field must not be rendered, if it must not.
    pub fn unsupported(&self, field: &str) -> Option<&str> {
        self.unsupported.iter().find(|(name, _)| name == field).map(|(_, reason)| reason.as_str())
    }
}

impl Pipeline {
    /// A pipeline with nothing in it.
    pub fn empty(source: &Arc<Source>, root: &Utf8Path, name: String) -> Self {
        Pipeline {
            name,
            root: root.to_owned(),
            source: source.clone(),
            files: Arc::default(),
            profile: Profile::default(),
            template_searchpath: Vec::new(),
            assets: Vec::new(),
            asset_aliases: Vec::new(),
            dags: Vec::new(),
            user_defined_macros: Map::new(),
            user_defined_filters: Map::new(),
            variables: Map::new(),
            connections: Map::new(),
            secrets: Vec::new(),
            evaluate: None,
            document: false,
            warnings: Vec::new(),
            renamed: Vec::new(),
        }
    }

    /// The Dag of that id.
    pub fn dag(&self, dag_id: &str) -> Option<&Dag> {
        self.dags.iter().find(|dag| dag.dag_id == dag_id)
    }

    /// What a name in an asset expression means: the asset of that key or name, else of that URI.
    pub fn named(&self, name: &str) -> Option<AssetCondition> {
        let uri = match self.profile {
            Profile::Airflow210 => dataset_uri(name).map(|sanitized| sanitized.uri).ok(),
            Profile::Airflow33 => name.contains("://").then(|| name.to_owned()),
        };
        let by_uri = || self.assets.iter().find(|def| uri.as_deref() == Some(def.asset.uri.as_str()));
        self.asset(name).or_else(by_uri).map(|def| AssetCondition::Asset(def.asset.clone()))
    }

    /// The asset of that key or name.
    pub fn asset(&self, key: &str) -> Option<&AssetDef> {
        self.assets.iter().find(|def| def.key == key).or_else(|| self.assets.iter().find(|def| def.asset.name == key))
    }
}
