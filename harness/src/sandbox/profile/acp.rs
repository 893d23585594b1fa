//! The Agentic Commerce Protocol, section 6 of its checkout RFC (agentic-commerce-protocol, rfcs/rfc.agentic_checkout.md): a key on every
//! `POST`, good for its path; equal bodies are equal as JSON values; a 5xx is never saved; known for 24 hours.
//!
//! There a key belongs to whoever sends it as well; here all clients of a sandbox are one.

use serde_json::{Value, json};

use super::super::api::Refusal;
use super::super::request::Arrived;
use super::{DAY_S, First, Rules, Saved, about_key, plain_key};

pub(super) const RULES: Rules = Rules {
    methods: &["POST"],
    required: &["POST"],
    read_key: plain_key,
    is_per_path: true,
    is_same,
    keeps_refusals: true,
    after_failure: |status| if status >= 500 { Saved::Nothing } else { Saved::Work },
    retention_s: Some(DAY_S),
    missing: || about_key(400, "invalid_request", Some("idempotency_key_required"), "Idempotency-Key is required on every POST"),
    other_path: |_, _, _| conflict(),
    mismatch: |_| conflict(),
    in_use: |_| {
        about_key(
            409,
            "invalid_request",
            Some("idempotency_in_flight"),
            "the first request with this Idempotency-Key is not finished",
        )
    },
    form,
    echoes_key: true,
    replay_header: Some("idempotent-replayed"),
};

fn conflict() -> Refusal {
    about_key(422, "invalid_request", Some("idempotency_conflict"), "this Idempotency-Key was used with another body")
}

fn is_same(first: &First, arrived: &Arrived) -> bool {
    first.query == arrived.query && is_equal(&first.body, &arrived.body)
}

/// Equality of JSON values: the order of names does not count, 1 and 1.0 are one number, null is not the same as nothing.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        // Two whole numbers are compared as such: as fractions, those above 2^53 run together.
        (Value::Number(a), Value::Number(b)) if a.is_f64() || b.is_f64() => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| is_equal(a, b)))
        }
        (a, b) => a == b,
    }
}

/// The protocol's flat error.
fn form(refusal: &Refusal) -> (&'static str, Value) {
    let kind = if refusal.status >= 500 { "processing_error" } else { "invalid_request" };
    let code = refusal.code.unwrap_or(if refusal.status >= 500 { "internal_error" } else { "invalid" });
    let mut body = json!({ "type": kind, "code": code, "message": refusal.message });
    if let Some(param) = &refusal.param {
        body["param"] = format!("$.{param}").into();
    }
    ("application/json", body)
}
