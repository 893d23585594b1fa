//! One history for each cause, with the facts it must name.

use serde_json::json;

use super::history::*;
use crate::model::ledger::{Outcome, Request};
use crate::model::life::{LifeEnd, TrialEnd};
use crate::model::promise::{Count, IntentSource, Promise};
use crate::model::verdict::{Cause, Verdict};
use crate::oracle::judge;
use crate::oracle::key::{Change, change};

fn two_charges(one: Request, other: Request) -> crate::model::verdict::Judgement {
    only(&one_charge(), &resumed([one, other]))
}

#[test]
fn requests_without_a_key_have_no_key() {
    let judgement = two_charges(charge(1, "inv_9"), charge(2, "inv_9"));
    assert_eq!(judgement.cause, Some(Cause::NoKey));
    assert_says(&judgement, &["life 1 sent no idempotency key; life 2 sent no idempotency key"]);
}

#[test]
fn a_key_that_one_life_leaves_out_is_not_always_there() {
    let judgement = two_charges(charge(1, "inv_9").keyed("inv_9-charge"), charge(2, "inv_9"));
    assert_eq!(judgement.cause, Some(Cause::KeyNotAlways));
    assert_says(&judgement, &["life 1: key `inv_9-charge`; life 2 sent no idempotency key"]);
}

#[test]
fn a_random_key_has_changed_and_both_stand_side_by_side() {
    let (one, two) = ("0e8ffc1a-9f3b-4c63-8a2e-7f4b1d0c9e55", "b1946ac9-2492-4d23-8c1f-3a5e6d7c8b90");
    let judgement = two_charges(charge(1, "inv_9").keyed(one), charge(2, "inv_9").keyed(two));
    assert_eq!((judgement.verdict, judgement.cause), (Verdict::Duplicated, Some(Cause::KeyChanged)));
    assert_says(&judgement, &["life 1", one, "life 2", two]);
    assert_says(&judgement, &["random UUID"]);
}

#[test]
fn two_effects_of_one_life_are_told_apart_by_request() {
    let judgement = two_charges(charge(1, "inv_9"), charge(1, "inv_9"));
    assert_says(&judgement, &["life 1, request 1 sent no", "life 1, request 2 sent no"]);
}

#[test]
fn what_changes_in_a_key_is_guessed_from_its_form() {
    for (one, other, expected) in [
        ("0e8ffc1a-9f3b-4c63-8a2e-7f4b1d0c9e55", "b1946ac9-2492-4d23-8c1f-3a5e6d7c8b90", Change::Random),
        ("retry-0e8ffc1a-9f3b-4c63-8a2e-7f4b1d0c9e55", "retry-b1946ac9-2492-4d23-8c1f-3a5e6d7c8b90", Change::Random),
        ("0191a1b2-0000-7c63-8a2e-7f4b1d0c9e55", "0191a1b9-0000-7d23-8c1f-3a5e6d7c8b90", Change::Time),
        ("0e8ffc1a-9f3b-5c63-8a2e-7f4b1d0c9e55", "b1946ac9-2492-5d23-8c1f-3a5e6d7c8b90", Change::Opaque),
        ("pay-cus_1-1754300000", "pay-cus_1-1754300007", Change::Time),
        ("pay1754300000123", "pay1754300001456", Change::Time),
        ("inv_9@2026-08-04T09:13:20Z", "inv_9@2026-08-04T09:13:27Z", Change::Time),
        ("inv_9-attempt-1", "inv_9-attempt-2", Change::Counter),
        ("inv_9-attempt1", "inv_9-attempt2", Change::Counter),
        ("9c56cc51b374c3ba189210d5b6d4bf57", "0cc175b9c0f1b6a831c399e269772661", Change::Opaque),
        ("inv_9-blue", "inv_9-green", Change::Other),
        ("inv_9", "inv_9-2-b", Change::Other),
        ("", "é", Change::Other),
    ] {
        assert_eq!(change(one, other), expected, "{one} and {other}");
    }
}

#[test]
fn a_key_made_from_the_whole_request_names_the_place_it_follows() {
    let stamped = |life, at: &str, key: &str| charge(life, "inv_9").with("created", json!(at)).keyed(key);
    let judgement = two_charges(
        stamped(1, "2026-08-04T09:13:20Z", "9c56cc51b374c3ba189210d5b6d4bf57"),
        stamped(2, "2026-08-04T09:13:27Z", "0cc175b9c0f1b6a831c399e269772661"),
    );
    assert_eq!((judgement.verdict, judgement.cause), (Verdict::Duplicated, Some(Cause::KeyChanged)));
    assert_says(&judgement, &["/created", "made from the whole request"]);
}

#[test]
fn a_key_that_was_executed_twice_was_forgotten() {
    let judgement = two_charges(charge(1, "inv_9").keyed("k"), charge(2, "inv_9").keyed("k"));
    assert_eq!((judgement.verdict, judgement.cause), (Verdict::Duplicated, Some(Cause::KeyForgotten)));
    let promise = Promise { count: Count::exactly(2), ..charges() };
    let part = |life, key: &str| charge(life, "inv_9").keyed(key);
    let expectation = after(promise, [part(1, "a"), part(1, "b")]);
    let judgement = only(&expectation, &resumed([part(1, "a"), part(1, "b"), part(2, "b")]));
    assert_eq!(judgement.cause, Some(Cause::KeyForgotten), "two effects may have two keys");
}

#[test]
fn a_request_that_changed_is_blamed_only_where_the_key_does_not_change_by_itself() {
    let other = |life| charge(life, "inv_9").with("currency", json!("eur"));
    let blamed = |one: Request, two: Request| {
        let judgement = two_charges(one, two);
        assert_eq!(judgement.verdict, Verdict::Diverged);
        judgement.cause
    };
    assert_eq!(blamed(charge(1, "inv_9"), other(2)), Some(Cause::NoKey));
    assert_eq!(blamed(charge(1, "inv_9").keyed("k"), other(2).keyed("k")), Some(Cause::RequestChanged));
    let (one, two) = ("9c56cc51b374c3ba189210d5b6d4bf57", "0cc175b9c0f1b6a831c399e269772661");
    assert_eq!(blamed(charge(1, "inv_9").keyed(one), other(2).keyed(two)), Some(Cause::RequestChanged));
    assert_eq!(blamed(charge(1, "inv_9").keyed("inv_9-1"), other(2).keyed("inv_9-2")), Some(Cause::KeyChanged));
}

#[test]
fn an_effect_that_no_life_asked_for_was_recorded_before_it_was_done() {
    let judgement = only(&one_charge(), &resumed([]));
    assert_eq!(judgement.cause, Some(Cause::RecordedBeforeDone));
    assert_says(&judgement, &["no life's request", "life 2 exited with code 0"]);
}

#[test]
fn the_second_of_two_effects_can_be_recorded_before_it_is_done() {
    let promise = Promise { count: Count::exactly(2), ..charges() };
    let expectation = after(promise, [charge(1, "inv_9"), charge(1, "inv_9")]);
    let judgement = only(&expectation, &resumed([charge(1, "inv_9")]));
    assert_eq!((judgement.verdict, judgement.cause), (Verdict::Lost, Some(Cause::RecordedBeforeDone)));
    assert_says(&judgement, &["1 time(s)", "exactly 2"]);
}

#[test]
fn a_replay_of_its_own_effect_is_neither_a_new_request_nor_a_coarse_key() {
    let promise = Promise { count: Count::exactly(2), ..charges() };
    let expectation = after(promise, [charge(1, "inv_9").keyed("a"), charge(1, "inv_9").keyed("b")]);
    let trial = resumed([charge(1, "inv_9").keyed("a"), charge(2, "inv_9").keyed("a").but(Outcome::Replayed, 200)]);
    let judgement = only(&expectation, &trial);
    assert_eq!((judgement.verdict, judgement.cause), (Verdict::Lost, Some(Cause::RecordedBeforeDone)));
}

#[test]
fn a_request_that_arrived_and_never_came_again_was_not_retried() {
    let judgement = only(&one_charge(), &resumed([charge(1, "inv_9").but(Outcome::Received, 0)]));
    assert_eq!((judgement.verdict, judgement.cause), (Verdict::Lost, Some(Cause::NotRetried)));
    assert_says(&judgement, &["request 1 of life 1"]);
}

#[test]
fn a_refused_request_explains_nothing_more_than_its_status() {
    let requests = [charge(1, "inv_9").but(Outcome::Received, 0), charge(2, "inv_9").but(Outcome::Conflict, 409)];
    let judgement = only(&one_charge(), &resumed(requests));
    assert_eq!((judgement.verdict, judgement.cause), (Verdict::Lost, Some(Cause::Unexplained)));
    assert_says(&judgement, &["409", "in use"]);
}

#[test]
fn a_key_with_another_body_was_reused() {
    let other = charge(2, "inv_9").keyed("row-1").with("expires_in", json!(4)).but(Outcome::Mismatch, 400);
    let requests = || [charge(1, "inv_9").keyed("row-1").with("expires_in", json!(9)), other.clone()];
    let judgement = only(&one_charge(), &stuck(requests()));
    assert_eq!((judgement.verdict, judgement.cause), (Verdict::Stuck, Some(Cause::KeyReused)));
    assert_says(&judgement, &["request 2 of life 2", "400", "row-1"]);
    assert_says(&judgement, &["request 1 of life 1", "/expires_in"]);
}

#[test]
fn a_key_reused_for_another_intent_loses_that_one() {
    let expectation = after(charges(), [charge(1, "inv_8"), charge(1, "inv_9")]);
    let trial = resumed([charge(1, "inv_8").keyed("cus_1"), charge(2, "inv_9").keyed("cus_1").but(Outcome::Mismatch, 400)]);
    let judgements = judge(&expectation, &trial);
    assert_eq!(verdicts(&judgements), [("inv_8", Verdict::Once), ("inv_9", Verdict::Lost)]);
    assert_eq!(judgements[1].cause, Some(Cause::KeyReused));
    assert_says(&judgements[1], &["`inv_8`", "/metadata/invoice"]);
}

#[test]
fn a_refusal_of_another_intent_is_not_the_cause_of_a_loss() {
    let expectation = after(charges(), [charge(1, "inv_7"), charge(1, "inv_8"), charge(1, "inv_9")]);
    let trial = resumed([charge(1, "inv_7").keyed("k"), charge(2, "inv_8").keyed("k").but(Outcome::Mismatch, 400)]);
    let judgements = judge(&expectation, &trial);
    assert_eq!(judgements[2].cause, Some(Cause::RecordedBeforeDone));
}

#[test]
fn a_key_that_stands_for_two_intents_is_too_coarse() {
    let by_header = |life, order: &str| {
        let mut request = post(life, "/v1/charges", json!({"amount": 2900})).keyed("cus_1");
        request.headers.insert("x-order".to_owned(), order.to_owned());
        request
    };
    let promise = Promise { intent: IntentSource::Header("x-order".to_owned()), ..charges() };
    let expectation = after(promise, [by_header(1, "o1"), by_header(1, "o2")]);
    let judgements = judge(&expectation, &resumed([by_header(1, "o1"), by_header(2, "o2").but(Outcome::Replayed, 200)]));
    assert_eq!(verdicts(&judgements), [("o1", Verdict::Once), ("o2", Verdict::Lost)]);
    assert_eq!(judgements[1].cause, Some(Cause::KeyTooCoarse));
    assert_says(&judgements[1], &["`o1`", "`cus_1`"]);
}

#[test]
fn a_resumed_life_that_exits_with_an_error_fails() {
    let judgement = only(&one_charge(), &stuck([charge(1, "inv_9")]));
    assert_eq!(judgement.cause, Some(Cause::ResumeFails));
    assert_says(&judgement, &["lives 2 to 3 exited with code 1"]);
    assert_says(&judgement, &["last words of life 3"]);
}

#[test]
fn a_resumed_life_that_does_not_end_hangs() {
    let end = || TrialEnd::Stuck { reason: "timed out".to_owned() };
    for last in [LifeEnd::TimedOut, LifeEnd::LimitHit { limit: "5000000 calls".to_owned() }] {
        let judgement = only(&one_charge(), &trial_of(&[LifeEnd::Killed, last], end(), []));
        assert_eq!((judgement.verdict, judgement.cause), (Verdict::Stuck, Some(Cause::ResumeHangs)));
    }
    let judgement = only(&one_charge(), &trial_of(&[LifeEnd::Killed], end(), []));
    assert_eq!(judgement.cause, Some(Cause::Unexplained));
}
