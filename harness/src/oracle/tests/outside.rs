//! Effects that are no HTTP requests, what is given back, and what counts after a reconciler.

use serde_json::{Value, json};

use super::history::*;
use crate::model::ledger::Request;
use crate::model::life::{Gap, Trial, TrialEnd};
use crate::model::promise::{Endpoint, IntentSource, Promise};
use crate::model::verdict::{Cause, Verdict};
use crate::oracle::{Expectation, expect, judge, judge_baseline};

/// A charge that made an object.
fn made(life: u32, object: &str) -> Request {
    Request { object: Some(object.to_owned()), ..charge(life, "inv_9") }
}

fn refund(life: u32, body: Value) -> Request {
    post(life, "/v1/refunds", body)
}

fn net_charges() -> Promise {
    Promise { net_of: Some(Endpoint::new("POST", "/v1/refunds")), ..charges() }
}

/// A row or a line, as it stands in the ledger.
fn found(kind: &str, promise: &str, ordinal: u32, body: Value) -> Request {
    let path = format!("/{promise}");
    Request { method: kind.to_owned(), effect: promise.to_owned(), ordinal, ..post(2, &path, body) }
}

fn row(ordinal: u32, invoice: &str) -> Request {
    found("ROWS", "payout", ordinal, json!({"invoice": invoice, "cents": 2900}))
}

fn payouts() -> Promise {
    let intent = IntentSource::Body("$.invoice".to_owned());
    Promise { intent, ..Promise::once("payout", Endpoint::new("ROWS", "/payout")) }
}

fn with_gap(mut trial: Trial, promise: &str, is_absent: bool) -> Trial {
    let reason = "the query `SELECT 1` on app.db gives no answer: no such table: payouts".to_owned();
    trial.gaps.push(Gap { promise: promise.to_owned(), reason, is_absent });
    trial
}

#[test]
fn two_charges_of_which_one_was_refunded_are_once_and_both_are_named() {
    let expectation = after(net_charges(), [charge(1, "inv_9")]);
    let trial = resumed([made(1, "ch_1"), made(2, "ch_2"), refund(2, json!({"charge": "ch_2"}))]);
    let judgement = only(&expectation, &trial);
    assert_eq!((judgement.verdict, judgement.observed), (Verdict::Once, 1));
    assert_says(
        &judgement,
        &["2 effect(s), 1 after what was given back", "request 2 of life 2", "`ch_2`", "request 3 of life 2"],
    );
    let gross = only(&one_charge(), &resumed([made(1, "ch_1"), made(2, "ch_2")]));
    assert_eq!(gross.verdict, Verdict::Duplicated);
}

#[test]
fn a_part_of_a_charge_given_back_leaves_it_standing_and_all_parts_do_not() {
    let expectation = after(net_charges(), [charge(1, "inv_9")]);
    let part = |cents: Value| refund(2, json!({"charge": "ch_2", "amount": cents}));
    let verdict = |refunds: Vec<Request>| {
        let all = [made(1, "ch_1"), made(2, "ch_2")].into_iter().chain(refunds);
        only(&expectation, &resumed(all)).verdict
    };
    assert_eq!(verdict(vec![part(json!(2899))]), Verdict::Duplicated);
    assert_eq!(verdict(vec![part(json!("2000"))]), Verdict::Duplicated);
    assert_eq!(verdict(vec![part(json!("2000")), part(json!("900"))]), Verdict::Once);
    assert_eq!(verdict(vec![part(Value::Null)]), Verdict::Once);
}

#[test]
fn a_refund_that_names_no_known_charge_leaves_the_count_unknown() {
    let expectation = after(net_charges(), [charge(1, "inv_9")]);
    let judgement = only(&expectation, &resumed([made(1, "ch_1"), made(2, "ch_2"), refund(2, json!({"charge": "ch_7"}))]));
    assert_eq!(judgement.verdict, Verdict::Unknown);
    assert_says(&judgement, &["gives back something"]);
    let three = [made(1, "ch_1"), made(2, "ch_2"), made(2, "ch_3"), refund(2, json!({"charge": "ch_7"}))];
    assert_eq!(only(&expectation, &resumed(three)).verdict, Verdict::Duplicated, "one refund does not undo two");
}

#[test]
fn a_charge_that_was_given_back_and_not_made_again_is_lost() {
    let expectation = after(net_charges(), [charge(1, "inv_9")]);
    let judgement = only(&expectation, &resumed([made(1, "ch_1"), refund(2, json!({"charge": "ch_1"}))]));
    assert_eq!((judgement.verdict, judgement.observed), (Verdict::Lost, 0));
    assert_says(&judgement, &["by request 2 of life 2"]);
}

#[test]
fn a_refund_may_name_its_charge_by_the_path() {
    let promise = Promise { net_of: Some(Endpoint::new("POST", "/v1/charges/*/refund")), ..charges() };
    let expectation = after(promise, [charge(1, "inv_9")]);
    let back = post(2, "/v1/charges/ch_2/refund", json!({}));
    assert_eq!(only(&expectation, &resumed([made(1, "ch_1"), made(2, "ch_2"), back])).verdict, Verdict::Once);
}

#[test]
fn two_rows_for_one_intent_are_duplicated_because_nothing_refused_the_second() {
    let expectation = after(payouts(), [row(1, "inv_9")]);
    let judgement = only(&expectation, &resumed([row(1, "inv_9"), row(2, "inv_9")]));
    assert_eq!((judgement.verdict, judgement.cause), (Verdict::Duplicated, Some(Cause::NotUnique)));
    assert_says(&judgement, &["row 2 of `payout` is for it"]);
    assert!(!judgement.evidence.iter().any(|fact| fact.contains("key")), "{:?}", judgement.evidence);
    assert_eq!(only(&expectation, &resumed([row(1, "inv_9")])).verdict, Verdict::Once);
}

#[test]
fn a_row_that_is_not_there_is_lost_with_the_reason_and_one_that_cannot_be_read_is_unknown() {
    let expectation = after(payouts(), [row(1, "inv_9")]);
    let absent = only(&expectation, &with_gap(resumed([]), "payout", true));
    assert_eq!((absent.verdict, absent.cause), (Verdict::Lost, Some(Cause::RecordedBeforeDone)));
    assert_says(&absent, &["no such table: payouts"]);
    let unread = only(&expectation, &with_gap(resumed([]), "payout", false));
    assert_eq!(unread.verdict, Verdict::Unknown);
    assert_says(&unread, &["no such table: payouts"]);
}

#[test]
fn a_clean_run_whose_rows_cannot_be_read_is_no_baseline_whatever_is_promised() {
    for promise in [payouts(), Promise { count: crate::model::promise::Count { at_least: 0, at_most: Some(1) }, ..payouts() }] {
        for is_absent in [true, false] {
            let judgement = only_baseline(&after(promise.clone(), []), &with_gap(uninjured([]), "payout", is_absent));
            assert_eq!(judgement.verdict, Verdict::Unknown);
            assert_says(&judgement, &["SELECT 1"]);
        }
    }
}

#[test]
fn what_cannot_be_read_is_no_pass_although_no_intent_is_known() {
    let promise = Promise { count: crate::model::promise::Count { at_least: 0, at_most: Some(1) }, ..payouts() };
    let trial = with_gap(resumed([]), "payout", false);
    assert_eq!(only(&after(promise, []), &trial).verdict, Verdict::Unknown);
}

/// A transfer that may be sent several times, as long as one row stands for it in the end.
fn reconciled() -> Expectation {
    let transfer = Promise { reconciled_by: Some("payout".to_owned()), ..charges() };
    expect(&[transfer, payouts()], &[ledger([charge(1, "inv_9"), row(1, "inv_9")])])
}

fn verdicts_of(trial: &Trial) -> Vec<(Verdict, u32)> {
    judge(&reconciled(), trial).iter().map(|judgement| (judgement.verdict, judgement.observed)).collect()
}

#[test]
fn more_on_the_way_than_promised_is_once_where_the_reconciler_made_it_right() {
    let trial = resumed([charge(1, "inv_9"), charge(2, "inv_9"), row(1, "inv_9")]);
    assert_eq!(verdicts_of(&trial), [(Verdict::Once, 1), (Verdict::Once, 1)]);
    assert_says(&judge(&reconciled(), &trial)[0], &["2 on the way", "request 2 of life 2", "1 of `payout`"]);
}

#[test]
fn what_the_reconciler_left_double_or_lost_is_found_with_both_counts() {
    let double = resumed([charge(1, "inv_9"), charge(2, "inv_9"), row(1, "inv_9"), row(2, "inv_9")]);
    assert_eq!(verdicts_of(&double), [(Verdict::Duplicated, 2), (Verdict::Duplicated, 2)]);
    assert_eq!(judge(&reconciled(), &double)[0].cause, Some(Cause::NoKey));
    let booked_twice = resumed([charge(1, "inv_9"), row(1, "inv_9"), row(2, "inv_9")]);
    assert_eq!(judge(&reconciled(), &booked_twice)[0].cause, Some(Cause::NotUnique));
    let unbooked = resumed([charge(1, "inv_9")]);
    assert_eq!(verdicts_of(&unbooked), [(Verdict::Lost, 0), (Verdict::Lost, 0)]);
    assert_says(&judge(&reconciled(), &unbooked)[0], &["1 on the way", "0 of `payout`"]);
}

#[test]
fn a_record_of_what_never_went_out_is_lost_whatever_the_reconciler_says() {
    let trial = resumed([row(1, "inv_9")]);
    assert_eq!(verdicts_of(&trial)[0], (Verdict::Lost, 0));
}

#[test]
fn a_record_that_cannot_be_read_leaves_what_it_reconciles_unknown() {
    let trial = with_gap(resumed([charge(1, "inv_9")]), "payout", false);
    assert_eq!(judge(&reconciled(), &trial)[0].verdict, Verdict::Unknown);
}

#[test]
fn a_clean_run_needs_its_reconciler_to_be_right_too() {
    let trial = uninjured([charge(1, "inv_9"), row(1, "inv_9"), row(2, "inv_9")]);
    assert_eq!(judge_baseline(&reconciled(), &trial)[0].verdict, Verdict::Duplicated);
}

#[test]
fn a_workflow_that_asks_a_person_is_accepted_only_where_the_scenario_says_so() {
    let asks = trial_of(&[crate::model::life::LifeEnd::Killed, exited(75)], TrialEnd::DeclaredUnknown, []);
    assert_eq!(only(&one_charge().accepting_declared_unknown(true), &asks).verdict, Verdict::DeclaredUnknown);
    assert_eq!(only(&one_charge().accepting_declared_unknown(false), &asks).verdict, Verdict::Lost);
    let twice = [crate::model::life::LifeEnd::Killed, exited(75)];
    let twice = trial_of(&twice, TrialEnd::DeclaredUnknown, [charge(1, "inv_9"), charge(2, "inv_9")]);
    assert_eq!(only(&one_charge().accepting_declared_unknown(true), &twice).verdict, Verdict::Duplicated);
}

/// A mail as it stands in the ledger.
fn mail(life: u32, id: &str, template: &str) -> Request {
    let body = json!({"from": "shop@example.com", "to": ["a@example.com"], "subject": "Receipt inv_9", "message_id": id,
        "template": template, "text": "Paid."});
    Request { method: "MAIL".to_owned(), effect: "mail".to_owned(), path: "/".to_owned(), ..post(life, "/", body) }
}

fn tool(life: u32, key: &str) -> Request {
    let body = json!({"invoice": "inv_9", "amount": 2900, "idempotency_key": key});
    let call = post(life, "/create_charge", body);
    Request { method: "MCP".to_owned(), effect: "mcp_create_charge".to_owned(), ..call }
}

#[test]
fn without_promises_mails_and_calls_of_tools_are_promised_as_they_are_seen() {
    let clean = |id: &str, key: &str| ledger([mail(1, id, "receipt"), tool(1, key)]);
    let id = |number: u32| format!("<5f0c1d2e-0000-4000-8000-00000000000{number}@host>");
    let expectation = expect(&[], &[clean(&id(1), "k1"), clean(&id(2), "k2")]);
    let shown: Vec<String> = expectation.promises().iter().map(|promise| promise.endpoint.to_string()).collect();
    assert_eq!(shown, ["mail", "mcp create_charge"]);
    let once = resumed([mail(1, &id(3), "receipt"), tool(2, "k3")]);
    let all = |trial: &Trial| judge(&expectation, trial).iter().map(|judgement| judgement.verdict).collect::<Vec<_>>();
    assert_eq!(all(&once), [Verdict::Once, Verdict::Once]);
    let twice = resumed([mail(1, &id(3), "receipt"), mail(2, &id(4), "receipt"), tool(1, "k3"), tool(2, "k4")]);
    assert_eq!(all(&twice), [Verdict::Duplicated, Verdict::Duplicated]);
    let lost = resumed([mail(1, &id(3), "receipt")]);
    assert_eq!(all(&lost), [Verdict::Once, Verdict::Lost]);
}

#[test]
fn the_key_of_a_mail_or_of_a_call_is_no_part_of_what_it_asks_for() {
    let mails = Promise { intent: IntentSource::Body("$.to[0]".to_owned()), ..Promise::once("mail", Endpoint::new("MAIL", "/")) };
    let expectation = after(mails, [mail(1, "<1@host>", "receipt")]);
    let twice = only(&expectation, &resumed([mail(1, "<1@host>", "receipt"), mail(2, "<2@host>", "receipt")]));
    assert_eq!((twice.verdict, twice.cause), (Verdict::Duplicated, Some(Cause::NotKeyable)));
    assert!(twice.evidence[3].contains("nobody can know"), "{:?}", twice.evidence);
    let same = only(&expectation, &resumed([mail(1, "<1@host>", "receipt"), mail(2, "<1@host>", "receipt")]));
    assert!(same.evidence[3].contains("the same in each life"), "{:?}", same.evidence);
    let other = only(&expectation, &resumed([mail(1, "<1@host>", "receipt"), mail(2, "<2@host>", "reminder")]));
    assert_eq!(other.verdict, Verdict::Diverged);
    let tools = Promise {
        intent: IntentSource::Body("$.invoice".to_owned()),
        ..Promise::once("tool", Endpoint::new("MCP", "/create_charge"))
    };
    let expectation = after(tools, [tool(1, "k1")]);
    assert_eq!(only(&expectation, &resumed([tool(1, "k1"), tool(2, "k2")])).verdict, Verdict::Duplicated);
}
