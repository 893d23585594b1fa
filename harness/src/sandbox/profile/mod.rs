//! Profiles: whose rules about idempotency keys the sandbox follows. Each is one value of [`Rules`] in a file of its own.
//!
//! **To add a profile**: a variant of [`Profile`], a file here with its `RULES` and the source of each rule, and its line in [`rules`].
//! The rules say which requests take a key, when a repetition is one, what is saved for it and for how long, and how a refusal reads;
//! the ledger keeps to them.

mod acp;
mod ietf;
mod none;
mod stripe_v1;
mod stripe_v2;
mod success_only;

use serde_json::Value;

use super::api::Refusal;
use super::request::Arrived;
use crate::model::scenario::Profile;

/// The rules of one API.
pub(super) struct Rules {
    /// The methods whose requests take a key; a tool call (`MCP`) counts as a `POST`.
    pub methods: &'static [&'static str],
    /// The methods whose requests are refused without one.
    pub required: &'static [&'static str],
    /// Reads the value of the key's header.
    pub read_key: fn(&str) -> Result<String, Refusal>,
    /// Whether a key means something else on another path.
    pub is_per_path: bool,
    /// Whether two requests under one key ask for the same.
    pub is_same: fn(&First, &Arrived) -> bool,
    /// Whether an answer that refuses, given once execution had begun, is given again.
    pub keeps_refusals: bool,
    /// What becomes of what is saved where the server fails with a status after the work was done.
    pub after_failure: fn(u16) -> Saved,
    /// How long a key is known, in seconds; `None`: for ever.
    pub retention_s: Option<u64>,
    /// A request without the key that it must have.
    pub missing: fn() -> Refusal,
    /// A key that was used on another path: the new path and the old one.
    pub other_path: fn(&str, &str, &str) -> Refusal,
    /// A key that was used with other parameters.
    pub mismatch: fn(&str) -> Refusal,
    /// A key whose first request is not finished.
    pub in_use: fn(&str) -> Refusal,
    /// How a refusal reads: its media type and its body.
    pub form: fn(&Refusal) -> (&'static str, Value),
    /// Whether the key comes back in a header of the answer.
    pub echoes_key: bool,
    /// The header that marks an answer that was given before.
    pub replay_header: Option<&'static str>,
}

/// The request that a key was first used for.
pub(super) struct First {
    pub query: Option<String>,
    pub body: Value,
}

/// What is saved under a key after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Saved {
    /// The failure: a repetition is answered with it.
    Failure,
    /// The answer to the work that was done: a repetition gets that one.
    Work,
    /// Nothing: a repetition is a new request.
    Nothing,
}

/// Seconds of an hour and a day.
const HOUR_S: u64 = 3_600;
const DAY_S: u64 = 24 * HOUR_S;

/// The rules of a profile.
pub(super) fn rules(profile: Profile) -> &'static Rules {
    match profile {
        Profile::StripeV1 => &stripe_v1::RULES,
        Profile::StripeV2 => &stripe_v2::RULES,
        Profile::Ietf => &ietf::RULES,
        Profile::Acp => &acp::RULES,
        Profile::SuccessOnly => &success_only::RULES,
        Profile::None => &none::RULES,
    }
}

impl Rules {
    /// The key under which a request is to be executed, where it has one that counts.
    ///
    /// # Errors
    /// There is none where there must be one, or it is none of this API's.
    pub fn key_of(&self, arrived: &Arrived) -> Result<Option<String>, Box<Refusal>> {
        let method = if arrived.method == super::mcp::METHOD { "POST" } else { arrived.method.as_str() };
        if !self.methods.contains(&method) {
            return Ok(None);
        }
        match &arrived.key {
            // What is an argument of a tool, or stands where the scenario says, has no form of its own.
            Some(key) if arrived.key_is_plain => Ok(Some(key.clone())),
            Some(key) => (self.read_key)(key).map(Some).map_err(Box::new),
            None if self.required.contains(&method) && arrived.method == method => Err(Box::new((self.missing)())),
            None => Ok(None),
        }
    }

    /// The name under which the ledger knows a key.
    pub fn slot(&self, key: &str, path: &str) -> String {
        if self.is_per_path { format!("{path} {key}") } else { key.to_owned() }
    }
}

/// A key as it stands in its header, 255 characters at most.
fn plain_key(text: &str) -> Result<String, Refusal> {
    let limit = crate::model::limits::KEY_MAX_CHARS;
    if text.chars().count() > limit {
        return Err(Refusal::invalid(format!("an idempotency key may have {limit} characters at most")));
    }
    Ok(text.to_owned())
}

/// Equal parameters: the query as it stands, the body by value, whatever its encoding.
fn is_same_by_value(first: &First, arrived: &Arrived) -> bool {
    first.query == arrived.query && first.body == arrived.body
}

/// A refusal that is about a key.
fn about_key(status: u16, kind: &'static str, code: Option<&'static str>, message: impl Into<String>) -> Refusal {
    Refusal { kind, code, ..Refusal::limit(status, message) }
}
