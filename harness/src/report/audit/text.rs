//! The audit for a terminal: the table of writes first, then each write with its score, its gaps and what mends them.

use super::super::text::Style;
use super::super::text::page::{Page, Role, Span, washed};
use super::super::words;
use super::phrases;
use crate::model::audit::{Audit, AuditedCell, Fix, Mark, Write};
use crate::model::tool::{Tool, ToolServer};

/// The columns that are made use of.
const WIDTH_COLUMNS: std::ops::RangeInclusive<usize> = 80..=100;
/// The widest columns of the table, by place.
const COLUMNS_MAX: [usize; 6] = [18, 9, 17, 27, 8, 8];
const HEAD: [&str; 6] = ["write", "key", "where", "origin", "stable", "timeout"];

/// The audit for a terminal, in whole lines.
#[must_use]
pub fn audit_text(audit: &Audit, style: Style) -> String {
    let width = style.width.clamp(*WIDTH_COLUMNS.start(), *WIDTH_COLUMNS.end());
    let mut page = Page::new(Style { width, ..style });
    let word = phrases::verdict(audit);
    let role = match word {
        "NO GAP" => Role::Good,
        "INCONCLUSIVE" => Role::Doubt,
        _ => Role::Bad,
    };
    page.wrapped("", "", &[Span(role, word.to_owned()), Span::plain("  "), Span(Role::Strong, audit.scenario.clone())]);
    page.wrapped("", "", &[phrases::scope(audit).into()]);
    for cell in &audit.cells {
        page.blank();
        if !cell.cell.is_empty() {
            page.line(&[Span(Role::Strong, words::cell_name(&cell.cell))]);
        }
        one(&mut page, cell);
    }
    for server in &audit.servers {
        page.blank();
        tools(&mut page, server);
    }
    page.blank();
    page.wrapped(
        "",
        "",
        &["stable: the key is the same in a later life. timeout: sent again after an answer that came too late.".into()],
    );
    page.into_text()
}

fn one(page: &mut Page, cell: &AuditedCell) {
    if let Some(reason) = &cell.broken {
        page.wrapped("  ", "  ", &[Span(Role::Bad, "! not audited: ".to_owned()), reason.as_str().into()]);
        return;
    }
    if cell.writes.is_empty() {
        page.wrapped("  ", "  ", &[Span(Role::Doubt, "? no write was seen: nothing is shown".to_owned())]);
        return;
    }
    table(page, &cell.writes);
    for write in &cell.writes {
        page.blank();
        block(page, write);
    }
    for probe in cell.probes.iter().filter(|probe| !probe.reached) {
        let reason = probe.reason.as_deref().unwrap_or_default();
        page.wrapped("  ", "    ", &[Span(Role::Doubt, "? ".to_owned()), format!("{}: {reason}", probe.schedule).into()]);
    }
}

/// The tools of a server, those that cannot be called safely twice marked.
fn tools(page: &mut Page, server: &ToolServer) {
    page.line(&["MCP server ".into(), Span(Role::Strong, server.command.clone())]);
    if let Some(trouble) = &server.trouble {
        page.wrapped("  ", "    ", &[Span(Role::Doubt, "? not known: ".to_owned()), trouble.as_str().into()]);
        return;
    }
    let wide = server.tools.iter().map(|tool| tool.name.chars().count()).max().unwrap_or(0).min(COLUMNS_MAX[0]);
    for tool in &server.tools {
        let (role, sign) = if tool.is_unkeyed() { (Role::Bad, "x") } else { (Role::Good, ".") };
        let name = format!(" {:wide$}  ", cut(&washed(&tool.name), wide));
        page.wrapped("  ", &" ".repeat(wide + 6), &[Span(role, sign.to_owned()), name.into(), phrases::tool(tool).into()]);
    }
    if server.tools.iter().any(Tool::is_unkeyed) {
        page.wrapped("  ", "    ", &[Span(Role::Faint, "- ".to_owned()), Fix::KeyArgument.words().into()]);
    }
}

fn table(page: &mut Page, writes: &[Write]) {
    let rows: Vec<[String; 6]> = writes.iter().map(cells).collect();
    let wide = |at: usize| {
        let longest = rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
        longest.max(HEAD[at].len()).min(COLUMNS_MAX[at])
    };
    let widths: [usize; 6] = std::array::from_fn(wide);
    let joined = |row: &[String; 6]| {
        let columns = row.iter().zip(widths).map(|(text, wide)| format!("{:wide$}", cut(text, wide)));
        columns.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    page.line(&[Span(Role::Faint, format!("    {}", joined(&HEAD.map(str::to_owned))))]);
    for (write, row) in writes.iter().zip(&rows) {
        let (role, sign) = overall(write);
        page.line(&["  ".into(), Span(role, sign.to_owned()), format!(" {}", joined(row)).into()]);
    }
}

fn cells(write: &Write) -> [String; 6] {
    [
        washed(&write.effect),
        phrases::presence(&write.key).to_owned(),
        washed(&phrases::places(&write.key)),
        write.key.origin.words().to_owned(),
        phrases::stable(&write.key).to_owned(),
        phrases::seen(write.repeated_after_timeout).to_owned(),
    ]
}

fn cut(text: &str, wide: usize) -> String {
    if text.chars().count() <= wide { text.to_owned() } else { text.chars().take(wide - 3).chain("...".chars()).collect() }
}

/// The sign of a write as a whole.
fn overall(write: &Write) -> (Role, &'static str) {
    let score = write.score;
    if !write.gaps.is_empty() {
        (Role::Bad, "x")
    } else if [score.key, score.retry, score.boundary].contains(&Mark::NotKnown) {
        (Role::Doubt, "?")
    } else {
        (Role::Good, ".")
    }
}

fn block(page: &mut Page, write: &Write) {
    let (role, sign) = overall(write);
    let promised = if write.promised { "" } else { "  (nothing is promised of it)" };
    let endpoint = format!("  {} {}{promised}", write.method, write.path);
    page.line(&["  ".into(), Span(role, sign.to_owned()), " ".into(), Span(Role::Strong, write.effect.clone()), endpoint.into()]);
    field(page, "key", write.score.key, &phrases::key(&write.key));
    pair(page, write);
    for note in phrases::notes(write) {
        page.wrapped(&indent(), &indent(), &[note.as_str().into()]);
    }
    field(page, "retry", write.score.retry, &phrases::retry(&write.retry));
    field(
        page,
        "boundary",
        write.score.boundary,
        if write.boundary.is_empty() { "nothing could be made to go wrong" } else { "what it did after each failure:" },
    );
    for own in &write.boundary {
        let told = format!("{:24}  {}", phrases::failure(own), phrases::reading(own));
        page.wrapped(&indent_small(), &format!("{}{:26}", indent_small(), ""), &[told.into()]);
    }
    for gap in &write.gaps {
        let label = format!("    x {}: ", phrases::gap(gap.kind));
        page.wrapped("", "      ", &[Span(Role::Bad, label), gap.what.as_str().into()]);
        for fix in &gap.fixes {
            page.wrapped("      ", "        ", &[Span(Role::Faint, "- ".to_owned()), fix.words().into()]);
        }
    }
}

fn indent() -> String {
    " ".repeat(24)
}

fn indent_small() -> String {
    " ".repeat(6)
}

fn field(page: &mut Page, label: &str, mark: Mark, text: &str) {
    let role = match mark {
        Mark::Good => Role::Good,
        Mark::Gap => Role::Bad,
        Mark::Absent | Mark::NotKnown => Role::Doubt,
    };
    let (label, mark) = (Span(Role::Faint, format!("    {label:10}")), Span(role, format!("{:<10}", phrases::mark(mark))));
    page.wrapped("", &indent(), &[label, mark, text.into()]);
}

/// Two values side by side, never wrapped, so that the marks stand below what they mark.
fn pair(page: &mut Page, write: &Write) {
    let Some(pair) = &write.key.pair else { return };
    let (one, other) = phrases::senders(pair);
    let below = " ".repeat(6 + one.chars().count() + 2);
    for (from, value, differs) in [(one, &pair.one, pair.one_differs), (other, &pair.other, pair.other_differs)] {
        page.line(&["      ".into(), Span(Role::Faint, from), "  ".into(), value.as_str().into()]);
        if let Some(carets) = phrases::carets(differs) {
            page.line(&[below.clone().into(), Span(Role::Bad, carets)]);
        }
    }
}
