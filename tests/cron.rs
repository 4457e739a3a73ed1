//! Properties of cron schedules: next and previous agree with each other and with a search minute by minute.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a test that fails may say so")]

use chrono::{DateTime, Datelike, Duration, NaiveDate, NaiveDateTime, Timelike, Utc};
use partita::python::Zone;
use partita::timetable::{Cron, CronSchedule};
use proptest::prelude::*;

/// A field of plain values, ranges and steps, and the values it means.
fn field(low: u32, high: u32) -> impl Strategy<Value = (String, Vec<u32>)> {
    let every = (low..=high).collect::<Vec<_>>();
    prop_oneof![
        3 => Just(("*".to_owned(), every.clone())),
        3 => (low..=high).prop_map(|value| (value.to_string(), vec![value])),
        2 => (low..=high, low..=high).prop_map(move |(a, b)| {
            let values = if a == b { every.clone() } else if a < b { (a..=b).collect() } else { (a..=high).chain(low..=b).collect() };
            (format!("{a}-{b}"), values)
        }),
        2 => (1_usize..20).prop_map(move |step| (format!("*/{step}"), (low..=high).step_by(step).collect())),
        1 => (low..high, 1_usize..20)
            .prop_map(move |(start, step)| (format!("{start}/{step}"), (start..=high).step_by(step).collect())),
        2 => proptest::collection::vec(low..=high, 2..4).prop_map(|values| {
            let text: Vec<String> = values.iter().map(u32::to_string).collect();
            (text.join(","), values)
        }),
    ]
}

/// An expression whose meaning is plain: one of its two day fields is a star.
fn expression() -> impl Strategy<Value = (String, [Vec<u32>; 5])> {
    let days = prop_oneof![
        field(1, 31).prop_map(|(text, values)| ((text, values), ("*".to_owned(), (0..=6).collect::<Vec<_>>()))),
        field(0, 6).prop_map(|(text, values)| (("*".to_owned(), (1..=31).collect::<Vec<_>>()), (text, values))),
    ];
    (field(0, 59), field(0, 23), days, field(1, 12)).prop_map(|(minute, hour, (day, weekday), month)| {
        let text = format!("{} {} {} {} {}", minute.0, hour.0, day.0, month.0, weekday.0);
        (text, [minute.1, hour.1, day.1, month.1, weekday.1])
    })
}

fn time() -> impl Strategy<Value = NaiveDateTime> {
    (1971_i32..2090, 1_u32..=366, 0_i64..86_400_000_000).prop_filter_map("a day of the year", |(year, day, micros)| {
        Some(NaiveDate::from_yo_opt(year, day)?.and_hms_opt(0, 0, 0)? + Duration::microseconds(micros))
    })
}

fn matches(values: &[Vec<u32>; 5], at: NaiveDateTime) -> bool {
    values[0].contains(&at.minute())
        && values[1].contains(&at.hour())
        && values[2].contains(&at.day())
        && values[3].contains(&at.month())
        && values[4].contains(&at.weekday().num_days_from_sunday())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn next_and_previous_agree((text, values) in expression(), at in time()) {
        let cron = Cron::parse(&text).expect("a valid expression");
        // `0 0 31 2 *` never comes.
        prop_assume!(cron.next(at).is_ok());
        let next = cron.next(at).expect("a next time");
        prop_assert!(next > at);
        prop_assert!(matches(&values, next), "{text}: {next}");
        prop_assert_eq!(cron.previous(next + Duration::microseconds(1)).expect("a previous time"), next);
        let previous = cron.previous(at).expect("a previous time");
        prop_assert!(previous < at);
        prop_assert!(matches(&values, previous), "{text}: {previous}");
        prop_assert_eq!(cron.next(previous - Duration::microseconds(1)).expect("a next time"), previous);
        // Nothing between the two but the time itself matches.
        let mut minute = previous + Duration::minutes(1);
        let end = next.min(previous + Duration::minutes(5000));
        while minute < end {
            prop_assert!(!matches(&values, minute) || minute == at, "{text}: {minute} lies between");
            minute += Duration::minutes(1);
        }
    }

    #[test]
    fn a_schedule_moves_forward_and_back_in_utc((text, _) in expression(), at in time()) {
        let schedule = CronSchedule::new(&text, Zone::UTC);
        let at: DateTime<Utc> = at.and_utc();
        prop_assume!(schedule.next(at).is_ok());
        let next = schedule.next(at).expect("a next time");
        prop_assert_eq!(schedule.align_to_next(next).expect("aligned"), next);
        prop_assert_eq!(schedule.align_to_previous(next).expect("aligned"), next);
        prop_assert!(schedule.previous(next).expect("a previous time") <= at);
    }
}

#[test]
fn a_next_run_takes_microseconds() {
    let schedule = CronSchedule::new("30 2 * * 1-5", Zone::parse("Europe/Berlin").expect("a zone"));
    let mut at: DateTime<Utc> = "2026-01-01T00:00:00Z".parse().expect("a time");
    let start = std::time::Instant::now();
    for _ in 0..10_000 {
        at = schedule.next(at).expect("a next time");
    }
    let each = start.elapsed() / 10_000;
    println!("{each:?} per run");
    // Unoptimised and beside other work; a release build needs a fraction of a microsecond.
    assert!(each < std::time::Duration::from_micros(500), "{each:?} per run");
}
