//! What is missing in the handling of one effect, with what mends it, and the three-part score.

use crate::model::audit::{Boundary, Fix, Gap, GapKind, KeyFacts, Mark, Origin, Presence, Reading, RetryFacts, Score};
use crate::model::fault::{Fault, WireFault};
use crate::model::limits::BACK_OFF_MIN_MS;
use crate::model::verdict::Verdict;

/// The gaps of one effect, the worst first. `method` decides what mends them.
#[must_use]
pub fn gaps(method: &str, key: &KeyFacts, retry: &RetryFacts, boundary: &[Boundary]) -> Vec<Gap> {
    let mut gaps = key_gaps(method, key, boundary);
    gaps.extend(boundary_gaps(boundary));
    let spaced = retry.waits_ms.iter().chain(&retry.first_waits_ms).all(|wait| *wait < BACK_OFF_MIN_MS);
    if !retry.first_waits_ms.is_empty() && spaced {
        let longest = retry.waits_ms.iter().chain(&retry.first_waits_ms).max().copied().unwrap_or_default();
        let what = format!("sent again {longest} ms after a failure at the latest: no pause worth the name");
        gaps.push(Gap { kind: GapKind::NoBackOff, what, fixes: vec![Fix::BackOff] });
    }
    gaps
}

fn key_gaps(method: &str, key: &KeyFacts, boundary: &[Boundary]) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let mut gap = |kind: GapKind, what: String, fixes: Vec<Fix>| gaps.push(Gap { kind, what, fixes });
    match key.presence {
        Presence::Never if !is_safe_without(boundary) => {
            let seen = worst_double(boundary);
            let what = if method == "MCP" {
                "no call of the tool has an argument that is a key"
            } else {
                "no request carries an idempotency key"
            };
            gap(GapKind::NoKey, format!("{what}{seen}"), without_key(method));
        }
        Presence::Sometimes => {
            gap(GapKind::KeyNotAlways, "some requests carry a key and some do not".to_owned(), without_key(method));
        }
        _ => {}
    }
    if key.equal_in_lives == Some(false) || key.equal_in_attempts == Some(false) {
        let fixes = match key.origin {
            Origin::Request => vec![Fix::KeyOnTheWrite, Fix::SameBody],
            _ => vec![Fix::KeyOnTheWrite, Fix::PersistBeforeCall],
        };
        gap(GapKind::KeyChanges, format!("the key does not survive a repetition: {}", key.origin.words()), fixes);
    } else if matches!(key.origin, Origin::Sdk) && key.equal_in_lives.is_none() {
        let fixes = vec![Fix::PersistBeforeCall, Fix::KeyOnTheWrite];
        gap(GapKind::KeyChanges, "the SDK makes its key anew for each call: a restart sends another one".to_owned(), fixes);
    }
    if let Some(what) = key.too_coarse.first() {
        gap(GapKind::KeyTooCoarse, what.clone(), vec![Fix::KeyOnTheWrite]);
    }
    if let Some(what) = key.other_body.first() {
        gap(GapKind::KeyReused, what.clone(), vec![Fix::SameBody]);
    }
    if let Some(what) = key.at_once.first() {
        gap(GapKind::AtOnce, what.clone(), vec![Fix::UniqueConstraint, Fix::KeyOnTheWrite]);
    }
    gaps
}

fn boundary_gaps(boundary: &[Boundary]) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let blind: Vec<&Boundary> = boundary.iter().filter(|own| is_blind(own)).collect();
    if !blind.is_empty() {
        let how = match blind.iter().any(|own| own.reading == Reading::NoKey) {
            true => "without a key",
            false => "with another key",
        };
        let what = format!("{} read as \"did not happen\": sent again {how}", faults(&blind));
        gaps.push(Gap { kind: GapKind::ReadAsNotDone, what, fixes: vec![Fix::PersistBeforeCall] });
    }
    let lost: Vec<&Boundary> =
        boundary.iter().filter(|own| matches!(own.verdict, Some(Verdict::Lost | Verdict::Stuck)) && !is_blind(own)).collect();
    if !lost.is_empty() {
        let word = lost.iter().filter_map(|own| own.verdict).max().map_or("", Verdict::word);
        let what = format!("after {} it does not come right again: {word}", faults(&lost));
        let same = lost.iter().all(|own| own.reading == Reading::SameKey);
        let fixes =
            if same { vec![Fix::AskFirst, Fix::OutboxOrPerson] } else { vec![Fix::PersistBeforeCall, Fix::OutboxOrPerson] };
        gaps.push(Gap { kind: GapKind::NotRecovered, what, fixes });
    }
    gaps
}

/// What mends a write without a key, by its kind.
fn without_key(method: &str) -> Vec<Fix> {
    match method {
        "MAIL" => vec![Fix::OutboxOrPerson, Fix::DedupTable],
        "MCP" => vec![Fix::KeyArgument, Fix::DedupTable],
        "ROWS" => vec![Fix::UniqueConstraint, Fix::Upsert],
        "LINES" => vec![Fix::DedupTable],
        "PUT" => vec![Fix::Upsert, Fix::KeyOnTheWrite],
        _ => vec![Fix::KeyOnTheWrite, Fix::DedupTable, Fix::OutboxOrPerson],
    }
}

/// What was not repeated, or only asked for, in every probe that came to happen needs no key.
fn is_safe_without(boundary: &[Boundary]) -> bool {
    let reached: Vec<&Boundary> = boundary.iter().filter(|own| own.reading != Reading::NotReached).collect();
    let leaves_it = |own: &Boundary| matches!(own.reading, Reading::Asked | Reading::Waited | Reading::WentOn);
    let killed = reached.iter().any(|own| own.fault == Fault::Kill);
    killed
        && reached.iter().filter(|own| is_after(own.fault)).all(|own| leaves_it(own) && own.verdict.is_some_and(Verdict::is_kept))
}

/// Whether a failure comes after the effect, so that its client cannot know.
fn is_after(fault: Fault) -> bool {
    !matches!(fault, Fault::Wire(WireFault::ErrorBeforeCommit { .. }))
}

fn is_blind(own: &Boundary) -> bool {
    is_after(own.fault) && matches!(own.reading, Reading::NoKey | Reading::OtherKey)
}

fn worst_double(boundary: &[Boundary]) -> String {
    let worst = boundary.iter().filter(|own| own.effects > 1).max_by_key(|own| own.effects);
    worst.map(|own| format!("; after {} it was done {} times", own.fault, own.effects)).unwrap_or_default()
}

fn faults(own: &[&Boundary]) -> String {
    let mut words: Vec<String> = own.iter().map(|own| own.fault.to_string()).collect();
    words.dedup();
    words.join(", ")
}

/// The three-part score.
#[must_use]
pub fn score(key: &KeyFacts, retry: &RetryFacts, boundary: &[Boundary], gaps: &[Gap]) -> Score {
    let has = |kinds: &[GapKind]| gaps.iter().any(|gap| kinds.contains(&gap.kind));
    let of_key =
        [GapKind::NoKey, GapKind::KeyNotAlways, GapKind::KeyChanges, GapKind::KeyTooCoarse, GapKind::KeyReused, GapKind::AtOnce];
    let key = match key.presence {
        _ if has(&of_key) => Mark::Gap,
        Presence::Never => Mark::Absent,
        _ if key.equal_in_lives.is_none() => Mark::NotKnown,
        _ => Mark::Good,
    };
    let reached: Vec<&Boundary> = boundary.iter().filter(|own| own.reading != Reading::NotReached).collect();
    let retry = match retry.attempts {
        _ if has(&[GapKind::NoBackOff]) => Mark::Gap,
        _ if !reached.iter().any(|own| own.fault != Fault::Kill) => Mark::NotKnown,
        0 | 1 => Mark::Absent,
        _ => Mark::Good,
    };
    let boundary = match reached.len() {
        _ if has(&[GapKind::ReadAsNotDone, GapKind::NotRecovered]) => Mark::Gap,
        some if some == 0 || some < boundary.len() => Mark::NotKnown,
        _ => Mark::Good,
    };
    Score { key, retry, boundary }
}
