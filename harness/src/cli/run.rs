//! `killpoint run`: a campaign for each cell of a scenario, into a run folder, and its report.

use std::path::{Path, PathBuf};

use killpoint::campaign::{self, Abort, CampaignError, Tell};
use killpoint::model::exit::Exit;
use killpoint::model::fault::Fault;
use killpoint::model::interleaving::Interleaving;
use killpoint::model::limits::{DEPTH_MAX, JOBS_MAX, TRIALS_MAX};
use killpoint::model::report::Report;
use killpoint::store::RunFolder;

use super::failure::Failure;
use super::matrix::MatrixArgs;
use super::options::{DedupArg, Folder, Format, ModeArg, PointsArg, RunOptions, StrategyArg};
use super::target::{LifeArgs, ResumeArgs, TargetArgs};
use super::terminal::Terminal;
use super::{RUNS_ROOT, bug, help, render, work};

/// Crash a workflow at its crash points, resume it, and judge what it did.
///
/// The workflow runs once uninjured, which lists its crash points. Then each point is tried: the workflow is killed there by
/// SIGKILL, resumed until it is done, and the ledger of the billing API is compared with what was promised.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = help::AFTER_RUN)]
pub struct RunArgs {
    #[command(flatten)]
    pub(super) target: TargetArgs,
    #[command(flatten)]
    pub(super) plan: PlanArgs,
    #[command(flatten)]
    pub(super) matrix: MatrixArgs,
    #[command(flatten)]
    pub(super) lives: LifeArgs,
    #[command(flatten)]
    pub(super) resumes: ResumeArgs,
    /// Trials side by side; by default as many as there are CPUs. 1 where trials would disturb each other
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=JOBS_MAX as i64), help_heading = "Plan")]
    pub(super) jobs: Option<u32>,
    /// The run folder, which must be new or empty; by default one below reports/runs, named by time and scenario
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(super) out: Option<PathBuf>,
    /// Take up a run that was cut off, with the options it had: trials that are done are not done again
    #[arg(long, value_name = "RUN_DIR", help_heading = "Output", conflicts_with_all = ["scenario", "command", "PlanArgs", "MatrixArgs", "LifeArgs", "ResumeArgs", "out"])]
    pub(super) resume: Option<PathBuf>,
    /// How the report is printed; json is report.json on stdout and nothing else
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub(super) format: Format,
    /// Tell nothing but the report and errors: no progress, no notes
    #[arg(long, short, help_heading = "Output")]
    pub(super) quiet: bool,
}

/// Which points are tried.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Plan")]
pub(super) struct PlanArgs {
    /// Which part of the run the points come from; `window` is shorter where the time before the first effect does not matter
    #[arg(long, value_enum, value_name = "RANGE")]
    pub(super) points: Option<PointsArg>,
    /// Whether each point is tried or a sample is drawn, for a run with more points than there is time for
    #[arg(long, value_enum, value_name = "STRATEGY")]
    pub(super) strategy: Option<StrategyArg>,
    /// Seed of a sample: the same seed draws the same points
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
    /// Trials of a sample
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=TRIALS_MAX))]
    pub(super) trials: Option<u64>,
    /// Try only this schedule, to look at one crash closely: a crash point, or several for successive lives, with `;` between them
    ///
    /// For example 'charge#1:executed', 'charge#1:executed drop-ack' or 'charge#1:answered; start/openat(checkpoints.db)#1'. `killpoint points` lists points.
    #[arg(long, value_name = "SCHEDULE", conflicts_with_all = ["points", "strategy", "trials"])]
    pub(super) at: Option<String>,
    /// What is done: kill, drop-ack, reset-ack, half-ack, slow-ack(30s), error-after-commit(500), error-before-commit(500), duplicate, hold, pending
    ///
    /// Several with commas. `kill` is tried at every crash point, each other one at every request that had an effect in the clean run.
    /// `killpoint explain drop-ack` tells what one does.
    #[arg(long, value_name = "FAULT", value_delimiter = ',', conflicts_with = "at")]
    pub(super) faults: Vec<Fault>,
    /// How trials are made: by default from crash images of a few recorded runs where all durable state can be kept, else by a SIGKILL each
    #[arg(long, value_enum, value_name = "MODE")]
    pub(super) mode: Option<ModeArg>,
    /// Which durable states are taken as one and resumed once, in image mode
    #[arg(long, value_enum, value_name = "HOW")]
    pub(super) dedup: Option<DedupArg>,
    /// Lives of one trial that are crashed, at most: 2 also crashes every life that resumes after a crash
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(DEPTH_MAX)))]
    pub(super) depth: Option<u32>,
    /// Orders of threads that are recorded, in image mode: as-is, flush-late, flush-early, seed:N; several with commas
    #[arg(long, value_name = "ORDER", value_delimiter = ',')]
    pub(super) interleavings: Vec<Interleaving>,
    /// Check so many groups of states that were taken as one: resume all their members and compare the verdicts
    #[arg(long, value_name = "N")]
    pub(super) class_check: Option<usize>,
    /// Make the clean run twice, to learn which parts of it are not repeatable
    #[arg(long)]
    pub(super) twice: bool,
}

impl RunArgs {
    /// Runs the campaigns; the exit code is that of the report's verdict.
    ///
    /// # Errors
    /// The command line or the scenario is wrong, or the run could not be carried out.
    pub fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let options = self.check()?;
        let folder = open(&options)?;
        bug::note_run_folder(folder.path());
        let report = carry_out(&options, &folder, terminal)?;
        export(&report, &folder)?;
        print(&report, &options, folder.path(), terminal)?;
        Ok(render::exit_of(report.verdict))
    }
}

fn open(options: &RunOptions) -> Result<RunFolder, Failure> {
    let name = &options.record.scenario.name;
    let folder = match &options.folder {
        Folder::Resume(run) => return Ok(RunFolder::open(run)?),
        Folder::New => RunFolder::create(Path::new(RUNS_ROOT), name, jiff::Timestamp::now())?,
        Folder::At(out) => RunFolder::create_at(out)?,
    };
    options.record.write(&folder)?;
    Ok(folder)
}

fn carry_out(options: &RunOptions, folder: &RunFolder, terminal: &Terminal) -> Result<Report, Failure> {
    let (record, source, asked) = (&options.record, options.record.source(), options.campaign());
    let work = async |tell: Tell, abort: &Abort| campaign::run(&record.scenario, &source, &asked, folder, tell, abort).await;
    work::carry_out(terminal, options.quiet, interrupted(folder.path()), work)?.map_err(|error| {
        let go_on = matches!(error, CampaignError::Interrupted | CampaignError::Files { .. });
        let failure = Failure::from(error);
        if go_on { failure.hint(format!("go on with `killpoint run --resume {}`", folder.path().display())) } else { failure }
    })
}

fn interrupted(run: &Path) -> String {
    let run = run.display();
    format!(
        "interrupted: ending the running lives; what was found until now is in {run}\n\
         hint: go on with `killpoint run --resume {run}`; a second Ctrl-C leaves at once"
    )
}

/// Writes what is made of the report into the run folder, where the campaign has put the report itself.
fn export(report: &Report, folder: &RunFolder) -> Result<(), Failure> {
    folder.write_text("junit.xml", &render::junit(report)?)?;
    Ok(folder.write_text("report.txt", &render::for_file(report))?)
}

fn print(report: &Report, options: &RunOptions, run: &Path, terminal: &Terminal) -> Result<(), Failure> {
    match options.format {
        Format::Json => {
            let text = serde_json::to_string_pretty(report)
                .map_err(|error| Failure::new(Exit::Bug, "the report cannot be written as JSON").cause(error))?;
            terminal.print(&format!("{text}\n"))?;
            if !options.quiet {
                terminal.note(&format!("run folder: {}", run.display()));
            }
            Ok(())
        }
        Format::Text => terminal.print(&format!("{}\nrun folder: {}\n", render::for_terminal(report, terminal), run.display())),
    }
}
