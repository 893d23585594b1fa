//! Reads the intent of a request: what somebody asked for once. It knows nothing of counts and verdicts.

use serde_json::Value;
use serde_json_path::JsonPath;

use super::volatile::{Mask, Place};
use crate::model::ledger::Request;
use crate::model::limits::INTENT_MAX_CHARS;
use crate::model::promise::{IntentSource, Promise};

/// Why a request has no intent, as a fragment (`$.metadata.invoice is not in the body`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unreadable(pub(super) String);

/// The intent of a request that the promise is about.
pub(super) fn read(promise: &Promise, mask: &Mask, request: &Request) -> Result<String, Unreadable> {
    let nothing = |what: String| Unreadable(what);
    match &promise.intent {
        IntentSource::Body(path) => {
            let value = first_node(path, &request.body)?;
            match value {
                None => Err(nothing(format!("{path} is not in the body"))),
                Some(Value::Null) => Err(nothing(format!("{path} is null"))),
                Some(value) => {
                    Some(text(value)).filter(|text| !text.is_empty()).ok_or_else(|| nothing(format!("{path} is empty")))
                }
            }
        }
        IntentSource::Header(name) => {
            let value = request.headers.get(name).filter(|value| !value.is_empty());
            value.cloned().ok_or_else(|| nothing(format!("header {name} is missing or empty")))
        }
        IntentSource::Query(name) => {
            let pairs = query_pairs(request.query.as_deref().unwrap_or_default());
            let value = pairs.into_iter().find(|(own, value)| own == name && !value.is_empty());
            value.map(|(_, value)| value).ok_or_else(|| nothing(format!("query parameter {name} is missing or empty")))
        }
        IntentSource::Auto => Ok(digest(promise, mask, request)),
    }
}

/// The first node a JSONPath (RFC 9535) finds.
pub(super) fn first_node<'a>(path: &str, body: &'a Value) -> Result<Option<&'a Value>, Unreadable> {
    let parsed = JsonPath::parse(path).map_err(|error| Unreadable(format!("{path} is not a JSONPath: {error}")))?;
    Ok(parsed.query(body).first())
}

/// A value as text: a string bare, anything else as JSON. A form has only strings, so `2900` and `"2900"` are one amount.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// What a request asks for, as one short line: `amount=2900 metadata.invoice=inv_9`. The declared amount is left out, so that a
/// repeated charge of another amount is the same intent.
fn digest(promise: &Promise, mask: &Mask, request: &Request) -> String {
    let amounts = promise.amount.as_deref().map(|path| places(path, &request.body)).unwrap_or_default();
    let mut parts = Vec::new();
    for (place, value) in mask.stable(&promise.endpoint, request) {
        if amounts.contains(&place) {
            continue;
        }
        let name = place.trim_start_matches('/').replace('/', ".");
        parts.push((rank(&name), if name.is_empty() { value } else { format!("{name}={value}") }));
    }
    let line = |parts: &[(u8, String)]| parts.iter().map(|(_, part)| part.as_str()).collect::<Vec<_>>().join(" ");
    let whole = line(&parts);
    if parts.is_empty() || whole.chars().count() <= INTENT_MAX_CHARS {
        return if parts.is_empty() { promise.endpoint.to_string() } else { shorten(&whole) };
    }
    // Not all of it is shown: first what people know a thing by.
    parts.sort_by_key(|(rank, _)| *rank);
    shorten(&line(&parts))
}

/// How well a field of that name tells what is asked for, the best first.
fn rank(name: &str) -> u8 {
    let mut names = name.split('.').rev().skip_while(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let last = names.next().unwrap_or_default();
    match last {
        "subject" | "template" | "invoice" | "order" | "reference" => 0,
        _ if name.starts_with("metadata.") || last == "id" || last.ends_with("_id") => 0,
        "to" | "customer" | "recipient" => 1,
        _ => 2,
    }
}

fn places(path: &str, body: &Value) -> Vec<Place> {
    let Ok(parsed) = JsonPath::parse(path) else { return Vec::new() };
    parsed.query_located(body).locations().map(|location| location.to_json_pointer()).collect()
}

/// Cuts a long text and ends it in a digest of the whole, so that two long ones do not become one.
fn shorten(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.chars().count() <= INTENT_MAX_CHARS && line == text {
        return line;
    }
    let head: String = line.chars().take(INTENT_MAX_CHARS).collect();
    let hash = blake3::hash(text.as_bytes()).to_hex();
    format!("{} (#{})", head.trim_end(), &hash.as_str()[..8])
}

/// The names and values of a query, decoded (WHATWG URL, `application/x-www-form-urlencoded`).
pub(super) fn query_pairs(query: &str) -> Vec<(String, String)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| pair.split_once('=').unwrap_or((pair, ""))).map(|(name, value)| (decode(name), decode(value))).collect()
}

fn decode(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let escaped = tail.get(..2).filter(|_| byte == b'%').and_then(|two| hex::decode(two).ok());
        match escaped {
            Some(bytes) => {
                out.extend(bytes);
                rest = &tail[2..];
            }
            None => {
                out.push(if byte == b'+' { b' ' } else { byte });
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
