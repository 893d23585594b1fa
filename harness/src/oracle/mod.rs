//! Oracles: pure judges of a trial. From the promises, what clean runs show, and a trial's ledger and lives they say for each
//! intent whether its promise was kept, and why not. No I/O, no clock, no other room.
//!
//! **To add an oracle**, write one small file with a function `judge(&Case) -> Option<Opinion>` that objects or says nothing, and
//! list it in `ORACLES`. The worst opinion wins ([`Verdict`]'s order). One that panics is `unknown`, never a pass.
//! A new cause is a branch in `cause.rs`.
//!
//! Not judged here: `overlap`. Two executors of one intent at once cannot be told from the ledger of one killed process tree:
//! every process of a life is gone before the next one starts, and two effects of one intent are duplicated already.

mod amount;
mod case;
mod cause;
mod count;
mod expectation;
pub mod forensics;
mod intent;
mod key;
mod net;
mod progress;
mod settled;
mod validity;
mod volatile;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

pub use expectation::{Expectation, expect};

use expectation::Shown;

use crate::model::life::{Gap, Trial, TrialEnd};
use crate::model::promise::{Count, Endpoint, Promise};
use crate::model::verdict::{Cause, Judgement, Verdict};
use case::{Case, Docket, Opinion, Phase, named, quoted};
use settled::Settled;

type Oracle = fn(&Case<'_>) -> Option<Opinion>;

/// All oracles by name. Each sees every intent.
const ORACLES: &[(&str, Oracle)] = &[("count", count::judge), ("amount", amount::judge), ("progress", progress::judge)];

/// Stands for the intent where none can be read.
const NO_INTENT: &str = "(no intent)";
/// Stands for the promise where there is none and the trial as a whole must be judged.
const NO_PROMISE: &str = "workflow";

/// Judges a trial: one answer for each intent, kept ones included. Never empty where the trial did not end well.
#[must_use]
pub fn judge(expectation: &Expectation, trial: &Trial) -> Vec<Judgement> {
    judge_with(ORACLES, &expectation.widened(&trial.ledger), trial, Phase::Injured)
}

/// Judges a clean run by its own promises: counts per intent, amounts that can be read, an end that says *done*. A promise of at
/// least one effect that no effect of the run matches is broken too: nothing could be shown about it.
#[must_use]
pub fn judge_baseline(expectation: &Expectation, trial: &Trial) -> Vec<Judgement> {
    judge_with(ORACLES, expectation, trial, Phase::Clean)
}

/// For each promise of which a request was repeated in a later life: whether its keys stayed the same. A request without a key is
/// not stable. An intent that has `n` effects in the clean run may have `n` keys.
#[must_use]
pub fn key_stability(expectation: &Expectation, trial: &Trial) -> BTreeMap<String, bool> {
    let mut answer = BTreeMap::new();
    for (index, promise) in expectation.promises().iter().enumerate() {
        let docket = Docket::gather(expectation, index, &trial.ledger);
        for (intent, requests) in &docket.intents {
            let own = docket.known(intent).map_or(1, |known| known.effects as usize);
            let lives: BTreeSet<u32> = requests.iter().map(|request| request.life).collect();
            if requests.len() <= own || lives.len() < 2 {
                continue;
            }
            let keys: BTreeSet<Option<&str>> = requests.iter().map(|request| request.key.as_deref()).collect();
            let stable = !keys.contains(&None) && keys.len() <= own;
            answer.entry(promise.name.clone()).and_modify(|all| *all &= stable).or_insert(stable);
        }
    }
    answer
}

fn judge_with(oracles: &[(&str, Oracle)], expectation: &Expectation, trial: &Trial, phase: Phase) -> Vec<Judgement> {
    let spoiled = validity::objection(trial);
    let mut judgements = Vec::new();
    for (index, promise) in expectation.promises().iter().enumerate() {
        let docket = Docket::gather(expectation, index, &trial.ledger);
        let by = expectation.reconciler(promise).map(|by| Docket::gather(expectation, by, &trial.ledger));
        let gaps: Vec<&Gap> = trial.gaps.iter().filter(|gap| is_gap_of(gap, promise)).collect();
        // What is not there was not done; what cannot be read may have been. A clean run must show that it can be read.
        let blind = gaps.iter().find(|gap| !gap.is_absent || phase == Phase::Clean).map(|gap| gap.reason.clone());
        let spoiled = spoiled.clone().or_else(|| blind.clone());
        for (intent, requests) in docket.judged() {
            let case = Case {
                docket: &docket,
                promise,
                intent,
                expected: promise.counts.get(intent).copied().unwrap_or(promise.count),
                known: docket.known(intent),
                requests,
                settled: by.as_ref().map(|by| Settled::of(by, intent)),
                trial,
                phase,
                accept_declared_unknown: expectation.accept_declared_unknown,
            };
            let mut judgement = judge_case(oracles, &case, spoiled.as_deref());
            let absent = gaps.iter().filter(|gap| gap.is_absent && !judgement.evidence.contains(&gap.reason));
            let absent: Vec<String> = absent.map(|gap| gap.reason.clone()).collect();
            judgement.evidence.extend(absent);
            judgements.push(judgement);
        }
        judgements.extend(unreadable(&docket));
        if let Some(reason) = blind.filter(|_| docket.judged().next().is_none()) {
            judgements.push(unseeable(promise, reason));
        } else if phase == Phase::Clean {
            judgements.extend(unseen(&docket, trial));
        }
    }
    if judgements.is_empty() && trial.end != TrialEnd::Done {
        judgements.extend(whole_trial(expectation, trial, phase, spoiled));
    }
    judgements
}

fn judge_case(oracles: &[(&str, Oracle)], case: &Case<'_>, spoiled: Option<&str>) -> Judgement {
    let mut opinions = match spoiled {
        Some(reason) => vec![Opinion::new(Verdict::Unknown, [reason.to_owned()])],
        None => oracles.iter().filter_map(|(name, oracle)| guarded(name, *oracle, case)).collect(),
    };
    // The worst first, so that its facts are read first; a stable sort keeps the order of the oracles among equals.
    opinions.sort_by_key(|opinion| std::cmp::Reverse(opinion.verdict));
    let verdict = opinions.first().map_or(Verdict::Once, |opinion| opinion.verdict);
    let mut evidence: Vec<String> = opinions.into_iter().flat_map(|opinion| opinion.evidence).collect();
    let explained = catch_unwind(AssertUnwindSafe(|| cause::explain(case, verdict)));
    let explained = explained.unwrap_or_else(|_| Some((Cause::Unexplained, vec!["the search for a cause failed".to_owned()])));
    let (cause, facts) = explained.map_or((None, Vec::new()), |(cause, facts)| (Some(cause), facts));
    for fact in facts {
        if !evidence.contains(&fact) {
            evidence.push(fact);
        }
    }
    evidence.extend(case.given_back());
    if let Some(settled) = case.settled.as_ref().filter(|_| verdict == Verdict::Once && case.wire() != case.observed()) {
        evidence.push(settled::summary(case, settled));
    }
    if verdict == Verdict::Once && case.known.is_none() && case.phase == Phase::Injured {
        evidence.extend(news(case));
    }
    let (promise, intent) = (case.promise.name.clone(), case.intent.to_owned());
    let expected = if case.is_foreign() { "none".to_owned() } else { case.expected.to_string() };
    let on_the_way = Some(case.gross()).filter(|all| *all != case.observed());
    Judgement { promise, intent, verdict, expected, observed: case.observed(), on_the_way, cause, evidence }
}

/// Asks one oracle; a panic becomes an answer that is not a pass.
fn guarded(name: &str, oracle: Oracle, case: &Case<'_>) -> Option<Opinion> {
    catch_unwind(AssertUnwindSafe(|| oracle(case)))
        .unwrap_or_else(|_| Some(Opinion::new(Verdict::Unknown, [format!("the oracle of {name} failed; please report this")])))
}

/// What is to be said of a kept intent that the clean run does not have.
fn news(case: &Case<'_>) -> Vec<String> {
    let mut facts = vec!["the clean run does not have this intent".to_owned()];
    if let Some(missing) = case.docket.missing.first() {
        facts.push(format!("{} of the clean run is missing: intents may not be repeatable between runs", quoted(missing)));
    }
    facts
}

/// One answer for all effects of a promise whose intent cannot be read.
fn unreadable(docket: &Docket<'_>) -> Option<Judgement> {
    let evidence: Vec<String> = docket.unreadable.iter().map(|(request, why)| format!("{}: {why}", named(request))).collect();
    (!evidence.is_empty()).then(|| Judgement {
        promise: docket.promise.name.clone(),
        intent: NO_INTENT.to_owned(),
        verdict: Verdict::Unknown,
        expected: docket.promise.count.to_string(),
        observed: u32::try_from(evidence.len()).unwrap_or(u32::MAX),
        on_the_way: None,
        cause: None,
        evidence,
    })
}

/// Whether effects that a promise is measured by could not be read.
fn is_gap_of(gap: &Gap, promise: &Promise) -> bool {
    gap.promise == promise.name || Some(&gap.promise) == promise.reconciled_by.as_ref()
}

/// The answer for a promise whose effects cannot be read, where no intent of it is known.
fn unseeable(promise: &Promise, reason: String) -> Judgement {
    Judgement {
        promise: promise.name.clone(),
        intent: NO_INTENT.to_owned(),
        verdict: Verdict::Unknown,
        expected: promise.count.to_string(),
        observed: 0,
        on_the_way: None,
        cause: None,
        evidence: vec![reason],
    }
}

/// A promise of at least one effect of which the clean run has none.
fn unseen(docket: &Docket<'_>, trial: &Trial) -> Option<Judgement> {
    let promise = docket.promise;
    let judged = docket.judged().next().is_some() || !docket.unreadable.is_empty();
    if judged || promise.count.at_least == 0 {
        return None;
    }
    let others: BTreeSet<String> =
        trial.ledger.iter().filter(|r| r.had_effect()).map(|r| Endpoint::new(&r.method, &r.path).to_string()).take(5).collect();
    let mut evidence = vec![format!("no effect of the clean run matches {}", promise.endpoint)];
    if !others.is_empty() {
        evidence.push(format!("effects were asked for by {}", others.into_iter().collect::<Vec<_>>().join(", ")));
    }
    evidence.extend(docket.requests().map(|(_, r)| format!("{} was answered {} without an effect", named(r), r.status)).take(3));
    // What is wrong is mostly said by the workflow itself: a module that is not there, an address that was not set.
    evidence.extend(cause::ends_of(&trial.lives));
    evidence.extend(cause::last_output(&trial.lives));
    Some(Judgement {
        promise: promise.name.clone(),
        intent: NO_INTENT.to_owned(),
        verdict: Verdict::Lost,
        expected: promise.count.to_string(),
        observed: 0,
        on_the_way: None,
        cause: Some(Cause::Unexplained),
        evidence,
    })
}

/// What there is to object to in a trial that has no intent to judge.
fn whole_trial(expectation: &Expectation, trial: &Trial, phase: Phase, spoiled: Option<String>) -> Option<Judgement> {
    let name = expectation.promises().first().map_or(NO_PROMISE, |promise| &promise.name);
    let count = Count { at_least: 0, at_most: None };
    let nobody = Promise { count, ..Promise::once(name, Endpoint::new("", "")) };
    let shown = Shown::default();
    let docket = Docket::empty(&nobody, &shown);
    let case = Case {
        docket: &docket,
        promise: &nobody,
        intent: NO_INTENT,
        expected: nobody.count,
        known: None,
        requests: &[],
        settled: None,
        trial,
        phase,
        accept_declared_unknown: expectation.accept_declared_unknown,
    };
    Some(judge_case(ORACLES, &case, spoiled.as_deref())).filter(|judgement| judgement.verdict != Verdict::Once)
}
