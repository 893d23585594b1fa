//! `killpoint audit` from the front door: each kind of key is told from observation, each gap names what mends it, and the exit code says
//! whether there is one.

mod servers;

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support;

fn killpoint(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(support::killpoint()).args(arguments).current_dir(folder).output().expect("killpoint runs")
}

/// A scenario around a native target in a folder of its own.
fn scenario(program: &str, arguments: &str, promised: bool) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let program = Path::new(env!("CARGO_BIN_EXE_charge_then_record")).with_file_name(program);
    let promise = "[[promise]]\nname = \"charge\"\neffect = \"POST /v1/charges\"\nintent = \"$.metadata.invoice\"\n";
    let scenario = format!(
        "name = \"audit\"\n[workflow]\nstart = [\"{}\", {arguments}]\n\
         env = {{ BILLING_URL = \"{{sandbox.url}}\", STATE_DIR = \"{{state}}\" }}\n{}",
        program.display(),
        if promised { promise } else { "" }
    );
    std::fs::write(folder.path().join("scenario.toml"), scenario).expect("it can be written");
    folder
}

const ONE: &str = "\"inv_1:2900\"";

/// The audit as JSON, with its exit code.
fn audited(folder: &Path, slow_ack: &str) -> (Option<i32>, Value) {
    let output = killpoint(folder, &["audit", "scenario.toml", "--format", "json", "--slow-ack", slow_ack]);
    let shown = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {shown}")))
}

fn native(program: &str, arguments: &str) -> (Option<i32>, Value) {
    let (code, audit) = audited(scenario(program, arguments, true).path(), "200ms");
    let probes = audit["cells"][0]["probes"].as_array().expect("a list");
    assert!(probes.len() > 5 && probes.iter().all(|probe| probe["reached"] == true), "{audit:#}");
    (code, audit)
}

fn write<'a>(audit: &'a Value, effect: &str) -> &'a Value {
    let writes = audit["cells"][0]["writes"].as_array().expect("a list");
    writes.iter().find(|write| write["effect"] == effect).unwrap_or_else(|| panic!("no {effect} in {audit:#}"))
}

fn gaps(write: &Value) -> Vec<&str> {
    write["gaps"].as_array().expect("a list").iter().filter_map(|gap| gap["kind"].as_str()).collect()
}

fn reading<'a>(write: &'a Value, fault: &str) -> &'a Value {
    let all = write["boundary"].as_array().expect("a list");
    all.iter().find(|own| own["fault"] == fault).map(|own| &own["reading"]).expect("it was tried")
}

#[test]
fn a_charge_without_a_key_is_named_with_every_failure_that_is_read_as_not_done() {
    let (code, audit) = native("charge_then_record", ONE);
    let charge = write(&audit, "charge");
    assert_eq!(code, Some(1));
    assert_eq!((&charge["key"]["presence"], &charge["key"]["origin"]), (&"never".into(), &"none".into()));
    assert_eq!(gaps(charge), ["no_key", "read_as_not_done"]);
    assert_eq!(charge["gaps"][0]["fixes"][0], "key_on_the_write");
    for fault in ["kill", "drop-ack", "reset-ack", "error-after-commit(500)"] {
        assert_eq!(reading(charge, fault), "no_key", "{fault}");
    }
    assert_eq!(reading(charge, "slow-ack(200ms)"), "waited", "its client has no time-out");
    assert_eq!(charge["repeated_after_timeout"], Value::Null, "so nothing is known of one");
}

#[test]
fn a_key_made_of_the_invoice_is_derived_from_the_intent_and_survives_all_that_ends() {
    let (_, audit) = native("charge_with_key", ONE);
    let writes = audit["cells"][0]["writes"].as_array().expect("a list");
    assert_eq!(writes.len(), 2);
    for write in writes {
        let key = &write["key"];
        assert_eq!(
            (&key["origin"], &key["equal_in_lives"], &write["score"]["key"]),
            (&"derived".into(), &true.into(), &"good".into())
        );
        assert_eq!(key["places"][0], "header:idempotency-key");
    }
    let charge = write(&audit, "charge");
    assert!(charge["key"]["why"].as_str().expect("a text").contains("the intent"));
    assert_eq!(reading(charge, "drop-ack"), "same_key");
    // The API keeps its own 500 under the key for as long as the key: no repetition helps.
    assert_eq!(gaps(charge), ["not_recovered"]);
    assert_eq!(charge["gaps"][0]["fixes"][0], "ask_first");
}

#[test]
fn a_write_that_nothing_is_promised_of_is_in_the_table_too() {
    let (_, audit) = native("charge_with_key", ONE);
    let writes = audit["cells"][0]["writes"].as_array().expect("a list");
    let promised: Vec<_> = writes.iter().map(|write| (write["path"].as_str().expect("a path"), &write["promised"])).collect();
    assert_eq!(promised, [("/v1/charges", &true.into()), ("/email", &false.into())]);
}

#[test]
fn a_key_with_the_time_in_it_is_shown_twice_with_the_time_marked() {
    let (code, audit) = native("key_with_timestamp", ONE);
    let key = &write(&audit, "charge")["key"];
    assert_eq!((code, &key["origin"], &key["equal_in_lives"]), (Some(1), &"time".into(), &false.into()));
    let (one, from) = (key["pair"]["one"].as_str().expect("a key"), key["pair"]["one_differs"][0].as_u64().expect("a part"));
    assert_eq!(&one[..from as usize], "charge-inv_1-", "only the time is marked");
}

#[test]
fn a_key_with_the_attempt_number_in_it_is_named() {
    let (_, audit) = native("key_with_attempt", ONE);
    assert_eq!(write(&audit, "charge")["key"]["origin"], "attempt");
}

#[test]
fn a_key_that_is_kept_and_sent_again_with_growing_pauses_is_good_in_two_parts() {
    let (_, audit) = native("key_kept", ONE);
    let charge = write(&audit, "charge");
    assert_eq!((&charge["key"]["origin"], &charge["key"]["equal_in_attempts"]), (&"persisted".into(), &true.into()));
    assert_eq!((&charge["score"]["key"], &charge["score"]["retry"]), (&"good".into(), &"good".into()));
    assert_eq!((&charge["retry"]["attempts"], charge["retry"]["waits_ms"].as_array().map(Vec::len)), (&3.into(), Some(2)));
    assert_eq!(reading(charge, "reset-ack"), "same_key");
}

#[test]
fn a_key_that_is_random_per_call_doubles_without_a_crash_and_after_a_time_out() {
    let folder = scenario("key_per_call", ONE, true);
    let (code, audit) = audited(folder.path(), "30s");
    let charge = write(&audit, "charge");
    assert_eq!((code, &charge["key"]["origin"]), (Some(1), &"random_per_call".into()));
    assert_eq!(charge["repeated_after_timeout"], true);
    assert_eq!((reading(charge, "slow-ack(30s)"), reading(charge, "drop-ack")), (&"other_key".into(), &"other_key".into()));
    assert!(gaps(charge).contains(&"key_changes"), "{charge:#}");
}

#[test]
fn a_key_that_stands_for_two_invoices_is_too_coarse() {
    let (code, audit) = native("key_by_position", "\"inv_1:2900\", \"inv_2:1200\"");
    let charge = write(&audit, "charge");
    assert_eq!((code, &charge["key"]["origin"]), (Some(1), &"position".into()));
    assert!(gaps(charge).contains(&"key_too_coarse"), "{charge:#}");
    let told = charge["key"]["too_coarse"][0].as_str().expect("a sentence");
    assert!(told.contains("inv_1") && told.contains("inv_2"), "{told}");
}

#[test]
fn without_promises_the_writes_of_a_bare_command_are_audited() {
    let (code, audit) = audited(scenario("charge_then_record", ONE, false).path(), "200ms");
    assert_eq!((code, audit["cells"][0]["writes"].as_array().map(Vec::len)), (Some(1), Some(1)));
    assert_eq!(audit["cells"][0]["writes"][0]["key"]["presence"], "never");
}

#[test]
fn what_asks_before_it_sends_again_needs_no_key_where_that_was_seen() {
    let (_, audit) = native("two_phase_recovery_atomic", ONE);
    let charge = write(&audit, "charge");
    assert!(!gaps(charge).contains(&"no_key"), "{charge:#}");
}

#[test]
fn a_workflow_that_breaks_its_promises_uninjured_is_not_audited() {
    let folder = scenario("record_then_charge", "\"inv_1:2900\"", true);
    let text = std::fs::read_to_string(folder.path().join("scenario.toml")).expect("it was written");
    std::fs::write(folder.path().join("scenario.toml"), text + "exactly = 2\n").expect("it can be written");
    let (code, audit) = audited(folder.path(), "200ms");
    assert_eq!(code, Some(3));
    assert!(audit["cells"][0]["broken"].as_str().is_some_and(|why| why.contains("inv_1")), "{audit:#}");
}

#[test]
fn the_json_is_as_its_schema_says_and_the_texts_say_the_same() {
    let folder = scenario("charge_then_record", ONE, true);
    let (_, audit) = audited(folder.path(), "200ms");
    let schema = std::fs::read_to_string(support::root().join("reports/schema/killpoint.audit-1.json")).expect("the schema");
    let schema = serde_json::from_str(&schema).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    assert!(validator.is_valid(&audit), "{:?}", validator.iter_errors(&audit).map(|error| error.to_string()).collect::<Vec<_>>());
    for (format, words) in [("text", "x no key: "), ("markdown", "| charge | `POST /v1/charges` | none |")] {
        let output = killpoint(folder.path(), &["audit", "scenario.toml", "--slow-ack", "200ms", "--format", format, "-q"]);
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            shown.contains(words) && shown.lines().all(|line| format == "markdown" || line.chars().count() <= 100),
            "{shown}"
        );
        assert!(output.stderr.is_empty(), "`-q` tells nothing else");
    }
}

#[test]
fn langgraph_without_a_key_names_the_charge_and_the_mail_and_with_a_stable_one_the_origin() {
    for (file, presence, origin) in [("charge_without_key", "never", "none"), ("charge_with_stable_key", "always", "derived")] {
        let path = format!("scenarios/langgraph/{file}.toml");
        let flags = ["audit", &path, "--matrix", "durability=sync", "--slow-ack", "200ms", "--format", "json", "-q"];
        let output = killpoint(support::root(), &flags);
        let audit: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        for effect in ["charge", "email"] {
            let write = write(&audit, effect);
            assert_eq!((&write["key"]["presence"], &write["key"]["origin"]), (&presence.into(), &origin.into()), "{write:#}");
            assert_eq!(gaps(write).contains(&"no_key"), presence == "never", "{write:#}");
        }
        assert_eq!(output.status.code(), Some(1));
    }
}

#[test]
fn the_schema_of_a_tool_says_whether_its_caller_could_send_a_key_at_all() {
    for (name, takes) in [("call_without_key", false), ("call_with_key", true)] {
        let folder = tempfile::tempdir().expect("a folder");
        let file = support::root().join(format!("scenarios/mcp_agent/{name}.toml"));
        let file = file.to_str().expect("a path");
        let arguments = ["audit", file, "--matrix", "transport=http", "--format", "json", "--slow-ack", "20s"];
        let output = killpoint(folder.path(), &arguments);
        let shown = String::from_utf8_lossy(&output.stderr).into_owned();
        let audit: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {shown}"));
        let charge = write(&audit, "charge");
        assert_eq!(charge["tool_takes_key"], takes, "{charge:#}");
        assert_eq!(gaps(charge).contains(&"no_key"), !takes, "{charge:#}");
        if takes {
            assert_eq!(charge["key"]["places"][0], "argument:idempotency_key", "{charge:#}");
        } else {
            assert!(charge["gaps"][0]["what"].to_string().contains("its schema has no argument for a key"), "{charge:#}");
        }
    }
}
