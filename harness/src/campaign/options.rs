//! What a campaign is told and what it answers: options, the interrupt, errors.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;

use crate::model::census::Census;
use crate::model::event::Event;
use crate::model::exit::Exit;
use crate::model::ledger::Request;
use crate::model::life::{Life, TrialEnd};
use crate::model::schedule::Schedule;
use crate::model::verdict::Judgement;
use crate::store::StoreError;

/// Takes every event as it happens. Called from several threads.
pub type Tell = Arc<dyn Fn(&Event) + Send + Sync>;

/// Where a scenario came from.
#[derive(Clone, Debug)]
pub struct Source {
    /// The file as it was given; `None` for a bare command.
    pub file: Option<PathBuf>,
    /// Its text; for a bare command, the scenario written out.
    pub text: String,
}

/// How a run is made, beyond what the scenario says.
#[derive(Clone, Debug)]
pub struct Options {
    /// Trials side by side.
    pub jobs: usize,
    /// Only this schedule, in each cell, instead of a plan.
    pub at: Option<Schedule>,
    /// Only cells that have these values.
    pub only: Vec<(String, String)>,
    /// So many classes of states that were taken as one are checked: all their members are resumed.
    pub class_check: usize,
}

/// The interrupt of a run (Ctrl-C): set once, seen by all.
#[derive(Clone, Debug)]
pub struct Abort {
    sender: Arc<watch::Sender<bool>>,
}

impl Default for Abort {
    fn default() -> Self {
        Self { sender: Arc::new(watch::Sender::new(false)) }
    }
}

impl Abort {
    /// Interrupts the run: lives are killed, what was found is kept.
    pub fn set(&self) {
        self.sender.send_replace(true);
    }

    /// Whether it was interrupted.
    #[must_use]
    pub fn is_set(&self) -> bool {
        *self.sender.borrow()
    }

    /// The flag, for those who follow it.
    #[must_use]
    pub fn flag(&self) -> watch::Receiver<bool> {
        self.sender.subscribe()
    }

    /// Waits for the interrupt.
    pub async fn wait(&self) {
        // The sender lives as long as `self`, so that the wait can only end by the value.
        let _ = self.sender.subscribe().wait_for(|set| *set).await;
    }
}

/// The crash points of one cell.
#[derive(Clone, Debug)]
pub struct CellPoints {
    /// `name=value` each.
    pub cell: Vec<String>,
    /// Its crash points, in order.
    pub census: Census,
    /// The clean run's life.
    pub life: Life,
    /// The clean run's ledger.
    pub ledger: Vec<Request>,
    /// What the clean run was judged to be.
    pub judgements: Vec<Judgement>,
}

/// What one replay of a finding showed.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Whether the point was reached.
    pub reached: bool,
    /// Why the trial ended.
    pub end: TrialEnd,
    /// Whether the finding's verdict came again for its promise.
    pub reproduced: bool,
    /// What the oracles say.
    pub judgements: Vec<Judgement>,
    /// Its lives.
    pub lives: Vec<Life>,
    /// Its ledger.
    pub ledger: Vec<Request>,
}

/// Why a run could not be carried out at all. A broken promise is not an error.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// A setup command failed.
    #[error("setup failed: `{command}` {how}\n{output}")]
    Setup {
        /// The command.
        command: String,
        /// How it ended.
        how: String,
        /// The end of its output, with a hint where there is one.
        output: String,
    },
    /// A program of the scenario is not there.
    #[error("{what}: `{program}` was not found{}", hint.as_ref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default())]
    Program {
        /// What needs it (`start`).
        what: String,
        /// The program.
        program: String,
        /// How to get it.
        hint: Option<String>,
    },
    /// This machine cannot trace.
    #[error("this machine cannot trace processes: {reason}\nhint: {hint}")]
    Machine {
        /// Why not.
        reason: String,
        /// What to change.
        hint: String,
    },
    /// The scenario asks for something that cannot be.
    #[error("{0}")]
    Scenario(String),
    /// A file of the trial or of the cache could not be written.
    #[error("{what}")]
    Files {
        /// What was being done.
        what: String,
        /// What went wrong.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The run folder could not be written.
    #[error("the run folder could not be written")]
    Store(#[source] StoreError),
    /// The workflow, uninjured, breaks its own promises, so that nothing can be brought back.
    #[error("the workflow breaks its own promises without any injury: {0}")]
    Baseline(String),
    /// It was interrupted before there was anything to report.
    #[error("interrupted")]
    Interrupted,
    /// killpoint broke a rule of its own.
    #[error("a bug in killpoint: {0}")]
    Bug(String),
}

impl CampaignError {
    /// The exit code it leads to.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Scenario(_) => Exit::Usage,
            Self::Baseline(_) => Exit::BaselineBroken,
            Self::Interrupted => Exit::Inconclusive,
            Self::Bug(_) => Exit::Bug,
            Self::Setup { .. } | Self::Program { .. } | Self::Machine { .. } | Self::Files { .. } | Self::Store(_) => {
                Exit::Environment
            }
        }
    }
}
