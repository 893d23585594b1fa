//! Stripe's v1 API (docs.stripe.com/api/idempotent_requests, docs.stripe.com/error-low-level): the first answer is saved once execution
//! began, a 500 included, and given again for 24 hours.
//!
//! Not verified against the real service: `error.type` of a key in use, and `error.code` of a mismatch (none is given here). 24 hours are a
//! lower bound there; here a key is forgotten once it is so old.

use super::super::api::Refusal;
use super::{DAY_S, Rules, Saved, about_key, is_same_by_value, plain_key};

pub(super) const RULES: Rules = Rules {
    methods: &["POST"],
    required: &[],
    read_key: plain_key,
    is_per_path: false,
    is_same: is_same_by_value,
    keeps_refusals: true,
    after_failure,
    retention_s: Some(DAY_S),
    missing: || Refusal::invalid("an idempotency key is missing"),
    other_path,
    mismatch,
    in_use,
    form: |refusal| ("application/json", refusal.body()),
    echoes_key: true,
    replay_header: Some("idempotent-replayed"),
};

/// A 500 is the endpoint's own answer; any other status comes from in front of it (a gateway, the rate limiter).
fn after_failure(status: u16) -> Saved {
    if status == 500 { Saved::Failure } else { Saved::Work }
}

pub(super) fn other_path(key: &str, new: &str, old: &str) -> Refusal {
    let rule = "Keys for idempotent requests can only be used for the same endpoint they were first used for";
    about_key(400, "idempotency_error", None, format!("{rule} ('{new}' vs '{old}'). {}", otherwise(key)))
}

pub(super) fn mismatch(key: &str) -> Refusal {
    let rule = "Keys for idempotent requests can only be used with the same parameters they were first used with.";
    about_key(400, "idempotency_error", None, format!("{rule} {}", otherwise(key)))
}

pub(super) fn in_use(key: &str) -> Refusal {
    let message = format!(
        "There is currently another in-progress request using this Idempotent Key (that probably means you submitted twice, and the other \
         request is still going through): {key}. Please try again later."
    );
    about_key(409, "idempotency_error", Some("idempotency_key_in_use"), message)
}

fn otherwise(key: &str) -> String {
    format!("Try using a key other than '{key}' if you meant to execute a different request.")
}
