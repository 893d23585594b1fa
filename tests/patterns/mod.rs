//! Which pattern saves from which fault: every cell is what a run came to, and the table in `targets/patterns.md` is printed from it.
//!
//! `KILLPOINT_BLESS=1` writes the table; otherwise the test compares, so that the document cannot say what no run showed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use killpoint::model::fault::Fault;
use killpoint::model::finding::Finding;
use killpoint::model::report::Report;

use crate::support;

const TABLE: &str = "targets/patterns.md";

/// By pattern, then by fault: what came out.
type Matrix = BTreeMap<String, BTreeMap<Fault, String>>;

fn word(value: impl serde::Serialize) -> String {
    serde_json::to_value(value).expect("a plain enum").as_str().expect("is a word").to_owned()
}

/// What a fault came to in a cell: the findings that it showed, or `once` where each of its trials kept the promise.
fn outcome(report: &Report, cell: &[String], fault: Fault) -> String {
    let shows = |finding: &&Finding| finding.cell == cell && (finding.fault == fault || finding.also.contains(&fault));
    let found: Vec<String> = report
        .findings
        .iter()
        .filter(shows)
        .map(|finding| format!("{} ({})", word(finding.verdict), word(finding.cause)))
        .collect();
    let own = report.cells.iter().find(|own| own.cell == cell).expect("the cell was run");
    let (planned, reached, broken) = match fault {
        Fault::Kill => (own.points.total, own.points.reached, u64::from(own.strip.contains('x'))),
        fault => {
            let counts = own.wire.iter().find(|counts| counts.fault == fault).expect("it was asked for");
            (counts.planned, counts.reached, counts.broken)
        }
    };
    assert!(planned > 0 && planned == reached, "{fault} in {cell:?}: {reached} of {planned}");
    assert_eq!(broken > 0, !found.is_empty(), "{fault} in {cell:?}: what was counted and what was found differ");
    if found.is_empty() { "once".to_owned() } else { found.join(", ") }
}

fn matrix(report: &Report, faults: &[Fault]) -> Matrix {
    let cells = report.cells.iter().map(|cell| {
        let pattern = cell.cell.concat().replace("pattern=", "");
        (pattern, faults.iter().map(|fault| (*fault, outcome(report, &cell.cell, *fault))).collect())
    });
    cells.collect()
}

fn printed(patterns: &[String], faults: &[Fault], matrix: &Matrix) -> String {
    let mut text = "# Which pattern saves from which fault\n\n\
        One charge at an API that knows idempotency keys (profile `stripe-v1`), by a client that gives up after a second and tries three times.\n\
        Each cell is what `scenarios/patterns/fix_patterns.toml` came to: `once`, or the verdict with its cause. What each pattern does stands in\n\
        `targets/native/fix_patterns.rs`, what each fault does in `killpoint explain FAULT`.\n\n\
        This table is printed from a run by `KILLPOINT_BLESS=1 cargo test --test main patterns`, and the same test fails where a run comes to\n\
        something else.\n\n"
        .to_owned();
    let head: Vec<&str> = patterns.iter().map(String::as_str).collect();
    let _ = writeln!(text, "| fault | {} |\n|---|{}", head.join(" | "), "---|".repeat(head.len()));
    for fault in faults {
        let cells: Vec<&str> = patterns.iter().map(|pattern| matrix[pattern][fault].as_str()).collect();
        let _ = writeln!(text, "| `{fault}` | {} |", cells.join(" | "));
    }
    text.push_str(
        "\nA table of one's own, whether it is looked at, written by an upsert or claimed under a unique constraint, guards what stands in the same\n\
         database. It cannot guard a charge at somebody else's: between the charge and the row there is always an instant. Asking before\n\
         repeating closes that instant, but not for a request that is still on its way (`hold`) or is delivered twice. A 500 that is saved under its\n\
         key is given again for as long as the key is known, so that a workflow with a key is safe and does not get done by repeating alone: it has to ask (`key_then_ask`).\n",
    );
    text
}

#[test]
fn each_pattern_saves_from_what_theory_says_and_the_table_in_the_documents_is_what_runs_show() {
    let scenario = support::scenario("scenarios/patterns/fix_patterns.toml");
    let faults = scenario.campaign.faults.clone();
    let patterns = scenario.matrix[0].1.clone();
    let ran = support::run(&scenario, 2);
    let matrix = matrix(&ran.report, &faults);
    let at = |pattern: &str, fault: &str| matrix[pattern][&fault.parse::<Fault>().expect("a fault")].clone();
    for fault in ["kill", "drop-ack", "reset-ack", "half-ack", "slow-ack(5s)", "error-after-commit(500)", "duplicate", "hold"] {
        assert_eq!(at("none", fault), "duplicated (no_key)", "{fault}");
    }
    for fault in faults.iter().filter(|fault| **fault != "error-after-commit(500)".parse().expect("a fault")) {
        assert_eq!(matrix["key"][fault], "once", "{fault}");
        assert_eq!(matrix["persisted_intent"][fault], "once", "{fault}");
    }
    assert!(matrix["key_then_ask"].values().all(|outcome| outcome == "once"), "{:?}", matrix["key_then_ask"]);
    for pattern in ["dedup_table", "upsert"] {
        assert_eq!(at(pattern, "kill"), "duplicated (no_key)", "{pattern} guards no charge elsewhere");
    }
    assert_eq!((at("unique_constraint", "kill"), at("unique_constraint", "drop-ack")), ("once".to_owned(), "once".to_owned()));
    assert_eq!(at("unique_constraint", "hold"), "duplicated (no_key)", "a look-up does not see what is still on its way");
    let text = printed(&patterns, &faults, &matrix);
    let path = support::root().join(TABLE);
    if std::env::var_os("KILLPOINT_BLESS").is_some() {
        std::fs::write(&path, &text).expect("it can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        kept, text,
        "{TABLE} is not what this run shows; write it anew with `KILLPOINT_BLESS=1 cargo test --test main patterns`"
    );
}
