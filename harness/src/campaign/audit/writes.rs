//! Puts together, for each write, what all runs and trials show of it.

use std::collections::BTreeMap;

use super::Tried;
use crate::model::audit::{Boundary, Reading, Write};
use crate::model::fault::{Fault, WireFault};
use crate::model::ledger::Request;
use crate::model::life::Trial;
use crate::model::point::Point;
use crate::model::promise::Promise;
use crate::model::schedule::Schedule;
use crate::oracle::Expectation;
use crate::oracle::forensics::{Strand, gaps, key_facts, read_as, retry_facts, score, strands};

/// The first and the last request of each promise that had an effect in the clean run.
pub(super) fn ends(expectation: &Expectation, clean: &Trial) -> BTreeMap<String, (Request, Request)> {
    let all = strands(expectation, &[clean]);
    let ends = |strand: &Strand<'_>| {
        let effects: Vec<&Request> = strand.requests().filter(|request| request.had_effect()).collect();
        Some(((*effects.first()?).clone(), (*effects.last()?).clone()))
    };
    all.iter().filter_map(|strand| Some((strand.promise.name.clone(), ends(strand)?))).collect()
}

/// The promises whose requests some life repeated by itself.
pub(super) fn repeating(expectation: &Expectation, tried: &[Tried]) -> Vec<String> {
    let trials: Vec<&Trial> = usable(tried).map(|tried| &tried.trial).collect();
    let all = strands(expectation, &trials);
    all.iter().filter(|strand| retry_facts(strand).attempts > 1).map(|strand| strand.promise.name.clone()).collect()
}

fn usable(tried: &[Tried]) -> impl Iterator<Item = &Tried> {
    tried.iter().filter(|tried| tried.trouble().is_none())
}

/// Every write, in the order of its first request in the clean run.
pub(super) fn writes(
    expectation: &Expectation,
    promised: &[Promise],
    clean: &[Trial],
    tried: &[Tried],
    arguments: &[String],
) -> Vec<Write> {
    let trials: Vec<&Trial> = clean.iter().chain(usable(tried).map(|tried| &tried.trial)).collect();
    let mut all: Vec<(u64, Write)> = Vec::new();
    for strand in strands(expectation, &trials) {
        let own = clean.first().map(|clean| strands(expectation, &[clean])).unwrap_or_default();
        let in_clean: Vec<&Request> =
            own.iter().filter(|own| own.promise.name == strand.promise.name).flat_map(Strand::requests).collect();
        let first = in_clean.first().map_or(u64::MAX, |request| request.seq);
        if strand.requests().next().is_some() {
            let boundary = boundaries(expectation, &strand, tried);
            all.push((first, write(&strand, promised, in_clean.len(), boundary, arguments)));
        }
    }
    all.sort_by_key(|(first, _)| *first);
    all.into_iter().map(|(_, write)| write).collect()
}

fn boundaries(expectation: &Expectation, strand: &Strand<'_>, tried: &[Tried]) -> Vec<Boundary> {
    let own = tried.iter().filter(|tried| tried.planned.promise == strand.promise.name && !tried.planned.is_series);
    own.map(|tried| {
        let schedule = &tried.planned.schedule;
        if tried.trouble().is_some() {
            let fault = schedule.fault();
            let at = planned_at(schedule);
            return Boundary { at, fault, reading: Reading::NotReached, same_life: false, effects: 0, verdict: None };
        }
        let alone = strands(expectation, &[&tried.trial]);
        let alone = alone.iter().find(|own| own.promise.name == strand.promise.name);
        read_as(expectation, alone.unwrap_or(strand), schedule, &tried.trial)
    })
    .collect()
}

fn planned_at(schedule: &Schedule) -> u32 {
    match schedule.0.first().map(|step| &step.point) {
        Some(Point::Wire(at)) => at.ordinal,
        _ => 0,
    }
}

fn write(strand: &Strand<'_>, promised: &[Promise], requests: usize, boundary: Vec<Boundary>, arguments: &[String]) -> Write {
    let promise = strand.promise;
    let (key, retry) = (key_facts(strand, arguments), retry_facts(strand));
    let gaps = gaps(&promise.endpoint.method, &key, &retry, &boundary);
    let score = score(&key, &retry, &boundary, &gaps);
    Write {
        effect: promise.name.clone(),
        method: promise.endpoint.method.clone(),
        path: promise.endpoint.path.clone(),
        promised: promised.iter().any(|own| own.name == promise.name),
        // Tools are listed by their server; what is seen here is calls.
        tool_takes_key: None,
        requests: u32::try_from(requests).unwrap_or(u32::MAX),
        repeated_after_timeout: repeated_after_timeout(&boundary),
        key,
        retry,
        boundary,
        score,
        gaps,
    }
}

/// Whether it was sent again after an answer that came too late; nothing where no client lost its patience.
fn repeated_after_timeout(boundary: &[Boundary]) -> Option<bool> {
    let slow = boundary.iter().find(|own| matches!(own.fault, Fault::Wire(WireFault::SlowAck { .. })))?;
    match slow.reading {
        Reading::SameKey | Reading::NoKey | Reading::OtherKey => Some(true),
        Reading::Asked | Reading::WentOn | Reading::GaveUp => Some(false),
        Reading::Waited | Reading::NotReached => None,
    }
}
