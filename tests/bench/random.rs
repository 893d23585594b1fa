//! Runs until the first finding: killpoint's order of points, beside kills at uniformly random times. Runs are counted, not time.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::machine::Machine;
use super::strace::{CELL, Refund, SCENARIO};
use super::table::{Goal, Row, median};
use super::world::{World, kill};

const SEED: u64 = 1;

/// A workflow, and how it is started, in its first life and after a crash.
struct Prey<'a> {
    name: &'static str,
    scenario: PathBuf,
    /// Options of the command for it.
    options: &'static [&'static str],
    /// Paths of the requests of which an unbroken run makes one each.
    paths: &'static [&'static str],
    start: Box<dyn Fn(&World) -> Command + 'a>,
    resume: Box<dyn Fn(&World) -> Command + 'a>,
    searches: u64,
    /// A search is given up after so many runs.
    most: u32,
}

impl Prey<'_> {
    /// A native target, which is started again as it was.
    fn native(machine: &Machine, name: &'static str, program: &'static str, paths: &'static [&'static str]) -> Self {
        let start = move |world: &World| {
            let mut command = world.command(program);
            command.arg("inv_1:2900");
            command
        };
        Self {
            name,
            scenario: machine.native(name, program),
            options: &[],
            paths,
            start: Box::new(start),
            resume: Box::new(start),
            searches: 3,
            most: if machine.is_full { 10_000 } else { 1_000 },
        }
    }
}

/// Both ways on each target. The native ones do nothing but what is to be hit; LangGraph's run is a second long, its window a few
/// milliseconds.
pub fn rows(machine: &Machine) -> Vec<Row> {
    let refund = Refund::new(machine);
    let langgraph = Prey {
        name: SCENARIO,
        scenario: machine.root.join(SCENARIO),
        options: &["--matrix", CELL, "--interleavings", "as-is"],
        paths: &["/v1/charges", "/email"],
        start: Box::new(|world| refund.start(world, &[])),
        resume: Box::new(|world| {
            let mut command = refund.start(world, &[]);
            command.arg("--resume");
            command
        }),
        searches: if machine.is_full { 3 } else { 1 },
        most: if machine.is_full { 1_000 } else { 100 },
    };
    [
        Prey::native(machine, "charge_then_record", env!("CARGO_BIN_EXE_charge_then_record"), &["/v1/charges"]),
        Prey::native(machine, "torn_journal", env!("CARGO_BIN_EXE_torn_journal"), &["/email"]),
        langgraph,
    ]
    .iter()
    .map(|prey| row(machine, prey))
    .collect()
}

fn row(machine: &Machine, prey: &Prey<'_>) -> Row {
    let ran = machine.campaign(&prey.scenario, &[prey.options, &["--jobs", "1"]].concat());
    let ours = runs_to_finding(&ran.folder.join("events.jsonl"), ran.report["states"]["distinct"].as_u64().unwrap_or(0));
    let searches: Vec<Option<u32>> = (0..prey.searches).map(|search| hunt(prey, SEED + search)).collect();
    let other = median(searches.iter().map(|runs| f64::from(runs.unwrap_or(prey.most))).collect());
    let is_bound = other >= f64::from(prey.most);
    Row {
        group: "random",
        what: format!(
            "runs of {} to the first finding, against kills at random times; searches: {}, the median",
            prey.name, prey.searches
        ),
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
    // One that was told by the life of another took no run.
    let clean = judged.iter().take_while(is_clean).filter(|event| event["state"].get("told_by").is_none()).count();
    u32::try_from(clean).unwrap_or(u32::MAX).saturating_add(2)
}

/// How many kills at random times it takes, or nothing after as many as are allowed.
fn hunt(prey: &Prey<'_>, seed: u64) -> Option<u32> {
    let world = World::new();
    let begin = Instant::now();
    (prey.start)(&world).status().expect("the target starts");
    let length = begin.elapsed();
    let mut dice = seed;
    (1..=prey.most).find(|_| {
        // Knuth's multiplier; the upper bits are the good ones.
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let part = f64::from(u32::try_from(dice >> 32).unwrap_or(u32::MAX)) / f64::from(u32::MAX);
        is_broken_by(prey, length.mul_f64(part))
    })
}

fn is_broken_by(prey: &Prey<'_>, after: Duration) -> bool {
    let world = World::new();
    let child = (prey.start)(&world).spawn().expect("the target starts");
    let (_never, silence) = mpsc::channel::<()>();
    _ = silence.recv_timeout(after);
    kill(child);
    world.begin_life();
    let status = (prey.resume)(&world).status().expect("the target starts");
    assert!(status.success(), "{} does not get over a kill", prey.name);
    prey.paths.iter().any(|path| world.effects(path) != 1)
}
