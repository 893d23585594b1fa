//! The key of one effect, put together: present or not, where, equal where it should be, too coarse, reused.

use std::collections::{BTreeMap, BTreeSet};

use super::super::case::{named, quoted};
use super::super::volatile::raw_differences;
use super::strand::{Sent, Strand};
use super::{origin, place};
use crate::model::audit::{KeyFacts, Presence};
use crate::model::ledger::Outcome;
use crate::model::limits::KEY_NOTES_MAX;

/// What was seen of the keys of one effect. `arguments` are those of the command line.
#[must_use]
pub fn key_facts(strand: &Strand<'_>, arguments: &[String]) -> KeyFacts {
    let with = strand.sent.iter().filter(|sent| sent.request.key.is_some()).count();
    let presence = match with {
        0 => Presence::Never,
        all if all == strand.sent.len() => Presence::Always,
        _ => Presence::Sometimes,
    };
    let places: BTreeSet<String> = strand.sent.iter().filter_map(|sent| place::of(sent.request)).collect();
    let guess = origin::guess(strand, arguments);
    KeyFacts {
        presence,
        places: places.into_iter().collect(),
        origin: guess.origin,
        why: guess.why,
        pair: guess.pair,
        equal_in_attempts: origin::equal(&strand.attempts()),
        equal_in_lives: origin::equal(&strand.lives()),
        equal_in_runs: origin::equal(&strand.runs()),
        other_body: other_body(strand),
        too_coarse: too_coarse(strand),
        at_once: at_once(strand),
    }
}

/// The requests of each run and key, in order.
fn by_key<'s, 'a>(strand: &'s Strand<'a>) -> BTreeMap<(usize, &'a str), Vec<&'s Sent<'a>>> {
    let mut groups: BTreeMap<(usize, &'a str), Vec<&'s Sent<'a>>> = BTreeMap::new();
    for sent in &strand.sent {
        if let Some(key) = sent.request.key.as_deref() {
            groups.entry((sent.run, key)).or_default().push(sent);
        }
    }
    groups
}

/// Keys that came again for the same intent with another body.
fn other_body(strand: &Strand<'_>) -> Vec<String> {
    let mut told = Vec::new();
    for ((_, key), group) in by_key(strand) {
        let first = group[0];
        for other in group.iter().filter(|other| other.intent == first.intent) {
            let places = raw_differences(&strand.promise.endpoint, first.request, other.request);
            let refused = other.request.outcome == Outcome::Mismatch;
            if places.is_empty() && !refused {
                continue;
            }
            let place = places.first().map(|place| format!(": they differ in {place}")).unwrap_or_default();
            let end = if refused { format!("; it was refused with {}", other.request.status) } else { String::new() };
            told.push(format!("key {} came again with another body{place}{end}", quoted(key)));
            break;
        }
    }
    unique(told)
}

/// Keys that stand for several intents.
pub(super) fn too_coarse(strand: &Strand<'_>) -> Vec<String> {
    let mut told = Vec::new();
    for ((_, key), group) in by_key(strand) {
        let first = group[0];
        if let Some(other) = group.iter().find(|other| other.intent != first.intent) {
            let end = match other.request.outcome {
                Outcome::Replayed => "; the second was answered with the effect of the first, and is lost",
                Outcome::Mismatch => "; the second was refused",
                _ => "",
            };
            let (one, two) = (quoted(&first.intent), quoted(&other.intent));
            told.push(format!("key {} stands for {one} and for {two}{end}", quoted(key)));
        }
    }
    unique(told)
}

/// Intents that were asked for twice in one life before the first answer, both with an effect.
fn at_once(strand: &Strand<'_>) -> Vec<String> {
    let twins = strand.attempts().into_iter().filter(|(one, other)| {
        let is_open = one.request.answered_us.is_some_and(|at| other.request.received_us < at);
        is_open && one.request.fault.is_none() && one.request.had_effect() && other.request.had_effect()
    });
    let told = twins.map(|(one, other)| {
        format!(
            "{} came before {} was answered, and both were done: {}",
            named(other.request),
            named(one.request),
            quoted(&one.intent)
        )
    });
    unique(told.collect())
}

fn unique(mut told: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    told.retain(|sentence| seen.insert(sentence.clone()));
    told.truncate(KEY_NOTES_MAX);
    told
}
