//! The ledger: every request the sandbox got and what became of it. The only truth about effects.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One request, from its arrival to its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Its number in the trial, from 1, in order of arrival.
    pub seq: u64,
    /// The life that was running when it arrived, from 1.
    pub life: u32,
    /// The promise's name, or the endpoint's where no promise names it.
    pub effect: String,
    /// The how-manieth request of that effect in its life, from 1.
    pub ordinal: u32,
    /// The HTTP method.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The query, undecoded.
    pub query: Option<String>,
    /// The headers, names in lower case; several values of one name are joined by `, `. Values of `authorization` are not kept.
    pub headers: BTreeMap<String, String>,
    /// The body as JSON, whatever its encoding was; a string where it is neither a form nor JSON.
    pub body: serde_json::Value,
    /// SHA-256 of the body's bytes, in hexadecimal.
    pub body_sha256: String,
    /// The idempotency key, where there is one.
    pub key: Option<String>,
    /// Where it stands in the request: `header:idempotency-key`, `body:$.idempotency_key`, `argument:idempotency_key`.
    #[serde(default)]
    pub key_at: Option<String>,
    /// What was done to it on purpose, in the text form of a fault.
    #[serde(default)]
    pub fault: Option<String>,
    /// What became of it.
    pub outcome: Outcome,
    /// The status of the answer; 0 where there was none.
    pub status: u16,
    /// The id of the object it made, where it had an effect.
    pub object: Option<String>,
    /// Microseconds from the start of the trial to its arrival.
    pub received_us: u64,
    /// The same to the commit of its effect.
    pub executed_us: Option<u64>,
    /// The same to the last byte of its answer.
    pub answered_us: Option<u64>,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It has arrived whole; nothing else has happened.
    Received,
    /// It had an effect.
    Executed,
    /// It repeated a key with the same parameters: the first answer was given again, without an effect.
    Replayed,
    /// Its key was in use by a request that was not finished.
    Conflict,
    /// Its key was used before with other parameters or on another endpoint.
    Mismatch,
    /// It was not valid, or there is no such object: no effect.
    Rejected,
    /// It only read.
    Read,
}

impl Request {
    /// Whether it changed the outside world.
    #[must_use]
    pub fn had_effect(&self) -> bool {
        self.outcome == Outcome::Executed
    }
}
