//! Only what succeeded is saved, as several payment APIs have it (Checkout.com documents that 4xx and 5xx are attempted again; Qonto, that
//! another body under the key gets the first answer without an error). Known for 24 hours.
//!
//! A mixture that no single service has been checked against. With it a failure after the work is done leaves the key free: a repetition
//! does the work again.

use super::super::api::Refusal;
use super::{DAY_S, Rules, Saved, plain_key, stripe_v1};

pub(super) const RULES: Rules = Rules {
    methods: &["POST", "PUT", "PATCH", "DELETE"],
    required: &[],
    read_key: plain_key,
    is_per_path: false,
    is_same: |_, _| true,
    keeps_refusals: false,
    after_failure: |_| Saved::Nothing,
    retention_s: Some(DAY_S),
    missing: || Refusal::invalid("an idempotency key is missing"),
    other_path: stripe_v1::other_path,
    mismatch: stripe_v1::mismatch,
    in_use: stripe_v1::in_use,
    form: |refusal| ("application/json", refusal.body()),
    echoes_key: false,
    replay_header: None,
};
