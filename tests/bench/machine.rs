//! Where things are, the release build of the command, and campaigns run by it with their time, memory and report.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde_json::Value;

/// How often the memory of a running campaign is read.
const MEMORY_TICK: Duration = Duration::from_millis(5);

/// This machine and this build.
pub struct Machine {
    /// The project's folder.
    pub root: PathBuf,
    /// The command, built for release.
    pub killpoint: PathBuf,
    /// How many CPUs there are.
    pub cpus: usize,
    /// Whether nothing is to be left out.
    pub is_full: bool,
    /// Goes with the benchmarks.
    pub scratch: tempfile::TempDir,
}

/// A run of the command.
pub struct Ran {
    /// How long it took.
    pub wall: Duration,
    /// The most memory it had, in KiB, itself without the workflow.
    pub peak_kib: u64,
    /// What it printed.
    pub report: Value,
    /// Its run folder.
    pub folder: PathBuf,
}

impl Machine {
    /// Builds the command with cargo.
    pub fn new(is_full: bool) -> Self {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--release", "-p", "killpoint", "--bin", "killpoint"]).current_dir(&root);
        assert!(build.status().expect("cargo runs: it runs this").success(), "killpoint does not build");
        let programs = Path::new(env!("CARGO_BIN_EXE_charge_then_record")).parent().expect("a program lies in a folder");
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        let scratch = tempfile::tempdir().expect("there is room for temporary files");
        Self { killpoint: programs.join("killpoint"), root, cpus, is_full, scratch }
    }

    /// A shipped native scenario that runs the target of this build and builds nothing itself.
    pub fn native(&self, name: &str, program: &str) -> PathBuf {
        let path = self.root.join(format!("scenarios/native/{name}.toml"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut scenario: toml::Table = text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let workflow = scenario["workflow"].as_table_mut().expect("a scenario has a workflow");
        workflow.remove("setup");
        workflow.remove("setup_always");
        workflow.insert("dir".to_owned(), self.root.to_string_lossy().into_owned().into());
        workflow["start"][0] = program.into();
        let own = self.scratch.path().join(format!("{name}.toml"));
        std::fs::write(&own, scenario.to_string()).expect("a temporary file can be written");
        own
    }

    /// Runs a campaign.
    pub fn campaign(&self, scenario: &Path, options: &[&str]) -> Ran {
        let folder = tempfile::tempdir_in(self.scratch.path()).expect("there is room for temporary files").keep();
        let report = folder.join("printed.json");
        let run = folder.join("run");
        let mut command = Command::new(&self.killpoint);
        command.arg("run").arg(scenario).args(options).args(["--quiet", "--format", "json", "--out"]).arg(&run);
        command.current_dir(&self.root).stdout(std::fs::File::create(&report).expect("a temporary file can be written"));
        let begin = Instant::now();
        let peak_kib = watch_memory(command.spawn().expect("killpoint starts"));
        let wall = begin.elapsed();
        let text = std::fs::read_to_string(&report).expect("it was made above");
        let report =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{} printed no report: {error}", scenario.display()));
        Ran { wall, peak_kib, report, folder: run }
    }

    /// CPU time of the command while it only lists points, that of the workflow included.
    pub fn traced_cpu(&self, scenario: &str, cell: &str) -> Duration {
        let before = children_cpu();
        let mut command = Command::new(&self.killpoint);
        command.args(["points", scenario, "--matrix", cell, "--quiet"]).current_dir(&self.root).stdout(Stdio::null());
        assert!(command.status().expect("killpoint starts").success(), "killpoint points {scenario} fails");
        children_cpu() - before
    }
}

/// Waits for a child and returns the most memory it was seen to have, in KiB.
fn watch_memory(mut child: Child) -> u64 {
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let (over, is_over) = mpsc::channel();
    let waiter = thread::spawn(move || {
        let status = child.wait();
        _ = over.send(());
        status
    });
    let mut peak = 0;
    while is_over.recv_timeout(MEMORY_TICK) == Err(RecvTimeoutError::Timeout) {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0);
        peak = peak.max(kib);
    }
    waiter.join().expect("a waiter only waits").expect("a child can be waited for");
    peak
}

/// CPU time of all children that have been waited for, user and system. Their sum is exact to a microsecond, even where the kernel
/// divides it between the two by its ticks.
pub fn children_cpu() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("a process may ask for its own children");
    [usage.user_time(), usage.system_time()]
        .iter()
        .map(|time| Duration::from_micros(time.num_microseconds().unsigned_abs()))
        .sum()
}
