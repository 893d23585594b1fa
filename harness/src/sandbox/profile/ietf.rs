//! The draft of the IETF on the header (draft-ietf-httpapi-idempotency-key-header-07): a String of RFC 9651 in quotes, required on `POST`;
//! 400 without one, 422 for another payload, 409 while the first request is under way; errors as RFC 9457 has them.
//!
//! The draft leaves open how long a key is known (a server publishes it; 24 hours here), whether a failure is given again (it is here),
//! and whether `PATCH` needs a key (it may have one here).

use serde_json::{Value, json};
use sfv::{BareItem, Item, Parser};

use super::super::api::Refusal;
use super::{DAY_S, Rules, Saved, about_key, is_same_by_value};

/// What the draft's titles are about.
const MISSING: &str = "Idempotency-Key is missing";
const USED: &str = "Idempotency-Key is already used";
const OUTSTANDING: &str = "A request is outstanding for this Idempotency-Key";
const MALFORMED: &str = "Idempotency-Key is not a String";

pub(super) const RULES: Rules = Rules {
    methods: &["POST", "PATCH"],
    required: &["POST"],
    read_key,
    is_per_path: false,
    is_same: is_same_by_value,
    keeps_refusals: true,
    after_failure: |status| if status == 500 { Saved::Failure } else { Saved::Work },
    retention_s: Some(DAY_S),
    missing: || {
        about_key(400, "problem", Some(MISSING), "This operation is idempotent and it requires correct usage of Idempotency Key.")
    },
    other_path: |key, _, _| mismatch(key),
    mismatch,
    in_use: |_| {
        about_key(
            409,
            "problem",
            Some(OUTSTANDING),
            "A request with the same Idempotency-Key for the same operation is being processed.",
        )
    },
    form,
    echoes_key: false,
    replay_header: None,
};

fn read_key(text: &str) -> Result<String, Refusal> {
    let item = Parser::new(text).parse::<Item>().ok();
    match item.map(|item| item.bare_item) {
        Some(BareItem::String(key)) if !key.as_str().is_empty() => Ok(key.as_str().to_owned()),
        _ => {
            let detail = format!(
                "The value of Idempotency-Key must be a String in quotes, such as \"8e03978e-40d5-43dd-bc93-6894a57f9324\"; it is {text}"
            );
            Err(about_key(400, "problem", Some(MALFORMED), detail))
        }
    }
}

fn mismatch(_: &str) -> Refusal {
    about_key(422, "problem", Some(USED), "This operation is idempotent and its key was used with a different payload.")
}

/// Problem details (RFC 9457). A title of the draft, or that of the status.
fn form(refusal: &Refusal) -> (&'static str, Value) {
    let about = "https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/";
    let title = refusal.code.filter(|_| refusal.kind == "problem");
    let plain =
        || http::StatusCode::from_u16(refusal.status).ok().and_then(|status| status.canonical_reason()).unwrap_or("Error");
    let body = json!({
        "type": if title.is_some() { about } else { "about:blank" }, "title": title.unwrap_or_else(plain),
        "status": refusal.status, "detail": refusal.message,
    });
    ("application/problem+json", body)
}
