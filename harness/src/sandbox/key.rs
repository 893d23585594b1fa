//! Where a request has its idempotency key.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json_path::JsonPath;

use crate::model::scenario::KeyPlace;

/// The place that the profiles know.
pub(super) const STANDARD: &str = "header:idempotency-key";

/// Other headers in which APIs take keys (Checkout.com, PayPal, PPRO; and a habit of many).
const HEADERS: [&str; 4] = ["x-idempotency-key", "cko-idempotency-key", "paypal-request-id", "request-idempotency-key"];
/// The field of a body in which APIs take keys (Square).
const FIELD: &str = "idempotency_key";
/// The paths of the API whose keys stand in their header and nowhere else.
const STRIPE: [&str; 2] = ["/v1/", "/v2/"];

/// A key, and where it stands.
pub(super) struct Found {
    pub key: String,
    pub at: String,
}

/// The key of a request: where the scenario says that it stands; else in its header, and, for an API that is not Stripe's, where others
/// have it.
pub(super) fn find(place: Option<&KeyPlace>, path: &str, headers: &BTreeMap<String, String>, body: &Value) -> Option<Found> {
    let in_header = |name: &str| {
        let key = headers.get(name).filter(|key| !key.is_empty())?;
        Some(Found { key: key.clone(), at: format!("header:{name}") })
    };
    match place {
        Some(KeyPlace::Header(name)) => return in_header(name),
        Some(KeyPlace::Body(path)) => {
            let value = JsonPath::parse(path).ok()?.query(body).first().and_then(text)?;
            return Some(Found { key: value, at: format!("body:{path}") });
        }
        None => {}
    }
    let standard = in_header("idempotency-key");
    if standard.is_some() || STRIPE.iter().any(|stripe| path.starts_with(stripe)) {
        return standard;
    }
    let field = || Some(Found { key: text(body.get(FIELD)?)?, at: format!("body:$.{FIELD}") });
    HEADERS.into_iter().find_map(in_header).or_else(field)
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
