//! The exhaustive sweep of the LangGraph target, beside a loop of `strace` that kills at each call in turn and resumes.
//!
//! The loop in its best form that works: all on one CPU, where a stop is cheapest, and the sandbox outside of the traced tree.
//! `--seccomp-bpf` would stop less often, but strace 6.1 leaves out most injections with it, so only the clean run has it. strace counts
//! calls per thread, so a kill at the n-th call of a name may not come where it was aimed, or at all; how many came is shown, and
//! without most of them there is no ratio.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use killpoint::state::Cache;

use super::machine::{Machine, Ran};
use super::table::{Goal, Row};
use super::world::World;

/// The scenario that is swept.
pub const SCENARIO: &str = "scenarios/langgraph/charge_without_key.toml";
/// Its cell.
pub const CELL: &str = "durability=sync";
/// Calls that change something. Opening is left out: Python opens thousands of files to read them.
const CALLS: &str =
    "write,pwrite64,writev,sendto,sendmsg,connect,fsync,fdatasync,ftruncate,rename,unlink,mkdir,fallocate,exit_group";
const SAMPLE: usize = 12;

/// The LangGraph target with the packages that its scenario installs.
pub struct Refund {
    python: PathBuf,
    script: PathBuf,
}

impl Refund {
    /// Has the scenario install what it needs, by listing its points.
    pub fn new(machine: &Machine) -> Self {
        machine.traced_cpu(SCENARIO, CELL);
        let scenario = killpoint::scenario::load(&machine.root.join(SCENARIO)).unwrap_or_else(|error| panic!("{error}"));
        let role = &scenario.roles[0];
        let cache = Cache::of(&role.dir, &role.setup, &role.setup_reads).unwrap_or_else(|error| panic!("{error}"));
        Self { python: cache.folder().join("bin/python"), script: machine.root.join("targets/langgraph/refund.py") }
    }

    /// Its start command, behind the words of another command, such as `strace`.
    pub fn start(&self, world: &World, before: &[&str]) -> Command {
        let mut command = match before {
            [] => world.command(&self.python),
            [program, words @ ..] => {
                let mut command = world.command(program);
                command.args(words).arg(&self.python);
                command
            }
        };
        command.arg(&self.script).args(["--thread", "t1", "--invoice", "inv_9", "--cents", "2900"]);
        command.args(["--durability", "sync", "--key", "none"]).env("LANGSMITH_TRACING", "false");
        command
    }
}

/// What the loop did.
#[derive(Default)]
struct Loop {
    points: usize,
    tried: usize,
    came: usize,
    seconds: f64,
}

/// One row: killpoint's whole sweep, and the loop over a sample of its points, times their number.
pub fn rows(machine: &Machine) -> Vec<Row> {
    for (program, package) in [("strace", "strace"), ("taskset", "util-linux")] {
        if Command::new(program).arg("--version").stdout(Stdio::null()).status().is_err() {
            return vec![Row::skipped("strace", &format!("{program} is missing; apt-get install {package}"))];
        }
    }
    let refund = Refund::new(machine);
    let all = points(&refund);
    let step = if machine.is_full { 1 } else { all.len().div_ceil(SAMPLE) };
    let mut done = Loop { points: all.len(), ..Loop::default() };
    for (call, nth) in all.iter().step_by(step) {
        let begin = Instant::now();
        let came = kill_and_resume(&refund, call, *nth);
        done.seconds += begin.elapsed().as_secs_f64();
        done.tried += 1;
        done.came += usize::from(came);
    }
    eprintln!("  the loop: {} of {} kills came, {:.1} s in all; now the sweep", done.came, done.tried, done.seconds);
    let sweep = |orders: &str| {
        let asked = ["--matrix", CELL, "--points", "all", "--interleavings", orders];
        machine.campaign(&machine.root.join(SCENARIO), &asked)
    };
    // The loop knows one order of the threads; killpoint's default records seven.
    let (same, more) = (sweep("as-is"), sweep("as-is,flush-late,flush-early,seed:1,seed:2,seed:3,seed:4"));
    vec![
        row(&done, &same, "the order that the machine makes"),
        row(&done, &more, "seven orders of threads, where the loop has one"),
    ]
}

fn row(done: &Loop, ran: &Ran, orders: &str) -> Row {
    let count = ran.report["points"]["total"].as_u64().unwrap_or(0);
    let points = f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let each = done.seconds / done.tried as f64;
    let (ours, other) = (ran.wall.as_secs_f64(), each * points);
    Row {
        group: "strace",
        what: format!(
            "sweep of {SCENARIO}, {CELL}, all {count} points ({} mode, {} lives; {orders}), against strace on one CPU: {} of its {} calls tried, \
             {} kills came, {each:.2} s each, scaled to {count}",
            ran.report["mode"].as_str().unwrap_or("?"),
            ran.report["lives"],
            done.tried,
            done.points,
            done.came
        ),
        ours: format!("{ours:.1} s"),
        other: format!("{other:.0} s"),
        ratio: (2 * done.came > done.tried).then_some(other / ours),
        is_bound: false,
        goal: Goal::AtLeast(100.0),
    }
}

/// Each call that counts of a clean run, as its name and how-manieth it is in its thread: all that strace can aim at.
fn points(refund: &Refund) -> Vec<(String, u32)> {
    let world = World::new();
    let log = world.state().with_extension("strace");
    let (file, calls) = (log.to_string_lossy().into_owned(), format!("trace={CALLS}"));
    let words = ["taskset", "-c", "0", "strace", "--seccomp-bpf", "-f", "-qq", "-o", &file, "-e", &calls, "-e", "signal=none"];
    assert!(refund.start(&world, &words).status().expect("strace starts").success(), "the refund fails under strace");
    let text = std::fs::read_to_string(&log).expect("strace has written its log");
    let mut counts = BTreeMap::new();
    let mut points = Vec::new();
    for line in text.lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let Some((call, _)) = rest.trim_start().split_once('(') else { continue };
        // The second half of a call that was interrupted in the log begins with `<...`.
        if call.starts_with('<') {
            continue;
        }
        let nth = counts.entry((thread.to_owned(), call.to_owned())).or_insert(0);
        *nth += 1;
        points.push((call.to_owned(), *nth));
    }
    points
}

/// Whether the kill came. The run is resumed in any case, as a loop that cannot know has to.
fn kill_and_resume(refund: &Refund, call: &str, nth: u32) -> bool {
    let world = World::new();
    let (trace, inject) = (format!("trace={call}"), format!("inject={call}:signal=KILL:when={nth}"));
    let words = ["taskset", "-c", "0", "strace", "-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject];
    let came = !refund.start(&world, &words).status().expect("strace starts").success();
    world.begin_life();
    let resumed = refund.start(&world, &["taskset", "-c", "0"]).arg("--resume").status().expect("python starts");
    assert!(resumed.success(), "the refund does not get over a kill at {call} {nth}");
    came
}
