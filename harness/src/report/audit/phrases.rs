//! The words of an audit, the same in text and Markdown.

use super::super::words;
use crate::model::audit::{Audit, Boundary, GapKind, KeyFacts, Mark, Pair, Presence, Reading, RetryFacts, Write};
use crate::model::fault::Fault;
use crate::model::tool::Tool;

/// The verdict, as one word or two.
pub(super) fn verdict(audit: &Audit) -> &'static str {
    if audit.cells.iter().any(|cell| cell.broken.is_some()) {
        "BASELINE BROKEN"
    } else if audit.gaps() > 0 {
        "GAPS"
    } else if audit.is_partial() {
        "INCONCLUSIVE"
    } else {
        "NO GAP"
    }
}

/// What was looked at, in one sentence.
pub(super) fn scope(audit: &Audit) -> String {
    let writes: usize = audit.cells.iter().map(|cell| cell.writes.len()).sum();
    let probes: Vec<bool> = audit.cells.iter().flat_map(|cell| &cell.probes).map(|probe| probe.reached).collect();
    let reached = probes.iter().filter(|reached| **reached).count();
    let all = if reached == probes.len() { String::new() } else { format!(" of {}", probes.len()) };
    let trials = words::counted(reached as u64, "trial");
    format!(
        "{}, {}. Seen in two clean runs and {trials}{all} in which one thing went wrong.",
        words::counted(writes as u64, "write"),
        words::counted(audit.gaps() as u64, "gap"),
    )
}

/// What a tool's schema says, in words.
pub(super) fn tool(tool: &Tool) -> String {
    let own = match (&tool.key, tool.has_side_effect()) {
        (Some(key), _) if tool.key_is_required => format!("takes a key, `{key}`, and must have it"),
        (Some(key), _) => format!("takes a key, `{key}`, which may be left out"),
        (None, false) => "only reads, its server says".to_owned(),
        (None, true) => "changes something and takes no key: a call that is repeated is a second one".to_owned(),
    };
    // What a server says of itself is no guard.
    let hint =
        if tool.is_unkeyed() && tool.idempotent_hint == Some(true) { "; its server says that repeating is harmless" } else { "" };
    format!("{own}{hint}")
}

pub(super) fn presence(key: &KeyFacts) -> &'static str {
    match key.presence {
        Presence::Always => "yes",
        Presence::Never => "none",
        Presence::Sometimes => "sometimes",
    }
}

/// Where keys stand, for a table.
pub(super) fn places(key: &KeyFacts) -> String {
    let short = key.places.iter().map(|place| place.split_once(':').map_or(place.as_str(), |(_, rest)| rest));
    if key.places.is_empty() { "-".to_owned() } else { short.collect::<Vec<_>>().join(", ") }
}

/// `yes`, `no`, or that it was not seen.
pub(super) fn seen(answer: Option<bool>) -> &'static str {
    match answer {
        Some(true) => "yes",
        Some(false) => "no",
        None => "not seen",
    }
}

/// Whether the key is the same across lives, for a table.
pub(super) fn stable(key: &KeyFacts) -> &'static str {
    if key.presence == Presence::Never { "-" } else { seen(key.equal_in_lives) }
}

pub(super) fn mark(mark: Mark) -> &'static str {
    match mark {
        Mark::Good => "ok",
        Mark::Gap => "gap",
        Mark::Absent => "absent",
        Mark::NotKnown => "not known",
    }
}

/// Part (a) of the score.
pub(super) fn key(key: &KeyFacts) -> String {
    if key.presence == Presence::Never {
        return key.why.clone();
    }
    let places = if key.places.is_empty() { String::new() } else { format!(" in {}", key.places.join(", ")) };
    format!("{}{places}; {}", key.origin.words(), key.why)
}

/// Part (b) of the score.
pub(super) fn retry(retry: &RetryFacts) -> String {
    if retry.attempts < 2 {
        return "no life sends it twice: a failure is left to whoever starts the workflow again".to_owned();
    }
    let list = |waits: &[u64]| waits.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let mut told = format!("up to {} attempts in one life", retry.attempts);
    if !retry.waits_ms.is_empty() {
        told += &format!("; waits {} ms", list(&retry.waits_ms));
    }
    if let Some(grows) = retry.grows {
        told += if grows { ", growing" } else { ", not growing" };
    }
    let trials = format!("{} in {}", range(&retry.first_waits_ms), words::counted(retry.first_waits_ms.len() as u64, "trial"));
    match retry.jitter {
        Some(true) => told += &format!("; the first wait differs, {trials}: jitter"),
        Some(false) => told += &format!("; the first wait is alike, {trials}: no jitter seen"),
        None => {}
    }
    told
}

/// `41 to 77 ms`.
fn range(waits: &[u64]) -> String {
    match (waits.iter().min(), waits.iter().max()) {
        (Some(low), Some(high)) if low != high => format!("{low} to {high} ms"),
        (Some(low), _) => format!("{low} ms"),
        _ => String::new(),
    }
}

/// What one failure led to.
pub(super) fn reading(own: &Boundary) -> String {
    let who = if own.same_life { "" } else { " by the next life" };
    let what = match own.reading {
        Reading::SameKey => format!("sent again{who} with the same key"),
        Reading::NoKey => format!("sent again{who} without a key"),
        Reading::OtherKey => format!("sent again{who} with another key"),
        Reading::Asked => "asked whether it had happened, not sent again".to_owned(),
        Reading::Waited => "waited for the answer, no time-out before it".to_owned(),
        Reading::WentOn => "not sent again; the workflow got done".to_owned(),
        Reading::GaveUp => "not sent again, and the workflow did not get done".to_owned(),
        Reading::NotReached => return "did not come to happen: nothing is known".to_owned(),
    };
    let verdict = own.verdict.map(|verdict| format!(": {verdict}")).unwrap_or_default();
    format!("{what}; {}{verdict}", words::counted(u64::from(own.effects), "effect"))
}

/// A failure in a few words.
pub(super) fn failure(own: &Boundary) -> String {
    match own.fault {
        Fault::Kill if own.at > 1 => format!("kill after effect {}", own.at),
        Fault::Kill => "kill after the effect".to_owned(),
        Fault::Wire(wire) => wire.to_string(),
    }
}

pub(super) fn gap(kind: GapKind) -> &'static str {
    match kind {
        GapKind::NoKey => "no key",
        GapKind::KeyNotAlways => "key not always",
        GapKind::KeyChanges => "key changes",
        GapKind::KeyTooCoarse => "key too coarse",
        GapKind::KeyReused => "key with another body",
        GapKind::AtOnce => "two at once",
        GapKind::ReadAsNotDone => "read as not done",
        GapKind::NotRecovered => "not recovered",
        GapKind::NoBackOff => "no back-off",
    }
}

/// A line of `^` below the part of a value that differs; nothing where both are equal.
pub(super) fn carets(differs: Option<(u32, u32)>) -> Option<String> {
    let (start, end) = differs?;
    Some(format!("{}{}", " ".repeat(start as usize), "^".repeat(end.saturating_sub(start) as usize)))
}

/// The senders of a pair, padded to one width.
pub(super) fn senders(pair: &Pair) -> (String, String) {
    let wide = pair.one_from.chars().count().max(pair.other_from.chars().count());
    (format!("{:wide$}", pair.one_from), format!("{:wide$}", pair.other_from))
}

/// The notes on keys that are no gap by themselves or tell more than it.
pub(super) fn notes(write: &Write) -> impl Iterator<Item = &String> {
    let key = &write.key;
    [&key.too_coarse, &key.other_body, &key.at_once].into_iter().flatten()
}
