//! One operator's SQL for one partition: what `compare.py` sets against Airflow's own rendering.
//!
//! `cargo bench --bench daily_load` first checks that the text is `daily_load.sql`, which Airflow 3.3.2 rendered, byte for
//! byte; then it prints the median time of a render in microseconds, the ways that `jinja2_bench.py` measures.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::cell::Cell;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use partita::context::{self, Surroundings};
use partita::jinja::{Engine, Environment, Names, Rendered};
use partita::run::Run;

const TEMPLATE: &str = include_str!("daily_load.sql.j2");
const RUN: &str = include_str!("daily_load.run.json");
const EXPECTED: &str = include_str!("daily_load.sql");

/// The context of the run, from its JSON as parsed.
fn context_of(run: &serde_json::Value) -> Arc<dyn Names> {
    let run = Arc::new(Run::from_json(run.clone()).unwrap());
    Arc::new(context::build(run, Arc::new(Surroundings::of_request())).unwrap())
}

fn text(engine: &Engine, env: &Arc<Environment>, source: &str, names: &Arc<dyn Names>) -> String {
    match engine.render(env, source, names) {
        Ok(Rendered::Text(text)) => text,
        other => unreachable!("a text: {other:?}"),
    }
}

fn timed(name: &str, times: u32, mut job: impl FnMut()) {
    for _ in 0..times {
        job();
    }
    let mut samples: Vec<f64> = (0..9)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..times {
                job();
            }
            start.elapsed().as_secs_f64() / f64::from(times) * 1e6
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    println!("{name:48}{:12.1} us", samples[samples.len() / 2]);
}

fn main() {
    let engine = Engine::new();
    let run: serde_json::Value = serde_json::from_str(RUN).unwrap();
    let env = Arc::new(Environment { filters: context::filters(), ..Environment::default() });
    let names = context_of(&run);
    assert_eq!(text(&engine, &env, TEMPLATE, &names), EXPECTED, "the text Airflow rendered");

    timed("precompiled, shared context", 500, || drop(black_box(text(&engine, &env, TEMPLATE, &names))));
    timed("precompiled, context built each time", 500, || {
        drop(black_box(text(&engine, &env, TEMPLATE, &context_of(&run))));
    });
    // a comment in front makes each source a new one, which no cache has seen
    let number = Cell::new(0u64);
    timed("compile, build, render each time", 100, || {
        number.set(number.get() + 1);
        let source = format!("{{# {} #}}{TEMPLATE}", number.get());
        drop(black_box(text(&engine, &env, &source, &context_of(&run))));
    });
}
