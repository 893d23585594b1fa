//! Scenarios: how to start and resume a workflow, what it promises, which faults it must survive, its limits.
//!
//! These are the values; the room `scenario` reads them from TOML. Texts may still hold placeholders (`{state}`).

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::fault::Fault;
use super::interleaving::Interleaving;
use super::promise::Promise;

/// One scenario, checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Its name, for people.
    pub name: String,
    /// What kind of failure is looked at.
    pub scope: Scope,
    /// Its processes; the first one is the workflow.
    pub roles: Vec<Role>,
    /// The outside world.
    pub sandbox: SandboxSpec,
    /// What it owes; empty: every intent seen in the clean run, as often as there.
    pub promises: Vec<Promise>,
    /// Names and values of the matrix, in the order of the file.
    pub matrix: Vec<(String, Vec<String>)>,
    /// How it is attacked.
    pub campaign: CampaignSpec,
}

/// What kind of failure a scenario looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// A process dies; what it has handed to the kernel stays.
    #[default]
    ProcessDeath,
}

/// One process of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Role {
    /// Its name (`workflow`).
    pub name: String,
    /// Its working directory, absolute.
    pub dir: PathBuf,
    /// Whether every trial gets its own copy of `dir`, which is then part of its state.
    pub dir_copy: bool,
    /// Folders elsewhere, absolute, that hold state as well: every trial gets its own copy, at the same path, where mounts are to be had.
    #[serde(default)]
    pub state_paths: Vec<PathBuf>,
    /// Commands that are run once before the first life, cached by the content of what they read.
    pub setup: Vec<Vec<String>>,
    /// More files, relative to `dir`, whose content belongs to the cache key of `setup`.
    pub setup_reads: Vec<String>,
    /// Whether `setup` is run in every campaign, because it keeps a cache of its own (`cargo build`, `make`).
    pub setup_always: bool,
    /// The command of the first life.
    pub start: Vec<String>,
    /// The command of the later lives.
    pub resume: Vec<String>,
    /// The command that is run before the first life of a trial, uninjured; empty: none.
    #[serde(default)]
    pub reset: Vec<String>,
    /// The command that is run after the last life of a trial, uninjured; empty: none.
    #[serde(default)]
    pub reconcile: Vec<String>,
    /// Environment, on top of killpoint's own.
    pub env: Vec<(String, String)>,
    /// Whose network, and which mounts, its lives have.
    #[serde(default)]
    pub network: Network,
    /// Exit codes that say *done*.
    pub done_exit_codes: Vec<i32>,
    /// Exit codes that say *I do not know whether it happened; a person must look*.
    pub unknown_exit_codes: Vec<i32>,
    /// Whether such a declaration is accepted.
    pub accept_declared_unknown: bool,
    /// Globs of paths that are not crash points and whose change is harmless.
    pub ignore: Vec<String>,
    /// Time one life may take, in milliseconds.
    pub life_timeout_ms: u64,
    /// Lives of one trial.
    pub lives_max: u32,
    /// How long the sandbox listens on after the last life where something outside the tree could still act, in milliseconds.
    pub drain_ms: u64,
    /// How long a descendant may stay idle after the first process has exited before killpoint ends it, in milliseconds.
    pub linger_ms: u64,
}

/// Whose network the lives of a trial have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// One of the trial's own, with `/tmp`, `/dev/shm` and a home of its own, where the kernel allows it.
    #[default]
    Private,
    /// The machine's.
    Host,
}

/// The outside world of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxSpec {
    /// Whose rules it follows.
    pub profile: Profile,
    /// Where requests have their idempotency key; `None`: where the profile, or common use, has it.
    #[serde(default)]
    pub key: Option<KeyPlace>,
    /// How much older keys grow from one life to the next than the lives take, in milliseconds.
    #[serde(default)]
    pub key_age_ms: u64,
    /// The base URL of a server that is asked instead of the sandbox's own API.
    #[serde(default)]
    pub upstream: Option<String>,
    /// Whether the MCP tools take an idempotency key.
    #[serde(default)]
    pub mcp_keys: bool,
}

/// Whose idempotency rules the sandbox follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Stripe's v1 API: first answer saved once execution began, 500s included; kept 24 hours.
    #[default]
    StripeV1,
    /// Stripe's v2 API: `DELETE` takes keys as well, failed work is done again; kept 30 days.
    StripeV2,
    /// The draft of the IETF on the header: required, in quotes, errors as problem details.
    Ietf,
    /// The Agentic Commerce Protocol: required, good for one path, a 5xx is never saved.
    Acp,
    /// Only what succeeded is saved.
    SuccessOnly,
    /// Keys mean nothing.
    None,
}

/// Where a request has its idempotency key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyPlace {
    /// In a header, name in lower case.
    Header(String),
    /// In the body, at a JSONPath (RFC 9535).
    Body(String),
}

impl std::fmt::Display for KeyPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Header(name) => write!(f, "header:{name}"),
            Self::Body(path) => f.write_str(path),
        }
    }
}

/// How a scenario is attacked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CampaignSpec {
    /// Which points are tried.
    pub strategy: Strategy,
    /// Which part of the run they come from.
    pub points: PointRange,
    /// What is done at them.
    pub faults: Vec<Fault>,
    /// Steps that are made to fail, each in a trial of its own.
    #[serde(default)]
    pub fail: Vec<StepFailure>,
    /// Seed of a sample.
    pub seed: u64,
    /// Trials of a sample.
    pub trials: u64,
    /// How often the uninjured workflow is run first; what differs between the runs is not repeatable.
    pub twice: bool,
    /// How trials are made.
    #[serde(default)]
    pub mode: ModeChoice,
    /// Which states are taken as one.
    #[serde(default)]
    pub dedup: Dedup,
    /// How many lives of one trial are crashed, at most.
    #[serde(default = "one")]
    pub depth: u32,
    /// The orders of threads that are recorded, in image mode.
    #[serde(default = "Interleaving::defaults")]
    pub interleavings: Vec<Interleaving>,
}

impl Default for CampaignSpec {
    fn default() -> Self {
        Self {
            strategy: Strategy::Sweep,
            points: PointRange::All,
            faults: vec![Fault::Kill],
            fail: Vec::new(),
            seed: 0,
            trials: 0,
            twice: false,
            mode: ModeChoice::Auto,
            dedup: Dedup::Logical,
            depth: 1,
            interleavings: Interleaving::defaults(),
        }
    }
}

/// A step that fails of itself: nothing is done, and the answer says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepFailure {
    /// The effect's name.
    pub effect: String,
    /// The first of its requests that fails, from 1.
    pub at: u32,
    /// The status of the answer.
    pub status: u16,
    /// How many requests in a row fail.
    pub times: u32,
}

fn one() -> u32 {
    1
}

/// How trials are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModeChoice {
    /// From crash images where all durable state is within reach, else by a SIGKILL for each trial.
    #[default]
    Auto,
    /// From crash images; an error where that would not be sound.
    Image,
    /// By a SIGKILL for each trial.
    Kill,
}

/// Which durable states are taken as one, so that it is resumed once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Dedup {
    /// None: each crash point is resumed.
    None,
    /// Those with equal bytes.
    Raw,
    /// Those that mean the same: databases by their rows, JSON by value, volatile values by the order in which they appear.
    #[default]
    Logical,
}

/// Which points are tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Each of them.
    #[default]
    Sweep,
    /// Seeded draws, without repetition until all have been drawn.
    Sample,
}

/// Which part of the run the points come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PointRange {
    /// The whole run.
    #[default]
    All,
    /// From the receipt of the first promised effect to the end of the run.
    Window,
}

impl Scenario {
    /// The role that is the workflow.
    #[must_use]
    pub fn workflow(&self) -> &Role {
        &self.roles[0]
    }

    /// The cells of the matrix, each as names and values, in the order of the file. One empty cell where there is no matrix.
    #[must_use]
    pub fn cells(&self) -> Vec<Vec<(String, String)>> {
        let mut cells = vec![Vec::new()];
        for (name, values) in &self.matrix {
            cells = cells
                .iter()
                .flat_map(|cell| {
                    values.iter().map(move |value| {
                        let mut longer: Vec<(String, String)> = cell.clone();
                        longer.push((name.clone(), value.clone()));
                        longer
                    })
                })
                .collect();
        }
        cells
    }
}
