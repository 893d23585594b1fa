//! What `killpoint audit` found: every write that a workflow makes, its idempotency key, what it does when an answer fails, and the gaps.
//!
//! All of it stands on what was seen in clean runs and in trials. What was not seen is `not_known` or absent, never good.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fault::Fault;
use super::schedule::Schedule;
use super::tool::ToolServer;
use super::verdict::Verdict;

/// The name and version of the form.
pub const SCHEMA: &str = "killpoint.audit/1";

/// An audit of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Audit {
    /// [`SCHEMA`].
    pub schema: String,
    /// The version of killpoint.
    pub killpoint_version: String,
    /// The scenario's name.
    pub scenario: String,
    /// One for each cell of the matrix that was looked at.
    pub cells: Vec<AuditedCell>,
    /// MCP servers that were asked for their tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ToolServer>,
}

/// What one cell of the matrix showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditedCell {
    /// `name=value` each; empty where there is no matrix.
    pub cell: Vec<String>,
    /// Why the workflow could not be audited, where its clean run is broken.
    pub broken: Option<String>,
    /// What was tried, in order.
    pub probes: Vec<Probe>,
    /// Every write that was seen, in the order of its first request.
    pub writes: Vec<Write>,
}

/// One thing that was made to go wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Probe {
    /// The effect it is about.
    pub effect: String,
    /// What was done.
    pub schedule: Schedule,
    /// Whether it came to happen.
    pub reached: bool,
    /// Why nothing can be said, where that is so.
    pub reason: Option<String>,
}

/// One kind of write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Write {
    /// The promise's name, or the endpoint's where no promise names it.
    pub effect: String,
    /// The method (`POST`, `MAIL`, `MCP`, ...).
    pub method: String,
    /// The path; `*` where it differs from request to request.
    pub path: String,
    /// Whether the scenario promises something of it.
    pub promised: bool,
    /// Of an MCP tool, whether its schema has an argument for a key; absent where the schema was not seen, and for all else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_takes_key: Option<bool>,
    /// Requests in the clean run.
    pub requests: u32,
    /// Its idempotency key.
    pub key: KeyFacts,
    /// How it is repeated while the workflow lives.
    pub retry: RetryFacts,
    /// How each failure was read.
    pub boundary: Vec<Boundary>,
    /// Whether it is sent again after an answer that did not come in time; absent where that was not seen.
    pub repeated_after_timeout: Option<bool>,
    /// The three-part score.
    pub score: Score,
    /// What is missing, each with what mends it.
    pub gaps: Vec<Gap>,
}

/// The three-part score of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Score {
    /// (a) The idempotency key.
    pub key: Mark,
    /// (b) Retry and back-off.
    pub retry: Mark,
    /// (c) The failure-detection boundary: whether what cannot be known is read as "did not happen".
    pub boundary: Mark,
}

/// One part of a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Nothing to object to was seen.
    Good,
    /// There is a gap.
    Gap,
    /// There is no such thing: the workflow does not repeat the write by itself.
    Absent,
    /// Not enough was seen.
    NotKnown,
}

/// What was seen of the keys of one effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeyFacts {
    /// How many of its requests carry one.
    pub presence: Presence,
    /// Where it stands: `header:idempotency-key`, `body:$.key`, `argument:key`.
    pub places: Vec<String>,
    /// Where it comes from, as far as that can be told.
    pub origin: Origin,
    /// What that rests on, one sentence.
    pub why: String,
    /// Two values side by side: those that say most.
    pub pair: Option<Pair>,
    /// Whether it is equal in all attempts of one life; absent where there was one attempt only.
    pub equal_in_attempts: Option<bool>,
    /// The same across the lives of one trial.
    pub equal_in_lives: Option<bool>,
    /// The same across runs that share nothing.
    pub equal_in_runs: Option<bool>,
    /// Keys that came again with another body, one sentence each.
    pub other_body: Vec<String>,
    /// Keys that stand for several intents, one sentence each.
    pub too_coarse: Vec<String>,
    /// Intents that were asked for twice at once, before the first answer, one sentence each.
    pub at_once: Vec<String>,
}

/// How many requests carry a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// All.
    Always,
    /// None.
    Never,
    /// Some.
    Sometimes,
}

/// Where a key comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// There is no key.
    None,
    /// Made again each time from values that do not change.
    Derived,
    /// Made once and kept: equal in later lives, another one in a run of its own.
    Persisted,
    /// Random, and new for each request.
    RandomPerCall,
    /// Random, equal within a life and new in the next one.
    RandomPerLife,
    /// Random, and new in the next life; whether also within one was not seen.
    Random,
    /// Random, and made by the SDK for each call: its own repeats keep it, whoever calls again gets another.
    Sdk,
    /// It holds the time at which it was made.
    Time,
    /// It holds the number of the attempt.
    Attempt,
    /// It holds a place in a list, which stands for something else later.
    Position,
    /// It is made from the request, and parts of the request change.
    Request,
    /// It changes, and nothing seen says why.
    Changes,
    /// Not enough was seen.
    NotKnown,
}

impl Origin {
    /// Its code in reports (`random_per_call`).
    #[must_use]
    pub fn code(self) -> String {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(code)) => code,
            _ => format!("{self:?}"),
        }
    }

    /// Its words in a table.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Derived => "derived from stable values",
            Self::Persisted => "made once and kept",
            Self::RandomPerCall => "random per call",
            Self::RandomPerLife => "random per process",
            Self::Random => "random, new after a restart",
            Self::Sdk => "the SDK's own random key",
            Self::Time => "contains the time",
            Self::Attempt => "contains the attempt number",
            Self::Position => "a place in a list",
            Self::Request => "follows the request",
            Self::Changes => "changes",
            Self::NotKnown => "not known",
        }
    }
}

/// Two values side by side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    /// Who sent the first one (`life 1`).
    pub one_from: String,
    /// The first value.
    pub one: String,
    /// Who sent the second one.
    pub other_from: String,
    /// The second value.
    pub other: String,
    /// The part of the first one that differs, in characters from 0, end not included; absent where both are equal.
    pub one_differs: Option<(u32, u32)>,
    /// The same of the second one.
    pub other_differs: Option<(u32, u32)>,
}

/// How a write is repeated within one life.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RetryFacts {
    /// The most attempts for one intent that one life made.
    pub attempts: u32,
    /// The waits between the end of one attempt and the next one, in milliseconds, of the longest series seen.
    pub waits_ms: Vec<u64>,
    /// The first wait of each trial that repeated, in milliseconds.
    pub first_waits_ms: Vec<u64>,
    /// Whether waits of one series grow; absent where there were fewer than two.
    pub grows: Option<bool>,
    /// Whether the first wait differs from trial to trial; absent where there were fewer than two.
    pub jitter: Option<bool>,
}

/// How one failure was read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Boundary {
    /// To the how-manieth request of the effect in the first life it was done, from 1.
    pub at: u32,
    /// What went wrong.
    pub fault: Fault,
    /// What the workflow did.
    pub reading: Reading,
    /// Whether that was in the same life; else the next one did it.
    pub same_life: bool,
    /// Effects for the intent, in the end.
    pub effects: u32,
    /// What the oracles say of it.
    pub verdict: Option<Verdict>,
}

/// What a workflow did after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// Sent it again with the same key: right, whatever had happened.
    SameKey,
    /// Sent it again without a key: read as "did not happen".
    NoKey,
    /// Sent it again with another key: read as "did not happen".
    OtherKey,
    /// Asked whether it had happened, and did not send it again.
    Asked,
    /// Waited for the answer and took it.
    Waited,
    /// Went on, and did not send it again.
    WentOn,
    /// Did not send it again, and did not get done.
    GaveUp,
    /// The failure did not come to happen.
    NotReached,
}

/// Something that is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gap {
    /// Of what kind.
    pub kind: GapKind,
    /// What was seen, one sentence.
    pub what: String,
    /// What mends it; the first one is the plainest.
    pub fixes: Vec<Fix>,
}

/// Kinds of gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GapKind {
    /// No key on the write.
    NoKey,
    /// A key on some of its requests only.
    KeyNotAlways,
    /// The key does not survive a repetition.
    KeyChanges,
    /// One key for several intents.
    KeyTooCoarse,
    /// One key for several bodies.
    KeyReused,
    /// Two at once, both done.
    AtOnce,
    /// A failure that says nothing is read as "did not happen".
    ReadAsNotDone,
    /// A failure ends in fewer effects than promised, or in no end.
    NotRecovered,
    /// Repeated without a pause.
    NoBackOff,
}

/// What mends a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fix {
    /// A key on the write, made from the intent.
    KeyOnTheWrite,
    /// An argument for the key in the tool's schema, and the intent's key in each call.
    KeyArgument,
    /// The intent and its key are stored before the call.
    PersistBeforeCall,
    /// A table of what is done, in the same transaction as the work.
    DedupTable,
    /// An upsert on the intent's own key.
    Upsert,
    /// A unique constraint, and an insert before the call.
    UniqueConstraint,
    /// The same body for the same key.
    SameBody,
    /// An outbox that is drained by one sender, or a person who reconciles.
    OutboxOrPerson,
    /// Look the object up instead of sending it again.
    AskFirst,
    /// A growing, jittered pause and a bound.
    BackOff,
}

impl Fix {
    /// What to do, one sentence without a full stop.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::KeyOnTheWrite => {
                "key on the write: send an idempotency key made from the intent alone, the same in each attempt and life"
            }
            Self::KeyArgument => {
                "key argument: give the tool's schema a required argument for an idempotency key, and send the intent's key in each call"
            }
            Self::PersistBeforeCall => {
                "intent persisted before the call: store the intent with its key, commit, then call; after a restart send the stored key"
            }
            Self::DedupTable => {
                "dedup table: the receiver records the intent in the same transaction as the effect and skips what it has"
            }
            Self::Upsert => "upsert: write the row under the intent's own key, so that a second write changes nothing",
            Self::UniqueConstraint => {
                "unique constraint: insert a row that is unique on the intent before the call; whoever fails to insert stops"
            }
            Self::SameBody => "same body for the same key: store the request with its key, or take what changes into a new key",
            Self::OutboxOrPerson => {
                "outbox or person, where the receiver takes no key: one sender drains an outbox, and a person reconciles the doubtful ones"
            }
            Self::AskFirst => {
                "ask first: look the object up by its intent and go on with what is there; the answer kept under the key will not change"
            }
            Self::BackOff => "back-off: wait longer after each attempt, with a random part, and stop after a few",
        }
    }
}

impl Audit {
    /// All gaps; a tool that changes something and takes no key is one.
    #[must_use]
    pub fn gaps(&self) -> usize {
        let unkeyed = self.servers.iter().flat_map(|server| &server.tools).filter(|tool| tool.is_unkeyed()).count();
        self.cells.iter().flat_map(|cell| &cell.writes).map(|write| write.gaps.len()).sum::<usize>() + unkeyed
    }

    /// Whether something that was to be tried did not come to happen, so that its absence proves nothing.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.servers.iter().any(|server| server.trouble.is_some())
            || self.cells.iter().any(|cell| cell.writes.is_empty() || cell.probes.iter().any(|probe| !probe.reached))
    }
}
