//! What an oracle is shown: one intent of one promise in one trial, with all requests that came for it. It judges nothing.

use std::collections::BTreeMap;

use super::expectation::{Expectation, Shown, ShownIntent};
use super::intent;
use super::net::Returns;
use super::settled::Settled;
use super::volatile::Place;
use crate::model::ledger::Request;
use crate::model::life::Trial;
use crate::model::limits::QUOTE_MAX_CHARS;
use crate::model::promise::{Count, Endpoint, IntentSource, Promise};
use crate::model::verdict::Verdict;

/// What one oracle says of a case it objects to. An oracle without objection says nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Opinion {
    pub(super) verdict: Verdict,
    /// The facts, one sentence each.
    pub(super) evidence: Vec<String>,
}

impl Opinion {
    pub(super) fn new(verdict: Verdict, evidence: impl IntoIterator<Item = String>) -> Self {
        Self { verdict, evidence: evidence.into_iter().collect() }
    }
}

/// Whether a trial is judged or the clean run itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Clean,
    Injured,
}

/// Every request of a trial that belongs to one promise, by intent.
pub(super) struct Docket<'a> {
    pub(super) promise: &'a Promise,
    pub(super) shown: &'a Shown,
    /// The intents in order: of the clean run, named in `counts`, seen only in this trial.
    pub(super) intents: Vec<(String, Vec<&'a Request>)>,
    /// Effects whose intent cannot be read, and why not.
    pub(super) unreadable: Vec<(&'a Request, String)>,
    /// Intents with an effect in this trial that neither the clean run nor the promise knows.
    pub(super) strangers: Vec<String>,
    /// Intents of the clean run that have no effect in this trial.
    pub(super) missing: Vec<String>,
    /// What was given back.
    pub(super) returns: Returns<'a>,
    known: BTreeMap<&'a str, &'a ShownIntent>,
}

/// One intent of one promise in one trial.
pub(super) struct Case<'a> {
    pub(super) docket: &'a Docket<'a>,
    pub(super) promise: &'a Promise,
    pub(super) intent: &'a str,
    /// How many effects it must have.
    pub(super) expected: Count,
    /// What the clean run shows of it.
    pub(super) known: Option<&'a ShownIntent>,
    /// Every request for it, in order of arrival, whatever became of it.
    pub(super) requests: &'a [&'a Request],
    /// What counts in the end, where another promise says that.
    pub(super) settled: Option<Settled<'a>>,
    pub(super) trial: &'a Trial,
    pub(super) phase: Phase,
    pub(super) accept_declared_unknown: bool,
}

impl<'a> Docket<'a> {
    /// Gathers the requests that belong to the promise at `index`.
    pub(super) fn gather(expectation: &'a Expectation, index: usize, ledger: &'a [Request]) -> Self {
        let (promise, shown) = (&expectation.promises()[index], &expectation.shown[index]);
        let mut own: Vec<&Request> = ledger.iter().filter(|request| expectation.promise_of(request) == Some(index)).collect();
        own.sort_by_key(|request| request.seq);
        let mut docket = Self { returns: Returns::find(promise, ledger), ..Self::empty(promise, shown) };
        let required = shown.intents.iter().map(|known| &known.intent).chain(promise.counts.keys());
        let mut index_of: BTreeMap<String, usize> = BTreeMap::new();
        for intent in required {
            docket.slot(&mut index_of, intent.clone());
        }
        for request in own {
            match intent::read(promise, &shown.mask, request) {
                Ok(intent) => docket.slot(&mut index_of, intent).push(request),
                Err(reason) if docket.returns.stands(request) => docket.unreadable.push((request, reason.0)),
                Err(_) => {}
            }
        }
        for (intent, requests) in &docket.intents {
            match requests.iter().any(|request| docket.returns.stands(request)) {
                true if !docket.is_required(intent) => docket.strangers.push(intent.clone()),
                false if docket.known.contains_key(intent.as_str()) => docket.missing.push(intent.clone()),
                _ => {}
            }
        }
        docket
    }

    /// A docket without requests.
    pub(super) fn empty(promise: &'a Promise, shown: &'a Shown) -> Self {
        let known = shown.intents.iter().map(|known| (known.intent.as_str(), known)).collect();
        let (intents, unreadable, strangers, missing) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { promise, shown, intents, unreadable, strangers, missing, returns: Returns::default(), known }
    }

    /// What the clean run shows of an intent.
    pub(super) fn known(&self, intent: &str) -> Option<&'a ShownIntent> {
        self.known.get(intent).copied()
    }

    fn slot(&mut self, index_of: &mut BTreeMap<String, usize>, intent: String) -> &mut Vec<&'a Request> {
        let intents = &mut self.intents;
        let index = *index_of.entry(intent.clone()).or_insert_with(|| {
            intents.push((intent, Vec::new()));
            intents.len() - 1
        });
        &mut self.intents[index].1
    }

    /// Intents that must be there, and those that had an effect without being required.
    pub(super) fn judged(&'a self) -> impl Iterator<Item = (&'a str, &'a [&'a Request])> {
        self.intents
            .iter()
            .map(|(intent, requests)| (intent.as_str(), requests.as_slice()))
            .filter(|(intent, requests)| self.is_required(intent) || requests.iter().any(|request| self.returns.stands(request)))
    }

    /// Whether the intent must be there: the clean run or the promise knows it.
    pub(super) fn is_required(&self, intent: &str) -> bool {
        self.known.contains_key(intent) || self.promise.counts.contains_key(intent)
    }

    /// All requests with a readable intent, with it.
    pub(super) fn requests(&self) -> impl Iterator<Item = (&str, &'a Request)> {
        self.intents.iter().flat_map(|(intent, list)| list.iter().map(move |request| (intent.as_str(), *request)))
    }
}

impl<'a> Case<'a> {
    /// The effects of the intent, without those that were given back whole.
    pub(super) fn effects(&self) -> Vec<&'a Request> {
        self.requests.iter().copied().filter(|request| self.docket.returns.stands(request)).collect()
    }

    /// How many there were, whatever counts in the end.
    pub(super) fn wire(&self) -> u32 {
        u32::try_from(self.effects().len()).unwrap_or(u32::MAX)
    }

    /// How many there were, those that were given back as well.
    pub(super) fn gross(&self) -> u32 {
        u32::try_from(self.requests.iter().filter(|request| request.had_effect()).count()).unwrap_or(u32::MAX)
    }

    /// How many effects count: those in the end, where another promise says that and there were enough on the way.
    pub(super) fn observed(&self) -> u32 {
        let wire = self.wire();
        self.settled.as_ref().filter(|_| wire >= self.expected.at_least).map_or(wire, Settled::count)
    }

    /// Effects that were given back, and what undid them; `None`: none.
    pub(super) fn given_back(&self) -> Option<String> {
        let returns = &self.docket.returns;
        let gone: Vec<(&Request, &[&Request])> =
            self.requests.iter().map(|request| (*request, returns.of(request))).filter(|(_, by)| !by.is_empty()).collect();
        let all = self.wire() as usize + gone.len();
        let each = gone.iter().map(|(effect, by)| {
            let by = by.iter().map(|request| named(request)).collect::<Vec<_>>().join(" and ");
            format!("{}, which made {}, by {by}", named(effect), quoted(effect.object.as_deref().unwrap_or_default()))
        });
        let each: Vec<String> = each.collect();
        (!gone.is_empty()).then(|| format!("{all} effect(s), {} after what was given back: {}", self.wire(), each.join("; ")))
    }

    /// Whether the intent was made up from a body that the clean run does not have, although it has others of the promise. Then
    /// the body may have changed between lives (`attempt=2`), and what looks like a new intent is the old one.
    pub(super) fn is_foreign(&self) -> bool {
        self.phase == Phase::Injured
            && self.promise.intent == IntentSource::Auto
            && self.known.is_none()
            && self.docket.shown.effects() > 0
            && !self.promise.counts.contains_key(self.intent)
    }

    /// The effects whose keys and bodies explain a repetition: those of the intent, or for a foreign one also the effect
    /// of the promise that is most like it.
    pub(super) fn rivals(&self) -> Vec<&'a Request> {
        let own = self.effects();
        let Some(last) = own.last().filter(|_| self.is_foreign()).copied() else { return own };
        let stands = |request: &Request| self.docket.returns.stands(request);
        let others = self.docket.requests().filter(|(intent, request)| stands(request) && *intent != self.intent);
        let mask = &self.docket.shown.mask;
        let twin = others
            .map(|(_, request)| request)
            .min_by_key(|request| (mask.differences(&self.promise.endpoint, request, last).len(), request.seq));
        let mut rivals: Vec<&Request> = twin.into_iter().chain(own).collect();
        rivals.sort_by_key(|request| request.seq);
        rivals
    }

    /// The first place at which effects ask for different things with the values side by side, and how many more there are.
    pub(super) fn difference(&self, effects: &[&Request]) -> Option<String> {
        let (first, rest) = effects.split_first()?;
        let (mask, endpoint) = (&self.docket.shown.mask, &self.promise.endpoint);
        let places = rest.iter().map(|other| mask.differences(endpoint, first, other)).find(|places| !places.is_empty())?;
        let value = |request: &Request, place: &Place| {
            mask.stable(endpoint, request).remove(place).map_or_else(|| "nothing".to_owned(), |text| quoted(&text))
        };
        let name = |place: &Place| if place.is_empty() { "the body".to_owned() } else { place.clone() };
        let place = places.first()?;
        let who = |request: &Request| match found(request) {
            Some(found) => found,
            None => format!("life {}", request.life),
        };
        let values = effects.iter().map(|request| format!("{}: {}", who(request), value(request, place)));
        let more = places.len() - 1;
        let tail = if more == 0 { String::new() } else { format!(" (and {more} more places differ)") };
        Some(format!("they differ in {}: {}{tail}", name(place), values.collect::<Vec<_>>().join("; ")))
    }
}

/// A text from outside in backticks, on one line and cut where it is long.
pub(super) fn quoted(text: &str) -> String {
    let line: String = text.chars().take(QUOTE_MAX_CHARS).map(|c| if c.is_control() { ' ' } else { c }).collect();
    let cut = if text.chars().nth(QUOTE_MAX_CHARS).is_some() { "..." } else { "" };
    format!("`{line}{cut}`")
}

/// A request by number and life, as the ledger shows it; a row or a line by its place.
pub(super) fn named(request: &Request) -> String {
    let kind = Endpoint::new(&request.method, &request.path);
    found(request).map_or_else(
        || format!("request {} of life {} ({kind})", request.seq, request.life),
        |found| format!("{found} of {}", quoted(&request.effect)),
    )
}

/// The place of what is no request: `row 2`.
fn found(request: &Request) -> Option<String> {
    match request.method.as_str() {
        Endpoint::ROWS => Some(format!("row {}", request.ordinal)),
        Endpoint::LINES => Some(format!("line {}", request.ordinal)),
        _ => None,
    }
}
