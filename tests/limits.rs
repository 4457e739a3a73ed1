//! Templates that would take the machine with them end in an error of their own, quickly and without overflowing the stack.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use partita::jinja::{Engine, Environment, MemoryLoader, Names, Rendered, TemplateError};
use partita::python::Limits;

fn render(source: &str, files: &[(&str, &str)], native: bool) -> Result<Rendered, TemplateError> {
    render_with(source, files, native, Limits::default())
}

fn render_with(source: &str, files: &[(&str, &str)], native: bool, limits: Limits) -> Result<Rendered, TemplateError> {
    let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    let loader = MemoryLoader::new(files, "<searchpath>");
    let env = Arc::new(Environment { native, limits, loader: Some(Arc::new(loader)), ..Environment::default() });
    let names: Arc<dyn Names> = Arc::new(BTreeMap::new());
    Engine::new().render(&env, source, &names)
}

/// What this thread has had of a processor, where the system tells: how busy the machine is does not matter.
fn processor_time() -> Option<Duration> {
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    schedule.split_ascii_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

#[track_caller]
fn class_of(source: &str, files: &[(&str, &str)]) -> String {
    let start = processor_time();
    let error = match render(source, files, false) {
        Err(error) => error,
        Ok(_) => panic!("it rendered: {}", source.chars().take(80).collect::<String>()),
    };
    // an unoptimised build is some ten times slower than the two seconds that count
    if let (Some(start), Some(end)) = (start, processor_time()) {
        assert!(end - start < Duration::from_secs(60), "{:?} for {error}", end - start);
    }
    error.class.into_owned()
}

#[track_caller]
fn limited(source: &str) {
    assert_eq!(class_of(source, &[]), "LimitExceeded");
}

#[track_caller]
fn text(source: &str) -> String {
    match render(source, &[], false) {
        Ok(Rendered::Text(text)) => text,
        other => panic!("{:?}", other.map(|_| "a native value")),
    }
}

#[test]
fn allocations() {
    limited("{{ 'x' * 10**9 }}");
    limited("{{ [1] * 10**9 }}");
    limited("{{ 'x'.center(10**9) }}");
    limited("{{ '%1000000000d' % 1 }}");
    limited("{{ '{:1000000000}'.format(1) }}");
    limited("{{ 'a' | indent(10**9) }}");
    limited("{% set ns = namespace(x='x' * 1000) %}{% for i in range(100) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}");
}

#[test]
fn ranges() {
    assert_eq!(class_of("{% for i in range(10**9) %}{% endfor %}", &[]), "OverflowError");
    let native = render("{{ range(10**9) | list }}", &[], true).expect_err("too long a list");
    assert_eq!(native.class, "LimitExceeded");
}

#[test]
fn native_results() {
    let limits = || Limits { output: 1000, allocation: 1000, ..Limits::default() };
    let native = |source: &str| match render_with(source, &[], true, limits()) {
        Err(error) => (error.class.into_owned(), error.message),
        Ok(_) => panic!("it rendered: {source}"),
    };
    let long = ("LimitExceeded".to_owned(), "the output is longer than the limit of 1000 bytes".to_owned());
    assert_eq!(native("{% for i in range(11) %}{{ 'x' * 100 }}{% endfor %}"), long);
    assert_eq!(
        native("{% set t %}{% for i in range(11) %}{{ 'x' * 100 }}{% endfor %}{% endset %}{{ t | length }}"),
        long
    );
    assert_eq!(
        native("{% macro m() %}{% for i in range(11) %}{{ 'x' * 100 }}{% endfor %}{% endmacro %}{{ m() }}"),
        long
    );
    let large = "one operation would make 1008 bytes or elements, the limit is 1000".to_owned();
    assert_eq!(native("{{ range(100) | list }}"), ("LimitExceeded".to_owned(), large.clone()));
    let grown = "{% set l = [] %}{% for i in range(100) %}{% do l.append(i) %}{% endfor %}{{ l }}";
    assert_eq!(native(grown), ("LimitExceeded".to_owned(), large));
    // one piece is what it is, and many small ones are not too long
    assert!(matches!(render_with("{{ 'x' * 900 }}", &[], true, limits()), Ok(Rendered::Native(_))));
    let endless = "{% set a = 'x' * 100000 %}{% for i in range(100000) %}{{ a }}{% endfor %}";
    assert_eq!(render(endless, &[], true).expect_err("endless").class, "LimitExceeded");
}

#[test]
fn loops() {
    let nested = "{% for a in range(1000) %}{% for b in range(1000) %}{% for c in range(1000) %}{% endfor %}{% endfor %}{% endfor %}";
    limited(nested);
    limited(&nested.replace("{% endfor %}{% endfor %}{% endfor %}", "x{% endfor %}{% endfor %}{% endfor %}"));
    limited(&format!("{{% set t %}}{nested}{{% endset %}}"));
    limited("{% set l = [1] %}{% for x in l %}{% do l.append(x) %}{% endfor %}");
}

#[test]
fn output() {
    let text = "x".repeat(1000);
    limited(&format!("{{% for a in range(1000) %}}{{% for b in range(1000) %}}{text}{{% endfor %}}{{% endfor %}}"));
}

#[test]
fn recursion() {
    limited("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}");
    limited("{% macro m() %}{% call m() %}{% endcall %}{{ caller is defined }}{% endmacro %}{{ m() }}");
    limited("{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}");
    limited("{% block a %}{{ self.a() }}{% endblock %}");
    assert_eq!(class_of("{% include 'a' %}", &[("a", "{% include 'a' %}")]), "LimitExceeded");
    assert_eq!(class_of("{% import 'a' as a %}", &[("a", "{% import 'a' as a %}")]), "LimitExceeded");
    assert_eq!(class_of("{% extends 'a' %}", &[("a", "{% extends 'a' %}")]), "LimitExceeded");
}

#[test]
fn nesting() {
    let around = |open: &str, inside: &str, close: &str, n: usize| {
        format!("{{{{ {}{inside}{} }}}}", open.repeat(n), close.repeat(n))
    };
    limited(&around("(", "1", ")", 10_000));
    limited(&around("[", "", "]", 10_000));
    limited(&around("{1:", "1", "}", 10_000));
    limited(&around("f(", "1", ")", 10_000));
    limited(&around("x[", "1", "]", 10_000));
    limited(&around("-", "1", "", 10_000));
    limited(&around("not ", "1", "", 10_000));
    limited(&around("1 if 1 else ", "1", "", 10_000));
    limited(&around("1+", "1", "", 10_000));
    limited(&around("1**", "1", "", 10_000));
    limited(&format!("{{{{ x{} }}}}", ".a".repeat(10_000)));
    limited(&format!("{{{{ x{} }}}}", "()".repeat(10_000)));
    limited(&format!("{{{{ x{} }}}}", "|upper".repeat(10_000)));
    limited(&format!("{}{}", "{% if 1 %}".repeat(5_000), "{% endif %}".repeat(5_000)));
    limited(&format!("{}{}", "{% for a in [1] %}".repeat(5_000), "{% endfor %}".repeat(5_000)));
    limited(&format!("{{% set {}a{} = 1 %}}", "(".repeat(5_000), ",)".repeat(5_000)));
}

#[test]
fn what_airflow_can_render_is_no_deeper_than_what_partita_can() {
    for (source, text) in [
        (format!("{{{{ {}1{} }}}}", "(".repeat(60), ")".repeat(60)), "1"),
        (format!("{{{{ {}1{} }}}}", "[".repeat(40), "]".repeat(40)), ""),
        (format!("{{{{ {}1 }}}}", "1 + ".repeat(200)), "201"),
        (format!("{{{{ {}1 }}}}", "0 or ".repeat(150)), "1"),
        (format!("{{{{ {}1 }}}}", "'' ~ ".repeat(300)), "1"),
        (format!("{}x{}", "{% if 1 %}".repeat(90), "{% endif %}".repeat(90)), "x"),
        (format!("{}x{}", "{% for a in [1] %}".repeat(20), "{% endfor %}".repeat(20)), "x"),
        ("{% macro m(n) %}{{ m(n - 1) if n else 'end' }}{% endmacro %}{{ m(150) }}".to_owned(), "end"),
    ] {
        let rendered = render(&source, &[], false);
        let Ok(Rendered::Text(got)) = rendered else { panic!("{rendered:?} for {}", &source[..60.min(source.len())]) };
        assert!(text.is_empty() || got == text, "{got} for {source}");
    }
}

#[test]
fn values_that_are_small_in_memory_and_endless_to_walk() {
    // an unoptimised build takes its time for all the steps there are
    let charged = |source: &str| {
        let limits = Limits { fuel: 2_000_000, ..Limits::default() };
        let error = render_with(source, &[], false, limits).map(|_| ()).expect_err("it has no end");
        assert_eq!(error.class, "LimitExceeded", "{error}");
    };
    let shared = |start: &str, next: &str| {
        format!(
            "{{% set ns = namespace(x={start}, y={start}) %}}{{% for i in range(40) %}}{{% set ns.x = {} %}}{{% set ns.y = {} %}}{{% endfor %}}",
            next.replace('v', "ns.x"),
            next.replace('v', "ns.y"),
        )
    };
    charged(&format!("{}{{{{ ns.x == ns.y }}}}", shared("[]", "[v, v]")));
    charged(&format!("{}{{{{ ns.x < ns.y }}}}", shared("()", "(v, v)")));
    charged(&format!("{}{{{{ ns.x == ns.y }}}}", shared("{}", "{1: v, 2: v}")));
    charged(&format!("{}{{{{ ns.x }}}}", shared("{}", "{1: v, 2: v}")));
    charged(&format!("{}{{{{ {{ns.x: 1}} }}}}", shared("()", "(v, v)")));
    // each hash of it stays below the limit of one value
    let small = shared("()", "(v, v)").replace("range(40)", "range(17)");
    charged(&format!("{small}{{% for i in range(1000) %}}{{% set _ = {{ns.x: 1}} %}}{{% endfor %}}"));
}

#[test]
fn chains_of_comparisons_and_of_branches() {
    assert_eq!(text(&format!("{{{{ 1{} }}}}", " <= 1".repeat(300))), "True");
    limited(&format!("{{{{ 1{} }}}}", " <= 1".repeat(20_000)));
    limited(&format!("{{{{ 1{} }}}}", " in [1]".repeat(20_000)));
    limited(&format!("{{{{ {}1{} }}}}", "(".repeat(60), format!("{})", " < 2".repeat(300)).repeat(60)));
    assert_eq!(text(&format!("{{% if 0 %}}{}{{% else %}}x{{% endif %}}", "{% elif 0 %}".repeat(900))), "x");
    limited(&format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}".repeat(20_000)));
    let open = format!("{{% if 0 %}}{}", "{% elif 0 %}".repeat(500));
    limited(&format!("{}{}", open.repeat(90), "{% endif %}".repeat(90)));
}
