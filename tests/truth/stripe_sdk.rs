//! Workflows on the unmodified Stripe SDK: its own random key guards its own retries, and no restart.

use killpoint::model::scenario::ModeChoice;

use super::{check, replays, word};

#[test]
fn the_random_key_that_the_sdk_makes_does_not_outlive_a_crash() {
    let ran = check("scenarios/stripe_sdk/key_of_the_sdk.toml", ModeChoice::Image, 2);
    replays(&ran, false, 10);
    let [finding] = ran.report.findings.as_slice() else { panic!("{:?}", ran.report.findings) };
    let why = finding.why.join("\n");
    assert!(why.contains("random"), "{} says nothing of a random key: {why}", word(finding.cause));
}

#[test]
fn a_key_that_is_persisted_before_the_call_is_clean_at_every_point() {
    check("scenarios/stripe_sdk/key_persisted.toml", ModeChoice::Image, 2);
}
