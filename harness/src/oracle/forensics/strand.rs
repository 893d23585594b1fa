//! All requests of one effect in several trials, each with its run, life and intent, and the pairs of them that should carry one key.

use super::super::case::Docket;
use super::super::expectation::Expectation;
use crate::model::fault::WireFault;
use crate::model::ledger::{Outcome, Request};
use crate::model::life::Trial;
use crate::model::promise::Promise;

/// One request that asks for a write.
#[derive(Clone, Debug)]
pub(super) struct Sent<'a> {
    /// The index of its trial.
    pub(super) run: usize,
    pub(super) intent: String,
    pub(super) request: &'a Request,
}

impl Sent<'_> {
    /// Who sent it, for people.
    pub(super) fn sender(&self) -> String {
        format!("run {}, life {}, request {}", self.run + 1, self.request.life, self.request.seq)
    }
}

/// All requests of one effect.
#[derive(Clone, Debug)]
pub struct Strand<'a> {
    /// The promise they belong to, which may be made up.
    pub promise: &'a Promise,
    pub(super) sent: Vec<Sent<'a>>,
    /// Intents of which the clean run has more than one effect: several keys are right.
    pub(super) plural: Vec<String>,
}

/// Two requests.
pub(super) type Two<'s, 'a> = (&'s Sent<'a>, &'s Sent<'a>);

/// The requests of each promise in all trials. Requests that only read, and copies that the wire made, are left out.
#[must_use]
pub fn strands<'a>(expectation: &'a Expectation, trials: &[&'a Trial]) -> Vec<Strand<'a>> {
    let promises = expectation.promises().iter().enumerate();
    promises
        .map(|(index, promise)| {
            let mut strand = Strand { promise, sent: Vec::new(), plural: Vec::new() };
            for (run, trial) in trials.iter().enumerate() {
                let docket = Docket::gather(expectation, index, &trial.ledger);
                for (intent, requests) in &docket.intents {
                    if docket.known(intent).is_some_and(|known| known.effects > 1) && !strand.plural.contains(intent) {
                        strand.plural.push(intent.clone());
                    }
                    let own = requests
                        .iter()
                        .enumerate()
                        .filter(|(at, request)| request.outcome != Outcome::Read && !is_copy(request, &requests[..*at]));
                    strand.sent.extend(own.map(|(_, request)| Sent { run, intent: intent.clone(), request }));
                }
            }
            strand.sent.sort_by_key(|sent| (sent.run, sent.request.seq));
            strand
        })
        .collect()
}

/// Whether the wire made the request by delivering an earlier one twice.
fn is_copy(request: &Request, earlier: &[&Request]) -> bool {
    let twice = WireFault::Duplicate.to_string();
    let is_twice = |one: &Request| one.fault.as_deref() == Some(twice.as_str());
    is_twice(request) && earlier.iter().any(|one| is_twice(one) && one.life == request.life)
}

/// Whether an answer says for sure that nothing happened and that the same request would be refused again: then a new key is right.
fn is_settled(request: &Request) -> bool {
    request.outcome == Outcome::Rejected && (400..500).contains(&request.status) && !matches!(request.status, 409 | 429)
}

impl<'a> Strand<'a> {
    /// All its requests.
    pub fn requests(&self) -> impl Iterator<Item = &'a Request> + '_ {
        self.sent.iter().map(|sent| sent.request)
    }

    /// Requests for one intent in a row in one life.
    pub(super) fn attempts(&self) -> Vec<Two<'_, 'a>> {
        let near = |one: &Sent<'_>, other: &Sent<'_>| one.request.life == other.request.life;
        self.rows().into_iter().flat_map(|row| neighbours(&row)).filter(|(one, other)| near(one, other)).collect()
    }

    /// The last request for an intent in one life and the first in a later one.
    pub(super) fn lives(&self) -> Vec<Two<'_, 'a>> {
        let far = |one: &Sent<'_>, other: &Sent<'_>| one.request.life != other.request.life;
        self.rows().into_iter().flat_map(|row| neighbours(&row)).filter(|(one, other)| far(one, other)).collect()
    }

    /// The first requests for an intent in two runs.
    pub(super) fn runs(&self) -> Vec<Two<'_, 'a>> {
        let rows = self.rows();
        let firsts: Vec<&Sent<'a>> = rows.iter().filter_map(|row| row.first().copied()).collect();
        let second = |at: usize| firsts[at + 1..].iter().copied().find(|other| other.intent == firsts[at].intent);
        (0..firsts.len()).filter_map(|at| Some((firsts[at], second(at)?))).collect()
    }

    /// The requests of each run and intent that one key is meant for, in order.
    fn rows(&self) -> Vec<Vec<&Sent<'a>>> {
        let mut rows: Vec<Vec<&Sent<'a>>> = Vec::new();
        for sent in self.sent.iter().filter(|sent| !self.plural.contains(&sent.intent)) {
            match rows.iter_mut().find(|row| row[0].run == sent.run && row[0].intent == sent.intent) {
                Some(row) => row.push(sent),
                None => rows.push(vec![sent]),
            }
        }
        rows
    }
}

fn neighbours<'s, 'a>(row: &[&'s Sent<'a>]) -> Vec<Two<'s, 'a>> {
    let pairs = row.windows(2).map(|two| (two[0], two[1]));
    pairs.filter(|(one, _)| !is_settled(one.request)).collect()
}
