//! `killpoint doctor`: what this machine can do, found out by doing it where that is possible, and what to change.

mod checks;

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use killpoint::model::exit::Exit;

use super::failure::Failure;
use super::help;
use super::terminal::{Terminal, washed};

/// Say what this machine can do and what to change.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = help::AFTER_DOCTOR)]
pub struct DoctorArgs {}

/// How much a check matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// As it should be.
    Ok,
    /// Something will not work or work less well.
    Warn,
    /// killpoint cannot work.
    Fail,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Check {
    name: &'static str,
    status: Status,
    found: String,
    hint: Option<String>,
}

impl Check {
    fn new(name: &'static str, status: Status, found: impl Into<String>) -> Self {
        Self { name, status, found: found.into(), hint: None }
    }

    fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self::new(name, Status::Ok, found)
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl DoctorArgs {
    /// Looks at the machine and prints a line for each thing.
    ///
    /// # Errors
    /// Stdout cannot be written.
    pub fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let checks = checks::all();
        terminal.print(&render(&checks, terminal.out_colour))?;
        Ok(exit_of(&checks))
    }
}

fn exit_of(checks: &[Check]) -> Exit {
    if checks.iter().any(|check| check.status == Status::Fail) { Exit::Environment } else { Exit::Clean }
}

fn render(checks: &[Check], colour: bool) -> String {
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for check in checks {
        let (word, paint) = match check.status {
            Status::Ok => ("ok", AnsiColor::Green.on_default()),
            Status::Warn => ("warn", AnsiColor::Yellow.on_default().bold()),
            Status::Fail => ("fail", AnsiColor::Red.on_default().bold()),
        };
        let paint = if colour { paint } else { Style::new() };
        let _ = writeln!(text, "{paint}{word:4}{paint:#}  {:width$}  {}", check.name, washed(&check.found));
        if let Some(hint) = &check.hint {
            let _ = writeln!(text, "      {:width$}  hint: {}", "", washed(hint));
        }
    }
    let outcome = match exit_of(checks) {
        Exit::Clean => "this machine can trace processes",
        _ => "this machine cannot be used as it is: see the lines that fail",
    };
    let _ = writeln!(text, "\n{outcome}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_fails_is_said_in_words_with_its_hint_and_by_the_exit_code() {
        let mut checks = vec![Check::ok("kernel", "6.1.0"), Check::new("python3", Status::Warn, "not found").hint("install it")];
        assert_eq!(exit_of(&checks), Exit::Clean, "a warning is none");
        checks.push(Check::new("tracing", Status::Fail, "EPERM").hint("allow it"));
        assert_eq!(exit_of(&checks), Exit::Environment);
        insta::assert_snapshot!(render(&checks, false));
    }
}
