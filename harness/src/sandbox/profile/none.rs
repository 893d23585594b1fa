//! No rules: keys are written down and mean nothing, as with an API that has none.

use super::super::api::Refusal;
use super::{Rules, Saved, is_same_by_value, plain_key, stripe_v1};

pub(super) const RULES: Rules = Rules {
    methods: &[],
    required: &[],
    read_key: plain_key,
    is_per_path: false,
    is_same: is_same_by_value,
    keeps_refusals: false,
    after_failure: |_| Saved::Nothing,
    retention_s: None,
    missing: || Refusal::invalid("an idempotency key is missing"),
    other_path: stripe_v1::other_path,
    mismatch: stripe_v1::mismatch,
    in_use: stripe_v1::in_use,
    form: |refusal| ("application/json", refusal.body()),
    echoes_key: false,
    replay_header: None,
};
