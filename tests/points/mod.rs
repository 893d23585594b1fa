//! Which points are planned, and which of them count as reached: one that another call was killed in place of does not.

use std::path::Path;

use killpoint::model::report::RunVerdict;
use killpoint::model::scenario::{PointRange, Scenario};

use crate::support;

/// A scenario around a shell script that charges once, with a stable key, by the native target.
fn script(body: &str, promise: bool) -> Scenario {
    let target = env!("CARGO_BIN_EXE_charge_with_key");
    let promised = "[[promise]]\nname = \"charge\"\neffect = \"POST /v1/charges\"\nintent = \"$.metadata.invoice\"\n";
    let text = format!(
        "name = \"points\"\n[workflow]\nstart = [\"sh\", \"-c\", '''{body}; exec {target} inv_1:2900''']\n\
         env = {{ BILLING_URL = \"{{sandbox.url}}\", STATE_DIR = \"{{state}}\" }}\n{}",
        if promise { promised } else { "" }
    );
    killpoint::scenario::parse(&text, "points.toml", Path::new("/")).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_file_that_a_later_run_leaves_out_is_unreached_although_others_of_its_form_are_written() {
    let once = tempfile::tempdir().expect("a folder");
    let flag = once.path().join("ran");
    // The first run ever writes one file more; every run writes the other one.
    let body = format!(
        "cd \"$STATE_DIR\"; test -e {flag} || echo 1 > firstonly; : > {flag}; echo 2 > everytime; echo 3 >> everytime",
        flag = flag.display()
    );
    let ran = support::run(&script(&body, true), 2);
    let missed: Vec<_> = ran.report.unreached.iter().map(|missed| missed.point.to_string()).collect();
    assert!(missed.contains(&"start/openat(firstonly)#1".to_owned()), "{missed:?}");
    assert!(missed.contains(&"start/write(firstonly)#1".to_owned()), "{missed:?}");
    assert!(missed.iter().all(|point| point.contains("firstonly") || point.contains("/ran")), "{missed:?}");
    assert_eq!(ran.report.verdict, RunVerdict::Inconclusive);
}

#[test]
fn a_file_that_gets_another_name_in_each_run_is_reached_under_the_other_name() {
    let body = "cd \"$STATE_DIR\"; word=$(tr -dc a-z < /dev/urandom | head -c 9); echo 1 > part-$word";
    let ran = support::run(&script(body, true), 2);
    assert_eq!((ran.report.unreached.as_slice(), ran.report.verdict), (&[][..], RunVerdict::Clean));
}

#[test]
fn without_promises_the_window_begins_with_the_first_effect() {
    let mut scenario = script(":", false);
    scenario.campaign.points = PointRange::Window;
    let ran = support::run(&scenario, 2);
    assert!(ran.report.points.total > 0 && ran.report.points.total < ran.report.points.census, "{:?}", ran.report.points);
    assert_eq!(ran.report.verdict, RunVerdict::Clean);
}

#[test]
fn a_workflow_without_any_effect_is_not_called_clean() {
    let text = "name = \"idle\"\n[workflow]\nstart = [\"sh\", \"-c\", '''echo x > \"$STATE_DIR/a\"''']\nenv = { STATE_DIR = \"{state}\" }\n";
    let scenario = killpoint::scenario::parse(text, "idle.toml", Path::new("/")).unwrap_or_else(|error| panic!("{error}"));
    let ran = support::run(&scenario, 2);
    assert_eq!(ran.report.verdict, RunVerdict::Inconclusive);
}
