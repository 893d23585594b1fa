//! The TOML file as structs: its keys, their shapes and their descriptions, which are also those of the JSON Schema.
//! Nothing is judged here; the check turns these into the model.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::value::{Command, InOrder, Number, OneOrMore, Scalar, Setup, Text};
use crate::model::fault::Fault;
use crate::model::interleaving::Interleaving;
use crate::model::limits::{DEPTH_MAX, FAIL_TIMES_MAX, LIVES_MAX, TRIALS_MAX};
use crate::model::scenario::{Dedup, ModeChoice, Network, PointRange, Profile, Scope, Strategy};

/// The values of one name of the matrix.
pub(super) type Values = Spanned<Vec<Spanned<Scalar>>>;

/// A killpoint scenario: how to start and resume a workflow, what it promises, which faults it must survive, its limits.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
#[schemars(rename = "Scenario")]
pub(super) struct ScenarioFile {
    /// The scenario's name, for people.
    #[schemars(with = "String", length(min = 1))]
    pub name: Text,
    /// What kind of failure is looked at.
    #[serde(default)]
    #[schemars(with = "Scope", extend("default" = "process-death"))]
    pub scope: Option<Text>,
    /// How the workflow is started and resumed.
    #[schemars(with = "WorkflowFile")]
    pub workflow: Spanned<WorkflowFile>,
    /// The outside world, as killpoint plays it.
    #[serde(default)]
    pub sandbox: SandboxFile,
    /// What the workflow owes the outside world, per intent. Without any: every intent seen in the clean run, as often as there.
    #[serde(default)]
    #[schemars(with = "Vec<PromiseFile>")]
    pub promise: Promises,
    /// Names and values: one campaign per combination, in which `{matrix.NAME}` stands for the value.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Vec<Scalar>>", extend("minProperties" = 1))]
    pub matrix: Option<Spanned<InOrder<Values>>>,
    /// How the workflow is attacked.
    #[serde(default)]
    pub campaign: CampaignFile,
}

/// How the workflow is started and resumed, and its limits.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table, `[workflow]`")]
#[schemars(rename = "Workflow")]
pub(super) struct WorkflowFile {
    /// Working directory, relative to the scenario's folder.
    #[serde(default)]
    #[schemars(with = "String", extend("default" = "."))]
    pub dir: Option<Text>,
    /// Whether every trial gets its own copy of `dir`, which is then part of its state.
    #[serde(default)]
    pub dir_copy: bool,
    /// Folders elsewhere, absolute or relative to `dir`, that hold state as well: every trial gets its own copy at the same path.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub state_paths: Vec<Text>,
    /// Commands that are run once before the first life; cached by the content of what they read.
    #[serde(default)]
    #[schemars(with = "Setup")]
    pub setup: Option<Spanned<Setup>>,
    /// More files, relative to `dir`, whose content belongs to the cache key of `setup`.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub setup_reads: Vec<Text>,
    /// Whether `setup` is run in every campaign, because it keeps a cache of its own (`cargo build`, `make`).
    #[serde(default)]
    pub setup_always: bool,
    /// The command of the first life.
    #[schemars(with = "Command")]
    pub start: Spanned<Command>,
    /// The command of the later lives; the start command where it is left out.
    #[serde(default)]
    #[schemars(with = "Command")]
    pub resume: Option<Spanned<Command>>,
    /// A command that is run before the first life of each trial, uninjured: it sets back what killpoint cannot, such as the tables of a
    /// database server.
    #[serde(default)]
    #[schemars(with = "Command")]
    pub reset: Option<Spanned<Command>>,
    /// A command that is run after the last life of each trial, uninjured, as one more life: the job that finds and mends what
    /// a crash has left.
    #[serde(default)]
    #[schemars(with = "Command")]
    pub reconcile: Option<Spanned<Command>>,
    /// Environment, on top of killpoint's own.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Scalar>")]
    pub env: InOrder<Spanned<Scalar>>,
    /// Whose network its lives have: one of the trial's own where the kernel allows it, with `/tmp`, `/dev/shm` and a home of its own;
    /// or the machine's.
    #[serde(default)]
    #[schemars(with = "Network", extend("default" = "private"))]
    pub network: Option<Text>,
    /// Exit codes that say *done*.
    #[serde(default)]
    #[schemars(with = "Vec<u8>", length(min = 1), extend("default" = [0]))]
    pub done_exit_codes: Option<Spanned<Vec<Number>>>,
    /// Exit codes that say *I do not know whether it happened; a person must look*.
    #[serde(default)]
    #[schemars(with = "Vec<u8>")]
    pub unknown_exit_codes: Vec<Number>,
    /// Whether such a declaration is accepted.
    #[serde(default)]
    #[schemars(with = "DeclaredUnknown", extend("default" = "reject"))]
    pub declared_unknown: Option<Text>,
    /// Globs of paths that are not crash points and whose change is harmless.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub ignore: Vec<Text>,
    /// Time one life may take: `"30s"`, `"500ms"`, `"2m"`, `"1h"`.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = r"^[0-9]+(ms|s|m|h)$"), extend("default" = "1m"))]
    pub life_timeout: Option<Spanned<Scalar>>,
    /// How long the sandbox listens on after the last life where something outside the process tree could still act.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = r"^[0-9]+(ms|s|m|h)$"), extend("default" = "500ms"))]
    pub drain: Option<Spanned<Scalar>>,
    /// How long a descendant may stay idle after the first process has exited before killpoint ends it.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = r"^[0-9]+(ms|s|m|h)$"), extend("default" = "2s"))]
    pub linger: Option<Spanned<Scalar>>,
    /// Lives of one trial, the first one included.
    #[serde(default)]
    #[schemars(with = "u32", range(min = 2, max = LIVES_MAX), extend("default" = 5))]
    pub lives_max: Option<Number>,
}

/// Whether a workflow may declare that it does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum DeclaredUnknown {
    /// It is enough.
    Accept,
    /// It is a finding.
    Reject,
}

/// The outside world, as killpoint plays it.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table, `[sandbox]`")]
#[schemars(rename = "Sandbox")]
pub(super) struct SandboxFile {
    /// Whose idempotency rules the sandbox follows.
    #[serde(default)]
    #[schemars(with = "Profile", extend("default" = "stripe-v1"))]
    pub profile: Option<Text>,
    /// Where requests have their idempotency key: `header:NAME`, or a JSONPath into the body. Where it is left out: in `Idempotency-Key`,
    /// and for an API that is not Stripe's also in the headers and the body's field that others use.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = r"^(\$|header:.)"))]
    pub key: Option<Text>,
    /// How much time passes between two lives as far as keys are concerned: with `"25h"` a key that is known for a day is forgotten.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = r"^[0-9]+(ms|s|m|h)$"), extend("default" = "0s"))]
    pub key_age: Option<Spanned<Scalar>>,
    /// The base URL of a server (`http://127.0.0.1:9000`) that is asked whatever the sandbox is asked, instead of its own API: the same
    /// faults in front of any other server. What it keeps is not reset between trials.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = r"^http://"))]
    pub upstream: Option<Text>,
    /// Whether the MCP tools take an idempotency key, as an argument that may be left out.
    #[serde(default)]
    pub mcp_keys: bool,
}

/// One promise about one kind of effect.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table, `[[promise]]`")]
#[schemars(rename = "Promise")]
pub(super) struct PromiseFile {
    /// Its name: letters, digits, `_`, `-` and `.`. It names the effect in crash points and reports.
    #[schemars(with = "String", regex(pattern = r"^[A-Za-z0-9_.-]+$"))]
    pub name: Text,
    /// What is done to the outside world. Requests by a method and a path, such as `POST /v1/charges`, where `*` or `{id}` stands for
    /// any one segment; `mcp TOOL`: calls of a tool; `rows`: rows that `query` gives when the last life
    /// is over; `lines`: lines of JSON that stand in `file` then.
    #[schemars(with = "String", regex(pattern = r"^([A-Z]+ /\S*|mcp \S+|rows|lines)$"))]
    pub effect: Text,
    /// With `rows`: the path of an SQLite database, where `{state}` stands for the state folder and a relative one starts at `dir`; or
    /// `postgres://...`, which needs `network = "host"`. A server is not set back between trials: have `reset` do that.
    #[serde(default)]
    #[schemars(with = "String")]
    pub database: Option<Text>,
    /// With `rows`: the query. Each row of its answer is one effect, whose columns are the fields of its body.
    #[serde(default)]
    #[schemars(with = "String")]
    pub query: Option<Text>,
    /// With `lines`: the path of the file; `{state}` stands for the state folder. A relative one starts at `dir`.
    #[serde(default)]
    #[schemars(with = "String")]
    pub file: Option<Text>,
    /// Where the intent of a request stands: a JSONPath into the body, `header:NAME` or `query:NAME`.
    /// Where it is left out: the body without what differs between two clean runs.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = r"^(\$|header:.|query:.)"))]
    pub intent: Option<Text>,
    /// How many effects each intent must have; 1 where nothing is said.
    #[serde(default)]
    #[schemars(with = "u32")]
    pub exactly: Option<Number>,
    /// The fewest effects each intent must have.
    #[serde(default)]
    #[schemars(with = "u32")]
    pub at_least: Option<Number>,
    /// The most effects each intent may have.
    #[serde(default)]
    #[schemars(with = "u32")]
    pub at_most: Option<Number>,
    /// Intents whose exact number of effects differs from the rest.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, u32>")]
    pub counts: Option<Spanned<InOrder<Number>>>,
    /// JSONPath of an amount in the body that must be the same in every life.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = r"^\$"))]
    pub amount: Option<Text>,
    /// Requests that give effects back, such as `POST /v1/refunds`: an effect that was given back whole does not count. They name it
    /// by `charge` or `payment_intent` in their body, or by a segment of their path.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = r"^([A-Z]+ /\S*|mcp \S+)$"))]
    pub net_of: Option<Text>,
    /// The name of another promise whose effects count in the end: of this one there may be more than promised on the way, and for
    /// each intent that one must come to the promised number.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = r"^[A-Za-z0-9_.-]+$"))]
    pub reconciled_by: Option<Text>,
}

/// The promises, in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Promises(pub Vec<Spanned<PromiseFile>>);

impl<'de> Deserialize<'de> for Promises {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Shape;
        impl<'de> serde::de::Visitor<'de> for Shape {
            type Value = Promises;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a list of tables")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, _: A) -> Result<Promises, A::Error> {
                let wrong =
                    "`promise` is one table, but there may be several\nhint: write two brackets on each side: `[[promise]]`";
                Err(serde::de::Error::custom(wrong))
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Promises, A::Error> {
                let mut promises = Vec::new();
                while let Some(promise) = list.next_element()? {
                    promises.push(promise);
                }
                Ok(Promises(promises))
            }
        }
        deserializer.deserialize_any(Shape)
    }
}

/// A step that is made to fail.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table, such as `{ effect = \"email\", at = 1, status = 500, times = 1 }`")]
#[schemars(rename = "Fail")]
pub(super) struct FailFile {
    /// The name of the promise whose effect it is, or of the endpoint (`post_v1_refunds`) where no promise names it.
    #[schemars(with = "String")]
    pub effect: Text,
    /// The first request of it that fails, from 1.
    #[serde(default)]
    #[schemars(with = "u32", range(min = 1), extend("default" = 1))]
    pub at: Option<Number>,
    /// The status of the answer.
    #[serde(default)]
    #[schemars(with = "u16", range(min = 400, max = 599), extend("default" = 500))]
    pub status: Option<Number>,
    /// How many requests in a row fail.
    #[serde(default)]
    #[schemars(with = "u32", range(min = 1, max = FAIL_TIMES_MAX), extend("default" = 1))]
    pub times: Option<Number>,
}

/// How the workflow is attacked.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table, `[campaign]`")]
#[schemars(rename = "Campaign")]
pub(super) struct CampaignFile {
    /// Which points are tried.
    #[serde(default)]
    #[schemars(with = "Strategy", extend("default" = "sweep"))]
    pub strategy: Option<Text>,
    /// Which part of the run they come from.
    #[serde(default)]
    #[schemars(with = "PointRange", extend("default" = "all"))]
    pub points: Option<Text>,
    /// What is done at them.
    #[serde(default)]
    #[schemars(with = "Vec<Fault>", length(min = 1), extend("default" = ["kill"]))]
    pub faults: Option<Spanned<Vec<Text>>>,
    /// Steps that are made to fail, each in a trial of its own: nothing is done, and the answer says so.
    #[serde(default)]
    #[schemars(with = "OneOrMore<FailFile>")]
    pub fail: OneOrMore<FailFile>,
    /// Seed of a sample.
    #[serde(default)]
    #[schemars(with = "u64", extend("default" = 0))]
    pub seed: Option<Number>,
    /// Trials of a sample.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1, max = TRIALS_MAX))]
    pub trials: Option<Number>,
    /// Whether the uninjured workflow is run twice first; what differs between the runs is not repeatable.
    #[serde(default)]
    pub twice: bool,
    /// Lives of one trial that are crashed, at most: 2 also crashes every life that resumes after a crash. More than 1 needs images.
    #[serde(default)]
    #[schemars(with = "u32", range(min = 1, max = DEPTH_MAX), extend("default" = 1))]
    pub depth: Option<Number>,
    /// How trials are made: from crash images where that is sound, or by a SIGKILL each.
    #[serde(default)]
    #[schemars(with = "ModeChoice", extend("default" = "auto"))]
    pub mode: Option<Text>,
    /// Which durable states are taken as one.
    #[serde(default)]
    #[schemars(with = "Dedup", extend("default" = "logical"))]
    pub dedup: Option<Text>,
    /// The orders of threads that are recorded in image mode: `as-is`, `flush-late`, `flush-early`, `seed:NUMBER`.
    #[serde(default)]
    #[schemars(with = "Vec<Interleaving>", length(min = 1), extend("default" = ["as-is", "flush-late", "flush-early", "seed:1", "seed:2", "seed:3", "seed:4"]))]
    pub interleavings: Option<Spanned<Vec<Text>>>,
}
