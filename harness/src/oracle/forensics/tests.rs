//! Ledgers as tests: each kind of key is told apart from all others, and what was not seen is not known.

use serde_json::json;

use super::*;
use crate::model::audit::{Fix, GapKind, KeyFacts, Mark, Origin, Presence, Reading};
use crate::model::fault::{Fault, WireFault};
use crate::model::ledger::Outcome;
use crate::model::life::{Trial, TrialEnd};
use crate::oracle::tests::history::{charge, charges, exited, ledger, post, resumed, trial_of, uninjured};

const UUIDS: [&str; 4] = [
    "160ec2d9-a249-4ae3-a116-e7e3022955e9",
    "1748dc3d-9f46-451f-80b4-973886302729",
    "8f2888a4-e2fb-41b2-a21e-5f6fbc6adaaf",
    "e6863042-c616-4539-a7d0-a51c45286da7",
];

/// Facts of the charges in these trials, measured against a clean run of `inv_9`.
fn facts(trials: &[Trial]) -> KeyFacts {
    with_arguments(trials, &[])
}

fn with_arguments(trials: &[Trial], arguments: &[&str]) -> KeyFacts {
    let expectation = expect_all(&[charges()], &[ledger([charge(1, "inv_9")])]);
    let all: Vec<&Trial> = trials.iter().collect();
    let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    key_facts(&strands(&expectation, &all)[0], &arguments)
}

/// A crash between two requests with these keys.
fn over_a_crash(one: &str, other: &str) -> Trial {
    resumed([charge(1, "inv_9").keyed(one), charge(2, "inv_9").keyed(other)])
}

fn clean(key: &str) -> Trial {
    uninjured([charge(1, "inv_9").keyed(key)])
}

#[test]
fn one_request_only_says_nothing_of_where_its_key_comes_from() {
    let facts = facts(&[clean(UUIDS[0])]);
    assert_eq!((facts.origin, facts.equal_in_lives, facts.pair), (Origin::NotKnown, None, None));
    assert!(facts.why.contains("one request only"), "{}", facts.why);
}

#[test]
fn a_key_that_runs_without_anything_in_common_make_again_is_derived_and_its_sources_are_named() {
    let key = "t1/charge/inv_9/2900";
    let facts = with_arguments(&[clean(key), clean(key), over_a_crash(key, key)], &["--thread", "t1"]);
    assert_eq!((facts.origin, facts.presence), (Origin::Derived, Presence::Always));
    for source in ["the intent", "the request's /amount", "the argument `t1`"] {
        assert!(facts.why.contains(source), "{source} is not in: {}", facts.why);
    }
    assert_eq!((facts.equal_in_lives, facts.equal_in_runs), (Some(true), Some(true)));
}

#[test]
fn a_hash_of_stable_values_is_derived_too_although_none_of_them_can_be_seen_in_it() {
    let key = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    let facts = facts(&[clean(key), over_a_crash(key, key)]);
    assert_eq!(facts.origin, Origin::Derived);
}

#[test]
fn a_random_key_that_later_lives_send_again_is_kept() {
    let trials = [clean(UUIDS[0]), clean(UUIDS[1]), over_a_crash(UUIDS[2], UUIDS[2])];
    assert_eq!(facts(&trials).origin, Origin::Persisted);
    assert_eq!(facts(&trials[2..]).origin, Origin::Persisted, "by its form alone, where there is one run");
    assert_eq!(facts(&trials[..2]).origin, Origin::NotKnown, "nobody has sent it again");
}

#[test]
fn random_per_call_per_process_and_only_seen_over_a_restart_are_three_things() {
    let keyed = |life, at: usize| charge(life, "inv_9").keyed(UUIDS[at]);
    let per_call = facts(&[uninjured([keyed(1, 0), keyed(1, 1)])]);
    let per_life = facts(&[resumed([keyed(1, 0), keyed(1, 0), keyed(2, 1)])]);
    let restart = facts(&[over_a_crash(UUIDS[0], UUIDS[1])]);
    assert_eq!(
        [per_call.origin, per_life.origin, restart.origin],
        [Origin::RandomPerCall, Origin::RandomPerLife, Origin::Random]
    );
    assert_eq!((per_life.equal_in_attempts, per_life.equal_in_lives), (Some(true), Some(false)));
}

#[test]
fn the_random_keys_of_the_stripe_sdks_are_called_so() {
    let node = |at: usize| format!("stripe-node-retry-{}", UUIDS[at]);
    let restarted = facts(&[over_a_crash(&node(0), &node(1))]);
    assert_eq!(restarted.origin, Origin::Sdk);
    assert!(restarted.why.contains("stripe-node"), "{}", restarted.why);
    assert_eq!(facts(&[clean(&node(0))]).origin, Origin::Sdk, "its form says it");
    let python = |life, at: usize| {
        let mut request = charge(life, "inv_9").keyed(UUIDS[at]);
        request.headers.insert("user-agent".to_owned(), "Stripe/v1 PythonBindings/12.0.0".to_owned());
        request
    };
    let restarted = facts(&[resumed([python(1, 0), python(2, 1)])]);
    assert_eq!(restarted.origin, Origin::Sdk);
    assert!(restarted.why.contains("stripe-python"), "{}", restarted.why);
    let kept = facts(&[uninjured([python(1, 2)]), resumed([python(1, 0), python(2, 0)])]);
    assert_eq!(kept.origin, Origin::Persisted, "a key that survives a restart is not the SDK's own");
}

#[test]
fn b084_a_key_with_the_time_in_it_is_shown_with_the_time_marked() {
    let (one, other) = ("pay-GABC-1785000000123", "pay-GABC-1785000012456");
    let facts = facts(&[over_a_crash(one, other)]);
    assert_eq!(facts.origin, Origin::Time);
    let pair = facts.pair.expect("two values side by side");
    assert_eq!((pair.one.as_str(), pair.other.as_str()), (one, other));
    assert_eq!((pair.one_differs, pair.other_differs), (Some((9, 22)), Some((9, 22))));
}

#[test]
fn b085_a_hash_over_fields_that_change_follows_the_request() {
    let hash = ["3a7bd3e2360a3d29eea436fcfb7e44c7", "ca978112ca1bbdcafac231b39a23dc4d"];
    let sent = |life: u32, at: usize| charge(life, "inv_9").keyed(hash[at]).with("attempt_id", json!(format!("a-{at}x")));
    let moving = facts(&[resumed([sent(1, 0), sent(2, 1)])]);
    assert_eq!(moving.origin, Origin::Request);
    assert!(moving.why.contains("/attempt_id"), "{}", moving.why);
    let same_body = facts(&[over_a_crash(hash[0], hash[1])]);
    assert_eq!(same_body.origin, Origin::Random, "with one body it is no hash of it");
}

#[test]
fn b087_a_key_that_a_model_makes_anew_stands_in_the_arguments_of_the_tool() {
    let call = |at: usize| {
        let mut call = charge(1, "inv_9").keyed(UUIDS[at]).with("idempotency_key", json!(UUIDS[at]));
        call.method = "MCP".to_owned();
        call
    };
    let calls = [call(0), call(1)];
    let mut promise = charges();
    promise.endpoint.method = "MCP".to_owned();
    let expectation = expect_all(&[promise], &[ledger([call(0)])]);
    let trial = uninjured(calls);
    let facts = key_facts(&strands(&expectation, &[&trial])[0], &[]);
    assert_eq!((facts.origin, facts.places), (Origin::RandomPerCall, vec!["argument:idempotency_key".to_owned()]));
}

#[test]
fn b088_too_coarse_a_key_loses_a_charge_and_the_attempt_number_as_its_remedy_is_another_fault() {
    let lost = charge(1, "inv_8").keyed("order_1-charge").but(Outcome::Replayed, 200);
    let coarse = facts(&[uninjured([charge(1, "inv_9").keyed("order_1-charge"), lost])]);
    assert_eq!(coarse.too_coarse.len(), 1);
    assert!(coarse.too_coarse[0].contains("is lost"), "{:?}", coarse.too_coarse);
    let remedy = facts(&[over_a_crash("order_1-charge-1", "order_1-charge-2")]);
    assert_eq!((remedy.origin, remedy.too_coarse.len()), (Origin::Attempt, 0));
}

#[test]
fn a_place_in_a_list_is_no_attempt_number() {
    let mut next = charge(2, "inv_8").keyed("batch-1").but(Outcome::Mismatch, 400);
    next.status = 400;
    let trial = resumed([charge(1, "inv_9").keyed("batch-1"), charge(1, "inv_8").keyed("batch-2"), next]);
    assert_eq!(facts(&[trial]).origin, Origin::Position);
}

#[test]
fn b089_one_key_with_a_moving_body_is_refused_and_the_field_is_named() {
    let sent = |life: u32, minutes: u32| charge(life, "inv_9").keyed("row-7-expired").with("expires_in_min", json!(minutes));
    let facts = facts(&[resumed([sent(1, 30), sent(2, 29).but(Outcome::Mismatch, 400)])]);
    assert_eq!(facts.equal_in_lives, Some(true));
    assert!(facts.other_body[0].contains("/expires_in_min") && facts.other_body[0].contains("400"), "{:?}", facts.other_body);
}

#[test]
fn b091_two_at_once_are_not_a_repetition() {
    let mut twins = uninjured([charge(1, "inv_9"), charge(1, "inv_9")]);
    (twins.ledger[0].received_us, twins.ledger[0].answered_us) = (1_000, Some(9_000));
    twins.ledger[1].received_us = 2_000;
    let at_once = facts(&[twins.clone()]);
    assert_eq!((at_once.at_once.len(), at_once.presence), (1, Presence::Never));
    twins.ledger[1].received_us = 10_000;
    assert_eq!(facts(&[twins]).at_once.len(), 0, "the second came after the answer to the first");
}

#[test]
fn a_new_key_after_a_definite_refusal_is_right() {
    let refused = charge(1, "inv_9").keyed(UUIDS[0]).but(Outcome::Rejected, 402);
    let facts = facts(&[uninjured([refused, charge(1, "inv_9").keyed(UUIDS[1])])]);
    assert_eq!(facts.equal_in_attempts, None);
}

#[test]
fn a_copy_that_the_wire_made_is_no_attempt() {
    let copy = |outcome| {
        let mut copy = charge(1, "inv_9").keyed(UUIDS[0]).but(outcome, 200);
        copy.fault = Some("duplicate".to_owned());
        copy
    };
    let facts = facts(&[uninjured([copy(Outcome::Executed), copy(Outcome::Replayed)])]);
    assert_eq!(facts.equal_in_attempts, None);
}

/// A trial in which the answer to the first charge was lost and these requests followed.
fn lost_answer(rest: Vec<Request>, end: TrialEnd) -> Trial {
    let mut first = charge(1, "inv_9");
    first.fault = Some("drop-ack".to_owned());
    if let Some(key) = rest.first().and_then(|next| next.key.clone()).filter(|key| key == UUIDS[0]) {
        first.key = Some(key);
    }
    let mut trial = trial_of(&[exited(0)], end, std::iter::once(first).chain(rest));
    trial.schedule = "charge#1:executed drop-ack".parse().expect("a schedule");
    trial
}

fn reading(trial: &Trial) -> Reading {
    let expectation = expect_all(&[charges()], &[ledger([charge(1, "inv_9")])]);
    read_as(&expectation, &strands(&expectation, &[trial])[0], &trial.schedule, trial).reading
}

#[test]
fn what_follows_a_lost_answer_says_how_it_was_read() {
    let asked = || {
        let mut asked = post(1, "/v1/charges/search", json!(null)).but(Outcome::Read, 200);
        asked.method = "GET".to_owned();
        asked
    };
    let stuck = TrialEnd::Stuck { reason: "it failed".to_owned() };
    let again = |key: Option<&str>| key.map_or_else(|| charge(1, "inv_9"), |key| charge(1, "inv_9").keyed(key));
    for (rest, end, expected) in [
        (vec![again(None)], TrialEnd::Done, Reading::NoKey),
        (vec![again(Some(UUIDS[1]))], TrialEnd::Done, Reading::OtherKey),
        (vec![again(Some(UUIDS[0])).but(Outcome::Replayed, 200)], TrialEnd::Done, Reading::SameKey),
        (vec![asked()], TrialEnd::Done, Reading::Asked),
        (vec![], TrialEnd::Done, Reading::WentOn),
        (vec![], stuck, Reading::GaveUp),
    ] {
        assert_eq!(reading(&lost_answer(rest, end)), expected);
    }
}

#[test]
fn a_failure_that_did_not_come_to_happen_is_not_read_at_all() {
    let mut trial = uninjured([charge(1, "inv_9")]);
    trial.schedule = "charge#1:executed drop-ack".parse().expect("a schedule");
    assert_eq!(reading(&trial), Reading::NotReached);
}

#[test]
fn waits_count_from_the_end_of_an_attempt_and_a_slow_answer_says_nothing_of_them() {
    let expectation = expect_all(&[charges()], &[ledger([charge(1, "inv_9")])]);
    let at = |times: [u64; 3], fault: &str| {
        let mut trial = uninjured([charge(1, "inv_9"), charge(1, "inv_9"), charge(1, "inv_9")]);
        for (request, ms) in trial.ledger.iter_mut().zip(times) {
            (request.received_us, request.executed_us) = (ms * 1_000, Some(ms * 1_000 + 500));
        }
        trial.ledger[0].fault = Some(fault.to_owned());
        trial
    };
    let (quick, late) = (at([0, 501, 1_502], "drop-ack"), at([0, 901, 1_902], "reset-ack"));
    let facts = retry_facts(&strands(&expectation, &[&quick, &late])[0]);
    assert_eq!((facts.attempts, facts.waits_ms, facts.grows), (3, vec![900, 1_000], Some(false)));
    assert_eq!((facts.first_waits_ms, facts.jitter), (vec![500, 900], Some(true)));
    let slow = at([0, 80_000, 80_501], "slow-ack(90s)");
    assert_eq!(retry_facts(&strands(&expectation, &[&slow])[0]).first_waits_ms, [500], "patience is no back-off");
}

#[test]
fn a_mail_without_a_key_is_for_an_outbox_and_a_charge_for_a_key() {
    let trial = lost_answer(vec![charge(1, "inv_9")], TrialEnd::Done);
    let expectation = expect_all(&[charges()], &[ledger([charge(1, "inv_9")])]);
    let strand = &strands(&expectation, &[&trial])[0];
    let boundary = [read_as(&expectation, strand, &trial.schedule, &trial)];
    let (key, retry) = (key_facts(strand, &[]), retry_facts(strand));
    let of = |method| gaps(method, &key, &retry, &boundary);
    let first = |method| of(method).into_iter().find(|gap| gap.kind == GapKind::NoKey).and_then(|gap| gap.fixes.first().copied());
    assert_eq!([first("POST"), first("MAIL")], [Some(Fix::KeyOnTheWrite), Some(Fix::OutboxOrPerson)]);
    assert_eq!([first("MCP"), first("ROWS")], [Some(Fix::KeyArgument), Some(Fix::UniqueConstraint)]);
    assert_eq!(score(&key, &retry, &boundary, &of("POST")).key, Mark::Gap);
    assert_eq!(boundary[0].fault, Fault::Wire(WireFault::DropAck));
}

#[test]
fn a_write_that_nothing_is_promised_of_is_looked_at_as_well() {
    let other = post(1, "/v1/refunds", json!({"charge": "ch_1"}));
    let clean = ledger([charge(1, "inv_9"), other]);
    let expectation = expect_all(&[charges()], std::slice::from_ref(&clean));
    let names: Vec<&str> = expectation.promises().iter().map(|promise| promise.endpoint.path.as_str()).collect();
    assert_eq!(names, ["/v1/charges", "/v1/refunds"]);
}

#[test]
fn a_report_names_the_origin_from_clean_runs_and_from_what_trials_sent_again() {
    let origin = |key: &str, second: Option<&str>, stable: Option<bool>| {
        let request = charge(1, "inv_9").keyed(key);
        let expectation = expect_all(&[charges()], &[ledger([request.clone()])]);
        let second = second.map(|key| ledger([charge(1, "inv_9").keyed(key)]));
        origin_in_summary(&expectation, &request, second.as_deref(), stable)
    };
    assert_eq!(origin(UUIDS[0], Some(UUIDS[1]), Some(true)), Origin::Persisted);
    assert_eq!(origin("abc", Some("abc"), Some(true)), Origin::Derived);
    assert_eq!(origin("charge-inv_9", None, Some(true)), Origin::Derived);
    assert_eq!(origin("abc", None, Some(true)), Origin::NotKnown, "kept or made again: one run cannot tell");
    assert_eq!(origin(UUIDS[0], None, Some(false)), Origin::Random);
    assert_eq!(origin("charge-1785000000123", None, Some(false)), Origin::Time);
    assert_eq!(origin(&format!("stripe-node-retry-{}", UUIDS[0]), None, Some(false)), Origin::Sdk);
    assert_eq!(origin("charge-inv_9", Some("charge-inv_9"), None), Origin::NotKnown, "no trial sent it again");
    assert_eq!(Origin::RandomPerCall.code(), "random_per_call");
}

#[test]
fn a_finding_says_that_its_keys_are_the_sdks_own_and_marks_what_differs() {
    let expectation = expect_all(&[charges()], &[ledger([charge(1, "inv_9")])]);
    let why =
        |one: &str, other: &str| crate::oracle::judge(&expectation, &over_a_crash(one, other)).remove(0).evidence.join("; ");
    let own = why(&format!("stripe-node-retry-{}", UUIDS[0]), &format!("stripe-node-retry-{}", UUIDS[1]));
    assert!(own.contains("the SDK's own random keys, made by stripe-node"), "{own}");
    let timed = why("pay-1785000000123", "pay-1785000012456");
    assert!(timed.contains("`pay-[1785000000123]` and `pay-[1785000012456]`"), "{timed}");
    let whole = why(UUIDS[0], UUIDS[1]);
    assert!(!whole.contains("in brackets"), "where all differs nothing is marked: {whole}");
}
