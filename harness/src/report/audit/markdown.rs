//! The audit as Markdown, for an issue or a review.

use std::fmt::Write as _;

use super::super::words;
use super::phrases;
use crate::model::audit::{Audit, AuditedCell, Write};

/// The audit as a Markdown document.
#[must_use]
pub fn markdown(audit: &Audit) -> String {
    let mut out = format!("# Audit of retries: {}\n\n", safe(&audit.scenario));
    let _ = writeln!(out, "**{}**: {}", phrases::verdict(audit), phrases::scope(audit));
    for cell in &audit.cells {
        if !cell.cell.is_empty() {
            let _ = write!(out, "\n## {}\n", safe(&words::cell_name(&cell.cell)));
        }
        one(&mut out, cell);
    }
    for server in &audit.servers {
        let _ = write!(out, "\n## MCP server {}\n\n", code(&server.command));
        if let Some(trouble) = &server.trouble {
            let _ = writeln!(out, "Not known: {}", safe(trouble));
            continue;
        }
        out.push_str("| tool | what its schema says |\n|---|---|\n");
        for tool in &server.tools {
            let mark = if tool.is_unkeyed() { "**gap**: " } else { "" };
            let _ = writeln!(out, "| {} | {mark}{} |", safe(&tool.name), safe(&phrases::tool(tool)));
        }
    }
    out
}

fn one(out: &mut String, cell: &AuditedCell) {
    if let Some(reason) = &cell.broken {
        let _ = write!(out, "\nNot audited: {}\n", safe(reason));
        return;
    }
    if cell.writes.is_empty() {
        out.push_str("\nNo write was seen: nothing is shown.\n");
        return;
    }
    out.push_str("\n| write | effect | key | where | origin | stable across lives | repeated after a time-out |\n|---|---|---|---|---|---|---|\n");
    for write in &cell.writes {
        let key = &write.key;
        let row = [
            safe(&write.effect),
            code(&format!("{} {}", write.method, write.path)),
            phrases::presence(key).to_owned(),
            if key.places.is_empty() { "-".to_owned() } else { code(&key.places.join(", ")) },
            key.origin.words().to_owned(),
            phrases::stable(key).to_owned(),
            phrases::seen(write.repeated_after_timeout).to_owned(),
        ];
        let _ = writeln!(out, "| {} |", row.join(" | "));
    }
    out.push_str("\n| write | (a) key | (b) retry and back-off | (c) failure-detection boundary |\n|---|---|---|---|\n");
    for write in &cell.writes {
        let score = write.score;
        let parts = [score.key, score.retry, score.boundary].map(phrases::mark).join(" | ");
        let _ = writeln!(out, "| {} | {parts} |", safe(&write.effect));
    }
    for write in &cell.writes {
        block(out, write);
    }
    for probe in cell.probes.iter().filter(|probe| !probe.reached) {
        let reason = probe.reason.as_deref().unwrap_or_default();
        let _ = write!(out, "\nNot known: {}: {}\n", code(&probe.schedule.to_string()), safe(reason));
    }
}

fn block(out: &mut String, write: &Write) {
    let _ = write!(out, "\n### {}\n\n- key: {}\n", safe(&write.effect), safe(&phrases::key(&write.key)));
    if let Some(pair) = &write.key.pair {
        for (from, value) in [(&pair.one_from, &pair.one), (&pair.other_from, &pair.other)] {
            let _ = writeln!(out, "  - {}: {}", safe(from), code(value));
        }
    }
    for note in phrases::notes(write) {
        let _ = writeln!(out, "  - {}", safe(note));
    }
    let _ = writeln!(out, "- retry: {}", safe(&phrases::retry(&write.retry)));
    for own in &write.boundary {
        let _ = writeln!(out, "- {}: {}", phrases::failure(own), phrases::reading(own));
    }
    for gap in &write.gaps {
        let _ = writeln!(out, "- **{}**: {}", phrases::gap(gap.kind), safe(&gap.what));
        for fix in &gap.fixes {
            let _ = writeln!(out, "  - {}", fix.words());
        }
    }
}

/// A foreign text on one line, without what Markdown or HTML would obey.
fn safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '*' | '_' | '[' | ']' | '#' | '\\' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A foreign text as code.
fn code(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() || c == '`' { ' ' } else { c }).collect();
    format!("`{}`", line.replace('|', "\\|"))
}
