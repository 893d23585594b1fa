//! One history for each verdict, and those that must not be one.

use serde_json::json;

use super::history::*;
use crate::model::ledger::{Outcome, Request};
use crate::model::life::{LifeEnd, TrialEnd};
use crate::model::promise::{Count, IntentSource, Promise};
use crate::model::verdict::{Cause, Verdict};
use crate::oracle::case::{Case, Opinion, Phase};
use crate::oracle::{ORACLES, Oracle, expect, judge, judge_baseline, judge_with, key_stability};

#[test]
fn one_effect_for_one_intent_is_once() {
    let judgement =
        only(&one_charge(), &resumed([charge(1, "inv_9").keyed("k"), charge(2, "inv_9").keyed("k").but(Outcome::Replayed, 200)]));
    assert_eq!((judgement.verdict, judgement.cause, judgement.observed), (Verdict::Once, None, 1));
    assert_eq!(judgement.expected, "exactly 1");
    assert!(judgement.evidence.is_empty());
}

#[test]
fn a_second_effect_like_the_first_is_duplicated() {
    let judgement = only(&one_charge(), &resumed([charge(1, "inv_9"), charge(2, "inv_9")]));
    assert_eq!((judgement.verdict, judgement.observed), (Verdict::Duplicated, 2));
}

#[test]
fn a_second_effect_of_another_amount_has_diverged() {
    let expectation = after(charges_with_amount(), [charge(1, "inv_9")]);
    let judgement = only(&expectation, &resumed([charge(1, "inv_9"), charge(2, "inv_9").with("amount", json!(3100))]));
    assert_eq!(judgement.verdict, Verdict::Diverged);
    assert_says(&judgement, &["2900", "3100"]);
}

#[test]
fn a_declared_amount_alone_decides_what_has_diverged() {
    let expectation = after(charges_with_amount(), [charge(1, "inv_9")]);
    let judgement = only(&expectation, &resumed([charge(1, "inv_9"), charge(2, "inv_9").with("note", json!("again"))]));
    assert_eq!(judgement.verdict, Verdict::Duplicated);
}

#[test]
fn a_second_effect_with_another_body_has_diverged_and_the_place_is_named() {
    let judgement = only(&one_charge(), &resumed([charge(1, "inv_9"), charge(2, "inv_9").with("currency", json!("eur"))]));
    assert_eq!(judgement.verdict, Verdict::Diverged);
    assert_says(&judgement, &["/currency", "usd", "eur"]);
}

#[test]
fn bodies_that_differ_only_in_volatile_values_have_not_diverged() {
    let stamped = |life, at: i64, id: &str| charge(life, "inv_9").with("at", json!(at)).with("request", json!(id));
    let (one, two) = ("0e8ffc1a-9f3b-4c63-8a2e-7f4b1d0c9e55", "b1946ac9-2492-4d23-8c1f-3a5e6d7c8b90");
    let expectation = after(charges(), [stamped(1, 1_754_300_000, one)]);
    let judgement = only(&expectation, &resumed([stamped(1, 1_754_300_100, one), stamped(2, 1_754_300_200, two)]));
    assert_eq!(judgement.verdict, Verdict::Duplicated);
}

#[test]
fn fields_that_differ_between_two_clean_runs_do_not_diverge() {
    let noted = |life, note: &str| charge(life, "inv_9").with("note", json!(note));
    let twice = expect(&[charges()], &[ledger([noted(1, "brown fox")]), ledger([noted(1, "lazy dog")])]);
    let trial = resumed([noted(1, "quick"), noted(2, "slow")]);
    assert_eq!(only(&twice, &trial).verdict, Verdict::Duplicated);
    let once = expect(&[charges()], &[ledger([noted(1, "brown fox")])]);
    assert_eq!(only(&once, &trial).verdict, Verdict::Diverged);
}

#[test]
fn an_intent_without_its_effect_is_lost() {
    let judgement = only(&one_charge(), &resumed([]));
    assert_eq!((judgement.verdict, judgement.observed), (Verdict::Lost, 0));
}

#[test]
fn the_right_count_of_the_wrong_amount_is_a_wrong_amount() {
    let expectation = after(charges_with_amount(), [charge(1, "inv_9")]);
    let judgement = only(&expectation, &resumed([charge(2, "inv_9").with("amount", json!(5800))]));
    assert_eq!((judgement.verdict, judgement.cause), (Verdict::WrongAmount, Some(Cause::RequestChanged)));
    assert_says(&judgement, &["2900", "5800"]);
    let judgement = only(&expectation, &resumed([charge(2, "inv_9").with("amount", json!("2900"))]));
    assert_eq!(judgement.verdict, Verdict::Once, "a form has only strings");
}

#[test]
fn amounts_of_several_effects_are_compared_as_a_whole() {
    let part = |life, cents: i64| charge(life, "inv_9").with("amount", json!(cents));
    let promise = Promise { count: Count::exactly(2), ..charges_with_amount() };
    let expectation = after(promise, [part(1, 1000), part(1, 1900)]);
    assert_eq!(only(&expectation, &resumed([part(2, 1900), part(2, 1000)])).verdict, Verdict::Once);
    assert_eq!(only(&expectation, &resumed([part(1, 1000), part(2, 1000)])).verdict, Verdict::WrongAmount);
}

#[test]
fn an_amount_that_cannot_be_read_or_compared_is_unknown() {
    let bare = || post(1, "/v1/charges", json!({"metadata": {"invoice": "inv_9"}}));
    let expectation = after(charges_with_amount(), [bare()]);
    assert_eq!(only(&expectation, &resumed([bare()])).verdict, Verdict::Unknown);
    assert_eq!(only_baseline(&expectation, &uninjured([bare()])).verdict, Verdict::Unknown);
    let dear = |cents: i64| ledger([charge(1, "inv_9").with("amount", json!(cents))]);
    let varying = expect(&[charges_with_amount()], &[dear(1), dear(2)]);
    let judgement = only(&varying, &resumed([charge(2, "inv_9")]));
    assert_eq!(judgement.verdict, Verdict::Unknown);
    assert_says(&judgement, &["differs between two clean runs"]);
}

#[test]
fn a_right_effect_of_a_workflow_that_never_gets_done_is_stuck() {
    let judgement = only(&one_charge(), &stuck([charge(1, "inv_9")]));
    assert_eq!((judgement.verdict, judgement.observed), (Verdict::Stuck, 1));
}

#[test]
fn a_missing_effect_of_a_workflow_that_never_gets_done_is_stuck_and_a_doubled_one_duplicated() {
    assert_eq!(only(&one_charge(), &stuck([])).verdict, Verdict::Stuck);
    let judgement = only(&one_charge(), &stuck([charge(1, "inv_9"), charge(2, "inv_9")]));
    assert_eq!((judgement.verdict, judgement.cause), (Verdict::Duplicated, Some(Cause::NoKey)));
    assert_says(&judgement, &["no life was done"]);
}

#[test]
fn a_declaration_that_it_does_not_know_is_kept_only_where_the_scenario_accepts_it() {
    let trial = trial_of(&[LifeEnd::Killed, exited(75)], TrialEnd::DeclaredUnknown, []);
    assert_eq!(only(&one_charge(), &trial).verdict, Verdict::DeclaredUnknown);
    let strict = one_charge().accepting_declared_unknown(false);
    let judgement = only(&strict, &trial);
    assert_eq!(judgement.verdict, Verdict::Lost);
    assert_says(&judgement, &["does not accept"]);
}

#[test]
fn a_declaration_does_not_excuse_two_effects_and_spoils_one_only_where_it_is_not_accepted() {
    let trial = |requests: Vec<Request>| trial_of(&[LifeEnd::Killed, exited(75)], TrialEnd::DeclaredUnknown, requests);
    let doubled = trial(vec![charge(1, "inv_9"), charge(2, "inv_9")]);
    assert_eq!(only(&one_charge(), &doubled).verdict, Verdict::Duplicated);
    let right = trial(vec![charge(1, "inv_9")]);
    assert_eq!(only(&one_charge(), &right).verdict, Verdict::Once);
    assert_eq!(only(&one_charge().accepting_declared_unknown(false), &right).verdict, Verdict::Stuck);
}

#[test]
fn a_trial_that_was_spoiled_is_unknown_whatever_its_ledger_says() {
    let requests = || [charge(1, "inv_9"), charge(2, "inv_9")];
    let ends = [LifeEnd::Killed, exited(0)];
    for end in [TrialEnd::Unreached, TrialEnd::Interrupted, TrialEnd::Environment { reason: "no pids left".to_owned() }] {
        let judgement = only(&one_charge(), &trial_of(&ends, end, requests()));
        assert_eq!((judgement.verdict, judgement.cause, judgement.evidence.len()), (Verdict::Unknown, None, 1));
    }
    for end in [LifeEnd::KilledFromOutside, LifeEnd::LimitHit { limit: "64 MiB of output".to_owned() }, LifeEnd::Interrupted] {
        let trial = trial_of(&[end, exited(0)], TrialEnd::Done, [charge(1, "inv_9")]);
        assert_eq!(only(&one_charge(), &trial).verdict, Verdict::Unknown);
    }
}

#[test]
fn a_trial_without_any_intent_still_says_that_it_did_not_end_well() {
    let nothing = expect(&[], &[Vec::new()]);
    assert!(judge(&nothing, &resumed([])).is_empty());
    let judgement = only(&nothing, &stuck([]));
    assert_eq!((judgement.verdict, judgement.cause), (Verdict::Stuck, Some(Cause::ResumeFails)));
    let judgement = only(&nothing, &trial_of(&[], TrialEnd::Interrupted, []));
    assert_eq!(judgement.verdict, Verdict::Unknown);
}

#[test]
fn a_clean_run_that_never_came_to_its_effect_says_how_it_ended() {
    let failed = trial_of(&[exited(3)], TrialEnd::Stuck { reason: "not done".to_owned() }, []);
    let judgement = only_baseline(&expect(&[charges()], &[Vec::new()]), &failed);
    assert_eq!(judgement.verdict, Verdict::Lost);
    for fact in ["no effect of the clean run matches", "life 1 exited with code 3", "last words of life 1"] {
        assert_says(&judgement, &[fact]);
    }
}

#[test]
fn an_effect_whose_intent_cannot_be_read_is_unknown_and_names_path_and_request() {
    let nameless = post(2, "/v1/charges", json!({"amount": 2900}));
    let judgements = judge(&one_charge(), &resumed([charge(1, "inv_9"), nameless.clone()]));
    assert_eq!(verdicts(&judgements), [("inv_9", Verdict::Once), ("(no intent)", Verdict::Unknown)]);
    assert_says(&judgements[1], &["request 2 of life 2", "POST /v1/charges", "$.metadata.invoice"]);
    let judgements = judge(&one_charge(), &resumed([nameless]));
    let expected = [("inv_9", Verdict::Unknown), ("(no intent)", Verdict::Unknown)];
    assert_eq!(verdicts(&judgements), expected, "the missing intent may be the one that cannot be read");
}

#[test]
fn intents_are_read_from_headers_and_from_queries() {
    let mut request = charge(1, "inv_9");
    request.headers.insert("x-order".to_owned(), "o 1".to_owned());
    request.query = Some("a=1&order+id=o%2B2%zz".to_owned());
    let read = |intent| {
        let promise = Promise { intent, ..charges() };
        after(promise.clone(), [request.clone()]).intent_of(&promise, &request)
    };
    assert_eq!(read(IntentSource::Header("x-order".to_owned())).as_deref(), Some("o 1"));
    assert_eq!(read(IntentSource::Query("order id".to_owned())).as_deref(), Some("o+2%zz"));
    assert_eq!(read(IntentSource::Body("$.amount".to_owned())).as_deref(), Some("2900"));
    assert_eq!(read(IntentSource::Header("x-other".to_owned())), None);
    assert_eq!(read(IntentSource::Query("b".to_owned())), None);
    assert_eq!(read(IntentSource::Body("not a path".to_owned())), None);
}

#[test]
fn a_request_belongs_to_the_first_promise_that_matches() {
    let wide = Promise { name: "any".to_owned(), endpoint: "/v1/*".into_endpoint(), ..charges() };
    let expectation = expect(&[charges(), wide], &[ledger([charge(1, "inv_9")])]);
    let judgements = judge(&expectation, &resumed([charge(1, "inv_9")]));
    assert_eq!(judgements.iter().map(|j| j.promise.as_str()).collect::<Vec<_>>(), ["charge"]);
}

trait IntoEndpoint {
    fn into_endpoint(self) -> crate::model::promise::Endpoint;
}

impl IntoEndpoint for &str {
    fn into_endpoint(self) -> crate::model::promise::Endpoint {
        crate::model::promise::Endpoint { method: "POST".to_owned(), path: self.to_owned() }
    }
}

#[test]
fn single_intents_may_have_counts_of_their_own() {
    let mut promise = charges();
    promise.counts.insert("inv_3".to_owned(), Count::exactly(3));
    let three = |life| (0..3).map(move |_| charge(life, "inv_3"));
    let expectation = after(promise, three(1).chain([charge(1, "inv_9")]));
    let judgements = judge(&expectation, &resumed(three(1).chain([charge(2, "inv_9")])));
    assert_eq!(verdicts(&judgements), [("inv_3", Verdict::Once), ("inv_9", Verdict::Once)]);
    let judgements = judge(&expectation, &resumed(three(1).chain(three(2))));
    assert_eq!(verdicts(&judgements), [("inv_3", Verdict::Duplicated), ("inv_9", Verdict::Lost)]);
    let judgements = judge(&expectation, &resumed([charge(1, "inv_9")]));
    assert_eq!(verdicts(&judgements), [("inv_3", Verdict::Lost), ("inv_9", Verdict::Once)]);
}

#[test]
fn an_intent_named_in_counts_must_be_there_even_if_the_clean_run_lacks_it() {
    let mut promise = charges();
    promise.counts.insert("inv_1".to_owned(), Count::exactly(1));
    let expectation = after(promise, [charge(1, "inv_9")]);
    let judgements = judge_baseline(&expectation, &uninjured([charge(1, "inv_9")]));
    assert_eq!(verdicts(&judgements), [("inv_9", Verdict::Once), ("inv_1", Verdict::Lost)]);
}

#[test]
fn bounds_may_be_open() {
    let at_least = after(Promise { count: Count { at_least: 1, at_most: None }, ..charges() }, [charge(1, "inv_9")]);
    assert_eq!(only(&at_least, &resumed([charge(1, "inv_9"), charge(2, "inv_9")])).verdict, Verdict::Once);
    assert_eq!(only(&at_least, &resumed([])).verdict, Verdict::Lost);
    let at_most = after(Promise { count: Count { at_least: 0, at_most: Some(1) }, ..charges() }, [charge(1, "inv_9")]);
    assert_eq!(only(&at_most, &resumed([])).verdict, Verdict::Once);
    assert_eq!(only(&at_most, &resumed([charge(1, "inv_9"), charge(2, "inv_9")])).verdict, Verdict::Duplicated);
}

#[test]
fn a_named_intent_that_the_clean_run_lacks_is_judged_by_the_promise_and_said_to_be_new() {
    let judgements = judge(&one_charge(), &resumed([charge(1, "inv_9"), charge(2, "inv_10")]));
    assert_eq!(verdicts(&judgements), [("inv_9", Verdict::Once), ("inv_10", Verdict::Once)]);
    assert_says(&judgements[1], &["clean run does not have"]);
    let judgements = judge(&one_charge(), &resumed([charge(1, "inv_10"), charge(2, "inv_10")]));
    assert_eq!(verdicts(&judgements), [("inv_9", Verdict::Lost), ("inv_10", Verdict::Duplicated)]);
    assert_says(&judgements[0], &["inv_10", "not be repeatable"]);
    assert_eq!(judgements[0].cause, Some(Cause::Unexplained));
}

#[test]
fn an_intent_that_a_second_clean_run_lacks_cannot_be_called_lost() {
    let expectation = expect(&[charges()], &[ledger([charge(1, "inv_a")]), ledger([charge(1, "inv_b")])]);
    let judgements = judge(&expectation, &resumed([charge(1, "inv_c")]));
    assert_eq!(judgements[0].verdict, Verdict::Unknown);
}

#[test]
fn a_clean_run_that_breaks_its_own_promise_is_seen() {
    let doubled = || [charge(1, "inv_9"), charge(1, "inv_9")];
    assert_eq!(only_baseline(&after(charges(), doubled()), &uninjured(doubled())).verdict, Verdict::Duplicated);
    assert_eq!(only_baseline(&one_charge(), &uninjured([charge(1, "inv_9")])).verdict, Verdict::Once);
    let failed = trial_of(&[exited(1)], TrialEnd::Stuck { reason: "exit code 1".to_owned() }, [charge(1, "inv_9")]);
    assert_eq!(only_baseline(&one_charge(), &failed).verdict, Verdict::Stuck);
    let unsure = trial_of(&[exited(75)], TrialEnd::DeclaredUnknown, [charge(1, "inv_9")]);
    assert_eq!(only_baseline(&one_charge(), &unsure).verdict, Verdict::Stuck);
}

#[test]
fn a_clean_run_without_the_promised_effect_names_what_it_did_instead() {
    let refused = || [charge(1, "inv_9").but(Outcome::Rejected, 402), post(1, "/v1/refunds", json!({}))];
    let judgement = only_baseline(&after(charges(), refused()), &uninjured(refused()));
    assert_eq!((judgement.verdict, judgement.observed), (Verdict::Lost, 0));
    assert_says(&judgement, &["POST /v1/charges"]);
    assert_says(&judgement, &["POST /v1/refunds"]);
    assert_says(&judgement, &["402"]);
    let optional = Promise { count: Count { at_least: 0, at_most: Some(1) }, ..charges() };
    assert!(judge_baseline(&after(optional, []), &uninjured([])).is_empty());
}

#[test]
fn an_oracle_that_panics_is_unknown_and_hides_no_worse_answer() {
    fn broken(_: &Case<'_>) -> Option<Opinion> {
        panic!("an oracle with a bug")
    }
    let oracles: Vec<(&str, Oracle)> = ORACLES.iter().copied().chain([("nothing", broken as Oracle)]).collect();
    let verdict = |requests: Vec<Request>| judge_with(&oracles, &one_charge(), &resumed(requests), Phase::Injured)[0].verdict;
    assert_eq!(verdict(vec![charge(1, "inv_9")]), Verdict::Unknown);
    assert_eq!(verdict(vec![charge(1, "inv_9"), charge(2, "inv_9")]), Verdict::Duplicated);
}

#[test]
fn keys_are_stable_only_where_a_later_life_repeats_them() {
    let again = |key: &str| charge(2, "inv_9").keyed(key).but(Outcome::Replayed, 200);
    let stable = |requests: Vec<Request>| key_stability(&one_charge(), &resumed(requests)).get("charge").copied();
    assert_eq!(stable(vec![charge(1, "inv_9").keyed("a"), again("a")]), Some(true));
    assert_eq!(stable(vec![charge(1, "inv_9").keyed("a"), again("b")]), Some(false));
    assert_eq!(stable(vec![charge(1, "inv_9"), charge(2, "inv_9")]), Some(false));
    assert_eq!(stable(vec![charge(1, "inv_9").keyed("a")]), None);
    let same_life = charge(1, "inv_9").keyed("a").but(Outcome::Replayed, 200);
    assert_eq!(stable(vec![charge(1, "inv_9").keyed("a"), same_life]), None, "a retry within a life proves nothing");
}

#[test]
fn an_expectation_survives_its_json_form() {
    let stamped = |at: i64| ledger([charge(1, "inv_9").with("at", json!(at))]);
    let expectation = expect(&[charges_with_amount()], &[stamped(1), stamped(2)]);
    let text = serde_json::to_string(&expectation).expect("plain data");
    assert_eq!(serde_json::from_str::<crate::oracle::Expectation>(&text).expect("its own form"), expectation);
}
