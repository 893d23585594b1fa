//! What the clean runs show: the promises, their intents with counts and amounts, and what in a request is volatile.
//! It judges nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::intent::{self, Unreadable};
use super::net::Returns;
use super::volatile::Mask;
use crate::model::ledger::Request;
use crate::model::promise::{Count, Endpoint, Promise};

/// What a trial is measured against. See [`expect`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    promises: Vec<Promise>,
    /// What the clean runs show of each promise, in the same order.
    pub(super) shown: Vec<Shown>,
    /// Whether the promises were made up from the clean run.
    pub(super) made_up: bool,
    pub(super) accept_declared_unknown: bool,
}

/// What the clean runs show of one promise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Shown {
    /// Its intents, in order of their first effect.
    pub(super) intents: Vec<ShownIntent>,
    pub(super) mask: Mask,
}

/// What the clean runs show of one intent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ShownIntent {
    pub(super) intent: String,
    /// How many effects it had.
    pub(super) effects: u32,
    /// The amount of each effect, sorted; `None` where it could not be read.
    pub(super) amounts: Vec<Option<String>>,
    /// Whether a second clean run showed another set of amounts.
    pub(super) amounts_vary: bool,
    /// Whether a second clean run did not have this intent.
    pub(super) vanishes: bool,
}

/// Learns from the ledgers of uninjured runs what a trial must show. The first ledger gives the intents, counts and amounts; the
/// second, where there is one, shows what differs between runs that nobody injured. Without promises one is made up for each
/// effect of the first ledger: every intent as often as there, and exactly once where the clean run does not have it.
///
/// A workflow's own declaration that it does not know is accepted unless [`Expectation::accepting_declared_unknown`] says
/// otherwise.
#[must_use]
pub fn expect(promises: &[Promise], clean: &[Vec<Request>]) -> Expectation {
    let made_up = promises.is_empty();
    let first = clean.first().map(Vec::as_slice).unwrap_or_default();
    let promises = if made_up { make_up(first) } else { promises.to_vec() };
    let mut expectation = Expectation { shown: Vec::new(), promises, made_up, accept_declared_unknown: true };
    for index in 0..expectation.promises.len() {
        let runs: Vec<Vec<&Request>> = clean.iter().take(2).map(|ledger| expectation.effects_of(index, ledger)).collect();
        let shown = Shown::learn(&expectation.promises[index], &runs);
        if made_up {
            let unusual = shown.intents.iter().filter(|known| known.effects != 1);
            let counts = unusual.map(|known| (known.intent.clone(), Count::exactly(known.effects))).collect();
            expectation.promises[index].counts = counts;
        }
        expectation.shown.push(shown);
    }
    expectation
}

impl Expectation {
    /// The promises, as given or as made up.
    #[must_use]
    pub fn promises(&self) -> &[Promise] {
        &self.promises
    }

    /// Says whether a workflow may end by declaring that it does not know whether its effect happened.
    #[must_use]
    pub fn accepting_declared_unknown(mut self, accept: bool) -> Self {
        self.accept_declared_unknown = accept;
        self
    }

    /// The intent of a request that `promise` is about; `None` where it cannot be read.
    #[must_use]
    pub fn intent_of(&self, promise: &Promise, request: &Request) -> Option<String> {
        let index = self.promises.iter().position(|own| own.name == promise.name && own.endpoint == promise.endpoint);
        let unlearned = Mask::default();
        let mask = index.and_then(|index| self.shown.get(index)).map_or(&unlearned, |shown| &shown.mask);
        intent::read(promise, mask, request).ok()
    }

    /// The promise a request belongs to: the first one whose endpoint it goes to.
    pub(super) fn promise_of(&self, request: &Request) -> Option<usize> {
        self.promises.iter().position(|promise| {
            if self.made_up { promise.name == request.effect } else { promise.endpoint.matches(&request.method, &request.path) }
        })
    }

    /// The promise whose effects count in the end for another one.
    pub(super) fn reconciler(&self, promise: &Promise) -> Option<usize> {
        let by = promise.reconciled_by.as_ref()?;
        self.promises.iter().position(|own| own.name == *by)
    }

    fn effects_of<'a>(&self, index: usize, ledger: &'a [Request]) -> Vec<&'a Request> {
        let returns = Returns::find(&self.promises[index], ledger);
        let own = |request: &&Request| returns.stands(request) && self.promise_of(request) == Some(index);
        let mut effects: Vec<&Request> = ledger.iter().filter(own).collect();
        effects.sort_by_key(|request| request.seq);
        effects
    }

    /// With made-up promises also for the effects that only a trial has: every intent that is seen is promised exactly once.
    pub(super) fn widened(&self, ledger: &[Request]) -> Self {
        let mut wider = self.clone();
        if self.made_up {
            let new: Vec<Request> = ledger.iter().filter(|request| self.promise_of(request).is_none()).cloned().collect();
            for promise in make_up(&new) {
                wider.promises.push(promise);
                wider.shown.push(Shown::default());
            }
        }
        wider
    }
}

impl Shown {
    fn learn(promise: &Promise, runs: &[Vec<&Request>]) -> Self {
        let first = runs.first().map(Vec::as_slice).unwrap_or_default();
        let second = runs.get(1).map(Vec::as_slice);
        let mask = Mask::learn(&promise.endpoint, first, second);
        let mut intents = intents_of(promise, &mask, first);
        if let Some(second) = second {
            let others = intents_of(promise, &mask, second);
            for known in &mut intents {
                let other = others.iter().find(|other| other.intent == known.intent);
                known.vanishes = other.is_none();
                known.amounts_vary = other.is_some_and(|other| other.amounts != known.amounts);
            }
        }
        Self { intents, mask }
    }

    /// Effects of all intents in the clean run.
    pub(super) fn effects(&self) -> u32 {
        self.intents.iter().map(|known| known.effects).sum()
    }
}

fn intents_of(promise: &Promise, mask: &Mask, effects: &[&Request]) -> Vec<ShownIntent> {
    let mut intents: Vec<ShownIntent> = Vec::new();
    let mut index_of: BTreeMap<String, usize> = BTreeMap::new();
    for request in effects {
        let Ok(intent) = intent::read(promise, mask, request) else { continue };
        let index = *index_of.entry(intent.clone()).or_insert_with(|| {
            let fresh = ShownIntent { intent, effects: 0, amounts: Vec::new(), amounts_vary: false, vanishes: false };
            intents.push(fresh);
            intents.len() - 1
        });
        intents[index].effects += 1;
        if promise.amount.is_some() {
            intents[index].amounts.push(amount_of(promise, request).ok());
        }
    }
    for known in &mut intents {
        known.amounts.sort();
    }
    intents
}

/// The declared amount of a request, as text.
pub(super) fn amount_of(promise: &Promise, request: &Request) -> Result<String, Unreadable> {
    let path = promise.amount.as_deref().ok_or_else(|| Unreadable("no amount is declared".to_owned()))?;
    let node = intent::first_node(path, &request.body)?;
    node.map(intent::text).ok_or_else(|| Unreadable(format!("{path} is not in the body")))
}

/// One promise for each effect, in order of appearance. Where paths of one effect differ in a segment, that segment is open.
fn make_up(ledger: &[Request]) -> Vec<Promise> {
    let mut effects: Vec<&Request> = ledger.iter().filter(|request| request.had_effect()).collect();
    effects.sort_by_key(|request| request.seq);
    let mut promises: Vec<Promise> = Vec::new();
    for request in effects {
        match promises.iter_mut().find(|promise| promise.name == request.effect) {
            Some(promise) => promise.endpoint.path = open_segments(&promise.endpoint.path, &request.path),
            None => promises.push(Promise::once(&request.effect, Endpoint::new(&request.method, &request.path))),
        }
    }
    promises
}

fn open_segments(own: &str, other: &str) -> String {
    if own.split('/').count() != other.split('/').count() {
        return own.to_owned();
    }
    let segments = own.split('/').zip(other.split('/')).map(|(own, other)| if own == other { own } else { "*" });
    segments.collect::<Vec<_>>().join("/")
}
