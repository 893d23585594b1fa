//! Workflows on the unmodified Stripe SDK: its own random key guards its own retries, and no restart.

use std::process::Command;

use killpoint::model::scenario::ModeChoice;

use super::{check, replays, word};
use crate::support;

#[test]
fn the_random_key_that_the_sdk_makes_does_not_outlive_a_crash() {
    let ran = check("scenarios/stripe_sdk/key_of_the_sdk.toml", ModeChoice::Image, 2);
    replays(&ran, false, 10);
    let [finding] = ran.report.findings.as_slice() else { panic!("{:?}", ran.report.findings) };
    let why = finding.why.join("\n");
    let reason = "the SDK's own random keys, made by stripe-python";
    assert!(why.contains(reason), "{} does not say where the key comes from: {why}", word(finding.cause));
}

#[test]
fn a_key_that_is_persisted_before_the_call_is_clean_at_every_point() {
    check("scenarios/stripe_sdk/key_persisted.toml", ModeChoice::Image, 2);
}

#[test]
fn a_lost_answer_alone_is_survived_by_both_because_the_sdk_tries_again_under_its_own_key() {
    for scenario in ["scenarios/stripe_sdk/key_of_the_sdk.toml", "scenarios/stripe_sdk/key_persisted.toml"] {
        for fault in ["drop-ack", "reset-ack"] {
            let folder = tempfile::tempdir().expect("a folder");
            let mut command = Command::new(support::killpoint());
            command.args(["run", "--format", "json", "--faults", fault, "--out"]).arg(folder.path().join("run"));
            let output = command.arg(support::root().join(scenario)).output().expect("killpoint runs");
            let shown = String::from_utf8_lossy(&output.stdout);
            assert_eq!(output.status.code(), Some(0), "{scenario} {fault}: {shown}");
            let report: serde_json::Value = serde_json::from_str(&shown).expect("a report");
            assert_eq!(report["cells"][0]["wire"][0]["reached"], 1, "{shown}");
        }
    }
}
