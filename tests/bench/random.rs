//! Runs until the first finding: killpoint's order of points, beside kills at uniformly random times. Runs are counted, not time.

use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::machine::Machine;
use super::table::{Goal, Row, median};
use super::world::{World, kill};

const SEED: u64 = 1;
const SEARCHES: u64 = 3;

/// A target, and the requests of which an unbroken run makes one.
struct Prey {
    name: &'static str,
    program: &'static str,
    path: &'static str,
}

const PREY: [Prey; 2] = [
    Prey { name: "charge_then_record", program: env!("CARGO_BIN_EXE_charge_then_record"), path: "/v1/charges" },
    Prey { name: "torn_journal", program: env!("CARGO_BIN_EXE_torn_journal"), path: "/email" },
];

/// Both ways on each target.
pub fn rows(machine: &Machine) -> Vec<Row> {
    PREY.iter().map(|prey| row(machine, prey)).collect()
}

fn row(machine: &Machine, prey: &Prey) -> Row {
    let most = if machine.is_full { 10_000 } else { 1_000 };
    let ran = machine.campaign(&machine.native(prey.name, prey.program), &["--jobs", "1"]);
    let ours = runs_to_finding(&ran.folder.join("events.jsonl"), ran.report["states"]["distinct"].as_u64().unwrap_or(0));
    let searches: Vec<Option<u32>> = (0..SEARCHES).map(|search| hunt(prey, SEED + search, most)).collect();
    let other = median(searches.iter().map(|runs| f64::from(runs.unwrap_or(most))).collect());
    let is_bound = other >= f64::from(most);
    Row {
        group: "random",
        what: format!("runs of {} to the first finding, against kills at random times; median of {SEARCHES} searches", prey.name),
        ours: format!("{ours} runs"),
        other: format!("{}{other} runs", if is_bound { ">" } else { "" }),
        ratio: Some(other / f64::from(ours)),
        is_bound,
        goal: Goal::AtLeast(100.0),
    }
}

/// The clean run, which is recorded, and the states that were resumed up to the first that breaks a promise.
fn runs_to_finding(events: &Path, states: u64) -> u32 {
    let text = std::fs::read_to_string(events).expect("a run has events");
    let judged =
        text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).filter(|event| event["event"] == "state_tried");
    let judged: Vec<Value> = judged.collect();
    assert_eq!(judged.len() as u64, states, "events of states are not as expected");
    let is_clean = |event: &&Value| {
        event["state"]["judgements"].as_array().is_some_and(|all| all.iter().all(|judgement| judgement["verdict"] == "once"))
    };
    u32::try_from(judged.iter().take_while(is_clean).count()).unwrap_or(u32::MAX).saturating_add(2)
}

/// How many kills at random times it takes, or nothing after `most`.
fn hunt(prey: &Prey, seed: u64, most: u32) -> Option<u32> {
    let world = World::new();
    let begin = Instant::now();
    world.command(prey.program).arg("inv_1:2900").status().expect("the target starts");
    let length = begin.elapsed();
    let mut dice = seed;
    (1..=most).find(|_| {
        // Knuth's multiplier; the upper bits are the good ones.
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let part = f64::from(u32::try_from(dice >> 32).unwrap_or(u32::MAX)) / f64::from(u32::MAX);
        is_broken_by(prey, length.mul_f64(part))
    })
}

fn is_broken_by(prey: &Prey, after: Duration) -> bool {
    let world = World::new();
    let child = world.command(prey.program).arg("inv_1:2900").spawn().expect("the target starts");
    let (_never, silence) = mpsc::channel::<()>();
    _ = silence.recv_timeout(after);
    kill(child);
    world.begin_life();
    let status = world.command(prey.program).arg("inv_1:2900").status().expect("the target starts");
    assert!(status.success(), "{} does not get over a kill", prey.name);
    world.effects(prey.path) != 1
}
