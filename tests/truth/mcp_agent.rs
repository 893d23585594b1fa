//! The agent that calls tools. It is run by the command, because the MCP server that it starts as its child is the command itself.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use super::{Case, cases};
use crate::support;

/// Runs a scenario: the exit code and the report.
fn run(scenario: &str) -> (Option<i32>, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(support::killpoint());
    command.args(["run", "--format", "json", "--jobs", "2", "--out"]).arg(folder.path().join("run"));
    let output = command.arg(support::root().join(scenario)).output().expect("killpoint runs");
    let shown = String::from_utf8_lossy(&output.stderr);
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {shown}")))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// One failing window: cell, fault, promise, intent, verdict, cause, first and last point.
type Row = [String; 8];

/// The windows of a report in the machine's own order of threads.
fn found(report: &Value) -> BTreeSet<Row> {
    let mut rows = BTreeSet::new();
    for finding in report["findings"].as_array().expect("a list") {
        let cell = finding["cell"].as_array().expect("a list").iter().map(text).collect::<Vec<_>>().join(" ");
        let windows = finding["windows"].as_array().expect("a list").iter();
        for window in windows.filter(|window| window["interleaving"] == "as-is") {
            let of = |key: &str| text(&finding[key]);
            let at = |key: &str| text(&window[key]);
            rows.insert([
                cell.clone(),
                at("fault"),
                of("promise"),
                at("intent"),
                of("verdict"),
                of("cause"),
                at("first"),
                at("last"),
            ]);
        }
    }
    rows
}

fn planted(cases: &[Case]) -> BTreeSet<Row> {
    let row = |case: &Case| {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let fault = case.fault.clone().unwrap_or_else(|| "kill".to_owned());
        let (first, last) = (text(&case.first), text(&case.last));
        [text(&case.cell), fault, text(&case.promise), text(&case.intent), case.verdict.clone(), text(&case.cause), first, last]
    };
    cases.iter().filter(|case| case.promise.is_some()).map(row).collect()
}

/// Runs a scenario and compares it with its rows: what is found, and that all that was to happen did.
fn check(scenario: &str) -> Value {
    let cases: Vec<Case> = cases(scenario);
    let (code, report) = run(scenario);
    assert_eq!(found(&report), planted(&cases), "what was found is not what was planted\n{report:#}");
    assert_eq!(code, Some(i32::from(cases.iter().any(|case| case.promise.is_some()))));
    let cells = report["cells"].as_array().expect("a list");
    assert_eq!(cells.len(), 2, "both transports");
    for cell in cells {
        let points = &cell["points"];
        assert!(points["total"].as_u64() > Some(50) && points["total"] == points["reached"], "{points}");
        for one in cell["wire"].as_array().expect("a list") {
            assert!(one["planned"].as_u64() > Some(0) && one["planned"] == one["reached"], "{one}");
        }
    }
    report
}

#[test]
fn an_agent_that_calls_again_doubles_without_a_crash_and_over_one_where_the_tool_takes_no_key() {
    let report = check("scenarios/mcp_agent/call_without_key.toml");
    let late = report["findings"].as_array().expect("a list").iter().filter(|finding| finding["fault"] == "slow-ack(20s)");
    for finding in late {
        let why: Vec<String> = finding["why"].as_array().expect("a list").iter().map(text).collect();
        assert!(
            why.iter().any(|line| line == "request 2 of life 1 (mcp create_charge) had an effect"),
            "nobody died of it: {why:?}"
        );
    }
}

#[test]
fn an_agent_that_puts_a_key_into_its_call_is_clean_at_every_point_and_under_every_fault() {
    let report = check("scenarios/mcp_agent/call_with_key.toml");
    let faults = report["cells"][0]["wire"].as_array().map(Vec::len);
    assert_eq!(faults, Some(8), "each fault was tried: {:#}", report["cells"][0]["wire"]);
}
