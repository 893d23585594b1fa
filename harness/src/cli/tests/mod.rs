//! Tests of the command as a whole: the texts of `--help` and of errors. A snapshot that changes is to be looked at.

pub(super) mod samples;

use clap::{CommandFactory as _, Parser as _};

use super::*;

/// What a command line is answered with when it fails before anything is run.
fn told(words: &[&str]) -> String {
    match Cli::try_parse_from(words) {
        Err(error) => error.render().to_string(),
        Ok(cli) => {
            let terminal = Terminal { out_colour: false, err_colour: false, err_is_terminal: false, width: 100 };
            cli.command.run(&terminal).expect_err("it fails").render(false)
        }
    }
}

#[test]
fn the_command_line_is_well_formed() {
    Cli::command().debug_assert();
}

#[test]
fn the_help_of_each_subcommand_is_as_it_was() {
    let mut command = Cli::command().term_width(100);
    command.build();
    insta::assert_snapshot!("help", command.render_long_help().to_string());
    let names: Vec<String> =
        command.get_subcommands().map(|sub| sub.get_name().to_owned()).filter(|name| name != "help").collect();
    for name in names {
        let sub = command.find_subcommand_mut(&name).expect("it was just listed");
        insta::assert_snapshot!(format!("help_{name}"), sub.render_long_help().to_string());
    }
}

#[test]
fn every_exit_code_stands_in_the_help() {
    let all = [Exit::Clean, Exit::Findings, Exit::Usage, Exit::BaselineBroken, Exit::Inconclusive, Exit::Environment, Exit::Bug];
    for exit in all {
        let row = format!("{:>4}  ", exit as u8);
        assert!(help::AFTER_LONG.lines().any(|line| line.starts_with(&row)), "{exit:?}");
    }
}

#[test]
fn errors_are_one_block_that_says_what_helps() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("refund.toml");
    let text = "name = \"refund\"\n[workflow]\nstart = [\"true\", \"{matrix.durability}\"]\n[matrix]\ndurability = [\"sync\", \"async\"]\n";
    std::fs::write(&file, text).unwrap();
    let typo = folder.path().join("typo.toml");
    std::fs::write(&typo, "name = \"refund\"\n[workflow]\nstrat = [\"true\"]\n").unwrap();
    let (file, typo) = (file.to_string_lossy().into_owned(), typo.to_string_lossy().into_owned());
    let missing = folder.path().join("missing").to_string_lossy().into_owned();
    insta::with_settings!({filters => vec![(folder.path().to_str().expect("UTF-8"), "DIR")]}, {
        insta::assert_snapshot!("error_bad_schedule", told(&["killpoint", "run", &file, "--at", "charge#1:answerd"]));
        insta::assert_snapshot!("error_unknown_matrix_value", told(&["killpoint", "run", &file, "--matrix", "durability=exit"]));
        insta::assert_snapshot!("error_scenario_typo", told(&["killpoint", "run", &typo]));
        insta::assert_snapshot!("error_nothing_to_run", told(&["killpoint", "run"]));
        insta::assert_snapshot!("error_not_a_scenario", told(&["killpoint", "run", &missing]));
        insta::assert_snapshot!("error_no_run_to_resume", told(&["killpoint", "run", "--resume", &missing]));
        insta::assert_snapshot!("error_no_finding", told(&["killpoint", "replay", &format!("{missing}/F1")]));
        insta::assert_snapshot!("error_unknown_word", told(&["killpoint", "explain", "duplicatd"]));
    });
}

#[test]
fn a_program_that_is_missing_is_named() {
    let error = killpoint::campaign::CampaignError::Program {
        what: "the workflow's `start`".to_owned(),
        program: "pyhton3".to_owned(),
        hint: Some("did you mean `python3`?".to_owned()),
    };
    insta::assert_snapshot!("error_program_missing", Failure::from(error).render(false));
}

#[test]
fn a_run_that_is_taken_up_takes_no_other_plan() {
    for flag in [
        &["--seed", "1"][..],
        &["--points", "all"],
        &["--at", "x"],
        &["--matrix", "a=b"],
        &["--twice"],
        &["a.toml"],
        &["--", "x"],
    ] {
        let words = [&["killpoint", "run", "--resume", "dir"], flag].concat();
        let error = Cli::try_parse_from(&words).expect_err("it conflicts");
        assert_eq!(error.kind(), clap::error::ErrorKind::ArgumentConflict, "{words:?}");
    }
    assert!(Cli::try_parse_from(["killpoint", "run", "--resume", "dir", "--jobs", "2", "--format", "json", "--quiet"]).is_ok());
}
