//! What counts in the end: a promise with `reconciled_by` may have more effects than promised on the way, and another promise shows
//! how many there are after the reconciler.

use super::case::{Case, Docket, Opinion, named};
use crate::model::ledger::Request;
use crate::model::promise::Promise;
use crate::model::verdict::{Cause, Verdict};

/// The effects that count in the end for one intent.
pub(super) struct Settled<'a> {
    /// The promise they belong to.
    pub(super) by: &'a Promise,
    pub(super) effects: Vec<&'a Request>,
    /// How many of its effects name no intent.
    pub(super) unreadable: usize,
}

impl<'a> Settled<'a> {
    /// Those of the promise that reconciles.
    pub(super) fn of(docket: &Docket<'a>, intent: &str) -> Self {
        let own = docket.requests().filter(|(other, request)| *other == intent && docket.returns.stands(request));
        Self { by: docket.promise, effects: own.map(|(_, request)| request).collect(), unreadable: docket.unreadable.len() }
    }

    /// How many there are.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.effects.len()).unwrap_or(u32::MAX)
    }
}

/// Objects where what is there in the end is not what was promised. Asked only where there was enough on the way.
pub(super) fn judge(case: &Case<'_>, settled: &Settled<'_>) -> Option<Opinion> {
    let (count, expected) = (settled.count(), case.expected);
    let verdict = if expected.at_most.is_some_and(|most| count > most) {
        Verdict::Duplicated
    } else if count < expected.at_least && settled.unreadable > 0 {
        let fact = format!(
            "{} effect(s) of {} have no readable intent; this one may be among them",
            settled.unreadable, settled.by.name
        );
        return Some(Opinion::new(Verdict::Unknown, [fact]));
    } else if count < expected.at_least {
        Verdict::Lost
    } else {
        return None;
    };
    Some(Opinion::new(verdict, [summary(case, settled)]))
}

/// How many there were on the way, and how many there are in the end.
pub(super) fn summary(case: &Case<'_>, settled: &Settled<'_>) -> String {
    let list = |requests: &[&Request]| match requests {
        [] => String::new(),
        some => format!(" ({})", some.iter().map(|request| named(request)).collect::<Vec<_>>().join(", ")),
    };
    let wire = case.effects();
    format!(
        "{} on the way{}; in the end {} of `{}`{}",
        wire.len(),
        list(&wire),
        settled.count(),
        settled.by.name,
        list(&settled.effects)
    )
}

/// Why it is not as promised in the end, where the requests on the way do not say it.
pub(super) fn explain(case: &Case<'_>, verdict: Verdict) -> Option<(Cause, Vec<String>)> {
    let settled = case.settled.as_ref()?;
    let enough = case.wire() >= case.expected.at_least;
    match verdict {
        Verdict::Duplicated if case.wire() <= 1 => Some((Cause::NotUnique, Vec::new())),
        Verdict::Lost if enough && settled.count() < case.expected.at_least => Some((Cause::Unexplained, Vec::new())),
        _ => None,
    }
}
