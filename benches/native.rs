//! The price of exactness: one template that plain minijinja renders to the same text, in both engines.
//!
//! `cargo bench --bench native` prints the median time of each and their ratio. `cargo bench --bench native -- partita 100`
//! (or `minijinja 100`) renders so often in one engine only: for a profiler, which counts instructions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use partita::jinja::{Engine, Environment, Names, Rendered};
use partita::python;
use serde_json::json;

const TEMPLATE: &str = r#"{% for row in rows %}
INSERT INTO t VALUES ({{ row.id }}, '{{ row.name }}', {{ row.amount * 2 + 1 }}
{%- if row.amount > 50 and row.id != 3 %}, 'large'{% elif row.amount == 7 %}, 'seven'{% else %}, 'small'{% endif %}
{%- for tag in row.tags %}, '{{ tag ~ "-" ~ row.name }}'{% endfor -%}
); -- {{ loop.index }} of {{ loop.length }}{{ "" if loop.last else "," }}
{% endfor %}"#;

fn median(mut job: impl FnMut()) -> f64 {
    const TIMES: usize = 200;
    for _ in 0..TIMES {
        job();
    }
    let mut samples: Vec<f64> = (0..15)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..TIMES {
                job();
            }
            start.elapsed().as_secs_f64() / TIMES as f64 * 1e6
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

/// minijinja's own lists and maps.
fn native_value(json: &serde_json::Value) -> minijinja::Value {
    use serde_json::Value as Json;
    match json {
        Json::Null => minijinja::Value::from(()),
        Json::Bool(bool) => minijinja::Value::from(*bool),
        Json::Number(number) => minijinja::Value::from(number.as_i64().unwrap()),
        Json::String(text) => minijinja::Value::from(text.as_str()),
        Json::Array(items) => minijinja::Value::from(items.iter().map(native_value).collect::<Vec<_>>()),
        Json::Object(pairs) => minijinja::Value::from(
            pairs.iter().map(|(key, value)| (key.clone(), native_value(value))).collect::<BTreeMap<_, _>>(),
        ),
    }
}

fn main() {
    let rows: Vec<_> = (0..50)
        .map(|id| json!({"id": id, "name": format!("name {id}"), "amount": id * 7 % 101, "tags": ["a", "b", "c"]}))
        .collect();
    let rows = json!(rows);

    let mut native = minijinja::Environment::new();
    native.add_template("t", TEMPLATE).unwrap();
    let native = native.get_template("t").unwrap();
    let native_context = minijinja::context! { rows => native_value(&rows) };

    let engine = Engine::new();
    let env = Arc::new(Environment::default());
    let names: Arc<dyn Names> =
        Arc::new(BTreeMap::from([("rows".to_owned(), python::json::from_json(&rows).unwrap())]));
    let ours = || match engine.render(&env, TEMPLATE, &names) {
        Ok(Rendered::Text(text)) => text,
        other => unreachable!("a text: {other:?}"),
    };
    assert_eq!(native.render(&native_context).unwrap(), ours());

    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    if let [name, times] = args.as_slice() {
        for _ in 0..times.parse::<usize>().expect("a number of renderings") {
            match &**name {
                "minijinja" => drop(black_box(native.render(&native_context).unwrap())),
                _ => drop(black_box(ours())),
            }
        }
        return;
    }
    let minijinja = median(|| drop(black_box(native.render(&native_context).unwrap())));
    let partita = median(|| drop(black_box(ours())));
    println!("{:48}{minijinja:12.1} us", "minijinja, native operators");
    println!("{:48}{partita:12.1} us", "partita, lowered");
    println!("{:48}{:12.2}", "ratio (at most 1.5)", partita / minijinja);
}
