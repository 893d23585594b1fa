//! The roof: the command `killpoint`. It knows flags and terminals; what is done stands in the library.
//!
//! A subcommand is one file: its `Args` (what was typed), a check that makes options of them, and `run`. To add one: that file, a
//! line in [`Command`] and one in [`Command::run`], and the snapshots of its help.
//! Each value comes from the flag, else from the scenario file, else from the default.

mod audit;
mod bug;
mod completions;
mod doctor;
mod explain;
mod failure;
mod guess;
mod help;
mod init;
mod interrupt;
mod matrix;
mod mcp;
mod options;
mod points;
mod progress;
mod record;
mod render;
mod replay;
mod run;
mod sandbox;
mod schedule;
mod schema;
mod story;
mod target;
mod terminal;
mod visit;
mod work;

#[cfg(test)]
mod tests;

use std::process::ExitCode;

use clap::Parser;
use killpoint::model::exit::Exit;

use failure::Failure;
use terminal::{ColorWhen, Terminal};

/// Where runs are kept, below the current directory.
const RUNS_ROOT: &str = "reports/runs";

/// killpoint crashes a workflow at every point between the payment server's 200 and the checkpoint's flush, lets it resume, and
/// counts the charges.
#[derive(Debug, Parser)]
#[command(name = "killpoint", version, max_term_width = 100, long_about = help::ABOUT, after_help = help::AFTER, after_long_help = help::AFTER_LONG)]
pub struct Cli {
    /// When to use colour, which only repeats what words say; `auto` obeys NO_COLOR and CLICOLOR_FORCE
    #[arg(long, global = true, value_enum, default_value_t, value_name = "auto|always|never", hide_possible_values = true)]
    color: ColorWhen,
    /// What to do.
    #[command(subcommand)]
    command: Command,
}

/// The subcommands; each is described where its arguments are.
#[derive(Debug, clap::Subcommand)]
enum Command {
    Run(Box<run::RunArgs>),
    Audit(Box<audit::AuditArgs>),
    Points(points::PointsArgs),
    Replay(replay::ReplayArgs),
    Sandbox(sandbox::SandboxArgs),
    Init(init::InitArgs),
    Doctor(doctor::DoctorArgs),
    Explain(explain::ExplainArgs),
    Schema(schema::SchemaArgs),
    Mcp(mcp::McpArgs),
    Completions(completions::CompletionsArgs),
}

impl Command {
    fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        match self {
            Self::Run(args) => args.run(terminal),
            Self::Audit(args) => args.run(terminal),
            Self::Points(args) => args.run(terminal),
            Self::Replay(args) => args.run(terminal),
            Self::Sandbox(args) => args.run(terminal),
            Self::Init(args) => args.run(terminal),
            Self::Doctor(args) => args.run(terminal),
            Self::Explain(args) => args.run(terminal),
            Self::Schema(args) => args.run(terminal),
            Self::Mcp(args) => args.run(),
            Self::Completions(args) => args.run(terminal),
        }
    }
}

/// Reads the command line, does what it says, and answers with the exit code.
pub fn main() -> ExitCode {
    bug::install();
    let cli = Cli::parse();
    let terminal = Terminal::new(cli.color);
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| cli.command.run(&terminal)));
    let exit = match done {
        Ok(Ok(exit)) => exit,
        // A bug that has been told of by the hook is not told again.
        Ok(Err(failure)) if failure.exit == Exit::Bug && bug::seen() => Exit::Bug,
        Ok(Err(failure)) => {
            terminal.note(&failure.render(terminal.err_colour));
            failure.exit
        }
        Err(_) => Exit::Bug, // The hook has told of it.
    };
    if bug::seen() { Exit::Bug.into() } else { exit.into() }
}
