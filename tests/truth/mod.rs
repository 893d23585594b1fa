//! The truth table: every planted bug is found with the predicted verdict and window, every correct twin is clean at every point.

mod mail;
mod mcp_agent;
mod stripe_sdk;

use std::collections::BTreeSet;
use std::sync::Arc;

use killpoint::campaign::{self, Abort, Tell};
use killpoint::model::finding::Finding;
use killpoint::model::interleaving::Interleaving;
use killpoint::model::report::{Report, RunVerdict};
use killpoint::model::scenario::{ModeChoice, PointRange};
use killpoint::store::read_finding;

use crate::support::{self, Ran};

/// One row of `targets/truth.toml`.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    scenario: String,
    cell: Option<String>,
    /// The mode it is about; both where nothing is said.
    mode: Option<String>,
    /// The fault of the wire that shows it; a kill where nothing is said.
    fault: Option<String>,
    order: Option<String>,
    crashes: Option<usize>,
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
            let crashes = window.after.as_ref().map_or(0, |before| before.0.len()) + 1;
            let is = |wanted: &Option<String>, point: &killpoint::model::point::Point| {
                wanted.as_ref().is_none_or(|wanted| *wanted == point.to_string())
            };
            word(window.interleaving) == case.order.as_deref().unwrap_or("as-is")
                && crashes == case.crashes.unwrap_or(1)
                && is(&case.first, &window.first)
                && is(&case.last, &window.last)
                && case.points.is_none_or(|points| points == window.points)
        });
        assert!(fits, "no window is as predicted: {case:?}\n{shown}");
        assert_eq!((cell.points.unreached, cell.points.reached), (0, cell.points.total), "{shown}");
    }
}

/// Brings every finding back as often as asked and counts: by a SIGKILL, or from its image.
fn replays(ran: &Ran, by_kill: bool, times: u32) {
    let tell: Tell = Arc::new(|_| ());
    for finding in &ran.report.findings {
        let (folder, file) =
            read_finding(&ran.folder.join("findings").join(&finding.id).to_string_lossy(), ran.keep.path()).expect("it was kept");
        assert!(by_kill || file.image.is_some(), "{} has no image", finding.id);
        let answers = support::runtime()
            .block_on(campaign::replay(&file, &folder, by_kill, times, tell.clone(), &Abort::default()))
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

/// Runs a scenario in one mode and compares it with its rows.
fn check(scenario: &str, mode: ModeChoice, jobs: usize) -> Ran {
    let name = word(mode);
    let is_of_mode = |case: &Case| case.scenario == scenario && case.mode.as_ref().is_none_or(|mode| *mode == name);
    let cases: Vec<_> = cases("scenarios/").into_iter().filter(is_of_mode).collect();
    assert!(!cases.is_empty(), "{scenario} has no row in targets/truth.toml for the mode {name}");
    let mut asked = support::scenario(scenario);
    asked.campaign.mode = mode;
    let ran = support::run(&asked, jobs);
    compare(&ran.report, &cases);
    let confirmed = |finding: &Finding| finding.confirmed_by_sigkill;
    assert!(ran.report.findings.iter().all(confirmed), "each finding was shown by a SIGKILL");
    ran
}

/// The windows of a report in the order that the machine makes: what both modes must agree on.
fn windows(report: &Report) -> BTreeSet<(String, String, String)> {
    let windows = report.findings.iter().flat_map(|finding| finding.windows.iter().map(move |window| (finding, window)));
    let plain = windows.filter(|(_, window)| window.interleaving == Interleaving::AsIs && window.after.is_none());
    plain
        .map(|(finding, window)| {
            (format!("{} {}", finding.promise, word(finding.verdict)), window.first.to_string(), window.last.to_string())
        })
        .collect()
}

/// A native target in both modes: the same verdicts, the same windows, and findings that come back each time.
fn both(scenario: &str) {
    let killed = check(scenario, ModeChoice::Kill, 2);
    replays(&killed, true, 10);
    if has_image(scenario) {
        let pictured = check(scenario, ModeChoice::Image, 2);
        replays(&pictured, false, 20);
        if is_steady(scenario) {
            assert_eq!(windows(&pictured.report), windows(&killed.report), "the modes differ");
        }
    }
}

/// Whether the table predicts every edge of every window: where the order of threads moves one, it says nothing of it.
fn is_steady(scenario: &str) -> bool {
    let mut own = cases("scenarios/").into_iter().filter(|case| case.scenario == scenario);
    own.all(|case| case.mode.is_none() && (case.promise.is_none() || (case.first.is_some() && case.last.is_some())))
}

/// Every native target keeps its state in its folder.
fn has_image(scenario: &str) -> bool {
    scenario.contains("/native/")
}

/// One test for each scenario; a scenario without a test is told below.
macro_rules! native {
    ($($name:ident)*) => {
        const NATIVE: &[&str] = &[$(concat!("scenarios/native/", stringify!($name), ".toml")),*];
        $(#[test] fn $name() { both(concat!("scenarios/native/", stringify!($name), ".toml")); })*
    };
}

native! {
    charge_then_record record_then_charge check_then_act torn_journal charge_with_key unique_constraint forked_doer two_threads
    hangs_on_restart not_repeatable daemon_doer many_invoices key_with_timestamp wrong_amount diverged async_flush
    async_flush_joined two_phase_recovery two_phase_recovery_atomic
    outbox_relay outbox_no_key surplus_refunded mail_reconciled rows_twice rows_upsert lines_twice lines_checked asks_a_person
    key_per_call key_kept key_with_attempt key_by_position
}

#[test]
fn langgraph_without_a_key_charges_twice_in_every_durability_mode() {
    let ran = check("scenarios/langgraph/charge_without_key.toml", ModeChoice::Image, 2);
    replays(&ran, false, 20);
}

#[test]
fn langgraph_with_a_key_per_attempt_charges_twice_in_every_durability_mode() {
    check("scenarios/langgraph/charge_with_key_per_attempt.toml", ModeChoice::Image, 2);
}

#[test]
fn langgraph_with_a_stable_key_is_clean_at_every_point_in_every_durability_mode() {
    check("scenarios/langgraph/charge_with_stable_key.toml", ModeChoice::Image, 2);
}

#[test]
fn langgraph_with_a_stable_key_survives_a_second_crash_in_each_recovery() {
    let mut asked = support::scenario("scenarios/langgraph/charge_with_stable_key.toml");
    asked.matrix.iter_mut().for_each(|(_, values)| values.retain(|value| value == "sync"));
    asked.campaign.points = PointRange::Window;
    asked.campaign.interleavings = vec![Interleaving::AsIs];
    asked.campaign.depth = 2;
    let report = support::run_checked(&asked, 2, 3).report;
    let cell = &report.cells[0];
    let shown = killpoint::report::text(&report, killpoint::report::Style { colour: false, width: 110 });
    assert_eq!((report.verdict, cell.points.unreached), (RunVerdict::Clean, 0), "{shown}");
    let [one, two] = cell.depths.as_slice() else { panic!("{shown}") };
    assert!(one.distinct > 5 && two.distinct > one.distinct && two.distinct < two.points / 2, "{shown}");
    let check = cell.class_check.as_ref().expect("merged states were checked");
    assert!(check.classes == 3 && check.members > 3 && check.disagreements.is_empty(), "{shown}");
}

/// langchain-ai/langgraph#8039: under `durability="sync"` nothing orders the pending writes of a step and the checkpoint that supersedes
/// them. Where the checkpoint comes first, a crash between the two runs the step again, long after the window that the machine's own
/// order shows has closed.
#[test]
fn langgraph_8039_is_shown_by_turning_round_two_threads_that_one_lock_orders() {
    let asked = |seeds: std::ops::Range<u64>| {
        let mut asked = support::scenario("scenarios/langgraph/charge_without_key.toml");
        asked.matrix.iter_mut().for_each(|(_, values)| values.retain(|value| value == "sync"));
        asked.campaign.interleavings = std::iter::once(Interleaving::AsIs).chain(seeds.map(Interleaving::Seed)).collect();
        asked
    };
    // A seed gives the turns, and the machine the instants between them: about one seed in six turns the two round.
    let wider = (0..6_u64).any(|batch| {
        let report = support::run(&asked(12 * batch..12 * (batch + 1)), 2).report;
        let finding = report.findings.iter().find(|finding| finding.promise == "charge").expect("it has no key");
        let plain = finding.windows.iter().find(|window| window.interleaving == Interleaving::AsIs).expect("a window");
        assert_eq!(plain.last.to_string(), "charge#1:answered/pwrite64(checkpoints.db-wal)#4");
        finding.windows.iter().any(|window| window.interleaving != Interleaving::AsIs && window.points > plain.points)
    });
    assert!(wider, "none of 72 seeds turned the checkpoint and the pending writes round");
}

#[test]
fn langgraph_takes_a_tenth_of_the_lives_from_images_and_the_windows_are_the_same() {
    let scenario = "scenarios/langgraph/charge_without_key.toml";
    let sync = |mode| {
        let mut asked = support::scenario(scenario);
        asked.campaign.mode = mode;
        asked.matrix.iter_mut().for_each(|(_, values)| values.retain(|value| value == "sync"));
        asked.campaign.points = PointRange::All;
        // Kills know one order of threads; that is compared.
        asked.campaign.interleavings = vec![Interleaving::AsIs];
        support::run(&asked, 2).report
    };
    let (pictured, killed) = (sync(ModeChoice::Image), sync(ModeChoice::Kill));
    assert_eq!(windows(&pictured), windows(&killed), "the modes differ");
    assert_eq!(found(&pictured), found(&killed));
    assert_eq!(pictured.points, killed.points);
    assert!(pictured.lives * 10 < killed.lives, "{} lives from images, {} by kills", pictured.lives, killed.lives);
}

#[test]
fn every_shipped_scenario_is_in_the_table_and_has_a_test() {
    let tabled: BTreeSet<String> = cases("scenarios/").into_iter().map(|case| case.scenario).collect();
    let mut shipped = BTreeSet::new();
    for folder in ["native", "langgraph", "mail", "mcp_agent", "stripe_sdk"] {
        for entry in std::fs::read_dir(support::root().join("scenarios").join(folder)).expect("a folder").flatten() {
            shipped.insert(format!("scenarios/{folder}/{}", entry.file_name().to_string_lossy()));
        }
    }
    assert_eq!(tabled, shipped);
    let native: BTreeSet<String> = NATIVE.iter().map(|name| (*name).to_owned()).collect();
    assert!(shipped.iter().filter(|name| name.contains("/native/")).all(|name| native.contains(name)));
}
