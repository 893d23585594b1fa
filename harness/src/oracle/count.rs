//! The oracle of counts: more or fewer effects of an intent than promised.

use super::case::{Case, Opinion, Phase, named, quoted};
use super::expectation::amount_of;
use super::settled;
use crate::model::ledger::Request;
use crate::model::life::TrialEnd;
use crate::model::promise::IntentSource;
use crate::model::verdict::Verdict;

/// Objects to a count outside of the promise's bounds.
pub(super) fn judge(case: &Case<'_>) -> Option<Opinion> {
    if case.is_foreign() {
        return Some(foreign(case));
    }
    let observed = case.wire();
    if let Some(settled) = case.settled.as_ref().filter(|_| observed >= case.expected.at_least) {
        return settled::judge(case, settled);
    }
    if case.expected.at_most.is_some_and(|most| observed > most) {
        return Some(more(case));
    }
    (observed < case.expected.at_least).then(|| fewer(case))
}

/// More effects than promised: diverged where they ask for different things. A declared amount alone decides what is different;
/// without one it is everything in the request that is not volatile.
fn more(case: &Case<'_>) -> Opinion {
    let effects = case.rivals();
    if let Some(opinion) = loose(case) {
        return opinion;
    }
    let did = if case.promise.endpoint.is_request() { "had an effect" } else { "is for it" };
    let mut evidence: Vec<String> = effects.iter().map(|effect| format!("{} {did}", named(effect))).collect();
    let difference = if case.promise.amount.is_some() {
        let amounts: Vec<String> =
            effects.iter().map(|effect| amount_of(case.promise, effect).unwrap_or_else(|_| "none".to_owned())).collect();
        let differ = amounts.iter().any(|amount| *amount != amounts[0]);
        differ.then(|| format!("their amounts differ: {}", amounts.join(", ")))
    } else {
        case.difference(&effects)
    };
    if case.phase == Phase::Clean && case.promise.intent == IntentSource::Auto {
        evidence.push("hint: say where the intent of a request stands, if these are different intents".to_owned());
    }
    let verdict = if difference.is_some() { Verdict::Diverged } else { Verdict::Duplicated };
    evidence.extend(difference);
    Opinion::new(verdict, evidence)
}

/// Whether something was given back of which the ledger does not say whose it is, so that it cannot be told what is left.
fn loose(case: &Case<'_>) -> Option<Opinion> {
    let loose = &case.docket.returns.loose;
    let too_many = case.wire().saturating_sub(case.expected.at_most.unwrap_or(u32::MAX));
    let may_be_right = !loose.is_empty() && loose.len() >= too_many as usize;
    may_be_right.then(|| {
        let fact = |request: &&Request| format!("{} gives back something that no request of the ledger made", named(request));
        Opinion::new(Verdict::Unknown, loose.iter().map(fact))
    })
}

fn fewer(case: &Case<'_>) -> Opinion {
    let unreadable = case.docket.unreadable.len();
    match &case.trial.end {
        TrialEnd::DeclaredUnknown if case.accept_declared_unknown && case.phase == Phase::Injured => {
            return Opinion::new(Verdict::DeclaredUnknown, []);
        }
        TrialEnd::Stuck { .. } => return Opinion::new(Verdict::Stuck, []),
        _ => {}
    }
    if unreadable > 0 {
        let fact = format!("{unreadable} effect(s) of {} have no readable intent; this one may be among them", case.promise.name);
        return Opinion::new(Verdict::Unknown, [fact]);
    }
    if case.known.is_some_and(|known| known.vanishes) {
        let fact = "the intent is in one clean run and not in the other, so it cannot be told whether it is missing".to_owned();
        return Opinion::new(Verdict::Unknown, [fact]);
    }
    let mut evidence = Vec::new();
    if let Some(first) = case.docket.strangers.first() {
        evidence.push(format!(
            "the clean run does not have the intent {}, which has an effect here: intents may not be repeatable between runs",
            quoted(first)
        ));
        if case.promise.intent == IntentSource::Auto {
            evidence.push("hint: say where the intent of a request stands, or run the uninjured workflow twice".to_owned());
            return Opinion::new(Verdict::Unknown, evidence);
        }
    }
    if case.trial.end == TrialEnd::DeclaredUnknown && !case.accept_declared_unknown {
        evidence
            .push("the workflow says that it does not know whether it happened; the scenario does not accept that".to_owned());
    }
    Opinion::new(Verdict::Lost, evidence)
}

/// An effect that the clean run does not have, told apart only by a body. Where the promise has more effects than in the clean
/// run, one of them is too many, whatever it is called; otherwise it may stand for one that is missing.
fn foreign(case: &Case<'_>) -> Opinion {
    let docket = case.docket;
    let effects = docket.requests().filter(|(_, request)| docket.returns.stands(request)).count() + docket.unreadable.len();
    let clean = docket.shown.effects();
    if u32::try_from(effects).unwrap_or(u32::MAX) > clean {
        let mut opinion = more(case);
        opinion.verdict = Verdict::Diverged;
        opinion.evidence.push(format!("the clean run has {clean} effect(s) of {}, this trial {effects}", case.promise.name));
        return opinion;
    }
    let missing = docket.missing.first().map(|intent| format!("; {} is missing instead", quoted(intent)));
    let fact = format!("the clean run does not have this intent{}", missing.unwrap_or_default());
    let hint = "hint: say where the intent of a request stands, or run the uninjured workflow twice".to_owned();
    Opinion::new(Verdict::Unknown, [fact, hint])
}
