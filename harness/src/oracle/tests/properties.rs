//! Properties that must hold for any history.

use proptest::prelude::*;
use serde_json::json;

use super::history::*;
use crate::model::ledger::{Outcome, Request};
use crate::model::life::Trial;
use crate::model::promise::{IntentSource, Promise};
use crate::oracle::{Expectation, NO_INTENT, expect, judge};

const OUTCOMES: [Outcome; 6] =
    [Outcome::Executed, Outcome::Received, Outcome::Replayed, Outcome::Conflict, Outcome::Mismatch, Outcome::Rejected];

fn request() -> impl Strategy<Value = Request> {
    (1..4_u32, 0..3_u8, prop::sample::select(OUTCOMES.to_vec()), prop::option::of("[a-c]"), 0..2_i64).prop_map(
        |(life, invoice, outcome, key, attempt)| {
            let mut request = charge(life, &format!("inv_{invoice}")).but(outcome, 200).with("attempt", json!(attempt));
            request.key = key;
            request
        },
    )
}

fn expectation() -> impl Strategy<Value = Expectation> {
    let source =
        prop_oneof![Just(None), Just(Some(IntentSource::Body("$.metadata.invoice".to_owned()))), Just(Some(IntentSource::Auto))];
    (source, prop::collection::vec(request(), 0..5)).prop_map(|(source, clean)| {
        let promises: Vec<Promise> = source.map(|intent| Promise { intent, ..charges() }).into_iter().collect();
        expect(&promises, &[ledger(clean)])
    })
}

fn history() -> impl Strategy<Value = Trial> {
    (prop::collection::vec(request(), 0..7), any::<bool>())
        .prop_map(|(requests, done)| if done { resumed(requests) } else { stuck(requests) })
}

/// A request that no promise is about, or that only reads.
fn bystander() -> impl Strategy<Value = Request> {
    (1..4_u32, any::<bool>()).prop_map(|(life, reads)| {
        let mut request = post(life, "/v1/other", json!({"metadata": {"invoice": "inv_0"}}));
        if reads {
            request.method = "GET".to_owned();
            request.path = "/v1/charges".to_owned();
            request.outcome = Outcome::Read;
        }
        request
    })
}

proptest! {
    #[test]
    fn the_order_of_the_ledgers_lines_changes_nothing((trial, order) in history().prop_flat_map(|trial| {
        let lines = trial.ledger.clone();
        (Just(trial), Just(lines).prop_shuffle())
    }), expectation in expectation()) {
        let shuffled = Trial { ledger: order, ..trial.clone() };
        prop_assert_eq!(judge(&expectation, &shuffled), judge(&expectation, &trial));
    }

    #[test]
    fn requests_that_no_promise_is_about_change_nothing(
        trial in history(), others in prop::collection::vec((bystander(), any::<prop::sample::Index>()), 0..4),
    ) {
        let expectation = one_charge();
        let mut crowded = trial.clone();
        for (mut other, at) in others {
            other.seq = 1_000 + crowded.ledger.len() as u64;
            crowded.ledger.insert(at.index(crowded.ledger.len() + 1), other);
        }
        prop_assert_eq!(judge(&expectation, &crowded), judge(&expectation, &trial));
    }

    #[test]
    fn an_extra_effect_turns_no_verdict_into_kept_except_that_of_a_missing_one(
        trial in history(), extra in request(), expectation in expectation(),
    ) {
        let mut more = trial.clone();
        let extra = Request { outcome: Outcome::Executed, seq: 1_000, ..extra };
        more.ledger.push(extra);
        let after = judge(&expectation, &more);
        for before in judge(&expectation, &trial) {
            let same = after.iter().find(|other| (&other.promise, &other.intent) == (&before.promise, &before.intent));
            let least = if before.expected.starts_with("exactly") { before.expected[8..].parse().expect("a number") } else { 0 };
            if before.intent == NO_INTENT {
                prop_assert!(after.iter().any(|judgement| !judgement.verdict.is_kept()));
            } else if before.observed >= least && !before.verdict.is_kept() {
                prop_assert!(same.is_some_and(|same| !same.verdict.is_kept()), "{:?} became {:?}", before, same);
            }
        }
    }

    #[test]
    fn an_extra_effect_of_a_kept_intent_breaks_its_promise(requests in prop::collection::vec(request(), 0..7)) {
        let expectation = one_charge();
        let trial = resumed(requests);
        for kept in judge(&expectation, &trial).into_iter().filter(|judgement| judgement.verdict.is_kept()) {
            let mut more = trial.clone();
            more.ledger.push(Request { seq: 1_000, ..charge(2, &kept.intent) });
            let after = judge(&expectation, &more);
            prop_assert!(after.iter().any(|j| j.intent == kept.intent && j.verdict.is_finding()));
        }
    }

    #[test]
    fn every_effect_of_a_promise_is_counted_once(trial in history(), expectation in expectation()) {
        let observed: u32 = judge(&expectation, &trial).iter().map(|judgement| judgement.observed).sum();
        prop_assert_eq!(observed as usize, trial.ledger.iter().filter(|request| request.had_effect()).count());
    }

    #[test]
    fn a_promise_that_is_not_kept_has_a_reason(trial in history(), expectation in expectation()) {
        for judgement in judge(&expectation, &trial) {
            prop_assert!(judgement.verdict.is_kept() || judgement.cause.is_some() || !judgement.evidence.is_empty());
            prop_assert_eq!(judgement.verdict.is_finding(), judgement.cause.is_some());
        }
    }
}
