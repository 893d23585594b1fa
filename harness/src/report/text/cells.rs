//! The campaigns: a table of them, clean runs that broke a promise, what kept one from being judged, and the points not reached.

use crate::model::report::{Cell, Report, RunVerdict, UnreachedPoint};

use super::page::{Page, Role, Span};
use super::{role_of, words};

/// Unreached points that are named.
const UNREACHED_MAX: usize = 10;
/// Columns that the name of a cell takes in the table, at most, as long as others are no longer.
const NAME_COLUMNS_MAX: usize = 40;

/// A table of the cells, where there is more than one.
pub(super) fn table(page: &mut Page, report: &Report) {
    if report.cells.len() < 2 {
        return;
    }
    let names: Vec<String> = report.cells.iter().map(|cell| words::cell_name(&cell.cell)).collect();
    let points: Vec<String> =
        report.cells.iter().map(|cell| format!("{} of {}", cell.points.reached, cell.points.total)).collect();
    let longest = |texts: &[String], head: &str| texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(head.len());
    let (wide, middle) = (longest(&names, "cell").min(NAME_COLUMNS_MAX), longest(&points, "reached"));
    page.blank();
    let head = format!("  {:wide$}  {:middle$}  verdict", "cell", "reached");
    page.line(&[Span(Role::Faint, head)]);
    for ((cell, name), points) in report.cells.iter().zip(&names).zip(&points) {
        let verdict = Span(role_of(cell.verdict), verdict(cell.verdict).to_owned());
        let found = format!("  {}", findings_of(report, cell));
        page.line(&[format!("  {name:wide$}  {points:middle$}  ").into(), verdict, found.into()]);
    }
}

/// A verdict with the mark that says it without colour.
fn verdict(verdict: RunVerdict) -> &'static str {
    match verdict {
        RunVerdict::Clean => "ok clean",
        RunVerdict::Findings => "x  findings",
        RunVerdict::Inconclusive => "?  inconclusive",
        RunVerdict::BaselineBroken => "!  baseline broken",
    }
}

/// `F1 duplicated, F2 lost`.
fn findings_of(report: &Report, cell: &Cell) -> String {
    let own = report.findings.iter().filter(|finding| finding.cell == cell.cell);
    own.map(|finding| format!("{} {}", finding.id, finding.verdict)).collect::<Vec<_>>().join(", ")
}

/// What clean runs were judged to be, where that is not what was promised.
pub(super) fn baselines(page: &mut Page, report: &Report) {
    for cell in report.cells.iter().filter(|cell| cell.verdict == RunVerdict::BaselineBroken) {
        page.blank();
        page.wrapped("", "  ", &[Span(Role::Bad, "! without a crash".to_owned()), in_cell(&cell.cell).into()]);
        for judgement in cell.baseline.iter().filter(|judgement| !judgement.verdict.is_kept()) {
            page.wrapped("  ", "    ", &[format!("{}: {}", judgement.verdict, words::judged(judgement)).into()]);
            for fact in &judgement.evidence {
                page.wrapped("    ", "    ", &[fact.as_str().into()]);
            }
        }
        if let Some(reason) = &cell.reason {
            page.wrapped("  ", "  ", &[reason.as_str().into()]);
        }
    }
}

/// Why cells could not be judged, where it is not their clean run.
pub(super) fn reasons(page: &mut Page, report: &Report) {
    for cell in report.cells.iter().filter(|cell| cell.verdict != RunVerdict::BaselineBroken) {
        if let Some(reason) = &cell.reason {
            page.blank();
            page.wrapped("", "  ", &[Span(Role::Doubt, "? not judged".to_owned()), in_cell(&cell.cell).into()]);
            page.wrapped("  ", "  ", &[reason.as_str().into()]);
        }
    }
}

/// The points that were not reached: the first ones by name.
pub(super) fn unreached(page: &mut Page, report: &Report) {
    if report.unreached.is_empty() {
        return;
    }
    let number = words::counted(report.unreached.len() as u64, "point");
    page.blank();
    let title = format!("? {number} not reached");
    page.wrapped("", "  ", &[Span(Role::Doubt, title), ": nothing is known of a crash there".into()]);
    let mut before: Option<&UnreachedPoint> = None;
    for unreached in report.unreached.iter().take(UNREACHED_MAX) {
        page.line(&[format!("  {}{}", unreached.point, in_cell(&unreached.cell)).into()]);
        // Most share one reason, which is then said once.
        if before.is_none_or(|before| (&before.reason, before.tries) != (&unreached.reason, unreached.tries)) {
            let tries = if unreached.tries == 1 { "tried once".to_owned() } else { format!("tried {} times", unreached.tries) };
            page.wrapped("    ", "    ", &[format!("{tries}: {}", unreached.reason).into()]);
        }
        before = Some(unreached);
    }
    if report.unreached.len() > UNREACHED_MAX {
        page.line(&[format!("  and {} more, in report.json", report.unreached.len() - UNREACHED_MAX).into()]);
    }
}

/// ` in durability=exit`; nothing where there is no matrix.
pub(super) fn in_cell(cell: &[String]) -> String {
    if cell.is_empty() { String::new() } else { format!(" in {}", cell.join(" ")) }
}
