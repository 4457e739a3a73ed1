//! Reads one Dag of a pipeline file.

use std::sync::Arc;

use super::datasets;
use super::load::{search_path, synonym, user_defined};
use super::model::{Dag, Pipeline, Profile};
use super::reader::Reader;
use super::schedule::{Surroundings, read_schedule};
use super::source::{Place, Problem, closest, suggestion};
use super::task::{field_value, read_task, unsupported};
use super::yaml::{Kind, Node};
use crate::jinja::{Syntax, UndefinedKind};
use crate::python::Zone;
use crate::timetable::{NullTimetable, TIMETABLE_CLASSES};

/// Keys of a Dag.
pub const DAG_KEYS: [&str; 18] = [
    "schedule",
    "schedule_interval",
    "start_date",
    "end_date",
    "timezone",
    "catchup",
    "max_active_runs",
    "is_paused",
    "params",
    "default_args",
    "render_template_as_native_obj",
    "template_undefined",
    "template_searchpath",
    "user_defined_macros",
    "user_defined_filters",
    "jinja_environment_kwargs",
    "unsupported",
    "tasks",
];

/// Airflow's default of `max_active_runs`.
const MAX_ACTIVE_RUNS: i64 = 16;

pub(super) fn read_dag(
    reader: &mut Reader,
    pipeline: &Pipeline,
    dag_id: &str,
    place: &Place,
    node: &Node,
) -> Option<Dag> {
    let what = format!("Dag `{dag_id}`");
    check_id(reader, "Dag", dag_id, place);
    let fields = if node.is_null() { None } else { Some(reader.fields(node, &what, &DAG_KEYS)?) };
    let get = |name: &str| fields.as_ref().and_then(|fields| fields.get(name));
    let timezone =
        get("timezone").and_then(|node| zone(reader, node, "`timezone`")).unwrap_or_else(|| "UTC".to_owned());
    let mut search: Vec<_> = search_path(reader, get("template_searchpath"), pipeline);
    search.extend(pipeline.template_searchpath.iter().cloned());
    let schedule = fields.as_ref().and_then(|fields| {
        let found = synonym(reader, fields, "schedule", "schedule_interval");
        found.or_else(|| fields.given("schedule")).or_else(|| fields.given("schedule_interval"))
    });
    let before = pipeline.profile == Profile::Airflow210;
    let (syntax, autoescape) = environment_kwargs(reader, get("jinja_environment_kwargs"));
    let mut dag = Dag {
        dag_id: dag_id.to_owned(),
        place: place.clone(),
        timetable: match schedule {
            None if before => datasets::implicit_schedule(),
            schedule => read_schedule(
                reader,
                &Surroundings { pipeline, zone: Zone::parse(&timezone).unwrap_or(Zone::UTC) },
                schedule,
            )
            .unwrap_or_else(|| Arc::new(NullTimetable)),
        },
        schedule_place: schedule.map_or(place, |node| &node.place).clone(),
        schedule_text: schedule
            .and_then(Node::as_str)
            .filter(|text| !TIMETABLE_CLASSES.contains(text))
            .map(str::to_owned),
        start_date: get("start_date").and_then(|node| reader.instant(node, "`start_date`")),
        end_date: get("end_date").and_then(|node| reader.instant(node, "`end_date`")),
        timezone,
        catchup: get("catchup").and_then(|node| reader.boolean(node, "`catchup`")).unwrap_or(before),
        max_active_runs: get("max_active_runs")
            .and_then(|node| reader.integer(node, "`max_active_runs`", 0..=i64::from(i32::MAX)))
            .unwrap_or(MAX_ACTIVE_RUNS),
        is_paused: get("is_paused").and_then(|node| reader.boolean(node, "`is_paused`")).unwrap_or(false),
        params: get("params").and_then(|node| reader.object(node, "`params`")).unwrap_or_default(),
        default_args: Vec::new(),
        native: get("render_template_as_native_obj")
            .and_then(|node| reader.boolean(node, "`render_template_as_native_obj`"))
            .unwrap_or(false),
        undefined: get("template_undefined").and_then(|node| undefined(reader, node)).unwrap_or_default(),
        syntax,
        autoescape,
        template_searchpath: search,
        user_defined_macros: user_defined(reader, get("user_defined_macros"), "user_defined_macros"),
        user_defined_filters: user_defined(reader, get("user_defined_filters"), "user_defined_filters"),
        unsupported: get("unsupported").map(|node| unsupported(reader, node)).unwrap_or_default(),
        tasks: Vec::new(),
    };
    if let Some(node) = get("default_args") {
        for (name, _, value) in reader.entries(node, "`default_args`").unwrap_or_default() {
            if let Some(value) = field_value(reader, value, 0) {
                dag.default_args.push((name.to_owned(), value));
            }
        }
    }
    if before {
        datasets::check_dag(reader, &dag, schedule);
    }
    if let Some(node) = get("tasks") {
        for (task_id, key, node) in reader.entries(node, &format!("`tasks` of {what}")).unwrap_or_default() {
            check_id(reader, "task", task_id, &key.place);
            if let Some(task) = read_task(reader, pipeline, &dag, task_id, &key.place, node) {
                dag.tasks.push(task);
            }
        }
    }
    Some(dag)
}

/// `validate_key`: what Airflow demands of Dag and task ids.
fn check_id(reader: &mut Reader, what: &str, id: &str, place: &Place) {
    if id.chars().count() > 250 {
        reader.problem(Problem::error(format!("the id of a {what} has at most 250 characters"), place.clone()));
    } else if id.is_empty() || !id.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-')) {
        reader.problem(
            Problem::error(format!("`{id}` cannot be the id of a {what}"), place.clone())
                .help("letters, digits, dashes, dots and underscores only, as Airflow demands"),
        );
    }
}

/// A time zone name as pendulum reads it; the problem suggests a close IANA name.
pub(super) fn zone(reader: &mut Reader, node: &Node, what: &str) -> Option<String> {
    let name = reader.string(node, what)?;
    match Zone::parse(&name) {
        Ok(_) => Some(name),
        Err(error) => {
            let problem = Problem::error(format!("{what}: there is no time zone `{name}`"), node.place.clone())
                .label(format!("{}: {}", error.class, error.message))
                .maybe_help(zone_help(&name));
            reader.problem(problem);
            None
        }
    }
}

/// Advice for a time zone that does not exist.
pub(super) fn zone_help(name: &str) -> Option<String> {
    let exact = chrono_tz::Tz::from_str_insensitive(name).ok().map(chrono_tz::Tz::name);
    let close = exact.or_else(|| closest(name, chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name())));
    Some(match close {
        Some(close) => format!("did you mean `{close}`?"),
        None => "names are those of the IANA database, such as Europe/Berlin".to_owned(),
    })
}

fn undefined(reader: &mut Reader, node: &Node) -> Option<UndefinedKind> {
    reader.word(
        node,
        "`template_undefined`",
        &[
            ("StrictUndefined", UndefinedKind::Strict),
            ("jinja2.StrictUndefined", UndefinedKind::Strict),
            ("Undefined", UndefinedKind::Lenient),
            ("jinja2.Undefined", UndefinedKind::Lenient),
            ("ChainableUndefined", UndefinedKind::Chainable),
            ("jinja2.ChainableUndefined", UndefinedKind::Chainable),
            ("DebugUndefined", UndefinedKind::Debug),
            ("jinja2.DebugUndefined", UndefinedKind::Debug),
        ],
    )
}

const ENVIRONMENT_KEYS: [&str; 16] = [
    "block_start_string",
    "block_end_string",
    "variable_start_string",
    "variable_end_string",
    "comment_start_string",
    "comment_end_string",
    "line_statement_prefix",
    "line_comment_prefix",
    "trim_blocks",
    "lstrip_blocks",
    "newline_sequence",
    "keep_trailing_newline",
    "extensions",
    "autoescape",
    "cache_size",
    "auto_reload",
];

/// `jinja_environment_kwargs`: what changes the reading of templates; the rest of Jinja2's options is refused by name.
fn environment_kwargs(reader: &mut Reader, node: Option<&Node>) -> (Syntax, bool) {
    let mut syntax = Syntax::default();
    let mut autoescape = false;
    let Some(node) = node else { return (syntax, autoescape) };
    for (name, key, value) in reader.entries(node, "`jinja_environment_kwargs`").unwrap_or_default() {
        let text = |reader: &mut Reader, target: &mut String| {
            if let Some(given) = reader.string(value, &format!("`{name}`")) {
                if given.is_empty() {
                    reader.problem(Problem::error(format!("`{name}` must not be empty"), value.place.clone()));
                } else {
                    *target = given;
                }
            }
        };
        match name {
            "block_start_string" => text(reader, &mut syntax.block_start),
            "block_end_string" => text(reader, &mut syntax.block_end),
            "variable_start_string" => text(reader, &mut syntax.variable_start),
            "variable_end_string" => text(reader, &mut syntax.variable_end),
            "comment_start_string" => text(reader, &mut syntax.comment_start),
            "comment_end_string" => text(reader, &mut syntax.comment_end),
            "newline_sequence" => {
                let ends = [("\n", "\n"), ("\r\n", "\r\n"), ("\r", "\r")];
                if let Some(end) = reader.word(value, "`newline_sequence`", &ends) {
                    end.clone_into(&mut syntax.newline_sequence);
                }
            }
            "line_statement_prefix" if !value.is_null() => {
                syntax.line_statement_prefix = reader.string(value, "`line_statement_prefix`")
            }
            "line_comment_prefix" if !value.is_null() => {
                syntax.line_comment_prefix = reader.string(value, "`line_comment_prefix`")
            }
            "line_statement_prefix" | "line_comment_prefix" | "cache_size" | "auto_reload" => {}
            "trim_blocks" => syntax.trim_blocks = reader.boolean(value, "`trim_blocks`").unwrap_or_default(),
            "lstrip_blocks" => syntax.lstrip_blocks = reader.boolean(value, "`lstrip_blocks`").unwrap_or_default(),
            "keep_trailing_newline" => {
                syntax.keep_trailing_newline = reader.boolean(value, "`keep_trailing_newline`").unwrap_or_default()
            }
            "autoescape" => autoescape = reader.boolean(value, "`autoescape`").unwrap_or_default(),
            "extensions" => extensions(reader, value, &mut syntax),
            _ => {
                let problem = Problem::error(
                    format!("`{name}` of `jinja_environment_kwargs` is not supported"),
                    key.place.clone(),
                );
                reader.problem(problem.maybe_help(suggestion(name, ENVIRONMENT_KEYS)));
            }
        }
    }
    (syntax, autoescape)
}

/// `extensions` replaces Airflow's own list, which holds `jinja2.ext.do` alone.
fn extensions(reader: &mut Reader, node: &Node, syntax: &mut Syntax) {
    let Kind::Seq(items) = &node.kind else { return reader.expected(node, "`extensions`", "a list of strings") };
    syntax.do_extension = false;
    for item in items {
        match item.as_str() {
            Some("jinja2.ext.do") => syntax.do_extension = true,
            Some("jinja2.ext.loopcontrols") => syntax.loop_controls = true,
            _ => {
                let problem = Problem::error("this extension is not supported", item.place.clone());
                reader.problem(problem.help("supported: jinja2.ext.do, jinja2.ext.loopcontrols"));
            }
        }
    }
}
