//! Why a promise was broken, from what the ledger and the lives show; each cause names what to mend.
//!
//! Effects that differ (`diverged`) are still put down to a missing or changed key first: with one key for the intent the second
//! request would have been refused. Only where the key follows the request, or is the same, is it the request that changed.

use std::collections::BTreeSet;

use super::case::{Case, named, quoted};
use super::forensics;
use super::key::{self, Change};
use super::volatile::raw_differences;
use crate::model::ledger::{Outcome, Request};
use crate::model::life::{Life, LifeEnd, TrialEnd};
use crate::model::promise::Endpoint;
use crate::model::verdict::{Cause, Verdict};

/// The cause of a broken promise with its facts; `None` where the verdict accuses nobody.
pub(super) fn explain(case: &Case<'_>, verdict: Verdict) -> Option<(Cause, Vec<String>)> {
    if let Some(found) = super::settled::explain(case, verdict) {
        return Some(found);
    }
    match verdict {
        Verdict::Duplicated | Verdict::Diverged if !case.promise.endpoint.is_request() => Some((Cause::NotUnique, Vec::new())),
        Verdict::Duplicated | Verdict::Diverged if case.promise.endpoint.method == Endpoint::MAIL => {
            Some((Cause::NotKeyable, mails(&case.rivals())))
        }
        Verdict::Duplicated | Verdict::Diverged => Some(repeated(case, verdict)),
        Verdict::Lost => Some(lost(case)),
        Verdict::Stuck => Some(stuck(case)),
        Verdict::WrongAmount => Some((Cause::RequestChanged, keys_of(&case.effects()))),
        Verdict::Overlap => Some((Cause::Unexplained, Vec::new())),
        Verdict::Once | Verdict::DeclaredUnknown | Verdict::Unknown => None,
    }
}

/// Who sent which key, one sentence; requests of one life are told apart by number.
fn keys_of(effects: &[&Request]) -> Vec<String> {
    let alone = |request: &Request| effects.iter().filter(|other| other.life == request.life).count() == 1;
    let each = effects.iter().map(|effect| {
        let who =
            if alone(effect) { format!("life {}", effect.life) } else { format!("life {}, request {}", effect.life, effect.seq) };
        match &effect.key {
            Some(key) => format!("{who}: key {}", quoted(key)),
            None => format!("{who} sent no idempotency key"),
        }
    });
    if effects.is_empty() { Vec::new() } else { vec![each.collect::<Vec<_>>().join("; ")] }
}

/// By which of its own names each mail can be told from the others.
fn mails(effects: &[&Request]) -> Vec<String> {
    let id = |mail: &Request| mail.body.get("message_id").and_then(serde_json::Value::as_str).map(str::to_owned);
    let each = effects.iter().map(|mail| match id(mail) {
        Some(id) => format!("the mail of life {} has Message-ID {}", mail.life, quoted(&id)),
        None => format!("the mail of life {} has no Message-ID", mail.life),
    });
    let mut evidence = vec![each.collect::<Vec<_>>().join("; ")];
    let ids: BTreeSet<Option<String>> = effects.iter().map(|mail| id(mail)).collect();
    evidence.push(match ids.len() {
        1 if !ids.contains(&None) => {
            "the same in each life: a receiver may know the second one by it, no mail server does".to_owned()
        }
        _ => "so that nobody can know the second one for the same mail".to_owned(),
    });
    evidence
}

fn repeated(case: &Case<'_>, verdict: Verdict) -> (Cause, Vec<String>) {
    let effects = case.rivals();
    let mut evidence = keys_of(&effects);
    let keys: Vec<&str> = effects.iter().filter_map(|effect| effect.key.as_deref()).collect();
    if keys.is_empty() {
        return (Cause::NoKey, evidence);
    }
    if keys.len() < effects.len() {
        return (Cause::KeyNotAlways, evidence);
    }
    let distinct: BTreeSet<&str> = keys.iter().copied().collect();
    let allowed = case.expected.at_most.unwrap_or(1).max(1) as usize;
    let changed = keys.iter().position(|key| *key != keys[0]).filter(|_| distinct.len() > allowed);
    let Some(changed) = changed else {
        if verdict == Verdict::Diverged {
            evidence.push("the key is the same, what is asked for is not".to_owned());
            return (Cause::RequestChanged, evidence);
        }
        evidence.push("the same key was executed again: the server no longer knew it".to_owned());
        return (Cause::KeyForgotten, evidence);
    };
    let change = key::change(keys[0], keys[changed]);
    if verdict == Verdict::Diverged && !change.is_own_doing() {
        evidence.push("the key changes along with what is asked for".to_owned());
        return (Cause::RequestChanged, evidence);
    }
    let agent = effects[0].headers.get("user-agent").map(String::as_str);
    let by_sdk = key::sdk(keys[0], agent).filter(|name| key::sdk(keys[changed], agent) == Some(*name));
    match by_sdk.filter(|_| !key::are_hashes(keys[0], keys[changed])) {
        Some(name) => evidence.push(format!(
            "the keys differ: they are the SDK's own random keys, made by {name} for each call; its own repeats keep one, a restart makes another"
        )),
        None => evidence.push(format!("the keys differ: {}", change.meaning())),
    }
    if let Some((one, other)) =
        forensics::marked(keys[0], keys[changed]).filter(|(one, _)| !one.starts_with('[') || !one.ends_with(']'))
    {
        evidence.push(format!("they differ in the part in brackets: {} and {}", quoted(&one), quoted(&other)));
    }
    let places = raw_differences(&case.promise.endpoint, effects[0], effects[changed]);
    if change == Change::Opaque && !places.is_empty() {
        let list: Vec<String> =
            places.iter().take(3).map(|place| if place.is_empty() { "body".into() } else { place.clone() }).collect();
        evidence.push(format!("the requests differ in {}; a key made from the whole request follows that", list.join(", ")));
    }
    (Cause::KeyChanged, evidence)
}

fn lost(case: &Case<'_>) -> (Cause, Vec<String>) {
    // A refused request for something nobody else is waiting for may well have been meant for this intent.
    if let Some(found) = key_reused(case, |intent| !case.docket.is_required(intent)).or_else(|| key_too_coarse(case)) {
        return found;
    }
    let done = case.trial.end == TrialEnd::Done;
    let unanswered = case.requests.last().filter(|request| request.outcome == Outcome::Received);
    if let Some(request) = unanswered.filter(|_| done) {
        let fact = format!("{} had arrived but was not executed when the life ended; it never came again", named(request));
        return (Cause::NotRetried, vec![fact]);
    }
    // A repetition that was answered with the intent's own earlier effect asks for nothing more.
    let effects = case.effects();
    let repeats = |request: &Request| request.outcome == Outcome::Replayed && effects.iter().any(|own| own.key == request.key);
    let all_done = case.requests.iter().all(|request| request.had_effect() || repeats(request));
    if done && all_done && case.docket.strangers.is_empty() && case.trial.lives.len() > 1 {
        let last = case.trial.lives.last().map(|life| format!("; life {} {}", life.number, end_of(life))).unwrap_or_default();
        let fact = match effects.len() {
            0 if !case.promise.endpoint.is_request() => format!("none of the {} is for it{last}", case.promise.endpoint),
            0 => format!("no life's request for it arrived{last}"),
            some => format!("it was asked for {some} time(s) where {} is promised{last}", case.expected),
        };
        return (Cause::RecordedBeforeDone, vec![fact]);
    }
    (Cause::Unexplained, refusals(case))
}

fn stuck(case: &Case<'_>) -> (Cause, Vec<String>) {
    let mut ends = ends_of(&case.trial.lives);
    ends.extend(last_output(&case.trial.lives));
    if let Some((cause, mut evidence)) = key_reused(case, |_| true) {
        evidence.extend(ends);
        return (cause, evidence);
    }
    ends.splice(0..0, refusals(case));
    let last = case.trial.lives.iter().rev().find(|life| life.end != LifeEnd::Killed);
    let cause = match last.map(|life| &life.end) {
        Some(LifeEnd::TimedOut | LifeEnd::LimitHit { .. }) => Cause::ResumeHangs,
        Some(LifeEnd::Exited { .. } | LifeEnd::Signalled { .. }) => Cause::ResumeFails,
        _ => Cause::Unexplained,
    };
    (cause, ends)
}

/// A key that came again with another request and was refused: for the intent, or else for another one of its promise.
fn key_reused(case: &Case<'_>, other: impl Fn(&str) -> bool) -> Option<(Cause, Vec<String>)> {
    let refused = |request: &&Request| request.outcome == Outcome::Mismatch;
    let own = case.requests.iter().copied().find(refused);
    let mut others = case.docket.requests().filter(|(intent, _)| other(intent)).map(|(_, request)| request);
    let request = own.or_else(|| others.find(refused))?;
    let key = request.key.as_deref().unwrap_or_default();
    let mut evidence = vec![format!(
        "{} was answered {}: key {} had been used for another request",
        named(request),
        request.status,
        quoted(key)
    )];
    let first =
        case.docket.requests().find(|(_, other)| other.key == request.key && other.seq < request.seq && other.had_effect());
    if let Some((intent, first)) = first {
        let places = case.docket.shown.mask.differences(&case.promise.endpoint, first, request);
        let raw = raw_differences(&case.promise.endpoint, first, request);
        let place = places.first().or(raw.first()).map(|place| format!("; they differ in {place}")).unwrap_or_default();
        evidence.push(format!("first used by {} for {}{place}", named(first), quoted(intent)));
    }
    Some((Cause::KeyReused, evidence))
}

/// A request that was answered with the effect of another intent, because both carry one key.
fn key_too_coarse(case: &Case<'_>) -> Option<(Cause, Vec<String>)> {
    let mut swallowed = case.requests.iter().filter(|request| request.outcome == Outcome::Replayed && request.key.is_some());
    swallowed.find_map(|request| {
        let mut executed = case.docket.requests().filter(|(_, other)| other.had_effect() && other.key == request.key);
        let (intent, first) = executed.find(|(intent, _)| *intent != case.intent)?;
        let fact = format!(
            "{} was answered with the effect of {}, which was for {}: both carry key {}",
            named(request),
            named(first),
            quoted(intent),
            quoted(request.key.as_deref().unwrap_or_default())
        );
        Some((Cause::KeyTooCoarse, vec![fact]))
    })
}

/// Requests of the intent that had no effect, with what became of them.
fn refusals(case: &Case<'_>) -> Vec<String> {
    let without = case.requests.iter().filter_map(|request| {
        let what = match request.outcome {
            Outcome::Received => "was not executed".to_owned(),
            Outcome::Conflict => {
                format!("was answered {}: its key was in use by a request that was not finished", request.status)
            }
            Outcome::Rejected => format!("was refused with {}", request.status),
            Outcome::Replayed => format!("was answered {} from an earlier request with its key", request.status),
            Outcome::Executed | Outcome::Mismatch | Outcome::Read => return None,
        };
        Some(format!("{} {what}", named(request)))
    });
    without.take(3).collect()
}

fn end_of(life: &Life) -> String {
    match &life.end {
        LifeEnd::Exited { code } => format!("exited with code {code}"),
        LifeEnd::Signalled { signal } => format!("died of its own signal {signal}"),
        LifeEnd::Killed => "was killed at its point".to_owned(),
        LifeEnd::KilledFromOutside => "was killed from outside".to_owned(),
        LifeEnd::TimedOut => "did not end within its time".to_owned(),
        LifeEnd::LimitHit { limit } => format!("was ended at a limit: {limit}"),
        LifeEnd::Interrupted => "was interrupted".to_owned(),
        LifeEnd::Failed { reason } => format!("could not be run: {reason}"),
    }
}

/// How the lives ended, lives in a row that ended alike taken together.
pub(super) fn ends_of(lives: &[Life]) -> Vec<String> {
    let groups = lives.chunk_by(|one, next| one.end == next.end);
    let each = groups.filter_map(|group| {
        let (first, last) = (group.first()?, group.last()?);
        let who = if group.len() == 1 {
            let what = if first.reconciles { ", the reconciler," } else { "" };
            format!("life {}{what}", first.number)
        } else {
            format!("lives {} to {}", first.number, last.number)
        };
        Some(format!("{who} {}", end_of(first)))
    });
    let ends = each.collect::<Vec<_>>().join("; ");
    if ends.is_empty() { Vec::new() } else { vec![ends] }
}

/// The last line that the last life with output wrote.
pub(super) fn last_output(lives: &[Life]) -> Option<String> {
    lives.iter().rev().find_map(|life| {
        let line = life.output_tail.iter().rev().find(|line| !line.trim().is_empty())?;
        Some(format!("the last line of life {}: {}", life.number, quoted(line.trim())))
    })
}
