//! Trials of a small Python workflow: that a kill lands at each moment of a request, and that nothing runs past it.

mod outside;

use std::path::Path;

use super::*;
use crate::model::ledger::Outcome;
use crate::model::promise::{Endpoint, IntentSource, Promise};
use crate::scenario::from_command;
use crate::state::Worlds;

/// Charges, reads the whole answer, then says so in the state folder.
const CHARGE: &str = r#"
import os, urllib.request
body = b"amount=2900&currency=usd&metadata[invoice]=inv_1"
with urllib.request.urlopen(os.environ["BILLING_URL"] + "/v1/charges", data=body) as answer:
    answer.read()
with open(os.environ["STATE_DIR"] + "/read", "w") as file:
    file.write("yes")
"#;

fn scenario(script: &str) -> Scenario {
    let argv = ["python3", "-c", script].map(str::to_owned);
    let mut scenario = from_command(&argv, Path::new("/"));
    // The script may hold braces, which `from_command` has doubled; it must not be resumed here.
    scenario.roles[0].lives_max = 1;
    let intent = IntentSource::Body("$.metadata.invoice".to_owned());
    scenario.promises = vec![Promise { intent, ..Promise::once("charge", Endpoint::new("POST", "/v1/charges")) }];
    scenario
}

/// A plan of one plain life.
fn plan(scenario: &Scenario, schedule: Schedule, rules: Vec<(String, Endpoint)>) -> TrialPlan<'_> {
    let (interleaving, past, film) = (Interleaving::AsIs, Vec::new(), None);
    TrialPlan { scenario, cell: &[], cache: None, schedule, rules, interleaving, past, film }
}

/// Carries out one life with a schedule; returns it with whether the workflow came past the answer.
fn one_life(script: &str, schedule: &str) -> (TrialResult, bool) {
    let scenario = scenario(script);
    let rules = scenario.promises.iter().map(|promise| (promise.name.clone(), promise.endpoint.clone())).collect();
    let schedule = if schedule.is_empty() { Schedule::default() } else { schedule.parse().unwrap() };
    let plan = plan(&scenario, schedule, rules);
    let worlds = Worlds::create().unwrap();
    let world = worlds.world("t", None).unwrap();
    let (_keep, flag) = watch::channel(false);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let result = runtime.block_on(run(&plan, &world, &Interrupt::new(flag))).unwrap();
    (result, world.state().join("read").exists())
}

#[test]
fn a_kill_lands_at_each_moment_of_a_request_and_nothing_runs_past_it() {
    for (moment, outcome, answered) in [
        ("received", Outcome::Received, false),
        ("executed", Outcome::Executed, false),
        ("answered", Outcome::Executed, true),
        ("acked", Outcome::Executed, true),
    ] {
        let (result, went_on) = one_life(CHARGE, &format!("charge#1:{moment}"));
        let life = &result.trial.lives[0];
        assert_eq!((&life.end, life.reached), (&LifeEnd::Killed, true), "{moment}");
        let request = &result.trial.ledger[0];
        assert_eq!((request.outcome, request.answered_us.is_some()), (outcome, answered), "{moment}");
        assert!(!went_on, "the workflow ran past {moment}");
    }
}

#[test]
fn the_census_of_a_clean_life_is_in_the_order_of_cause_and_effect() {
    let (result, went_on) = one_life(CHARGE, "");
    assert!(went_on && result.first.census_is_whole);
    assert_eq!(result.trial.end, TrialEnd::Done);
    let names: Vec<_> = result.first.census.points.iter().map(|point| point.point.to_string()).collect();
    let expected = [
        "start/connect(sandbox)#1",
        "start/sendto(sandbox)#1",
        "start/sendto(sandbox)#2",
        "charge#1:received",
        "charge#1:executed",
        "charge#1:answered",
        "charge#1:acked",
        "charge#1:answered/openat(read)#1",
        "charge#1:answered/write(read)#1",
        "charge#1:answered/exit_group(python3)#1",
    ];
    assert_eq!(names, expected);
    assert_eq!(result.first.census.window_start, Some(3));
    let aliases: Vec<_> = result.first.census.points[8].aliases.iter().map(ToString::to_string).collect();
    assert_eq!(aliases, ["start/write(read)#1"]);
}

#[test]
fn a_point_that_does_not_come_is_unreached_and_the_trial_goes_no_further() {
    let (result, went_on) = one_life(CHARGE, "charge#2:answered");
    assert!(went_on);
    assert_eq!((result.trial.end, result.trial.lives[0].reached), (TrialEnd::Unreached, false));
}

#[test]
fn a_line_of_output_and_an_announcement_are_points_too() {
    let talk = "import os, urllib.request\nprint('captured inv_9', flush=True)\nurllib.request.urlopen(os.environ['BILLING_URL'] + '/_killpoint/probe/after', data=b'')\nopen(os.environ['STATE_DIR'] + '/read', 'w')";
    for point in ["output:\"captured inv_9\"#1", "probe:after#1"] {
        let (result, went_on) = one_life(talk, point);
        assert_eq!(result.trial.lives[0].end, LifeEnd::Killed, "{point}");
        assert!(!went_on);
    }
}

#[test]
fn a_life_that_does_not_end_is_ended_and_a_daemon_that_idles_is_noticed() {
    let sleeper = "import time\ntime.sleep(1000)";
    let mut scenario = scenario(sleeper);
    scenario.roles[0].life_timeout_ms = 300;
    let daemon = "import subprocess\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)";
    let mut lingering = self::scenario(daemon);
    lingering.roles[0].linger_ms = 100;
    let worlds = Worlds::create().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut ends = Vec::new();
    for scenario in [&scenario, &lingering] {
        let plan = plan(scenario, Schedule::default(), Vec::new());
        let world = worlds.world("t", None).unwrap();
        let (_keep, flag) = watch::channel(false);
        let trial = runtime.block_on(run(&plan, &world, &Interrupt::new(flag))).unwrap().trial;
        ends.push((trial.lives[0].end.clone(), trial.lives[0].notices.clone(), trial.end));
    }
    assert_eq!(ends[0].0, LifeEnd::TimedOut);
    assert!(matches!(ends[0].2, TrialEnd::Stuck { .. }));
    assert_eq!((&ends[1].0, &ends[1].2), (&LifeEnd::Exited { code: 0 }, &TrialEnd::Done));
    assert_eq!(ends[1].1, [Notice::Lingering { processes: 1 }]);
}

#[test]
fn a_trial_that_is_dropped_leaves_no_process_behind() {
    let script = "import os, time\nwith open(os.environ['STATE_DIR'] + '/pid', 'w') as file:\n    file.write(str(os.getpid()) + '.')\ntime.sleep(1000)";
    let scenario = scenario(script);
    let plan = plan(&scenario, Schedule::default(), Vec::new());
    let worlds = Worlds::create().unwrap();
    let world = worlds.world("t", None).unwrap();
    let file = world.state().join("pid");
    let (_keep, flag) = watch::channel(false);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let interrupt = Interrupt::new(flag);
    let pid = runtime.block_on(async {
        let written = async {
            loop {
                let text = std::fs::read_to_string(&file).unwrap_or_default();
                if let Some(pid) = text.strip_suffix('.') {
                    return pid.to_owned();
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            result = run(&plan, &world, &interrupt) => panic!("it ended by itself: {result:?}"),
            pid = written => pid,
        }
    });
    // The SIGKILL is on its way.
    while std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z ")) {
        std::thread::yield_now();
    }
}
