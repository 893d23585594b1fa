//! Builds histories for the tests: requests, lives, trials.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::model::ledger::{Outcome, Request};
use crate::model::life::{Life, LifeEnd, Trial, TrialEnd};
use crate::model::promise::{Endpoint, IntentSource, Promise};
use crate::model::schedule::Schedule;
use crate::model::verdict::{Judgement, Verdict};
use crate::oracle::{Expectation, expect, judge, judge_baseline};

/// `charge`: `POST /v1/charges`, intent `$.metadata.invoice`, exactly one.
pub(in crate::oracle) fn charges() -> Promise {
    let intent = IntentSource::Body("$.metadata.invoice".to_owned());
    Promise { intent, ..Promise::once("charge", Endpoint::new("POST", "/v1/charges")) }
}

/// The same with the amount promised.
pub(in crate::oracle) fn charges_with_amount() -> Promise {
    Promise { amount: Some("$.amount".to_owned()), ..charges() }
}

/// An executed request with any body.
pub(in crate::oracle) fn post(life: u32, path: &str, body: Value) -> Request {
    Request {
        seq: 0,
        life,
        effect: if path == "/v1/charges" { "charge".to_owned() } else { path.trim_start_matches('/').replace('/', ".") },
        ordinal: 1,
        method: "POST".to_owned(),
        path: path.to_owned(),
        query: None,
        headers: BTreeMap::new(),
        body,
        body_sha256: String::new(),
        key: None,
        key_at: None,
        fault: None,
        outcome: Outcome::Executed,
        status: 200,
        object: None,
        received_us: 0,
        executed_us: None,
        answered_us: None,
    }
}

/// An executed charge of 2900 without a key.
pub(in crate::oracle) fn charge(life: u32, invoice: &str) -> Request {
    post(life, "/v1/charges", json!({"amount": 2900, "currency": "usd", "metadata": {"invoice": invoice}}))
}

impl Request {
    /// The same with a key.
    pub(in crate::oracle) fn keyed(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }

    /// The same with another fate.
    pub(in crate::oracle) fn but(mut self, outcome: Outcome, status: u16) -> Self {
        (self.outcome, self.status) = (outcome, status);
        self
    }

    /// The same with a field of the body set.
    pub(in crate::oracle) fn with(mut self, field: &str, value: Value) -> Self {
        self.body[field] = value;
        self
    }
}

/// Numbers the requests.
pub(in crate::oracle) fn ledger(requests: impl IntoIterator<Item = Request>) -> Vec<Request> {
    let number = |(index, mut request): (usize, Request)| {
        request.seq = index as u64 + 1;
        request.received_us = request.seq * 1_000;
        request
    };
    requests.into_iter().enumerate().map(number).collect()
}

pub(in crate::oracle) fn exited(code: i32) -> LifeEnd {
    LifeEnd::Exited { code }
}

/// A trial with lives that ended so.
pub(in crate::oracle) fn trial_of(ends: &[LifeEnd], end: TrialEnd, requests: impl IntoIterator<Item = Request>) -> Trial {
    let life = |(index, end): (usize, &LifeEnd)| Life {
        number: index as u32 + 1,
        target: None,
        reached: *end == LifeEnd::Killed,
        end: end.clone(),
        wall_us: 0,
        cpu_us: 0,
        processes: 1,
        notices: Vec::new(),
        output_tail: vec!["starting".to_owned(), format!("last words of life {}", index + 1), " ".to_owned()],
        reconciles: false,
    };
    let lives = ends.iter().enumerate().map(life).collect();
    Trial { schedule: Schedule::default(), lives, ledger: ledger(requests), end, gaps: Vec::new() }
}

/// One life killed, one that is done.
pub(in crate::oracle) fn resumed(requests: impl IntoIterator<Item = Request>) -> Trial {
    trial_of(&[LifeEnd::Killed, exited(0)], TrialEnd::Done, requests)
}

/// A trial whose resumed lives fail until no more are allowed.
pub(in crate::oracle) fn stuck(requests: impl IntoIterator<Item = Request>) -> Trial {
    let end = TrialEnd::Stuck { reason: "no life was done within 3 lives".to_owned() };
    trial_of(&[LifeEnd::Killed, exited(1), exited(1)], end, requests)
}

/// One uninjured life.
pub(in crate::oracle) fn uninjured(requests: impl IntoIterator<Item = Request>) -> Trial {
    trial_of(&[exited(0)], TrialEnd::Done, requests)
}

/// What one clean run with these requests shows.
pub(in crate::oracle) fn after(promise: Promise, clean: impl IntoIterator<Item = Request>) -> Expectation {
    expect(&[promise], &[ledger(clean)])
}

/// What a clean run of one charge for `inv_9` shows.
pub(in crate::oracle) fn one_charge() -> Expectation {
    after(charges(), [charge(1, "inv_9")])
}

/// The only judgement of a trial.
pub(in crate::oracle) fn only(expectation: &Expectation, trial: &Trial) -> Judgement {
    single(judge(expectation, trial))
}

/// The only judgement of a clean run.
pub(in crate::oracle) fn only_baseline(expectation: &Expectation, trial: &Trial) -> Judgement {
    single(judge_baseline(expectation, trial))
}

fn single(mut judgements: Vec<Judgement>) -> Judgement {
    assert_eq!(judgements.len(), 1, "{judgements:#?}");
    judgements.remove(0)
}

/// Intents and verdicts, in order.
pub(in crate::oracle) fn verdicts(judgements: &[Judgement]) -> Vec<(&str, Verdict)> {
    judgements.iter().map(|judgement| (judgement.intent.as_str(), judgement.verdict)).collect()
}

/// Asserts that a sentence of the evidence holds all these words.
#[track_caller]
pub(in crate::oracle) fn assert_says(judgement: &Judgement, words: &[&str]) {
    let said = judgement.evidence.iter().any(|sentence| words.iter().all(|word| sentence.contains(word)));
    assert!(said, "no sentence holds {words:?} in {:#?}", judgement.evidence);
}
