//! What goes wrong between a workflow and the outside world, from the front door: found without a key, harmless with one, brought back,
//! and never a pass where it did not come to happen.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support;

fn killpoint(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(support::killpoint()).args(arguments).current_dir(folder).output().expect("killpoint runs")
}

/// A scenario around a native target in a folder of its own.
fn scenario(program: &str, campaign: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let program = Path::new(env!("CARGO_BIN_EXE_charge_then_record")).with_file_name(program);
    let scenario = format!(
        "name = \"wire\"\n[workflow]\nstart = [\"{}\", \"inv_1:2900\"]\n\
         env = {{ BILLING_URL = \"{{sandbox.url}}\", STATE_DIR = \"{{state}}\" }}\n\
         [[promise]]\nname = \"charge\"\neffect = \"POST /v1/charges\"\nintent = \"$.metadata.invoice\"\n\
         [campaign]\n{campaign}\n",
        program.display()
    );
    std::fs::write(folder.path().join("scenario.toml"), scenario).expect("it can be written");
    folder
}

fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, Value) {
    let mut all = vec!["run", "scenario.toml", "--format", "json", "--out", "run"];
    all.extend(arguments);
    let output = killpoint(folder, &all);
    let shown = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {shown}")))
}

/// Faults that a client without a time-out comes through at once.
const QUICK: &str = "drop-ack,reset-ack,half-ack,slow-ack(5ms),error-after-commit(502),error-before-commit(429),duplicate";

#[test]
fn without_a_key_a_lost_answer_is_found_without_a_crash_and_comes_back() {
    let folder = scenario("charge_then_record", "");
    let (code, report) = run(folder.path(), &["--faults", "drop-ack,duplicate,error-before-commit(500)"]);
    assert_eq!(code, Some(1), "{report:#}");
    let findings = report["findings"].as_array().expect("a list");
    assert_eq!(findings.len(), 1, "one cause, one finding: {report:#}");
    let finding = &findings[0];
    assert_eq!((&finding["verdict"], &finding["cause"]), (&"duplicated".into(), &"no_key".into()));
    assert_eq!((&finding["fault"], &finding["also"][0]), (&"drop-ack".into(), &"duplicate".into()));
    assert_eq!(finding["schedule"], "charge#1:executed drop-ack");
    assert_eq!(finding["confirmed_by_sigkill"], false, "nobody was killed");
    assert_eq!(report["trials"]["killed"], 0);
    let harmless = report["cells"][0]["wire"].as_array().expect("a list").iter().find(|one| one["broken"] == 0);
    assert_eq!(harmless.map(|one| &one["fault"]), Some(&"error-before-commit(500)".into()));
    let again = killpoint(folder.path(), &["replay", "run/findings/F1", "--times", "2"]);
    let shown = String::from_utf8_lossy(&again.stdout).into_owned();
    assert_eq!(again.status.code(), Some(1), "{shown}");
    assert!(shown.contains("<- drop-ack"), "the ledger says what was done on purpose: {shown}");
}

#[test]
fn with_a_key_every_fault_of_the_wire_is_harmless_and_each_was_reached() {
    let folder = scenario("charge_with_key", "");
    let (code, report) = run(folder.path(), &["--faults", QUICK]);
    assert_eq!(code, Some(0), "{report:#}");
    let wire = report["cells"][0]["wire"].as_array().expect("a list");
    assert_eq!(wire.len(), QUICK.split(',').count());
    assert!(
        wire.iter().all(|one| one["planned"].as_u64() > Some(0) && one["reached"] == one["planned"] && one["broken"] == 0),
        "{report:#}"
    );
}

#[test]
fn a_request_held_on_its_way_while_its_client_dies_doubles_without_a_key_only() {
    for (program, code) in [("charge_then_record", 1), ("charge_with_key", 0)] {
        let folder = scenario(program, "");
        let (found, report) = run(folder.path(), &["--at", "charge#1:received hold; charge#1:received kill"]);
        assert_eq!(found, Some(code), "{program}: {report:#}");
        assert_eq!(report["trials"]["killed"], 1);
    }
}

#[test]
fn one_schedule_without_a_kill_kills_nobody_and_says_so() {
    let folder = scenario("charge_with_key", "");
    let (code, report) = run(folder.path(), &["--at", "charge#1:executed drop-ack"]);
    assert_eq!(code, Some(0), "{report:#}");
    assert_eq!((&report["trials"]["killed"], &report["points"]["total"]), (&0.into(), &0.into()));
    assert_eq!(report["cells"][0]["wire"][0]["reached"], 1);
    let shown = std::fs::read_to_string(folder.path().join("run/report.txt")).expect("a text");
    assert!(!shown.contains("Killed") && shown.contains("something going wrong on the wire"), "{shown}");
}

#[test]
fn a_step_that_fails_of_itself_is_a_trial_of_its_own_beside_the_crashes() {
    let folder = scenario("charge_with_key", "faults = [\"kill\"]\nfail = { effect = \"charge\", status = 503, times = 2 }");
    let (code, report) = run(folder.path(), &[]);
    assert_eq!(code, Some(0), "{report:#}");
    assert_eq!(report["cells"][0]["wire"][0]["fault"], "error-before-commit(503)");
    assert_eq!(report["cells"][0]["wire"][0]["reached"], 1);
    assert!(report["points"]["total"].as_u64() > Some(5), "crashes are tried as well: {report:#}");
}

#[test]
fn what_did_not_come_to_happen_is_no_pass() {
    let folder = scenario("charge_with_key", "fail = [{ effect = \"charge\", at = 7 }]");
    let (code, report) = run(folder.path(), &[]);
    assert_eq!(code, Some(4), "{report:#}");
    assert_eq!(report["cells"][0]["wire"][0]["reached"], 0);
    let (code, report) = run(scenario("charge_with_key", "").path(), &["--at", "charge#9:executed drop-ack"]);
    assert_eq!(code, Some(4), "{report:#}");
}

#[test]
fn a_key_that_the_server_has_forgotten_between_two_lives_is_found_with_that_reason() {
    for (age, code) in [("23h", 0), ("25h", 1)] {
        let folder = scenario("charge_with_key", &format!("points = \"window\"\n[sandbox]\nkey_age = \"{age}\""));
        let (found, report) = run(folder.path(), &[]);
        assert_eq!(found, Some(code), "{age}: {report:#}");
        if code == 1 {
            assert_eq!(report["findings"][0]["cause"], "key_forgotten", "{report:#}");
        }
    }
}
