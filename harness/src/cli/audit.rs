//! `killpoint audit`: every write of a workflow, its key, its retries, and how it reads a failure that says nothing.

use killpoint::campaign::audit::{AuditOptions, audit};
use killpoint::campaign::{Abort, Tell};
use killpoint::model::audit::Audit;
use killpoint::model::exit::Exit;
use killpoint::model::limits::JOBS_MAX;

use super::failure::Failure;
use super::matrix::MatrixArgs;
use super::options::jobs;
use super::target::{LifeArgs, ResumeArgs, TargetArgs, slow_ack};
use super::terminal::Terminal;
use super::{help, render, work};

/// Audit the retries of a workflow: its writes, their idempotency keys, and what it does when an answer fails.
///
/// The workflow runs twice uninjured. Then, for each write, one failure at a time is made to happen, and the requests that follow
/// are compared: whether they carry a key, where it comes from, and whether it is still the same.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = help::AFTER_AUDIT)]
pub struct AuditArgs {
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    matrix: MatrixArgs,
    #[command(flatten)]
    lives: LifeArgs,
    #[command(flatten)]
    resumes: ResumeArgs,
    /// How much later the slow answer comes; more than your client's time-out. By default half of what a life may take, 90s at most
    #[arg(long, value_name = "TIME", value_parser = slow_ack, help_heading = "Audit")]
    slow_ack: Option<u64>,
    /// An MCP server of yours whose tools are looked at as well: the command that starts it over stdio, in the workflow's folder, or the
    /// http:// address where it listens. Of each tool it is told whether it changes something and takes a key. May be given several times
    #[arg(long, value_name = "COMMAND|URL", help_heading = "Audit")]
    mcp_server: Vec<String>,
    /// Trials side by side; by default as many as there are CPUs
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=JOBS_MAX as i64), help_heading = "Audit")]
    jobs: Option<u32>,
    /// How the audit is printed; json is one document on stdout and nothing else
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    format: AuditFormat,
    /// Tell nothing but the audit and errors
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,
}

/// How an audit is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum AuditFormat {
    /// For people
    #[default]
    Text,
    /// For an issue or a review
    Markdown,
    /// For programs
    Json,
}

impl AuditArgs {
    /// Audits and prints; the exit code says whether there are gaps.
    ///
    /// # Errors
    /// The command line or the scenario is wrong, or the workflow could not be run.
    pub fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let target = self.target.read(&self.lives, &self.resumes)?;
        let only = self.matrix.check(&target.scenario)?;
        let options =
            AuditOptions { jobs: jobs(self.jobs), only, slow_ack_ms: self.slow_ack, mcp_servers: self.mcp_server.clone() };
        let run = async |tell: Tell, abort: &Abort| audit(&target.scenario, &options, tell, abort).await;
        let audit = work::carry_out(terminal, self.quiet, "interrupted: ending the running lives".to_owned(), run)??;
        terminal.print(&self.printed(&audit, terminal)?)?;
        Ok(exit_of(&audit))
    }

    fn printed(&self, audit: &Audit, terminal: &Terminal) -> Result<String, Failure> {
        match self.format {
            AuditFormat::Text => Ok(render::audit_for_terminal(audit, terminal)),
            AuditFormat::Markdown => Ok(render::audit_markdown(audit)),
            AuditFormat::Json => {
                let text = serde_json::to_string_pretty(audit);
                let text = text.map_err(|error| Failure::new(Exit::Bug, "the audit cannot be written as JSON").cause(error))?;
                Ok(format!("{text}\n"))
            }
        }
    }
}

/// A workflow that breaks its promises uninjured goes before gaps, and these go before what could not be tried.
fn exit_of(audit: &Audit) -> Exit {
    if audit.cells.iter().any(|cell| cell.broken.is_some()) {
        Exit::BaselineBroken
    } else if audit.gaps() > 0 {
        Exit::Findings
    } else if audit.is_partial() {
        Exit::Inconclusive
    } else {
        Exit::Clean
    }
}
