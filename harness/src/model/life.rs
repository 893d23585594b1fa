//! Lives and trials: what was done to a workflow and how each of its runs ended.

use serde::{Deserialize, Serialize};

use super::call::Notice;
use super::ledger::Request;
use super::point::Point;
use super::schedule::Schedule;

/// How a life ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum LifeEnd {
    /// Its first process exited by itself and every other one is gone.
    Exited {
        /// The exit code of the first process.
        code: i32,
    },
    /// Its first process died of a signal that the tree sent to itself (`abort`, a segmentation fault).
    Signalled {
        /// The signal's number.
        signal: i32,
    },
    /// killpoint sent the SIGKILL at the point that was asked for, and every process' wait status says so.
    Killed,
    /// One of its processes died of a SIGKILL that killpoint did not send (the OOM killer, an operator): an environment fault.
    KilledFromOutside,
    /// It did not end within its time and was killed by killpoint.
    TimedOut,
    /// It went past a limit, which is named, and was killed by killpoint.
    LimitHit {
        /// The limit, with its value and unit.
        limit: String,
    },
    /// The campaign was interrupted and killpoint killed it.
    Interrupted,
    /// It could not be started or traced.
    Failed {
        /// Why.
        reason: String,
    },
}

/// One run of the workflow, from spawn to exit or kill.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Life {
    /// Its number in the trial, from 1.
    pub number: u32,
    /// The point it was to be killed at, where there was one.
    pub target: Option<Point>,
    /// Whether that point was reached (and the SIGKILL seen to land).
    pub reached: bool,
    /// How it ended.
    #[serde(flatten)]
    pub end: LifeEnd,
    /// Wall time, in microseconds.
    pub wall_us: u64,
    /// CPU time of its processes, user and system, in microseconds, as far as the kernel accounts it to us.
    pub cpu_us: u64,
    /// How many processes it had.
    pub processes: u32,
    /// What was noticed.
    pub notices: Vec<Notice>,
    /// The last lines of its output.
    pub output_tail: Vec<String>,
    /// Whether it was the command `reconcile`, which is run after the last life of the workflow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reconciles: bool,
}

/// One schedule carried out: its lives and its ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// What was asked for.
    pub schedule: Schedule,
    /// Its lives, in order.
    pub lives: Vec<Life>,
    /// Its ledger, and behind it what was found in the world when the last life was over.
    pub ledger: Vec<Request>,
    /// Why it ended as it did.
    pub end: TrialEnd,
    /// Promises whose effects could not be read when the last life was over.
    #[serde(default)]
    pub gaps: Vec<Gap>,
}

/// A promise whose effects are no requests and could not be read when the last life was over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// The promise, by name.
    pub promise: String,
    /// Why they could not be read, as a sentence.
    pub reason: String,
    /// Whether there cannot be any, because the file or the table is not there. Else nobody knows.
    pub is_absent: bool,
}

/// Why a trial ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TrialEnd {
    /// The last life said that it was done.
    Done,
    /// The last life said that it does not know whether its effect happened.
    DeclaredUnknown,
    /// No life was done within `lives_max`, or one timed out on every try.
    Stuck {
        /// What the last life did.
        reason: String,
    },
    /// A point was not reached: the life ended before it.
    Unreached,
    /// The machine or the harness got in the way; says nothing about the workflow.
    Environment {
        /// What happened.
        reason: String,
    },
    /// The campaign was interrupted.
    Interrupted,
}
