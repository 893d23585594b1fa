//! Whether the one command that checks everything is what a continuous integration runs, and can be run.

use std::os::unix::fs::PermissionsExt;

use super::tree::{self, File};
use super::{Complaint, accepts, holds, objects};

/// What `check` must run, or it checks less than it says.
const COMMANDS: [&str; 5] = ["cargo fmt", "cargo clippy", "cargo build", "cargo test", "cargo doc"];

fn ci_rule(file: &File) -> Vec<Complaint> {
    let commands: Vec<&str> =
        file.text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let is_gate = matches!(commands[..], [goes, "exec ./check"] if goes.starts_with("cd "));
    if is_gate {
        Vec::new()
    } else {
        vec![Complaint::of(&file.path, "does something else than `cd` to the root and `exec ./check`")]
    }
}

fn check_rule(file: &File) -> Vec<Complaint> {
    let code = |line: &&str| !line.trim_start().starts_with('#');
    let runs = |command: &str| file.text.lines().filter(code).any(|line| line.contains(command));
    let missing = COMMANDS.iter().filter(|command| !runs(command));
    missing.map(|command| Complaint::of(&file.path, format!("does not run `{command}`"))).collect()
}

#[test]
fn the_integration_runs_the_check_and_nothing_else() {
    holds(|file| file.path == ".ci/run", ci_rule);
    holds(|file| file.path == "check", check_rule);
    for path in ["check", ".ci/run"] {
        let mode = tree::root().join(path).metadata().expect("the rules above have seen the file").permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{path} cannot be run; `git update-index --chmod=+x {path}`");
    }
}

#[test]
fn an_integration_that_does_more_or_a_check_that_does_less_is_seen() {
    objects(ci_rule, ".ci/run", "#!/bin/sh\ncd x\ncargo test\nexec ./check\n", "something else");
    objects(ci_rule, ".ci/run", "#!/bin/sh\n# exec ./check\n", "something else");
    accepts(ci_rule, ".ci/run", "#!/bin/sh\n# why\ncd x\nexec ./check\n");
    objects(check_rule, "check", "cargo fmt\n# cargo test\n", "does not run `cargo test`");
    accepts(check_rule, "check", &COMMANDS.join("\n"));
}
