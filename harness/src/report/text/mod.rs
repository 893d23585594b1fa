//! The report for a terminal. Its first screen says what is wrong, where the window is, why, and what to do; the scope comes after.
//!
//! Colour only repeats what words and marks say. Control characters of foreign texts never reach the terminal.

mod cells;
mod finding;
pub(in crate::report) mod page;
mod scope;
mod states;
mod strip;

use crate::model::fault::Fault;
use crate::model::report::{Allowance, Mode, PointCounts, Report, RunVerdict};
use crate::model::verdict::Judgement;

use super::words;
use page::{Page, Role, Span};

/// How a text is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether to use colour.
    pub colour: bool,
    /// Columns of the terminal; below 60 it is drawn as if it had 60. Points and commands are never broken.
    pub width: usize,
}

/// The columns that are made use of: longer lines are hard to read, narrower ones cannot hold a point.
const WIDTH_COLUMNS: std::ops::RangeInclusive<usize> = 60..=120;
/// A table of more cells than this stands behind the findings, so that these are on the first screen.
const CELLS_ON_TOP_MAX: usize = 6;

/// The report for a terminal, in whole lines.
#[must_use]
pub fn text(report: &Report, style: Style) -> String {
    let width = style.width.clamp(*WIDTH_COLUMNS.start(), *WIDTH_COLUMNS.end());
    let mut page = Page::new(Style { width, ..style });
    head(&mut page, report);
    let table_on_top = report.cells.len() <= CELLS_ON_TOP_MAX;
    if table_on_top {
        cells::table(&mut page, report);
    }
    for finding in &report.findings {
        page.blank();
        finding::block(&mut page, report, finding);
    }
    if !table_on_top {
        cells::table(&mut page, report);
    }
    cells::baselines(&mut page, report);
    cells::reasons(&mut page, report);
    cells::unreached(&mut page, report);
    scope::statement(&mut page, report);
    page.into_text()
}

/// The verdict and what it means for this run.
fn head(page: &mut Page, report: &Report) {
    let role = role_of(report.verdict);
    let word = words::run_verdict_word(report.verdict).to_uppercase().replace('_', " ");
    page.wrapped("", "", &[Span(role, word), Span::plain("  "), Span(Role::Strong, report.scenario.clone())]);
    let meaning = match report.verdict {
        RunVerdict::Clean => shown_clean(report),
        RunVerdict::Findings => shown_findings(report),
        RunVerdict::Inconclusive => {
            format!("This is not a pass. {}.", capital(&reached(&report.points)))
        }
        RunVerdict::BaselineBroken => {
            "Without any crash the workflow already breaks its promise, so crashing it would show nothing.".to_owned()
        }
    };
    page.wrapped("", "", &[meaning.into()]);
    if matches!(report.verdict, RunVerdict::Inconclusive | RunVerdict::BaselineBroken) {
        let explain = format!("killpoint explain {}", words::run_verdict_word(report.verdict));
        page.wrapped("", "", &[Span::plain("What to do: "), Span(Role::Strong, explain)]);
    }
}

fn shown_findings(report: &Report) -> String {
    let PointCounts { total, unreached, .. } = report.points;
    if total == 0 || report.findings.iter().all(|finding| finding.fault != Fault::Kill) {
        let number = words::counted(report.findings.len() as u64, "finding");
        let crashes = match total {
            0 => String::new(),
            _ => format!(" Of crashes, {}, and none breaks one.", reached(&report.points)),
        };
        return format!("{number}: what goes wrong between the workflow and the outside world breaks a promise.{crashes}");
    }
    let strips = || report.cells.iter().map(|cell| &cell.strip);
    let bad: usize = strips().map(|strip| strip.matches('x').count()).sum();
    let drawn: u64 = strips().map(|strip| strip.chars().count() as u64).sum();
    let places = match drawn == total && bad > 0 {
        true => format!("at {bad} of {}", words::counted(total, "point")),
        false => "in the windows below".to_owned(),
    };
    let number = words::counted(report.findings.len() as u64, "finding");
    let reached = match unreached {
        0 => "All were reached".to_owned(),
        1 => "1 was not reached".to_owned(),
        _ => format!("{unreached} were not reached"),
    };
    format!("{number}: a crash {places} breaks a promise. {reached}{}.", part_of_census(&report.points))
}

fn shown_clean(report: &Report) -> String {
    let runs = words::counted(report.cells.len() as u64, "run");
    let mut kept: Vec<String> = report.cells.iter().flat_map(|cell| &cell.baseline).map(kept).collect();
    kept.sort();
    kept.dedup();
    let kept = kept.join(", ");
    let but = allowed(report);
    match report.mode {
        _ if report.points.total == 0 => {
            let faults: u64 = report.cells.iter().flat_map(|cell| &cell.wire).map(|wire| wire.reached).sum();
            let faults = words::counted(faults, "trial");
            format!("{faults} with something going wrong on the wire, in {runs}, and each time: {kept}.")
        }
        Mode::Kill => {
            format!("Killed at {} of {runs}, resumed each time, and each time: {kept}.{but}", reached_all(&report.points))
        }
        Mode::Image => {
            let states = words::counted(report.states.distinct, "distinct state");
            let told: u64 = report.cells.iter().flat_map(|cell| &cell.depths).map(|depth| depth.told).sum();
            let resumed = match told {
                0 => format!("resumed from each of the {states}"),
                told => format!("{states}, {told} of them told by the life of another and each other one resumed"),
            };
            format!("Crashed at {} of {runs}, {resumed}, and each time: {kept}.{but}", reached_all(&report.points))
        }
    }
}

/// What was accepted besides the promised number, one sentence for each; with a space before it.
fn allowed(report: &Report) -> String {
    let mut text = String::new();
    for cell in &report.cells {
        let of = if cell.cell.is_empty() { String::new() } else { format!(" of {}", cell.cell.join(" ")) };
        for Allowance { promise, declared_unknown, surplus, most } in &cell.allowances {
            if *declared_unknown > 0 {
                let points = words::counted(*declared_unknown, "point");
                text += &format!(
                    " But after {points}{of} the workflow said that it does not know whether {promise} happened, and ended; the \
                     scenario accepts that."
                );
            }
            if *surplus > 0 {
                let points = words::counted(*surplus, "point");
                text += &format!(
                    " After {points}{of} there were more of {promise} on the way, up to {most}; what was given back or reconciled \
                     afterwards made it right."
                );
            }
        }
    }
    text
}

/// `charge exactly 1 per intent`.
fn kept(judgement: &Judgement) -> String {
    format!("{} {} per intent", judgement.promise, judgement.expected)
}

fn reached(points: &PointCounts) -> String {
    let part = part_of_census(points);
    match points.total {
        0 => "no crash point was tried".to_owned(),
        total if points.reached == total => format!("all {total} of {} were reached{part}", words::counted(total, "point")),
        total => format!("{} of {} were reached{part}", points.reached, words::counted(total, "point")),
    }
}

fn reached_all(points: &PointCounts) -> String {
    let number = format!("{} of {}", points.reached, words::counted(points.total, "crash point"));
    format!("all {number}{}", part_of_census(points))
}

/// Says so where the plan left points out.
fn part_of_census(points: &PointCounts) -> String {
    if points.census > points.total { format!(" (planned; the runs have {} in all)", points.census) } else { String::new() }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// The colour of a verdict.
fn role_of(verdict: RunVerdict) -> Role {
    match verdict {
        RunVerdict::Clean => Role::Good,
        RunVerdict::Findings | RunVerdict::BaselineBroken => Role::Bad,
        RunVerdict::Inconclusive => Role::Doubt,
    }
}

#[cfg(test)]
mod tests;
