//! What the tests share: where things are, the built command, a campaign in a folder of its own, and who is still alive.

pub mod python;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use killpoint::campaign::{self, Abort, Options, Source, Tell};
use killpoint::model::report::Report;
use killpoint::model::scenario::Scenario;
use killpoint::store::RunFolder;

/// The project's folder.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder in which cargo puts this build's programs.
fn programs() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_charge_then_record")).parent().expect("a program lies in a folder")
}

/// The command `killpoint`, built from what is here now: it belongs to another package, so cargo does not build it for these tests.
pub fn killpoint() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "-p", "killpoint", "--bin", "killpoint"]).current_dir(root());
        if programs().ends_with("release") {
            build.arg("--release");
        }
        let status = build.status().expect("cargo runs: it runs these tests");
        assert!(status.success(), "killpoint does not build");
        programs().join("killpoint")
    })
}

/// A shipped scenario, which runs the targets that were built with these tests instead of building them.
pub fn scenario(file: &str) -> Scenario {
    let mut scenario = killpoint::scenario::load(&root().join(file)).unwrap_or_else(|error| panic!("{error}"));
    let role = &mut scenario.roles[0];
    for command in [&mut role.start, &mut role.resume, &mut role.reconcile, &mut role.reset] {
        if let Some(name) = command.first().and_then(|word| word.strip_prefix("target/debug/")) {
            command[0] = programs().join(name).to_string_lossy().into_owned();
            role.setup = Vec::new();
        }
    }
    scenario
}

/// A run of a scenario with its report, in a folder that goes with it.
pub struct Ran {
    /// The folder's owner.
    pub keep: tempfile::TempDir,
    /// The run folder.
    pub folder: PathBuf,
    /// The report.
    pub report: Report,
}

/// Runs a scenario in this process.
pub fn run(scenario: &Scenario, jobs: usize) -> Ran {
    run_checked(scenario, jobs, 0)
}

/// The same, with so many groups of merged states checked.
pub fn run_checked(scenario: &Scenario, jobs: usize, class_check: usize) -> Ran {
    let keep = tempfile::tempdir().expect("a folder");
    let path = keep.path().join("run");
    let folder = RunFolder::create_at(&path).expect("an empty folder");
    let source = Source { file: None, text: String::new() };
    let options = Options { jobs, at: None, only: Vec::new(), class_check };
    let tell: Tell = Arc::new(|_| ());
    let report = runtime().block_on(campaign::run(scenario, &source, &options, &folder, tell, &Abort::default()));
    Ran { report: report.unwrap_or_else(|error| panic!("{error}: {:?}", std::error::Error::source(&error))), folder: path, keep }
}

/// A runtime.
pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

/// Processes, zombies left out, whose environment holds a text: a trial's folder is in the environment of all that it started.
pub fn alive_with(text: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").expect("this is Linux");
    let processes =
        entries.flatten().filter(|entry| entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()));
    processes
        .filter_map(|entry| {
            let environment = std::fs::read(entry.path().join("environ")).ok()?;
            let is_it = environment.windows(text.len()).any(|window| window == text.as_bytes());
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            (is_it && !stat.contains(") Z ")).then_some(stat)
        })
        .collect()
}
