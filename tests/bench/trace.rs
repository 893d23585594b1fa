//! CPU time of the LangGraph run under the tracer, beside the bare run.

use super::machine::{Machine, children_cpu};
use super::strace::{CELL, Refund, SCENARIO};
use super::table::{Goal, Row, median};
use super::world::World;

const ROUNDS: usize = 15;

/// One row. What the command itself needs, its start and its sandbox, counts as tracing.
pub fn rows(machine: &Machine) -> Vec<Row> {
    let refund = Refund::new(machine);
    let (mut ours, mut other, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let traced = machine.traced_cpu(SCENARIO, CELL).as_secs_f64();
        let world = World::new();
        let before = children_cpu();
        let status = refund.start(&world, &[]).status().expect("python starts");
        assert!(status.success(), "the refund fails when it is not traced");
        let bare = (children_cpu() - before).as_secs_f64();
        // A pair ran within the same few seconds: a machine that others slow down does so to both.
        ratios.push(traced / bare);
        ours.push(traced);
        other.push(bare);
    }
    let (ours, other) = (median(ours), median(other));
    vec![Row {
        group: "trace",
        what: format!(
            "CPU time of one LangGraph run, killpoint's own included, against the bare run; medians of {ROUNDS} alternating pairs, and of their ratios"
        ),
        ours: format!("{:.0} ms", ours * 1e3),
        other: format!("{:.0} ms", other * 1e3),
        ratio: Some(median(ratios)),
        is_bound: false,
        goal: Goal::AtMost(1.05),
    }]
}
