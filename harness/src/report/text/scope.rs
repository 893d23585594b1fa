//! The scope: what was shown, what lies outside of it, and what was noticed on the way.

use std::collections::BTreeMap;

use crate::model::call::Notice;
use crate::model::fault::Fault;
use crate::model::report::{Isolation, Level, Mode, Report};
use crate::model::scenario::{Network, Scope};

use super::page::{Page, Role, Span};
use super::{cells, states, words};

/// Lines of one kind (not repeatable, noticed) that are shown.
const LINES_MAX: usize = 10;

/// Writes the scope and the last line.
pub(super) fn statement(page: &mut Page, report: &Report) {
    page.blank();
    page.wrapped("", "", &[Span(Role::Strong, "What this run can say".to_owned())]);
    page.field("looked", &[looked(report).into()]);
    list(page, "wire", &wire(report));
    page_world(page, report);
    states::lines(page, report);
    list(page, "outside", &report.outside);
    list(page, "noticed", &notices(report));
    list(page, "differs", &not_repeatable(report));
    page.blank();
    page.wrapped("", "", &[Span(Role::Faint, last_line(report))]);
}

fn looked(report: &Report) -> String {
    let (Scope::ProcessDeath, Level::Syscall) = (report.scope, report.level);
    match report.mode {
        _ if report.points.total == 0 && report.cells.iter().any(|cell| !cell.wire.is_empty()) => {
            "what goes wrong between the workflow and the outside world; no process was to be killed".to_owned()
        }
        Mode::Kill if report.trials.killed == 0 => "at clean runs only: no process was killed".to_owned(),
        Mode::Image if report.states.distinct == 0 => "at clean runs only: no state was resumed".to_owned(),
        Mode::Kill => {
            "process death: the whole process tree dies by a real SIGKILL just before a system call that changes something outside it, \
             or at a moment of a request; what was handed to the kernel stays"
                .to_owned()
        }
        Mode::Image => {
            "process death: the durable world was kept just before each system call that changes something outside the process tree, and \
             at each moment of a request, as a SIGKILL there would leave it; the workflow was resumed from each distinct one (see images)"
                .to_owned()
        }
    }
}

/// What went wrong on the wire on purpose: a line for each fault, over all cells.
fn wire(report: &Report) -> Vec<String> {
    let mut sums: BTreeMap<Fault, (u64, u64, u64)> = BTreeMap::new();
    for counts in report.cells.iter().flat_map(|cell| &cell.wire) {
        let sum = sums.entry(counts.fault).or_default();
        *sum = (sum.0 + counts.planned, sum.1 + counts.reached, sum.2 + counts.broken);
    }
    let line = |(fault, (planned, reached, broken)): (Fault, (u64, u64, u64))| {
        let trials = words::counted(planned, "trial");
        let missed = if reached < planned { format!(", {} did not come to happen", planned - reached) } else { String::new() };
        match broken {
            0 => format!("{fault}: {trials}{missed}, no promise broken"),
            _ => format!("{fault}: {trials}{missed}, a promise broken in {broken}"),
        }
    };
    sums.into_iter().map(line).collect()
}

/// Whose network and mounts the trials had.
fn page_world(page: &mut Page, report: &Report) {
    let Some(Isolation { network, reason }) = &report.isolation else { return };
    let what = match network {
        Network::Private => {
            "each trial had a network, /tmp, /dev/shm and a home of its own, at the same addresses and paths in every life"
        }
        Network::Host => {
            "the trials had the machine's network, /dev/shm and home, and ports and paths that differ from trial to trial"
        }
    };
    let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    page.field("world", &[format!("{what}{reason}").into()]);
}

fn list(page: &mut Page, label: &str, lines: &[String]) {
    for (index, line) in lines.iter().take(LINES_MAX).enumerate() {
        page.field(if index == 0 { label } else { "" }, &[line.as_str().into()]);
    }
    if lines.len() > LINES_MAX {
        page.field("", &[format!("and {} more, in report.json", lines.len() - LINES_MAX).into()]);
    }
}

/// Each thing noticed once, with the cells it was noticed in.
fn notices(report: &Report) -> Vec<String> {
    let mut seen: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for cell in &report.cells {
        for notice in &cell.notices {
            let cells = seen.entry(noticed(notice)).or_default();
            let name = words::cell_name(&cell.cell);
            if !cells.contains(&name) {
                cells.push(name);
            }
        }
    }
    let everywhere = report.cells.len();
    let line = |(text, cells): (String, Vec<String>)| {
        if cells.len() == everywhere { text } else { format!("{text} (in {})", cells.join("; ")) }
    };
    seen.into_iter().map(line).collect()
}

fn noticed(notice: &Notice) -> String {
    match notice {
        Notice::IoUring => "io_uring: what goes through it is no crash point".to_owned(),
        Notice::SharedMapping { object } => format!("shared_mapping: {object} changes without a call"),
        Notice::Connect { object } => format!("connect: {object} is not the sandbox and is not reset between trials"),
        Notice::Refused { object } => {
            format!("refused: {object} is outside of the trial's own network, or nobody listened there")
        }
        Notice::OutsideWrite { object } => format!("outside_write: {object} is not reset between trials"),
        Notice::Lingering { processes } => {
            let number = words::counted_as((*processes).into(), "process", "processes");
            format!("lingering: {number} outlived the first one and had to be ended")
        }
        Notice::Compat32 => "compat32: a 32-bit program was run".to_owned(),
    }
}

fn not_repeatable(report: &Report) -> Vec<String> {
    let lines = report.cells.iter().flat_map(|cell| {
        cell.not_repeatable.iter().map(|line| format!("between two clean runs{}: {line}", cells::in_cell(&cell.cell)))
    });
    lines.collect()
}

fn last_line(report: &Report) -> String {
    let lives = words::counted_as(report.lives, "life", "lives");
    format!(
        "killpoint {}, seed {}, {} killed, {lives}, {}",
        report.killpoint_version,
        report.seed,
        words::counted(report.trials.killed, "trial"),
        words::duration(report.wall_ms.saturating_mul(1_000)),
    )
}
