//! One kill trial of a small native target, beside fork, exec, SIGKILL, fork, exec of the same program by plain means.

use std::time::{Duration, Instant};

use super::machine::Machine;
use super::table::{Goal, Row, median};
use super::world::{World, kill};

const PROGRAM: &str = env!("CARGO_BIN_EXE_charge_then_record");
const TRIALS: u32 = 200;
const ROUNDS: usize = 5;

/// A campaign of many trials less one of a single trial leaves the trials; the plain side is the same number of lives.
pub fn rows(machine: &Machine) -> Vec<Row> {
    let scenario = machine.native("charge_then_record", PROGRAM);
    let run = |trials: u32| {
        let trials = trials.to_string();
        machine.campaign(&scenario, &["--strategy", "sample", "--jobs", "1", "--trials", &trials]).wall
    };
    let (mut ours, mut other) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let fixed = run(1);
        ours.push(run(TRIALS + 1).saturating_sub(fixed).as_secs_f64() / f64::from(TRIALS));
        other.push((0..TRIALS).map(|_| plain()).sum::<Duration>().as_secs_f64() / f64::from(TRIALS));
    }
    let (ours, other) = (median(ours), median(other));
    vec![Row {
        group: "trial",
        what: format!(
            "a trial of charge_then_record, one at a time, against two plain lives; {TRIALS} trials, median of {ROUNDS} rounds"
        ),
        ours: format!("{:.2} ms", ours * 1e3),
        other: format!("{:.2} ms", other * 1e3),
        ratio: Some(ours / other),
        is_bound: false,
        goal: Goal::AtMost(2.0),
    }]
}

/// A life that is killed when its charge is made, and another. The world is not counted.
fn plain() -> Duration {
    let world = World::new();
    let begin = Instant::now();
    let child = world.command(PROGRAM).arg("inv_1:2900").spawn().expect("the target starts");
    world.await_effect();
    kill(child);
    let status = world.command(PROGRAM).arg("inv_1:2900").status().expect("the target starts");
    let took = begin.elapsed();
    assert!(status.success(), "the target does not get over a kill");
    took
}
