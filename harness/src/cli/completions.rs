//! `killpoint completions`: what makes a shell complete the command.

use clap::CommandFactory as _;
use killpoint::model::exit::Exit;

use super::Cli;
use super::failure::Failure;
use super::terminal::Terminal;

/// Print a completion script, for example: killpoint completions bash > ~/.local/share/bash-completion/completions/killpoint
#[derive(Clone, Debug, clap::Args)]
pub struct CompletionsArgs {
    /// For which shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: clap_complete::Shell,
}

impl CompletionsArgs {
    /// Prints the script.
    ///
    /// # Errors
    /// Stdout cannot be written.
    pub fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "killpoint", &mut script);
        terminal.print(&String::from_utf8_lossy(&script))?;
        Ok(Exit::Clean)
    }
}
