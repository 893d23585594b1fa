//! Where the key of a request stands, in the form of the ledger.

use serde_json::Value;

use crate::model::ledger::Request;

/// Where the key stands; nothing where there is no key, or where it cannot be found again in what was kept of the request.
pub(super) fn of(request: &Request) -> Option<String> {
    let key = request.key.as_deref()?;
    if let Some(place) = &request.key_at {
        return Some(place.clone());
    }
    // A ledger of an earlier version does not say it.
    if let Some((name, _)) = request.headers.iter().find(|(name, value)| name.contains("idempotency") && value.as_str() == key) {
        return Some(format!("header:{name}"));
    }
    if let Some((name, _)) = request.headers.iter().find(|(_, value)| value.as_str() == key) {
        return Some(format!("header:{name}"));
    }
    let path = within(&request.body, key, "")?;
    Some(if request.method == "MCP" { format!("argument:{}", path.trim_start_matches('.')) } else { format!("body:${path}") })
}

/// The path of a string in a value, `.a.b[0]`.
fn within(value: &Value, text: &str, path: &str) -> Option<String> {
    match value {
        Value::String(own) if own == text => Some(path.to_owned()),
        Value::Object(fields) => fields.iter().find_map(|(name, own)| within(own, text, &format!("{path}.{name}"))),
        Value::Array(items) => items.iter().enumerate().find_map(|(at, own)| within(own, text, &format!("{path}[{at}]"))),
        _ => None,
    }
}
