//! Stripe's v2 API (docs.stripe.com/api-v2-overview): `POST` and `DELETE` take keys, known for 30 days. Work that succeeded is not repeated;
//! work that failed is done again, and the answer is a new one.
//!
//! Known from excerpts of its documentation only, and not verified against the real service: the statuses and texts of its refusals, which
//! are those of v1 here.

use super::super::api::Refusal;
use super::{DAY_S, Rules, Saved, is_same_by_value, plain_key, stripe_v1};

pub(super) const RULES: Rules = Rules {
    methods: &["POST", "DELETE"],
    required: &[],
    read_key: plain_key,
    is_per_path: false,
    is_same: is_same_by_value,
    keeps_refusals: false,
    // Retried to its completion: the work that is done already is not done again, and the answer says that it is done.
    after_failure: |_| Saved::Work,
    retention_s: Some(30 * DAY_S),
    missing: || Refusal::invalid("an idempotency key is missing"),
    other_path: stripe_v1::other_path,
    mismatch: stripe_v1::mismatch,
    in_use: stripe_v1::in_use,
    form: |refusal| ("application/json", refusal.body()),
    echoes_key: true,
    replay_header: Some("idempotent-replayed"),
};
