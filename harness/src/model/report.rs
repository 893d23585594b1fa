//! The report of a run: `report.json`, schema `killpoint.report/1`. A contract; fields are only ever added.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::Notice;
use super::fault::Fault;
use super::finding::Finding;
use super::interleaving::Interleaving;
use super::point::Point;
use super::scenario::{Network, Scope};
use super::verdict::Judgement;

/// The name and version of the report's schema.
pub const SCHEMA: &str = "killpoint.report/1";

/// What a run found, as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// Always `killpoint.report/1`.
    pub schema: String,
    /// The version of killpoint that wrote it.
    pub killpoint_version: String,
    /// The scenario's name.
    pub scenario: String,
    /// The scenario's file, as it was given; `None` for `killpoint run -- CMD`.
    pub scenario_file: Option<String>,
    /// The seed of the run.
    pub seed: u64,
    /// When it started, in UTC, RFC 3339.
    pub started_at: String,
    /// What kind of failure was looked at.
    pub scope: Scope,
    /// What the points were: `syscall`.
    pub level: Level,
    /// How the trials were made: `image` where all cells were, else `kill`.
    pub mode: Mode,
    /// What came out.
    pub verdict: RunVerdict,
    /// The crash points of the plan.
    pub points: PointCounts,
    /// Durable states.
    pub states: StateCounts,
    /// Trials.
    pub trials: TrialCounts,
    /// Lives, of all trials and clean runs, of findings that were shown again and of a check of merged states.
    pub lives: u64,
    /// Wall time of the run, in milliseconds.
    pub wall_ms: u64,
    /// CPU time of the workflows' processes, in milliseconds.
    pub target_cpu_ms: u64,
    /// CPU time of killpoint itself, in milliseconds.
    pub harness_cpu_ms: u64,
    /// The effects of the baselines.
    pub effects: Vec<BaselineEffect>,
    /// What is wrong, the worst first.
    pub findings: Vec<Finding>,
    /// One campaign for each cell of the matrix.
    pub cells: Vec<Cell>,
    /// Points that were not reached, although they were tried again.
    pub unreached: Vec<UnreachedPoint>,
    /// Whose network and mounts the trials had; `None` in reports of versions that did not say.
    #[serde(default)]
    pub isolation: Option<Isolation>,
    /// What lies outside of what was shown, one sentence each.
    pub outside: Vec<String>,
}

/// Whose network and mounts the trials had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Isolation {
    /// Each its own, or the machine's.
    pub network: Network,
    /// Why it is the machine's, or what is shared nevertheless.
    pub reason: Option<String>,
}

/// What the points were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// System calls of the whole tree, joined with the sandbox's log.
    Syscall,
}

/// How the trials were made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// A real SIGKILL for each trial.
    #[default]
    Kill,
    /// The workflow is resumed from crash images of one recording; each finding is shown again by a real SIGKILL.
    Image,
}

/// What came out of a run or of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunVerdict {
    /// Every point reached, every promise kept.
    Clean,
    /// Promises were broken.
    Findings,
    /// Nothing was injected, points were not reached, or something kept it from being judged.
    Inconclusive,
    /// The uninjured workflow breaks its own promises.
    BaselineBroken,
}

/// The crash points of the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PointCounts {
    /// In the plan.
    pub total: u64,
    /// Reached, with the SIGKILL seen to land.
    pub reached: u64,
    /// Tried and not reached.
    pub unreached: u64,
    /// In the census, of which the plan may be a part.
    pub census: u64,
}

/// Durable states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateCounts {
    /// Told apart by their bytes. In kill mode, where states are not compared, one for each point reached.
    pub raw: u64,
    /// Told apart by what they mean, and resumed. In kill mode as many as `raw`.
    pub distinct: u64,
}

/// The states at one number of crashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DepthCounts {
    /// How many lives were crashed.
    pub depth: u32,
    /// Crash points whose world was kept.
    pub points: u64,
    /// States told apart by their bytes.
    pub raw: u64,
    /// States told apart by what they mean that no smaller number of crashes, and no plainer order, had shown.
    pub distinct: u64,
    /// States of these that were not resumed: the life of another one, with the same files, told what becomes of them.
    #[serde(default)]
    pub told: u64,
}

/// One order of threads that was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OrderCounts {
    /// The order.
    pub interleaving: Interleaving,
    /// Its crash points.
    pub points: u64,
    /// Points whose world could not be kept.
    pub unpictured: u64,
    /// States that no plainer order had shown.
    pub new_states: u64,
}

/// A check of merged states: all members of some classes were resumed, and their verdicts compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClassCheck {
    /// Classes that were checked.
    pub classes: u64,
    /// Their members.
    pub members: u64,
    /// Lives that this took.
    pub lives: u64,
    /// Members whose verdict differs from that of their class: each is a bug of killpoint, one sentence each.
    pub disagreements: Vec<String>,
}

/// Trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialCounts {
    /// Clean runs that were recorded.
    pub recorded: u64,
    /// Lives that were resumed.
    pub resumed: u64,
    /// Trials in which a SIGKILL landed at its point.
    pub killed: u64,
}

/// The trials with one fault of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WireCounts {
    /// The fault.
    pub fault: Fault,
    /// Trials in the plan.
    pub planned: u64,
    /// Trials in which it happened.
    pub reached: u64,
    /// Of these, trials in which a promise was broken.
    pub broken: u64,
}

/// An effect of a baseline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineEffect {
    /// The matrix cell, `name=value` each.
    pub cell: Vec<String>,
    /// The promise's name, or the endpoint's where no promise names it.
    pub promise: String,
    /// The HTTP method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The intent, where it can be read.
    pub intent: Option<String>,
    /// The idempotency key.
    pub key: Option<String>,
    /// Where the key comes from, as far as it can be told, in the codes of an audit (`none`, `derived`, `persisted`, `random`, `sdk`, `time`,
    /// `changes`); `not_known` where no trial sent the request again.
    pub key_origin: String,
    /// SHA-256 of the body, in hexadecimal.
    pub body_sha256: String,
    /// The life.
    pub life: u32,
    /// The crash point at which it was executed; what is found in the world afterwards has none, and only its name stands here.
    pub at: Point,
}

/// One campaign: a cell of the matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// `name=value` each; empty where there is no matrix.
    pub cell: Vec<String>,
    /// What came out.
    pub verdict: RunVerdict,
    /// Why it is not clean, where no finding says so.
    pub reason: Option<String>,
    /// The crash points of the plan.
    pub points: PointCounts,
    /// Wall time of its clean run, in microseconds.
    pub baseline_us: u64,
    /// What the clean run was judged to be.
    pub baseline: Vec<Judgement>,
    /// What was noticed in its lives.
    pub notices: Vec<Notice>,
    /// What differed between two clean runs.
    pub not_repeatable: Vec<String>,
    /// What became of each point of the plan, in the order of the clean run, one character each: `.` every promise kept, `x` a
    /// finding, `?` unreached or unknown, `-` not tried.
    #[serde(default)]
    pub strip: String,
    /// How its trials were made.
    #[serde(default)]
    pub mode: Mode,
    /// Why not from images, where they were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode_reason: Option<String>,
    /// The states at each number of crashes, in image mode.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depths: Vec<DepthCounts>,
    /// The orders of threads that were recorded, in image mode.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub orders: Vec<OrderCounts>,
    /// What went wrong on the wire on purpose, by fault, where it was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wire: Vec<WireCounts>,
    /// What a check of merged states showed, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class_check: Option<ClassCheck>,
    /// How often promises were kept by what they allow besides their number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowances: Vec<Allowance>,
    /// The points of the strip that are spoken of: the moments of the promised effects and the edges of the windows.
    #[serde(default)]
    pub landmarks: Vec<Landmark>,
}

/// How often one promise was kept by what it allows besides its number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Allowance {
    /// The promise, by name.
    pub promise: String,
    /// Points after which the workflow said that it does not know whether it happened, as the scenario accepts.
    pub declared_unknown: u64,
    /// Points after which there were more effects than promised on the way, before they were given back or reconciled.
    pub surplus: u64,
    /// The most effects that one intent had then.
    pub most: u32,
}

/// A named point of a cell's strip.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Landmark {
    /// Its place in the strip, from 0.
    pub index: u32,
    /// The point.
    pub point: Point,
}

/// A point that was not reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnreachedPoint {
    /// The matrix cell, `name=value` each.
    pub cell: Vec<String>,
    /// The point.
    pub point: Point,
    /// How often it was tried.
    pub tries: u32,
    /// What happened instead.
    pub reason: String,
}
