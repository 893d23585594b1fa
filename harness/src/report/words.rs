//! The phrases that the exporters share, so that a thing is called the same in each of them.

use crate::model::finding::{Finding, Window};
use crate::model::interleaving::Interleaving;
use crate::model::report::{Cell, RunVerdict};
use crate::model::verdict::{Cause, Judgement, Verdict};

/// `1 point`, `2 points`; for nouns whose plural ends in `s` alone.
pub(super) fn counted(count: u64, noun: &str) -> String {
    counted_as(count, noun, &format!("{noun}s"))
}

/// `1 life`, `2 lives`.
pub(super) fn counted_as(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// `happened once`, `happened 2 times`.
fn happened(count: u32) -> String {
    match count {
        0 => "never happened".to_owned(),
        1 => "happened once".to_owned(),
        _ => format!("happened {count} times"),
    }
}

/// A time for people: `850 us`, `3.2 ms`, `1.4 s`.
pub(super) fn duration(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} us"),
        1_000..1_000_000 => format!("{}.{} ms", micros / 1_000, micros % 1_000 / 100),
        _ => format!("{}.{} s", micros / 1_000_000, micros % 1_000_000 / 100_000),
    }
}

/// The values of a matrix cell; `whole run` where there is no matrix.
pub(super) fn cell_name(values: &[String]) -> String {
    if values.is_empty() { "whole run".to_owned() } else { values.join(" ") }
}

/// The code of a cause, as it stands in `report.json` and as `killpoint explain` takes it.
pub(super) fn cause_word(cause: Cause) -> String {
    match serde_json::to_value(cause) {
        Ok(serde_json::Value::String(word)) => word,
        _ => format!("{cause:?}"),
    }
}

/// The word of a run's verdict, as it stands in `report.json` and as `killpoint explain` takes it.
pub(super) fn run_verdict_word(verdict: RunVerdict) -> &'static str {
    match verdict {
        RunVerdict::Clean => "clean",
        RunVerdict::Findings => "findings",
        RunVerdict::Inconclusive => "inconclusive",
        RunVerdict::BaselineBroken => "baseline_broken",
    }
}

/// `charge of inv_9 happened 2 times, promised exactly 1`.
pub(super) fn headline(finding: &Finding) -> String {
    let intents = finding.intents.len().max(1) - 1;
    let more = if intents == 0 { String::new() } else { format!(" (and {})", counted(intents as u64, "more intent")) };
    let Finding { verdict, promise, intent, expected, observed, .. } = finding;
    sentence(*verdict, promise, &format!("{intent}{more}"), expected, *observed)
}

/// The same of what the oracles say of a clean run.
pub(super) fn judged(judgement: &Judgement) -> String {
    let Judgement { verdict, promise, intent, expected, observed, .. } = judgement;
    sentence(*verdict, promise, intent, expected, *observed)
}

fn sentence(verdict: Verdict, promise: &str, intent: &str, expected: &str, observed: u32) -> String {
    let what = format!("{promise} of {intent}");
    let happened = happened(observed);
    match verdict {
        Verdict::Once | Verdict::Duplicated | Verdict::Lost => format!("{what} {happened}, promised {expected}"),
        Verdict::Diverged => format!("{what} {happened}, each time with other content, promised {expected}"),
        Verdict::WrongAmount => format!("{what} {happened}, but with another amount than in the clean run"),
        Verdict::Stuck => format!("{what}: the workflow never got done; it {happened}"),
        Verdict::Overlap => format!("{what}: two executors were at it at once; it {happened}"),
        Verdict::DeclaredUnknown => format!("{what}: the workflow says it does not know; it {happened}"),
        Verdict::Unknown if observed == 0 => format!("{what}: cannot be judged; none was seen, promised {expected}"),
        Verdict::Unknown => format!("{what}: cannot be judged; it {happened}, promised {expected}"),
    }
}

/// `7 of 122 points, 3.2 ms of the run`.
pub(super) fn width(window: &Window, cell: Option<&Cell>) -> String {
    // Another order of threads, or another life, has other points.
    let is_of_cell = window.interleaving == Interleaving::AsIs && window.after.is_none();
    let points = match cell.filter(|_| is_of_cell) {
        Some(cell) => format!("{} of {}", window.points, counted(cell.points.total, "point")),
        None => counted(window.points.into(), "point"),
    };
    format!("{points}, {} of the run", duration(window.micros))
}

/// The cell that a finding was made in.
pub(super) fn cell_of<'a>(cells: &'a [Cell], values: &[String]) -> Option<&'a Cell> {
    cells.iter().find(|cell| cell.cell == values)
}
