//! How the trials were made: images and their states, orders of threads, numbers of crashes, or why each trial was a kill.

use crate::model::report::{Cell, DepthCounts, Mode, OrderCounts, Report};

use super::page::Page;
use super::{cells, words};

/// Writes what is to be said of images.
pub(super) fn lines(page: &mut Page, report: &Report) {
    for cell in &report.cells {
        for (label, text) in told(cell) {
            page.field(label, &[format!("{text}{}", cells::in_cell(&cell.cell)).into()]);
        }
    }
}

fn told(cell: &Cell) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if let (Mode::Kill, Some(reason)) = (cell.mode, &cell.mode_reason) {
        lines.push(("by kill", format!("each trial is a SIGKILL of its own: {reason}")));
    }
    if cell.mode == Mode::Image {
        lines.push(("images", cell.depths.iter().map(depth).collect::<Vec<_>>().join("; ")));
        if cell.orders.len() > 1 {
            lines.push(("orders", cell.orders.iter().map(order).collect::<Vec<_>>().join("; ")));
        }
    }
    if let Some(check) = &cell.class_check {
        let members = words::counted(check.members, "member");
        let classes = words::counted_as(check.classes, "class", "classes");
        let outcome = match check.disagreements.len() {
            0 => "all agree".to_owned(),
            number => format!("{number} disagree"),
        };
        lines.push(("check", format!("{members} of {classes} of merged states were resumed: {outcome}")));
    }
    lines
}

fn depth(counts: &DepthCounts) -> String {
    let DepthCounts { depth, points, raw, distinct, told } = counts;
    let crashes = if *depth == 1 { String::new() } else { format!("after {depth} crashes: ") };
    let resumed = match told {
        0 => "each resumed".to_owned(),
        told => format!(
            "{} resumed; {told} differ from one of these in the ledger alone, which would have given that life the same answers",
            distinct.saturating_sub(*told)
        ),
    };
    format!("{crashes}{points} crash points, {raw} states by bytes, {distinct} by meaning, {resumed}")
}

fn order(counts: &OrderCounts) -> String {
    let OrderCounts { interleaving, points, unpictured, new_states } = counts;
    let missing = if *unpictured == 0 { String::new() } else { format!(" ({unpictured} of them not kept)") };
    format!("{interleaving} {points} points{missing}, {new_states} new states")
}
