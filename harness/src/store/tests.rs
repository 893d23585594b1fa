//! Tests of the run folder, on real files: a cut-off run, a full disk, two at once, and finding a finding again.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::model::event::Event;
use crate::model::finding::{Finding, Window};
use crate::model::life::{Trial, TrialEnd};
use crate::model::scenario::{CampaignSpec, PointRange, SandboxSpec, Scenario, Scope, Strategy};
use crate::model::schedule::Schedule;
use crate::model::verdict::{Cause, Verdict};

use super::*;

fn now() -> jiff::Timestamp {
    "2026-08-21T10:15:30.25Z".parse().expect("a timestamp")
}

fn warning(message: &str) -> Event {
    Event::Warning { message: message.to_owned() }
}

fn runs_root(dir: &tempfile::TempDir) -> PathBuf {
    dir.path().join("reports/runs")
}

fn finding_file(id: &str) -> FindingFile {
    let point: crate::model::point::Point = "charge#1:answered".parse().expect("a point");
    let window = Window {
        fault: crate::model::fault::Fault::Kill,
        interleaving: crate::model::interleaving::Interleaving::AsIs,
        after: None,
        intent: "inv_9".to_owned(),
        first: point.clone(),
        last: point.clone(),
        closed_by: None,
        points: 1,
        clean_points: 0,
        micros: 40,
    };
    let finding = Finding {
        interleaving: crate::model::interleaving::Interleaving::AsIs,
        id: id.to_owned(),
        cell: vec!["durability=exit".to_owned()],
        verdict: Verdict::Duplicated,
        promise: "charge".to_owned(),
        intent: "inv_9".to_owned(),
        intents: vec!["inv_9".to_owned()],
        expected: "exactly 1".to_owned(),
        observed: 2,
        window: window.clone(),
        windows: vec![window],
        cause: Cause::NoKey,
        why: vec![],
        confirmed_by_sigkill: true,
        fault: crate::model::fault::Fault::Kill,
        also: Vec::new(),
        schedule: Schedule::kill(point),
        trials: 1,
        repro: format!("killpoint replay {id}"),
    };
    let scenario = Scenario {
        name: "a run".to_owned(),
        scope: Scope::ProcessDeath,
        roles: vec![],
        sandbox: SandboxSpec::default(),
        promises: vec![],
        matrix: vec![("durability".to_owned(), vec!["exit".to_owned()])],
        campaign: CampaignSpec {
            fail: Vec::new(),
            strategy: Strategy::Sweep,
            points: PointRange::All,
            faults: vec![],
            seed: 7,
            ..CampaignSpec::default()
        },
    };
    FindingFile {
        image: None,
        schema: FINDING_SCHEMA.to_owned(),
        killpoint_version: "0.1.0".to_owned(),
        scenario_file: Some(PathBuf::from("scenarios/a.toml")),
        scenario_text: Some("name = \"a run\"\n".to_owned()),
        base_dir: PathBuf::from("/somewhere/scenarios"),
        seed: 7,
        cell: vec![("durability".to_owned(), "exit".to_owned())],
        scenario,
        finding,
    }
}

fn names_in(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_new_run_is_named_by_time_and_scenario_and_latest_points_to_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let root = runs_root(&dir);
    let first = RunFolder::create(&root, "LangGraph: charge without a key", now()).expect("a run folder");
    assert_eq!(first.path(), root.join("20260821T101530Z-langgraph-charge-without-a-key"));
    let second = RunFolder::create(&root, "LangGraph: charge without a key", now()).expect("a second one in the same second");
    assert_eq!(second.path(), root.join("20260821T101530Z-langgraph-charge-without-a-key-2"));
    let link = fs::read_link(dir.path().join("reports/latest")).expect("a link");
    assert_eq!(link, Path::new("runs/20260821T101530Z-langgraph-charge-without-a-key-2"));
    assert_eq!(names_in(&dir.path().join("reports")), ["latest", "runs"], "no temporary file stays behind");
}

#[test]
fn a_scenario_name_of_signs_alone_still_makes_a_folder() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = RunFolder::create(&runs_root(&dir), "../../..", now()).expect("a run folder");
    assert_eq!(folder.path(), runs_root(&dir).join("20260821T101530Z-run"));
}

#[test]
fn out_takes_exactly_that_folder_but_not_one_that_holds_something() {
    let dir = tempfile::tempdir().expect("a folder");
    let out = dir.path().join("out");
    let folder = RunFolder::create_at(&out).expect("a new folder");
    assert_eq!(folder.path(), out);
    drop(folder);
    let error = RunFolder::create_at(&out).expect_err("it is a run folder now");
    assert!(matches!(error, StoreError::NotEmpty { is_run: true, .. }), "{error}");
    assert!(error.hint().expect("a hint").contains(&format!("killpoint run --resume {}", out.display())));

    let other = dir.path().join("other");
    fs::create_dir(&other).expect("a folder");
    fs::write(other.join("thesis.txt"), "mine").expect("a file");
    let error = RunFolder::create_at(&other).expect_err("it holds somebody's file");
    assert!(matches!(error, StoreError::NotEmpty { is_run: false, .. }), "{error}");
    assert_eq!(names_in(&other), ["thesis.txt"]);
    let error = RunFolder::open(&other).expect_err("it is no run folder");
    assert!(matches!(error, StoreError::NotARun { .. }), "{error}");
    assert_eq!(names_in(&other), ["thesis.txt"]);
}

#[test]
fn a_torn_last_line_is_cut_off_and_the_run_goes_on_behind_the_whole_ones() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = RunFolder::create_at(dir.path()).expect("a run folder");
    folder.append(&warning("one")).expect("written");
    folder.append(&warning("two")).expect("written");
    drop(folder);
    let file = dir.path().join("events.jsonl");
    let whole = fs::read(&file).expect("the events");
    let mut appended = fs::OpenOptions::new().append(true).open(&file).expect("the file");
    appended.write_all(br#"{"event":"warning","mess"#).expect("half a line");
    assert_eq!(read_events(dir.path()).expect("events"), [warning("one"), warning("two")]);
    assert_ne!(fs::read(&file).expect("the file"), whole, "a reader cuts nothing off");

    let folder = RunFolder::open(dir.path()).expect("taken up again");
    assert_eq!(fs::read(&file).expect("the file"), whole);
    folder.append(&warning("three")).expect("written");
    assert_eq!(folder.events().expect("events"), [warning("one"), warning("two"), warning("three")]);
}

#[test]
fn a_line_torn_while_the_run_is_open_is_cut_off_when_the_events_are_read() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = RunFolder::create_at(dir.path()).expect("a run folder");
    folder.append(&warning("one")).expect("written");
    let file = dir.path().join("events.jsonl");
    fs::OpenOptions::new().append(true).open(&file).and_then(|mut file| file.write_all(b"{\"ev")).expect("half a line");
    assert_eq!(folder.events().expect("events"), [warning("one")]);
    folder.append(&warning("two")).expect("written");
    assert_eq!(folder.events().expect("events"), [warning("one"), warning("two")]);
}

#[test]
fn any_other_bad_line_is_an_error_with_its_number() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = RunFolder::create_at(dir.path()).expect("a run folder");
    folder.append(&warning("one")).expect("written");
    drop(folder);
    let file = dir.path().join("events.jsonl");
    fs::OpenOptions::new()
        .append(true)
        .open(&file)
        .and_then(|mut file| file.write_all(b"{\"event\":\"warning\"}\n"))
        .expect("a line");
    let before = fs::read(&file).expect("the file");
    let error = read_events(dir.path()).expect_err("line 2 is no event");
    assert!(matches!(error, StoreError::Event { line: 2, .. }), "{error}");
    let error = RunFolder::open(dir.path()).expect_err("nor can the run go on");
    assert!(matches!(error, StoreError::Event { line: 2, .. }), "{error}");
    assert_eq!(fs::read(&file).expect("the file"), before, "nothing of it is thrown away");
}

#[test]
fn events_of_several_threads_stay_whole_lines() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = RunFolder::create_at(dir.path()).expect("a run folder");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let folder = &folder;
            scope.spawn(move || {
                for number in 0..50 {
                    folder.append(&warning(&format!("{thread} {number} {}", "x".repeat(9_000)))).expect("written");
                }
            });
        }
    });
    assert_eq!(folder.events().expect("events").len(), 200);
}

#[test]
fn a_full_disk_says_which_file_what_was_lost_and_how_to_go_on() {
    let dir = tempfile::tempdir().expect("a folder");
    symlink("/dev/full", dir.path().join("events.jsonl")).expect("a link");
    let folder = RunFolder::open(dir.path()).expect("a run folder whose disk is full");
    let planned = Event::Planned { cell: 2, trials: 9 };
    for _ in 0..2 {
        let error = folder.append(&planned).expect_err("no space");
        assert_eq!(error.to_string(), format!("cannot write {}/events.jsonl; lost: the plan of cell 2", dir.path().display()));
        let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<io::Error>());
        assert_eq!(source.map(io::Error::kind), Some(io::ErrorKind::StorageFull));
        let hint = error.hint().expect("a hint");
        assert!(
            hint.contains("make room") && hint.contains(&format!("killpoint run --resume {}", dir.path().display())),
            "{hint}"
        );
    }
}

#[test]
fn a_file_that_cannot_be_replaced_leaves_the_old_one_whole() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = RunFolder::create_at(dir.path()).expect("a run folder");
    folder.write_text("junit.xml", "<old/>").expect("written");
    folder.write_text("junit.xml", "<new/>").expect("written again");
    assert_eq!(fs::read_to_string(dir.path().join("junit.xml")).expect("the file"), "<new/>");
    fs::create_dir(dir.path().join("report.html")).expect("a folder in the way");
    let error = folder.write_text("report.html", "<html>").expect_err("a folder is in the way");
    assert!(error.to_string().ends_with("report.html; lost: report.html"), "{error}");
    assert_eq!(names_in(dir.path()), ["events.jsonl", "findings", "junit.xml", "report.html", "run.lock", "trials"]);
}

#[test]
fn a_name_that_leads_out_of_the_run_folder_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = RunFolder::create_at(&dir.path().join("run")).expect("a run folder");
    for name in ["../x", "/etc/x", "a/b", "", ".", ".."] {
        let error = folder.write_text(name, "").expect_err(name);
        assert!(matches!(error, StoreError::BadName { .. }), "{name}: {error}");
        assert!(folder.finding_dir(name).is_err(), "{name}");
    }
    assert_eq!(names_in(dir.path()), ["run"]);
}

#[test]
fn a_trial_is_kept_under_its_cell_and_number() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = RunFolder::create_at(dir.path()).expect("a run folder");
    let schedule: Schedule = "charge#1:answered kill".parse().expect("a schedule");
    let trial = Trial { schedule, lives: vec![], ledger: vec![], end: TrialEnd::Unreached, gaps: vec![] };
    folder.write_trial(0, 12, &trial).expect("written");
    let text = fs::read_to_string(dir.path().join("trials/c0-t000012.json")).expect("the file");
    assert_eq!(serde_json::from_str::<Trial>(&text).expect("a trial"), trial);
    assert_eq!(names_in(&dir.path().join("trials")), ["c0-t000012.json"]);
}

#[test]
fn a_second_killpoint_is_refused_and_told_who_is_in() {
    let dir = tempfile::tempdir().expect("a folder");
    let first = RunFolder::create_at(dir.path()).expect("a run folder");
    let error = RunFolder::open(dir.path()).expect_err("it is in use");
    let StoreError::Locked { holder, .. } = &error else { panic!("{error}") };
    assert_eq!((holder.pid, holder.version.as_str()), (std::process::id(), env!("CARGO_PKG_VERSION")));
    assert!(holder.since.parse::<jiff::Timestamp>().is_ok(), "{holder}");
    assert!(error.to_string().contains(&format!("is in use by killpoint {}, process {}", holder.version, holder.pid)), "{error}");
    drop(first);
    RunFolder::open(dir.path()).expect("free again");
}

#[test]
fn a_finding_is_found_by_its_id_its_run_and_its_folder_and_comes_back_as_it_was() {
    let dir = tempfile::tempdir().expect("a folder");
    let root = runs_root(&dir);
    let old = RunFolder::create(&root, "old", now()).expect("a run folder");
    old.write_finding(&finding_file("F1")).expect("written");
    let old_name = old.path().file_name().expect("a name").to_string_lossy().into_owned();
    let new = RunFolder::create(&root, "new", now()).expect("a run folder");
    let mut newer = finding_file("F1");
    newer.seed = 8;
    new.write_finding(&newer).expect("written");

    let found = |asked: &str| read_finding(asked, &root).map(|(dir, file)| (fs::canonicalize(dir).expect("a folder"), file));
    let old_dir = fs::canonicalize(old.path().join("findings/F1")).expect("a folder");
    let new_dir = fs::canonicalize(new.path().join("findings/F1")).expect("a folder");
    assert_eq!(found("F1").expect("of the latest run"), (new_dir, newer));
    let path = old.path().display();
    for asked in [
        format!("{old_name}/F1"),
        format!("{path}/F1"),
        format!("{path}/findings/F1"),
        format!("{path}/findings/F1/"),
        format!("{path}/findings/F1/finding.json"),
        format!("{path}"),
    ] {
        assert_eq!(found(&asked).expect(&asked), (old_dir.clone(), finding_file("F1")), "{asked}");
    }
}

#[test]
fn an_unknown_finding_is_an_error_that_lists_those_there_are() {
    let dir = tempfile::tempdir().expect("a folder");
    let root = runs_root(&dir);
    let error = read_finding("F1", &root).expect_err("no run yet");
    assert!(error.to_string().starts_with("no finding `F1`: there is no run at "), "{error}");
    let folder = RunFolder::create(&root, "run", now()).expect("a run folder");
    let error = read_finding("F1", &root).expect_err("no finding yet");
    assert!(error.to_string().ends_with("has no findings"), "{error}");
    for id in ["F10", "F2"] {
        folder.write_finding(&finding_file(id)).expect("written");
    }
    for asked in ["F1".to_owned(), folder.path().display().to_string()] {
        let error = read_finding(&asked, &root).expect_err("not there, or more than one");
        assert!(error.to_string().ends_with("has F2, F10"), "{error}");
    }
}
