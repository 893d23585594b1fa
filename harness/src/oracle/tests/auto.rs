//! Intents and promises that are made up from the clean run.

use serde_json::json;

use super::history::*;
use crate::model::ledger::Request;
use crate::model::promise::{Count, IntentSource, Promise};
use crate::model::verdict::{Cause, Verdict};
use crate::oracle::{Expectation, expect, judge, judge_baseline};

const UUIDS: [&str; 2] = ["0e8ffc1a-9f3b-4c63-8a2e-7f4b1d0c9e55", "b1946ac9-2492-4d23-8c1f-3a5e6d7c8b90"];

fn made_up(clean: impl IntoIterator<Item = Request>) -> Expectation {
    expect(&[], &[ledger(clean)])
}

fn intent(expectation: &Expectation, request: &Request) -> Option<String> {
    expectation.intent_of(&expectation.promises()[0], request)
}

#[test]
fn a_promise_is_made_up_for_each_effect_of_the_clean_run() {
    let clean = || [charge(1, "inv_9"), post(1, "/v1/refunds", json!({"charge": "x"})), charge(1, "inv_10")];
    let expectation = made_up(clean());
    let names: Vec<&str> = expectation.promises().iter().map(|promise| promise.name.as_str()).collect();
    assert_eq!(names, ["charge", "v1.refunds"]);
    assert!(expectation.promises().iter().all(|promise| promise.intent == IntentSource::Auto));
    let judgements = judge(&expectation, &resumed(clean()));
    assert_eq!(judgements.len(), 3);
    assert!(judgements.iter().all(|judgement| judgement.verdict == Verdict::Once), "{judgements:#?}");
    assert_eq!(judgements[0].intent, "amount=2900 currency=usd metadata.invoice=inv_9");
}

#[test]
fn a_made_up_promise_expects_the_count_of_the_clean_run() {
    let twins = |life| [charge(life, "inv_9"), charge(life, "inv_9")];
    let expectation = made_up(twins(1));
    assert_eq!(only_baseline(&expectation, &uninjured(twins(1))).verdict, Verdict::Once);
    assert_eq!(only(&expectation, &resumed(twins(1))).expected, "exactly 2");
    assert_eq!(only(&expectation, &resumed(twins(1).into_iter().chain([charge(2, "inv_9")]))).verdict, Verdict::Duplicated);
    assert_eq!(only(&expectation, &resumed([charge(1, "inv_9")])).verdict, Verdict::Lost);
}

#[test]
fn volatile_values_are_no_part_of_an_intent() {
    let volatile = |life, id: &str, at: i64| {
        charge(life, "inv_9")
            .with("request", json!(id))
            .with("at", json!(at))
            .with("clock", json!(at as f64 / 1000.0))
            .with("trace", json!(format!("t-{}", id.replace('-', ""))))
            .with("when", json!("2026-08-04T09:13:20.123Z"))
    };
    let expectation = made_up([volatile(1, UUIDS[0], 1_754_300_000_123)]);
    let own = intent(&expectation, &volatile(2, UUIDS[1], 1_754_300_999_456));
    assert_eq!(own.as_deref(), Some("amount=2900 currency=usd metadata.invoice=inv_9 trace=t-*"));
    let trial = resumed([volatile(1, UUIDS[0], 1_754_300_100_000), volatile(2, UUIDS[1], 1_754_300_200_000)]);
    assert_eq!(only(&expectation, &trial).verdict, Verdict::Duplicated);
}

#[test]
fn a_body_of_nothing_but_volatile_values_stands_for_its_endpoint() {
    let request = post(1, "/v1/pings", json!({"id": UUIDS[0]}));
    assert_eq!(intent(&made_up([request.clone()]), &request).as_deref(), Some("POST /v1/pings"));
}

#[test]
fn ids_that_the_sandbox_made_are_volatile_and_those_of_the_caller_are_not() {
    let mut first = charge(1, "inv_9");
    first.object = Some("ch_0001".to_owned());
    let refund = |id: &str| post(1, "/v1/refunds", json!({"charge": id, "customer": "cus_0007"}));
    let expectation = made_up([first]);
    assert_eq!(
        intent(&expectation, &charge(2, "inv_9").with("previous", json!("ch_0002"))),
        intent(&expectation, &charge(1, "inv_9"))
    );
    let mut own = refund("ch_0001");
    own.object = Some("cus_0007".to_owned());
    assert_eq!(intent(&made_up([own.clone()]), &own).as_deref(), Some("charge=ch_0001 customer=cus_0007"));
}

#[test]
fn values_that_differ_between_two_clean_runs_are_learned_whatever_the_order_of_the_requests() {
    let noted = |invoice: &str, note: &str| charge(1, invoice).with("note", json!(note));
    let one = ledger([noted("inv_1", "red"), noted("inv_2", "blue")]);
    let two = ledger([noted("inv_2", "pink"), noted("inv_1", "grey")]);
    let expectation = expect(&[], &[one, two]);
    let judgements = judge(&expectation, &resumed([noted("inv_2", "lime"), noted("inv_1", "teal"), noted("inv_1", "cyan")]));
    assert_eq!(
        verdicts(&judgements),
        [
            ("amount=2900 currency=usd metadata.invoice=inv_1", Verdict::Duplicated),
            ("amount=2900 currency=usd metadata.invoice=inv_2", Verdict::Once)
        ]
    );
}

#[test]
fn what_looks_random_but_is_the_same_in_two_clean_runs_tells_intents_apart() {
    let order = |id: &str| charge(1, "inv_9").with("order", json!(id));
    let run = || ledger([order(UUIDS[0]), order(UUIDS[1])]);
    let judgements = judge(&expect(&[], &[run(), run()]), &resumed([order(UUIDS[0]), order(UUIDS[0])]));
    assert_eq!(judgements.iter().map(|j| j.verdict).collect::<Vec<_>>(), [Verdict::Duplicated, Verdict::Lost]);
}

#[test]
fn segments_of_the_path_belong_to_the_intent_where_they_differ() {
    let pause = |id: &str| {
        let mut request = post(1, &format!("/v1/subscriptions/{id}/pause"), json!({}));
        request.effect = "pause".to_owned();
        request
    };
    let expectation = made_up([pause("sub_1"), pause("sub_2")]);
    assert_eq!(expectation.promises()[0].endpoint.path, "/v1/subscriptions/*/pause");
    let judgements = judge(&expectation, &resumed([pause("sub_1"), pause("sub_1")]));
    assert_eq!(judgements.iter().map(|j| j.verdict).collect::<Vec<_>>(), [Verdict::Duplicated, Verdict::Lost]);
    let judgements = judge(&made_up([pause("sub_1")]), &resumed([pause("sub_1"), pause("sub_2")]));
    assert_eq!(judgements[1].verdict, Verdict::Diverged);
}

#[test]
fn one_effect_more_than_in_the_clean_run_does_not_pass_as_a_new_intent() {
    let attempt = |life, n: i64| charge(life, "inv_9").with("attempt", json!(n));
    let judgements = judge(&made_up([attempt(1, 1)]), &resumed([attempt(1, 1), attempt(2, 2)]));
    assert_eq!(judgements.iter().map(|j| j.verdict).collect::<Vec<_>>(), [Verdict::Once, Verdict::Diverged]);
    assert_eq!((judgements[1].cause, judgements[1].expected.as_str()), (Some(Cause::NoKey), "none"));
    assert_says(&judgements[1], &["life 1 sent no idempotency key; life 2"]);
    assert_says(&judgements[1], &["/attempt", "1", "2"]);
}

#[test]
fn a_changed_body_in_place_of_the_old_one_is_unknown_and_not_lost() {
    let attempt = |life, n: i64| charge(life, "inv_9").with("attempt", json!(n));
    let judgements = judge(&made_up([attempt(1, 1)]), &resumed([attempt(2, 2)]));
    assert_eq!(judgements.iter().map(|j| j.verdict).collect::<Vec<_>>(), [Verdict::Unknown, Verdict::Unknown]);
    assert_says(&judgements[0], &["hint:"]);
}

#[test]
fn an_effect_that_only_a_trial_has_is_promised_once_too() {
    let refund = || post(2, "/v1/refunds", json!({"reason": "resumed"}));
    let expectation = made_up([charge(1, "inv_9")]);
    let judgements = judge(&expectation, &resumed([charge(1, "inv_9"), refund()]));
    assert_eq!(judgements.iter().map(|j| j.verdict).collect::<Vec<_>>(), [Verdict::Once, Verdict::Once]);
    let judgements = judge(&expectation, &resumed([charge(1, "inv_9"), refund(), refund()]));
    assert_eq!(judgements[1].verdict, Verdict::Duplicated);
}

#[test]
fn a_declared_amount_is_no_part_of_a_made_up_intent() {
    let promise = Promise { intent: IntentSource::Auto, count: Count::exactly(1), ..charges_with_amount() };
    let expectation = after(promise, [charge(1, "inv_9")]);
    let trial = resumed([charge(1, "inv_9"), charge(2, "inv_9").with("amount", json!(1))]);
    let judgement = only(&expectation, &trial);
    assert_eq!((judgement.intent.as_str(), judgement.verdict), ("currency=usd metadata.invoice=inv_9", Verdict::Diverged));
}

#[test]
fn long_intents_are_cut_and_stay_apart() {
    let noted = |end: &str| charge(1, "inv_9").with("a", json!("x".repeat(200) + end));
    let expectation = made_up([noted("1"), noted("2")]);
    let judgements = judge_baseline(&expectation, &uninjured([noted("1"), noted("2")]));
    assert_eq!(judgements.len(), 2);
    assert!(judgements.iter().all(|judgement| judgement.intent.chars().count() < 100));
    // What people know it by is not cut off.
    assert!(judgements.iter().all(|judgement| judgement.intent.starts_with("metadata.invoice=inv_9 a=xxx")), "{judgements:#?}");
}
