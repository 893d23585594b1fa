//! Findings: failing trials of one campaign that share promise, verdict and cause, as unsafe windows. Pure; it starts nothing.
//!
//! A window is a stretch of crash points in the order of the clean run. Unreached points neither fail nor cut it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use crate::model::census::Census;
use crate::model::event::TrialRecord;
use crate::model::fault::Fault;
use crate::model::finding::{Finding, Window};
use crate::model::interleaving::Interleaving;
use crate::model::limits::WINDOW_GAP_MAX_POINTS;
use crate::model::point::{Moment, Point};
use crate::model::schedule::Step;
use crate::model::verdict::{Cause, Judgement, Verdict};

mod merge;
#[cfg(test)]
pub(super) mod tests;

pub use merge::{Told, merge};

/// What failing trials of one finding have in common. Sorts the worst first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    verdict: Reverse<Verdict>,
    promise: String,
    cause: Cause,
    fault: Fault,
}

/// The failures of one finding: by intent, then by point, the records with what was judged.
type Failures<'a> = BTreeMap<&'a str, BTreeMap<usize, Vec<(&'a TrialRecord, &'a Judgement)>>>;

/// A window with where it lies in the census.
struct Stretch<'a> {
    intent: &'a str,
    first: usize,
    last: usize,
    window: Window,
}

/// Groups the failing trials of one campaign into findings, the worst first. Trials with different faults share none. `id` and `repro` are left empty: the caller numbers
/// findings across campaigns and knows the command line. Kept, unknown and unreached trials are no findings.
#[must_use]
pub fn group(cell: &[String], census: &Census, records: &[TrialRecord]) -> Vec<Finding> {
    let faults: BTreeSet<Fault> = records.iter().map(|record| record.schedule.fault()).collect();
    let mut findings: Vec<Finding> = Vec::new();
    for found in faults.into_iter().flat_map(|fault| of_fault(cell, census, records, fault)) {
        let is_same = |other: &&mut Finding| {
            let is_wire = other.fault != Fault::Kill && found.fault != Fault::Kill;
            is_wire && (&other.promise, other.verdict, other.cause) == (&found.promise, found.verdict, found.cause)
        };
        match findings.iter_mut().find(is_same) {
            Some(known) => join(known, found),
            None => findings.push(found),
        }
    }
    findings.sort_by_key(|finding| (Reverse(finding.verdict), finding.fault != Fault::Kill));
    findings
}

/// Adds what another fault of the wire showed, with the same cause.
fn join(known: &mut Finding, other: Finding) {
    known.also.push(other.fault);
    known.trials += other.trials;
    known.windows.extend(other.windows);
    for intent in other.intents {
        if !known.intents.contains(&intent) {
            known.intents.push(intent);
        }
    }
}

fn of_fault(cell: &[String], census: &Census, records: &[TrialRecord], fault: Fault) -> Vec<Finding> {
    let of_fault = |record: &&TrialRecord| record.reached && record.schedule.fault() == fault;
    let points = Points::new(census, records.iter().filter(of_fault));
    let mut groups: BTreeMap<Key, Failures<'_>> = BTreeMap::new();
    for record in records.iter().filter(of_fault) {
        for judgement in record.judgements.iter().filter(|judgement| judgement.verdict.is_finding()) {
            let cause = judgement.cause.unwrap_or(Cause::Unexplained);
            let key = Key { verdict: Reverse(judgement.verdict), promise: judgement.promise.clone(), cause, fault };
            let by_point = groups.entry(key).or_default().entry(&judgement.intent).or_default();
            by_point.entry(record.point).or_default().push((record, judgement));
        }
    }
    groups.into_iter().filter_map(|(key, failures)| finding(cell, &points, key, &failures)).collect()
}

fn finding(cell: &[String], points: &Points<'_>, key: Key, failures: &Failures<'_>) -> Option<Finding> {
    let mut stretches: Vec<Stretch<'_>> = Vec::new();
    for (intent, by_point) in failures {
        let states = points.states_of(&key.promise, intent, by_point.keys().copied());
        stretches.extend(cut(&states).into_iter().map(|(first, last)| points.stretch(intent, key.fault, &states, first, last)));
    }
    stretches.sort_by_key(|stretch| (stretch.first, stretch.intent));
    let widest =
        stretches.iter().max_by_key(|stretch| (stretch.window.points, Reverse(stretch.first), Reverse(stretch.intent)))?;
    let (record, judgement) = shown_by(points, &key.promise, widest, &failures[widest.intent])?;
    let mut intents = vec![widest.intent.to_owned()];
    for stretch in &stretches {
        if !intents.iter().any(|intent| intent == stretch.intent) {
            intents.push(stretch.intent.to_owned());
        }
    }
    let trials: BTreeSet<u64> = failing(failures).map(|(record, _)| record.trial).collect();
    Some(Finding {
        id: String::new(),
        cell: cell.to_vec(),
        verdict: key.verdict.0,
        promise: key.promise,
        intent: widest.intent.to_owned(),
        intents,
        expected: judgement.expected.clone(),
        observed: judgement.observed,
        window: widest.window.clone(),
        cause: key.cause,
        why: why(record, judgement),
        // A record counts as reached only when the SIGKILL was seen to land.
        confirmed_by_sigkill: record.reached && record.state.is_none() && record.schedule.kills() > 0,
        interleaving: record.interleaving,
        schedule: record.schedule.clone(),
        fault: key.fault,
        also: Vec::new(),
        trials: u32::try_from(trials.len()).unwrap_or(u32::MAX),
        repro: String::new(),
        windows: stretches.into_iter().map(|stretch| stretch.window).collect(),
    })
}

/// The facts of a judgement, behind what was done to requests on purpose.
fn why(record: &TrialRecord, judgement: &Judgement) -> Vec<String> {
    let done = record.schedule.0.iter().filter_map(Step::wire);
    let done = done.map(|(at, fault)| format!("{}#{} {}", at.effect, at.ordinal, fault.meaning()));
    done.chain(judgement.evidence.iter().cloned()).collect()
}

fn failing<'a>(failures: &'a Failures<'a>) -> impl Iterator<Item = &'a (&'a TrialRecord, &'a Judgement)> {
    failures.values().flat_map(BTreeMap::values).flatten()
}

/// The failing trial that stands for the window and brings it back. Calls change their order with the threads, and with them what is
/// done by then; at the moment when the sandbox has answered the effect, or has just carried it out, it is done and not recorded in any
/// order. So that moment is preferred; then the first trial reached under its point's own name, which is the name the window shows.
fn shown_by<'a>(
    points: &Points<'_>,
    promise: &str,
    widest: &Stretch<'_>,
    by_point: &BTreeMap<usize, Vec<(&'a TrialRecord, &'a Judgement)>>,
) -> Option<(&'a TrialRecord, &'a Judgement)> {
    let inside =
        || by_point.range(widest.first..=widest.last).flat_map(|(point, list)| list.iter().map(move |one| (*point, *one)));
    let own_name = |(point, (record, _)): &(usize, (&TrialRecord, &Judgement))| {
        record.schedule.0.last().is_some_and(|step| Some(&step.point) == points.name(*point))
    };
    let at = |wanted: Moment| {
        inside().find(|(_, (record, _))| match record.schedule.0.last() {
            Some(step) => matches!(&step.point, Point::Wire(wire) if wire.effect == promise && wire.moment == wanted),
            None => false,
        })
    };
    let steady = at(Moment::Answered).or_else(|| at(Moment::Executed));
    steady.or_else(|| inside().find(own_name)).or_else(|| inside().next()).map(|(_, shown)| shown)
}

/// What became of a point, for one intent and one way of failing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It failed in this way.
    Fails,
    /// Every trial of it kept this promise.
    Clean,
    /// It was reached and is neither: it failed in another way, or it cannot be said.
    Other,
}

/// Cuts the failing points into stretches, each by its first and last point. More than [`WINDOW_GAP_MAX_POINTS`] reached points
/// in a row that do not fail in this way end one. Points that were not reached have no state and do neither.
fn cut(states: &BTreeMap<usize, State>) -> Vec<(usize, usize)> {
    let mut stretches: Vec<(usize, usize)> = Vec::new();
    let mut gap = 0;
    for (point, state) in states {
        if *state != State::Fails {
            gap += 1;
            continue;
        }
        match stretches.last_mut().filter(|_| gap <= WINDOW_GAP_MAX_POINTS) {
            Some((_, last)) => *last = *point,
            None => stretches.push((*point, *point)),
        }
        gap = 0;
    }
    stretches
}

/// By point: how often an intent was judged there, and whether it was always kept.
type Judged = BTreeMap<usize, (u64, bool)>;

/// The points of the census, and what the trials say of them.
struct Points<'a> {
    names: BTreeMap<usize, (&'a Point, u64)>,
    /// How many trials reached each point.
    reached: BTreeMap<usize, u64>,
    /// By promise and intent.
    judged: BTreeMap<(&'a str, &'a str), Judged>,
    /// Points at which an intent of the promise was not kept.
    broken: BTreeMap<&'a str, BTreeSet<usize>>,
}

impl<'a> Points<'a> {
    fn new(census: &'a Census, records: impl Iterator<Item = &'a TrialRecord>) -> Self {
        let names = census.points.iter().enumerate().map(|(index, own)| (index, (&own.point, own.at_us))).collect();
        let mut points = Self { names, reached: BTreeMap::new(), judged: BTreeMap::new(), broken: BTreeMap::new() };
        let end_us = census.points.last().map_or(0, |own| own.at_us);
        for record in records {
            *points.reached.entry(record.point).or_default() += 1;
            // A record of a point that this census lacks is not dropped: it goes by the name it was carried out under.
            if let Some(step) = record.schedule.0.last() {
                points.names.entry(record.point).or_insert((&step.point, end_us));
            }
            for judgement in &record.judgements {
                points.note(record.point, judgement);
            }
        }
        points
    }

    fn note(&mut self, point: usize, judgement: &'a Judgement) {
        let kept = judgement.verdict.is_kept();
        let by_point = self.judged.entry((&judgement.promise, &judgement.intent)).or_default();
        let (times, always) = by_point.entry(point).or_insert((0, true));
        (*times, *always) = (*times + 1, *always && kept);
        if !kept {
            self.broken.entry(&judgement.promise).or_default().insert(point);
        }
    }

    fn name(&self, point: usize) -> Option<&Point> {
        self.names.get(&point).map(|(name, _)| *name)
    }

    /// What became of each reached point, where `fails` lists those that failed in the way at hand. A trial that does not know
    /// the intent is clean where it kept the whole promise: an effect that is one too many has an intent only where it happens.
    fn states_of(&self, promise: &str, intent: &str, fails: impl Iterator<Item = usize>) -> BTreeMap<usize, State> {
        let (judged, broken) = (self.judged.get(&(promise, intent)), self.broken.get(promise));
        let state = |point: &usize, trials: u64| {
            let (times, always) = judged.and_then(|judged| judged.get(point)).copied().unwrap_or((0, true));
            let whole = times >= trials || !broken.is_some_and(|broken| broken.contains(point));
            if always && whole { State::Clean } else { State::Other }
        };
        let mut states: BTreeMap<usize, State> =
            self.reached.iter().map(|(point, trials)| (*point, state(point, *trials))).collect();
        states.extend(fails.map(|point| (point, State::Fails)));
        states
    }

    fn stretch<'b>(
        &self,
        intent: &'b str,
        fault: Fault,
        states: &BTreeMap<usize, State>,
        first: usize,
        last: usize,
    ) -> Stretch<'b> {
        let among = |wanted: State| states.range(first..=last).filter(|(_, state)| **state == wanted).count();
        let mut after = states.range((Bound::Excluded(last), Bound::Unbounded));
        let closed_by = after.find(|(_, state)| **state == State::Clean).and_then(|(point, _)| self.name(*point));
        let name = |point: usize| self.name(point).cloned().unwrap_or(Point::After(std::time::Duration::ZERO));
        let at_us = |point: usize| self.names.get(&point).map_or(0, |(_, at_us)| *at_us);
        let window = Window {
            intent: intent.to_owned(),
            fault,
            interleaving: Interleaving::AsIs,
            after: None,
            first: name(first),
            last: name(last),
            closed_by: closed_by.cloned(),
            points: u32::try_from(among(State::Fails)).unwrap_or(u32::MAX),
            clean_points: u32::try_from(among(State::Clean)).unwrap_or(u32::MAX),
            micros: at_us(last).saturating_sub(at_us(first)),
        };
        Stretch { intent, first, last, window }
    }
}
