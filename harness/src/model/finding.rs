//! Findings: the failing trials that share one cause, with the window's edges and the command that brings one back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fault::Fault;
use super::interleaving::Interleaving;
use super::point::Point;
use super::schedule::Schedule;
use super::verdict::{Cause, Verdict};

/// The failing trials that share one cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// `F1`, `F2`, ... in the run.
    pub id: String,
    /// The matrix cell, `name=value` each; empty where there is no matrix.
    pub cell: Vec<String>,
    /// The answer.
    pub verdict: Verdict,
    /// The promise's name.
    pub promise: String,
    /// The intent; the first one where several share the cause.
    pub intent: String,
    /// All intents that share the cause.
    pub intents: Vec<String>,
    /// How many effects were promised, in words.
    pub expected: String,
    /// How many there were, in the trial of `schedule`.
    pub observed: u32,
    /// The widest unsafe window.
    pub window: Window,
    /// All unsafe windows, one for each intent and stretch of points.
    pub windows: Vec<Window>,
    /// Why, as a code.
    pub cause: Cause,
    /// Why, in sentences.
    pub why: Vec<String>,
    /// Whether a real SIGKILL at the point showed it. Always so in kill mode.
    pub confirmed_by_sigkill: bool,
    /// The order of threads under which it shows; the plainest one.
    #[serde(default)]
    pub interleaving: Interleaving,
    /// A schedule that shows it.
    pub schedule: Schedule,
    /// What was made to happen in `schedule`.
    #[serde(default = "kill")]
    pub fault: Fault,
    /// What else went wrong on the wire with the same outcome, each with a window of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Fault>,
    /// How many trials showed it.
    pub trials: u32,
    /// The command that brings it back.
    pub repro: String,
}

fn kill() -> Fault {
    Fault::Kill
}

/// An unsafe window: a stretch of crash points, in the order of the clean run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// The intent it is about.
    pub intent: String,
    /// What was made to happen at its points.
    #[serde(default = "kill")]
    pub fault: Fault,
    /// The order of threads under which it lies.
    #[serde(default)]
    pub interleaving: Interleaving,
    /// The crashes of the lives before the one in which it lies; none: it lies in the first life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Schedule>,
    /// The first failing point.
    pub first: Point,
    /// The last failing point.
    pub last: Point,
    /// The first point after it that was clean, where there is one: the call before it made the record durable.
    pub closed_by: Option<Point>,
    /// How many of its points failed.
    pub points: u32,
    /// How many points between its first and last did not fail in this run.
    pub clean_points: u32,
    /// Its width in the clean run, in microseconds.
    pub micros: u64,
}
