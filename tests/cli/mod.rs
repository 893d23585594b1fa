//! The command as a user meets it: exit codes, what goes to which stream, and reports that keep to their schema.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support;

/// Runs killpoint in a folder of its own.
fn killpoint(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(support::killpoint()).args(arguments).current_dir(folder).output().expect("killpoint runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A scenario around a native target, with its promise.
fn write_scenario(folder: &Path, program: &str, promise: &str) {
    let program = Path::new(env!("CARGO_BIN_EXE_charge_then_record")).with_file_name(program);
    let scenario = format!(
        "name = \"cli\"\n[workflow]\nstart = [\"{}\", \"inv_1:2900\"]\n\
         env = {{ BILLING_URL = \"{{sandbox.url}}\", STATE_DIR = \"{{state}}\" }}\n\
         [[promise]]\nname = \"charge\"\neffect = \"POST /v1/charges\"\nintent = \"$.metadata.invoice\"\n{promise}\n",
        program.display()
    );
    std::fs::write(folder.join("scenario.toml"), scenario).expect("it can be written");
}

fn exit_of(program: &str, promise: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    write_scenario(folder.path(), program, promise);
    let mut all = vec!["run", "scenario.toml"];
    all.extend(arguments);
    let output = killpoint(folder.path(), &all);
    (output.status.code(), format!("{}{}", text(&output.stdout), text(&output.stderr)))
}

#[test]
fn the_exit_code_says_what_came_out() {
    for (program, promise, arguments, code) in [
        ("charge_with_key", "", &[][..], 0),
        ("charge_then_record", "", &[], 1),
        ("charge_then_record", "exacty = 1", &[], 2),
        ("charge_then_record", "exactly = 2", &[], 3),
        ("charge_with_key", "", &["--at", "charge#7:answered"], 4),
    ] {
        let (found, shown) = exit_of(program, promise, arguments);
        assert_eq!(found, Some(code), "{program} {promise} {arguments:?}\n{shown}");
        assert!(!shown.contains("panicked") && !shown.contains("stack backtrace"), "{shown}");
    }
}

#[test]
fn a_program_that_is_missing_is_named_with_a_hint() {
    let (code, shown) = exit_of("no_such_target", "", &[]);
    assert_eq!(code, Some(5), "{shown}");
    assert!(shown.contains("no_such_target") && shown.contains("hint:"), "{shown}");
}

fn schema(name: &str) -> jsonschema::Validator {
    let file = support::root().join("reports/schema").join(name);
    let schema: Value = serde_json::from_slice(&std::fs::read(file).expect("it is checked in")).expect("it is JSON");
    jsonschema::validator_for(&schema).expect("it is a schema")
}

#[test]
fn the_report_on_stdout_is_that_of_the_run_folder_and_keeps_to_the_schema() {
    let folder = tempfile::tempdir().expect("a folder");
    write_scenario(folder.path(), "charge_then_record", "");
    let output = killpoint(folder.path(), &["run", "scenario.toml", "--format", "json", "--out", "run"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("stdout is JSON and nothing else");
    let kept: Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("run/report.json")).expect("it is kept")).expect("JSON");
    assert_eq!(report, kept);
    let complaints: Vec<_> = schema("killpoint.report-1.json").iter_errors(&report).map(|error| error.to_string()).collect();
    assert_eq!(complaints, Vec::<String>::new());
    assert_eq!(report["findings"][0]["why"].as_array().map(|why| !why.is_empty()), Some(true));
    for name in ["events.jsonl", "junit.xml", "report.txt", "findings/F1/finding.json", "findings/F1/world/ledger.db"] {
        assert!(folder.path().join("run").join(name).exists(), "{name} is missing");
    }
    // A schema that takes anything would prove nothing.
    assert!(!schema("killpoint.report-1.json").is_valid(&serde_json::json!({ "schema": "killpoint.report/1" })));
}

#[test]
fn every_shipped_scenario_keeps_to_the_schema() {
    let validator = schema("killpoint.scenario-1.json");
    let mut count = 0;
    for folder in ["native", "langgraph"] {
        for entry in std::fs::read_dir(support::root().join("scenarios").join(folder)).expect("a folder").flatten() {
            let text = std::fs::read_to_string(entry.path()).expect("a text");
            let value: Value = toml::from_str(&text).expect("it is TOML");
            let complaints: Vec<_> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
            assert_eq!(complaints, Vec::<String>::new(), "{}", entry.path().display());
            count += 1;
        }
    }
    assert!(count >= 18, "only {count} scenarios were looked at");
}

#[test]
fn a_finding_is_replayed_by_its_id_and_says_whether_it_came_back() {
    let folder = tempfile::tempdir().expect("a folder");
    write_scenario(folder.path(), "charge_then_record", "");
    assert_eq!(killpoint(folder.path(), &["run", "scenario.toml"]).status.code(), Some(1));
    let again = killpoint(folder.path(), &["replay", "F1", "--times", "3"]);
    assert_eq!(again.status.code(), Some(1), "{}{}", text(&again.stdout), text(&again.stderr));
    // Its crash image holds what the life before the mend has done; only a run from the start shows the mend.
    let finding = folder.path().join("reports/latest/findings/F1/finding.json");
    let kept = std::fs::read_to_string(&finding).expect("it is kept");
    std::fs::write(&finding, kept.replace("charge_then_record", "charge_with_key")).expect("it can be written");
    let from_image = killpoint(folder.path(), &["replay", "F1"]);
    assert_eq!(from_image.status.code(), Some(1), "{}{}", text(&from_image.stdout), text(&from_image.stderr));
    assert!(text(&from_image.stdout).contains("--kill"), "{}", text(&from_image.stdout));
    let mended = killpoint(folder.path(), &["replay", "F1", "--kill"]);
    assert_eq!(mended.status.code(), Some(0), "{}{}", text(&mended.stdout), text(&mended.stderr));
}

#[test]
fn a_bare_command_is_run_without_a_scenario_and_init_writes_one_that_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = env!("CARGO_BIN_EXE_charge_then_record");
    let bare = killpoint(folder.path(), &["run", "--", program, "inv_1:2900"]);
    assert_eq!(bare.status.code(), Some(1), "{}", text(&bare.stderr));
    let written = killpoint(folder.path(), &["init", "--", program, "inv_1:2900"]);
    assert_eq!(written.status.code(), Some(0), "{}", text(&written.stderr));
    let ran = killpoint(folder.path(), &["run", "killpoint.toml"]);
    assert_eq!(ran.status.code(), Some(1), "{}", text(&ran.stderr));
    assert!(text(&ran.stdout).contains("inv_1"), "{}", text(&ran.stdout));
}

#[test]
fn points_lists_the_crash_points_of_a_clean_run() {
    let folder = tempfile::tempdir().expect("a folder");
    write_scenario(folder.path(), "charge_then_record", "");
    let output = killpoint(folder.path(), &["points", "scenario.toml"]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    for point in ["start/connect(sandbox)#1", "charge#1:received", "charge#1:answered/write(done.log)#1"] {
        assert!(shown.contains(point), "{point} is missing in\n{shown}");
    }
}

#[test]
fn doctor_finds_that_this_machine_can_trace() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = killpoint(folder.path(), &["doctor"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
}
