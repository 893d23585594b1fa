//! Events: the seam between doing and telling. One enum, appended to `events.jsonl` as things happen.
//!
//! Everything that tells people something (terminal, JSON, progress bar) reads these. A campaign that was cut off is taken
//! up again from them, so each holds all that a reader needs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::census::Census;
use super::finding::Finding;
use super::interleaving::Interleaving;
use super::ledger::Request;
use super::life::{Life, TrialEnd};
use super::reel::{Reel, StateRecord};
use super::report::Cell;
use super::schedule::Schedule;
use super::verdict::Judgement;

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A run began.
    RunStarted {
        /// The version of killpoint.
        version: String,
        /// The scenario's name.
        scenario: String,
        /// When, in UTC, RFC 3339.
        at: String,
        /// How many campaigns it has.
        cells: usize,
        /// The seed.
        seed: u64,
    },
    /// A setup command is being run; it may take long.
    SetupStarted {
        /// The command.
        command: String,
    },
    /// All setup is done.
    SetupFinished,
    /// A campaign began.
    CellStarted {
        /// Its index, from 0.
        cell: usize,
        /// `name=value` each.
        values: Vec<String>,
    },
    /// The clean run of a campaign is over.
    BaselineFinished {
        /// The campaign.
        cell: usize,
        /// Its life.
        life: Life,
        /// Its ledger.
        ledger: Vec<Request>,
        /// The ledger of a second clean run, where there was one.
        second_ledger: Option<Vec<Request>>,
        /// What it was judged to be.
        judgements: Vec<Judgement>,
        /// Its crash points.
        census: Census,
        /// What differed between two clean runs.
        not_repeatable: Vec<String>,
    },
    /// The plan of a campaign is made.
    Planned {
        /// The campaign.
        cell: usize,
        /// How many trials.
        trials: u64,
    },
    /// A life was recorded for crash images.
    Recorded {
        /// The campaign.
        cell: usize,
        /// The recording.
        reel: Box<Reel>,
    },
    /// A state was resumed and judged.
    StateTried {
        /// The campaign.
        cell: usize,
        /// The state.
        state: Box<StateRecord>,
    },
    /// A trial is over.
    TrialFinished(TrialRecord),
    /// A finding was made.
    FindingMade {
        /// The campaign.
        cell: usize,
        /// The finding.
        finding: Box<Finding>,
    },
    /// A campaign is over.
    CellFinished {
        /// The campaign.
        cell: usize,
        /// What came out.
        summary: Box<Cell>,
    },
    /// Something a person should know; it changes no verdict.
    Warning {
        /// What.
        message: String,
    },
    /// The run was interrupted; it can be taken up again.
    Interrupted,
    /// The run is over.
    RunFinished,
}

/// What is kept in memory of a trial; the whole of it is in the run folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// The campaign.
    pub cell: usize,
    /// The trial's number in the campaign, from 0.
    pub trial: u64,
    /// Index of its point in the census.
    pub point: usize,
    /// The order of threads in its first life.
    #[serde(default)]
    pub interleaving: Interleaving,
    /// The state it was resumed from, where that was an image and no SIGKILL.
    #[serde(default)]
    pub state: Option<String>,
    /// What was asked for, in the form that was carried out last.
    pub schedule: Schedule,
    /// How often it was tried.
    pub tries: u32,
    /// Whether its point was reached, with the SIGKILL seen to land.
    pub reached: bool,
    /// Why it ended.
    pub end: TrialEnd,
    /// How many lives all tries took.
    pub lives: u32,
    /// CPU time of those lives, in microseconds.
    pub cpu_us: u64,
    /// What the oracles say, per intent; empty where the point was not reached.
    pub judgements: Vec<Judgement>,
    /// For each effect that was asked for again in a later life: whether its key stayed the same.
    pub keys_stable: BTreeMap<String, bool>,
}
