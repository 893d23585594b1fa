//! The truth table: every planted bug is found with the predicted verdict and window, every correct twin is clean at every point.

use std::collections::BTreeSet;
use std::sync::Arc;

use killpoint::campaign::{self, Abort, Tell};
use killpoint::model::finding::Finding;
use killpoint::model::report::{Report, RunVerdict};
use killpoint::store::read_finding;

use crate::support::{self, Ran};

/// One row of `targets/truth.toml`.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    scenario: String,
    cell: Option<String>,
    verdict: String,
    promise: Option<String>,
    intent: Option<String>,
    cause: Option<String>,
    first: Option<String>,
    last: Option<String>,
    points: Option<u32>,
}

#[derive(serde::Deserialize)]
struct Table {
    case: Vec<Case>,
}

fn cases(folder: &str) -> Vec<Case> {
    let text = std::fs::read_to_string(support::root().join("targets/truth.toml")).expect("the truth table is there");
    let table: Table = toml::from_str(&text).expect("the truth table can be read");
    table.case.into_iter().filter(|case| case.scenario.starts_with(folder)).collect()
}

fn word(value: impl serde::Serialize) -> String {
    serde_json::to_value(value).expect("a plain enum").as_str().expect("is a word").to_owned()
}

/// What a row of the table and a finding have in common: cell, promise, intent, verdict, cause.
type Key = (String, String, String, String, String);

fn found(report: &Report) -> BTreeSet<Key> {
    let key = |finding: &Finding, intent: &String| {
        let cell = finding.cell.join(" ");
        (cell, finding.promise.clone(), intent.clone(), word(finding.verdict), word(finding.cause))
    };
    report.findings.iter().flat_map(|finding| finding.intents.iter().map(move |intent| key(finding, intent))).collect()
}

fn planted(cases: &[Case]) -> BTreeSet<Key> {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let bugs = cases.iter().filter(|case| case.promise.is_some());
    bugs.map(|case| (text(&case.cell), text(&case.promise), text(&case.intent), case.verdict.clone(), text(&case.cause)))
        .collect()
}

/// Compares a report with the rows of its scenario.
fn compare(report: &Report, cases: &[Case]) {
    let shown = killpoint::report::text(report, killpoint::report::Style { colour: false, width: 110 });
    assert_eq!(found(report), planted(cases), "what was found is not what was planted\n{shown}");
    for case in cases {
        let cell = report
            .cells
            .iter()
            .find(|cell| case.cell.as_ref().is_none_or(|name| cell.cell.join(" ") == *name))
            .expect("the cell was run");
        let Some(promise) = &case.promise else {
            let verdict = if cell.verdict == RunVerdict::Clean { "clean".to_owned() } else { word(cell.verdict) };
            assert_eq!(verdict, case.verdict, "{shown}");
            if case.verdict == "clean" {
                assert_eq!(
                    (cell.points.reached, cell.points.total),
                    (cell.points.census, cell.points.census),
                    "not every point was reached\n{shown}"
                );
                assert!(cell.points.total > 0);
            }
            continue;
        };
        let windows =
            report.findings.iter().filter(|finding| finding.promise == *promise && word(finding.verdict) == case.verdict);
        let windows = windows.filter(|finding| case.cause.as_ref() == Some(&word(finding.cause)) && finding.cell == cell.cell);
        let mut windows =
            windows.flat_map(|finding| &finding.windows).filter(|window| case.intent.as_ref() == Some(&window.intent));
        let fits = windows.any(|window| {
            let is = |wanted: &Option<String>, point: &killpoint::model::point::Point| {
                wanted.as_ref().is_none_or(|wanted| *wanted == point.to_string())
            };
            is(&case.first, &window.first)
                && is(&case.last, &window.last)
                && case.points.is_none_or(|points| points == window.points)
        });
        assert!(fits, "no window is as predicted: {case:?}\n{shown}");
        assert_eq!(cell.points.unreached, 0, "{shown}");
    }
}

/// Brings every finding back as often as asked and counts.
fn replays(ran: &Ran, times: u32) {
    let tell: Tell = Arc::new(|_| ());
    for finding in &ran.report.findings {
        let (_, file) =
            read_finding(&ran.folder.join("findings").join(&finding.id).to_string_lossy(), ran.keep.path()).expect("it was kept");
        let answers = support::runtime()
            .block_on(campaign::replay(&file, times, tell.clone(), &Abort::default()))
            .expect("it can be replayed");
        let came = answers.iter().filter(|answer| answer.reproduced).count();
        assert_eq!(
            came,
            times as usize,
            "{} of {} came back: {:?}",
            finding.id,
            ran.report.scenario,
            answers.iter().map(|a| (&a.end, &a.judgements)).collect::<Vec<_>>()
        );
    }
}

fn check(scenario: &str, times: u32) {
    let cases: Vec<_> = cases("scenarios/").into_iter().filter(|case| case.scenario == scenario).collect();
    assert!(!cases.is_empty(), "{scenario} has no row in targets/truth.toml");
    let ran = support::run(&support::scenario(scenario), 2);
    compare(&ran.report, &cases);
    replays(&ran, times);
}

/// One test for each scenario; a scenario without a test is told below.
macro_rules! native {
    ($($name:ident)*) => {
        const NATIVE: &[&str] = &[$(concat!("scenarios/native/", stringify!($name), ".toml")),*];
        $(#[test] fn $name() { check(concat!("scenarios/native/", stringify!($name), ".toml"), 10); })*
    };
}

native! {
    charge_then_record record_then_charge check_then_act torn_journal charge_with_key unique_constraint forked_doer two_threads
    hangs_on_restart not_repeatable daemon_doer many_invoices key_with_timestamp wrong_amount diverged
}

#[test]
fn langgraph_without_a_key_charges_twice_in_every_durability_mode() {
    check("scenarios/langgraph/charge_without_key.toml", 1);
}

#[test]
fn langgraph_with_a_key_per_attempt_charges_twice_in_every_durability_mode() {
    check("scenarios/langgraph/charge_with_key_per_attempt.toml", 1);
}

#[test]
fn langgraph_with_a_stable_key_is_clean_at_every_point_in_every_durability_mode() {
    check("scenarios/langgraph/charge_with_stable_key.toml", 1);
}

#[test]
fn every_shipped_scenario_is_in_the_table_and_has_a_test() {
    let tabled: BTreeSet<String> = cases("scenarios/").into_iter().map(|case| case.scenario).collect();
    let mut shipped = BTreeSet::new();
    for folder in ["native", "langgraph"] {
        for entry in std::fs::read_dir(support::root().join("scenarios").join(folder)).expect("a folder").flatten() {
            shipped.insert(format!("scenarios/{folder}/{}", entry.file_name().to_string_lossy()));
        }
    }
    assert_eq!(tabled, shipped);
    let native: BTreeSet<String> = NATIVE.iter().map(|name| (*name).to_owned()).collect();
    assert!(shipped.iter().filter(|name| name.contains("/native/")).all(|name| native.contains(name)));
}
