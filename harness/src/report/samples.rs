//! Reports as they can come out of a run, for the tests of the exporters and as golden files.

use crate::model::call::Notice;
use crate::model::fault::Fault;
use crate::model::finding::{Finding, Window};
use crate::model::point::Point;
use crate::model::report::{
    BaselineEffect, Cell, Isolation, Landmark, Level, Mode, PointCounts, Report, RunVerdict, SCHEMA, StateCounts, TrialCounts,
    UnreachedPoint,
};
use crate::model::scenario::{Network, Scope};
use crate::model::schedule::Schedule;
use crate::model::verdict::{Cause, Judgement, Verdict};

/// All samples, by name.
pub(super) fn all() -> Vec<(&'static str, Report)> {
    vec![
        ("findings", findings()),
        ("clean", clean()),
        ("inconclusive", inconclusive()),
        ("baseline-broken", baseline_broken()),
        ("long-names", long_names()),
    ]
}

fn point(text: &str) -> Point {
    text.parse().expect("a point of a sample")
}

fn counts(total: u64, unreached: u64) -> PointCounts {
    PointCounts { total, reached: total - unreached, unreached, census: total }
}

fn judgement(promise: &str, verdict: Verdict, observed: u32) -> Judgement {
    Judgement {
        promise: promise.to_owned(),
        intent: "inv_9".to_owned(),
        verdict,
        expected: "exactly 1".to_owned(),
        observed,
        on_the_way: None,
        cause: None,
        evidence: vec![],
    }
}

fn cell(values: &[&str], strip: String, landmarks: &[(u32, &str)]) -> Cell {
    let unreached = strip.matches('?').count() as u64;
    let verdict = match strip.contains('x') {
        true => RunVerdict::Findings,
        false if unreached > 0 => RunVerdict::Inconclusive,
        false => RunVerdict::Clean,
    };
    Cell {
        allowances: vec![],
        mode: Mode::Kill,
        mode_reason: None,
        depths: Vec::new(),
        orders: Vec::new(),
        wire: Vec::new(),
        class_check: None,
        cell: values.iter().map(|value| (*value).to_owned()).collect(),
        verdict,
        reason: None,
        points: counts(strip.len() as u64, unreached),
        baseline_us: 912_000,
        baseline: vec![judgement("charge", Verdict::Once, 1)],
        notices: vec![Notice::SharedMapping { object: "checkpoints.db-shm".to_owned() }],
        not_repeatable: vec![],
        strip,
        landmarks: landmarks.iter().map(|&(index, text)| Landmark { index, point: point(text) }).collect(),
    }
}

/// A report of the given cells, its counts taken from them.
fn report(verdict: RunVerdict, cells: Vec<Cell>, findings: Vec<Finding>) -> Report {
    let sum = |count: fn(&PointCounts) -> u64| cells.iter().map(|cell| count(&cell.points)).sum::<u64>();
    let points = PointCounts {
        total: sum(|points| points.total),
        reached: sum(|points| points.reached),
        unreached: sum(|points| points.unreached),
        census: sum(|points| points.census),
    };
    Report {
        schema: SCHEMA.to_owned(),
        killpoint_version: "0.1.0".to_owned(),
        scenario: "langgraph: charge without a key".to_owned(),
        scenario_file: Some("scenarios/langgraph_no_key.toml".to_owned()),
        seed: 7,
        started_at: "2026-08-21T10:15:30Z".to_owned(),
        scope: Scope::ProcessDeath,
        level: Level::Syscall,
        mode: Mode::Kill,
        verdict,
        states: StateCounts { raw: points.reached, distinct: points.reached },
        trials: TrialCounts { recorded: cells.len() as u64, resumed: points.reached, killed: points.reached },
        lives: points.total * 2 + cells.len() as u64,
        points,
        wall_ms: 48_310,
        target_cpu_ms: 61_020,
        harness_cpu_ms: 2_140,
        effects: vec![BaselineEffect {
            cell: vec![],
            promise: "charge".to_owned(),
            method: "POST".to_owned(),
            path: "/v1/charges".to_owned(),
            intent: Some("inv_9".to_owned()),
            key: None,
            key_origin: "none".to_owned(),
            body_sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".to_owned(),
            life: 1,
            at: point("charge#1:executed"),
        }],
        findings,
        cells,
        unreached: vec![],
        isolation: Some(Isolation { network: Network::Private, reason: None }),
        outside: vec![
            "Loss of power: what was handed to the kernel and not yet to the disk is taken to survive.".to_owned(),
            "Other orders of the workflow's threads than those of this run.".to_owned(),
        ],
    }
}

const LAST_BAD: &str = "charge#1:answered/pwrite64(checkpoints.db-wal)#3";
const SAFE_AGAIN: &str = "charge#1:answered/pwrite64(checkpoints.db-wal)#4";

fn window(intent: &str, first: &str, last: &str, closed_by: Option<&str>, points: u32, micros: u64) -> Window {
    Window {
        fault: crate::model::fault::Fault::Kill,
        interleaving: crate::model::interleaving::Interleaving::AsIs,
        after: None,
        intent: intent.to_owned(),
        first: point(first),
        last: point(last),
        closed_by: closed_by.map(point),
        points,
        clean_points: 0,
        micros,
    }
}

fn finding(id: &str, values: &[&str], verdict: Verdict, window: Window, cause: Cause) -> Finding {
    Finding {
        interleaving: crate::model::interleaving::Interleaving::AsIs,
        id: id.to_owned(),
        cell: values.iter().map(|value| (*value).to_owned()).collect(),
        verdict,
        promise: "charge".to_owned(),
        intent: window.intent.clone(),
        intents: vec![window.intent.clone()],
        expected: "exactly 1".to_owned(),
        observed: if verdict == Verdict::Lost { 0 } else { 2 },
        windows: vec![window.clone()],
        cause,
        why: vec![
            "The repeated requests carry no idempotency key.".to_owned(),
            "Life 1 sent POST /v1/charges without a key, life 2 sent it again without a key.".to_owned(),
        ],
        confirmed_by_sigkill: true,
        fault: Fault::Kill,
        also: Vec::new(),
        schedule: Schedule::kill(window.first.clone()),
        trials: window.points,
        repro: format!("killpoint replay {id}"),
        window,
    }
}

/// Findings in three cells of a matrix.
pub(super) fn findings() -> Report {
    let strip =
        |before: usize, bad: usize, after: usize| format!("{}{}{}", ".".repeat(before), "x".repeat(bad), ".".repeat(after));
    let marks = |bad: u32, after: bool| {
        let mut marks =
            vec![(57, "charge#1:received"), (58, "charge#1:executed"), (59, "charge#1:answered"), (57 + bad, LAST_BAD)];
        marks.extend(after.then_some((58 + bad, SAFE_AGAIN)));
        marks
    };
    let (sync, relaxed, exit) = (["durability=sync"], ["durability=async"], ["durability=exit"]);
    let cells = vec![
        cell(&sync, strip(58, 7, 57), &marks(7, true)),
        cell(&relaxed, strip(58, 9, 52), &marks(9, true)),
        cell(&exit, strip(58, 40, 0), &marks(40, false)),
    ];
    let closed = |points, micros| window("inv_9", "charge#1:executed", LAST_BAD, Some(SAFE_AGAIN), points, micros);
    let open = window("inv_9", "charge#1:executed", LAST_BAD, None, 40, 21_800);
    let findings = vec![
        finding("F1", &sync, Verdict::Duplicated, closed(7, 3_240), Cause::NoKey),
        finding("F2", &relaxed, Verdict::Duplicated, closed(9, 4_100), Cause::NoKey),
        finding("F3", &exit, Verdict::Duplicated, open, Cause::NoKey),
    ];
    report(RunVerdict::Findings, cells, findings)
}

/// Every point reached, every promise kept.
pub(super) fn clean() -> Report {
    let mut report = report(RunVerdict::Clean, vec![cell(&[], ".".repeat(122), &[(58, "charge#1:executed")])], vec![]);
    report.scenario = "langgraph: charge with a key of its own".to_owned();
    report
}

/// Points that were not reached, and a cell that could not be judged.
pub(super) fn inconclusive() -> Report {
    let mut cells = vec![
        cell(&["durability=sync"], format!("{}{}{}", ".".repeat(100), "?".repeat(12), ".".repeat(10)), &[]),
        cell(&["durability=async"], String::new(), &[]),
    ];
    cells[1].verdict = RunVerdict::Inconclusive;
    cells[1].reason = Some("Nothing was injected: the workflow made no system call that changes anything outside it.".to_owned());
    cells[0].not_repeatable = vec!["the order of pwrite64(checkpoints.db-wal) and fdatasync(checkpoints.db-wal)".to_owned()];
    let mut report = report(RunVerdict::Inconclusive, cells, vec![]);
    report.unreached = (1..=12)
        .map(|number| UnreachedPoint {
            cell: vec!["durability=sync".to_owned()],
            point: point(&format!("charge#1:answered/pwrite64(checkpoints.db-wal)#{number}")),
            tries: 6,
            reason: "the life ended before it".to_owned(),
        })
        .collect();
    report
}

/// The uninjured workflow charges twice.
pub(super) fn baseline_broken() -> Report {
    let mut broken = cell(&[], String::new(), &[]);
    broken.verdict = RunVerdict::BaselineBroken;
    broken.baseline = vec![judgement("charge", Verdict::Duplicated, 2)];
    broken.baseline[0].evidence = vec!["Life 1 sent POST /v1/charges twice, without a key.".to_owned()];
    report(RunVerdict::BaselineBroken, vec![broken], vec![])
}

/// Two findings in one long run, with names that are longer than a line.
pub(super) fn long_names() -> Report {
    let long = "refund-of-an-annual-subscription#1:answered/renameat2(var/lib/orchestrator/tenants/0042/checkpoints/{uuid}.json.tmp \
                -> var/lib/orchestrator/tenants/0042/checkpoints/latest.json)#17";
    let intent = "tenant-0042/subscription-2026-annual/invoice-000000000000000009/line-3";
    let strip = format!("{}xx.xxx..xxx{}xx{}", ".".repeat(400), ".".repeat(89), ".".repeat(498));
    let marks = [
        (400, "refund-of-an-annual-subscription#1:executed"),
        (401, "refund-of-an-annual-subscription#1:answered"),
        (405, long),
        (408, "start/openat(a.db)#1"),
        (410, "start/openat(a.db)#3"),
        (500, "start/openat(b.db)#1"),
        (501, "start/openat(b.db)#2"),
    ];
    let mut cell = cell(&["region=eu-central-1", "executor=separate worker processes"], strip, &marks);
    cell.notices = vec![Notice::Connect { object: "tcp:127.0.0.1:5432".to_owned() }, Notice::Lingering { processes: 1 }];
    let values: Vec<&str> = cell.cell.iter().map(String::as_str).collect();
    let mut first = finding(
        "F1",
        &values,
        Verdict::Diverged,
        window(intent, "refund-of-an-annual-subscription#1:executed", long, None, 5, 1_250_000),
        Cause::KeyChanged,
    );
    first.promise = "refund-of-an-annual-subscription".to_owned();
    first.intents = vec![intent.to_owned(), "inv_10".to_owned(), "inv_11".to_owned()];
    first.window.clean_points = 1;
    first.windows = vec![first.window.clone(), window("inv_10", "start/openat(b.db)#1", "start/openat(b.db)#2", None, 2, 90)];
    first.why = vec![
        "The repeated requests carry different keys.".to_owned(),
        "Life 1 sent the key 5b0c1f5e-7d0a-4b8e-9a55-0d6a2f8f6f10, life 2 the key 1f7e2c9a-0f43-4d0b-8a55-6f0a7b1f2d31."
            .to_owned(),
    ];
    first.repro = "killpoint replay /srv/ci/artifacts/killpoint/2026/08/21/20260821T101530Z-orchestrator/findings/F1".to_owned();
    let lost = window("inv_9", "start/openat(a.db)#1", "start/openat(a.db)#3", None, 3, 480);
    let mut second = finding("F2", &values, Verdict::Lost, lost, Cause::RecordedBeforeDone);
    second.why = vec!["The workflow exits with code 0, and no request for inv_9 was ever sent.".to_owned()];
    let mut report = report(RunVerdict::Findings, vec![cell], vec![first, second]);
    report.scenario = "orchestrator: refunds of annual subscriptions with separate worker processes in two regions".to_owned();
    report
}
