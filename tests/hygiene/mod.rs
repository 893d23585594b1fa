//! No survivor and no lost result, whatever the workflow did and however killpoint itself ends.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use killpoint::model::report::{Report, RunVerdict};
use killpoint::model::scenario::Strategy;

use crate::support;

/// A text that only processes of this test have in their environment.
fn mark(name: &str) -> String {
    format!("hygiene-{name}-{}", std::process::id())
}

#[test]
fn a_thousand_trials_of_a_daemon_leave_no_process_behind() {
    let mut scenario = support::scenario("scenarios/native/daemon_doer.toml");
    let mark = mark("thousand");
    scenario.roles[0].env.push(("MARK".to_owned(), mark.clone()));
    scenario.campaign.strategy = Strategy::Sample;
    scenario.campaign.trials = 1_000;
    let ran = support::run(&scenario, 2);
    assert_eq!(support::alive_with(&mark), Vec::<String>::new());
    assert_eq!((ran.report.points.total, ran.report.points.reached, ran.report.verdict), (1_000, 1_000, RunVerdict::Clean));
}

/// A scenario whose lives each say that they have begun, through a pipe with a name.
struct Stage {
    keep: tempfile::TempDir,
    mark: String,
}

impl Stage {
    fn new(name: &str, script: &str) -> Self {
        let keep = tempfile::tempdir().expect("a folder");
        let mark = mark(name);
        let status = Command::new("mkfifo").arg(keep.path().join("begun")).status().expect("mkfifo is there");
        assert!(status.success());
        let program = Path::new(env!("CARGO_BIN_EXE_charge_then_record"));
        let text = format!(
            "name = \"{name}\"\n[workflow]\nstart = [\"sh\", \"-c\", '''{script}''']\n\
             env = {{ BILLING_URL = \"{{sandbox.url}}\", STATE_DIR = \"{{state}}\", MARK = \"{mark}\", BEGUN = \"{begun}\", TARGET = \"{target}\" }}\n\
             [[promise]]\nname = \"charge\"\neffect = \"POST /v1/charges\"\nintent = \"$.metadata.invoice\"\n",
            begun = keep.path().join("begun").display(),
            target = program.display(),
        );
        std::fs::write(keep.path().join("scenario.toml"), text).expect("it can be written");
        Self { keep, mark }
    }

    fn run_folder(&self) -> PathBuf {
        self.keep.path().join("run")
    }

    fn start(&self, arguments: &[&str]) -> Child {
        let mut command = Command::new(support::killpoint());
        command.args(arguments).current_dir(self.keep.path()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("killpoint runs")
    }

    /// Waits until so many lives have begun; from then on a life that begins waits for a reader.
    fn wait_for_lives(&self, count: usize) {
        let mut seen = 0;
        while seen < count {
            // Opening waits for a writer, and the end of the file comes when the last writer has closed.
            let pipe = File::open(self.keep.path().join("begun")).expect("the pipe is there");
            seen += BufReader::new(pipe).lines().count();
        }
    }

    /// Lets every life that begins from now on go on.
    fn release(&self) {
        let path = self.keep.path().join("begun");
        std::thread::spawn(move || {
            while let Ok(pipe) = File::open(&path) {
                BufReader::new(pipe).lines().count();
            }
        });
    }

    fn wait_for_quiet(&self) {
        // SIGKILL is on its way to all of them; how long the kernel takes is its own affair.
        while !support::alive_with(&self.mark).is_empty() {
            std::thread::yield_now();
        }
    }

    fn report(&self) -> Report {
        killpoint::store::read_report(&self.run_folder()).expect("there is a report")
    }
}

fn send(child: &Child, signal: &str) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill is there");
    assert!(status.success());
}

#[test]
fn a_sigkill_of_killpoint_itself_leaves_no_process_behind() {
    let stage = Stage::new("sigkill", "(setsid sh -c \"sleep 1000 & echo life > $BEGUN; sleep 1000\" &); sleep 1000");
    let mut child = stage.start(&["run", "scenario.toml", "--out", "run"]);
    stage.wait_for_lives(1);
    assert!(support::alive_with(&stage.mark).len() >= 3, "the workflow runs");
    send(&child, "-KILL");
    child.wait().expect("it was started");
    stage.wait_for_quiet();
}

/// Interrupts a run when so many lives have begun and takes it up again; the reports of both.
fn interrupted(name: &str, arguments: &[&str], lives: usize) -> (Stage, Report, Report) {
    let stage = Stage::new(name, "echo life > $BEGUN; exec $TARGET inv_1:2900");
    let all = [&["run", "scenario.toml", "--out", "run", "--jobs", "1"], arguments].concat();
    let child = stage.start(&all);
    stage.wait_for_lives(lives);
    send(&child, "-INT");
    let output = child.wait_with_output().expect("it was started");
    stage.wait_for_quiet();
    let cut_off = stage.report();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("--resume"), "{stderr}");
    assert_eq!(output.status.code(), Some(if cut_off.findings.is_empty() { 4 } else { 1 }), "{stderr}");

    stage.release();
    let resumed = stage.start(&["run", "--resume", "run"]).wait_with_output().expect("it was started");
    let report = stage.report();
    let stderr = String::from_utf8_lossy(&resumed.stderr);
    assert_eq!(resumed.status.code(), Some(1), "{stderr}");
    assert_eq!((report.points.reached, report.points.unreached), (report.points.total, 0), "{stderr}");
    assert_eq!(report.findings.len(), 1);
    (stage, cut_off, report)
}

fn events(stage: &Stage, name: &str) -> u64 {
    let events = std::fs::read_to_string(stage.run_folder().join("events.jsonl")).expect("there are events");
    events.matches(&format!("\"event\":\"{name}\"")).count() as u64
}

#[test]
fn an_interrupt_keeps_what_was_found_by_kills_and_the_run_is_taken_up_again() {
    // The clean run takes one life and each trial two, so that some trials are done by now.
    let (stage, cut_off, report) = interrupted("interrupt", &["--mode", "kill"], 16);
    assert!(cut_off.points.reached >= 5 && cut_off.points.reached < cut_off.points.total, "{:?}", cut_off.points);
    // What was done was not done again.
    assert_eq!(events(&stage, "trial_finished"), report.points.total);
    assert_eq!(events(&stage, "baseline_finished"), 1);
}

#[test]
fn an_interrupt_keeps_what_was_found_from_images_and_the_run_is_taken_up_again() {
    // The clean run is recorded once, and each state takes one life.
    let (stage, cut_off, report) = interrupted("interrupt-images", &["--mode", "image"], 3);
    assert!(cut_off.states.distinct >= 5 && cut_off.points.reached < cut_off.points.total, "{:?}", cut_off.points);
    assert_eq!(events(&stage, "recorded"), report.cells[0].orders.len() as u64);
    assert_eq!(events(&stage, "state_tried"), report.states.distinct);
    assert!(!stage.run_folder().join("images").exists(), "the images go when all is told");
}

#[test]
fn a_termination_signal_is_an_interrupt_too() {
    let stage = Stage::new("terminate", "(setsid sleep 1000 &); echo life > $BEGUN; sleep 1000");
    let child = stage.start(&["run", "scenario.toml", "--out", "run"]);
    stage.wait_for_lives(1);
    send(&child, "-TERM");
    let output = child.wait_with_output().expect("it was started");
    stage.wait_for_quiet();
    assert_eq!(output.status.code(), Some(4), "{}", String::from_utf8_lossy(&output.stderr));
}
