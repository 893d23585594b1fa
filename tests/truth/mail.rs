//! The receipt by SMTP: a mail has no key, so it is sent twice or not at all, unless an outbox settles it.

use std::process::Command;

use killpoint::model::scenario::ModeChoice;

use super::{check, replays, windows};
use crate::support;

/// A scenario in both modes: the same findings and windows, and images that bring each finding back.
fn both(scenario: &str) {
    let (killed, pictured) = (check(scenario, ModeChoice::Kill, 2), check(scenario, ModeChoice::Image, 2));
    replays(&pictured, false, 10);
    assert_eq!(windows(&pictured.report), windows(&killed.report), "the modes differ");
}

#[test]
fn a_mail_that_is_noted_after_it_is_sent_goes_out_twice() {
    both("scenarios/mail/sent_then_noted.toml");
}

#[test]
fn a_mail_that_is_noted_before_it_is_sent_may_never_go_out() {
    both("scenarios/mail/noted_then_sent.toml");
}

#[test]
fn a_mail_from_an_outbox_is_settled_at_every_point() {
    both("scenarios/mail/outbox.toml");
}

#[test]
fn a_lost_reply_to_the_last_dot_doubles_a_mail_without_a_crash_and_a_late_one_does_not() {
    for (fault, expected) in [("drop-ack", "findings"), ("error-after-commit(451)", "findings"), ("slow-ack(1s)", "clean")] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(support::killpoint());
        command.args(["run", "--format", "json", "--faults", fault, "--out"]).arg(folder.path().join("run"));
        let output = command.arg(support::root().join("scenarios/mail/sent_then_noted.toml")).output().expect("killpoint runs");
        let shown = String::from_utf8_lossy(&output.stdout);
        let report: serde_json::Value = serde_json::from_str(&shown).expect("a report");
        assert_eq!((&report["verdict"], &report["cells"][0]["wire"][0]["reached"]), (&expected.into(), &2.into()), "{shown}");
        let doubled = |finding: &&serde_json::Value| finding["promise"] == "receipt" && finding["cause"] == "not_keyable";
        let findings: Vec<_> = report["findings"].as_array().expect("a list").iter().collect();
        assert!(findings.iter().all(doubled) && findings.len() == usize::from(expected == "findings"), "{shown}");
    }
}
