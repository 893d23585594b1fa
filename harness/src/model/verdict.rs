//! Verdicts and causes: what the oracles say of one intent of one trial, and why it came to that.

use serde::{Deserialize, Serialize};

/// The answer for one intent. The order is that of merging: the worst is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// As often as promised.
    Once,
    /// The workflow says it does not know, and the scenario accepts that.
    DeclaredUnknown,
    /// It cannot be said; the reason stands beside it. Never a pass.
    Unknown,
    /// The workflow did not get done within the bound.
    Stuck,
    /// Two executors of one intent were alive at once.
    Overlap,
    /// One effect, with another amount than in the clean run.
    WrongAmount,
    /// Fewer effects than promised.
    Lost,
    /// More effects than promised, all alike.
    Duplicated,
    /// More effects than promised, and they differ.
    Diverged,
}

impl Verdict {
    /// Its word in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::DeclaredUnknown => "declared_unknown",
            Self::Unknown => "unknown",
            Self::Stuck => "stuck",
            Self::Overlap => "overlap",
            Self::WrongAmount => "wrong_amount",
            Self::Lost => "lost",
            Self::Duplicated => "duplicated",
            Self::Diverged => "diverged",
        }
    }

    /// All verdicts, the best first.
    pub const ALL: [Self; 9] = [
        Self::Once,
        Self::DeclaredUnknown,
        Self::Unknown,
        Self::Stuck,
        Self::Overlap,
        Self::WrongAmount,
        Self::Lost,
        Self::Duplicated,
        Self::Diverged,
    ];

    /// Whether the workflow kept its promise.
    #[must_use]
    pub fn is_kept(self) -> bool {
        matches!(self, Self::Once | Self::DeclaredUnknown)
    }

    /// Whether it is a finding against the workflow.
    #[must_use]
    pub fn is_finding(self) -> bool {
        !self.is_kept() && self != Self::Unknown
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

/// Why a promise was broken, from what the ledger and the lives show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The repeated requests carry no idempotency key.
    NoKey,
    /// The repeated requests carry different keys.
    KeyChanged,
    /// Some of the repeated requests carry a key and some do not.
    KeyNotAlways,
    /// The same key came with another body and was refused.
    KeyReused,
    /// One key stands for two intents, and the second was swallowed.
    KeyTooCoarse,
    /// The same key was executed twice: the server no longer knew it.
    KeyForgotten,
    /// The effect was never asked for, although the workflow calls itself done: its record was written before the effect.
    RecordedBeforeDone,
    /// The request was on its way when the life ended and was never sent again.
    NotRetried,
    /// The repeated requests do not ask for the same thing.
    RequestChanged,
    /// What was written twice is no request, and nothing where it stands refuses the second one.
    NotUnique,
    /// What was sent twice can carry no idempotency key: a mail.
    NotKeyable,
    /// A resumed life exits with an error on every try.
    ResumeFails,
    /// A resumed life does not end.
    ResumeHangs,
    /// Nothing seen explains it.
    Unexplained,
}

/// What the oracles say of one intent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Judgement {
    /// The promise's name.
    pub promise: String,
    /// The intent.
    pub intent: String,
    /// The answer.
    pub verdict: Verdict,
    /// How many effects were promised, in words (`exactly 1`).
    pub expected: String,
    /// How many there were.
    pub observed: u32,
    /// How many there were before some were given back or reconciled, where that is another number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_the_way: Option<u32>,
    /// Why, where the promise was not kept.
    pub cause: Option<Cause>,
    /// The facts the cause rests on, one sentence each (the keys side by side, the exit codes).
    pub evidence: Vec<String>,
}
