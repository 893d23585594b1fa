//! A request that has arrived whole, or the reason why it has not.

use std::collections::BTreeMap;

use http::HeaderMap;
use http::request::Parts;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::proxy::Raw;
use super::{body, key, mcp};
use crate::model::limits;
use crate::model::scenario::KeyPlace;

/// Headers that prove who somebody is. Their values are not kept.
const SECRET: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];

/// A request that has arrived whole.
pub(super) struct Arrived {
    pub method: String,
    pub path: String,
    pub query: Option<String>,
    pub headers: BTreeMap<String, String>,
    pub body: Value,
    pub body_sha256: String,
    /// The idempotency key, as it stands in the request.
    pub key: Option<String>,
    /// Where it stands: `header:idempotency-key`, `body:$.idempotency_key`, `argument:idempotency_key`.
    pub key_at: Option<String>,
    /// Whether the key has no form of its own, as it has in the header that a profile knows.
    pub key_is_plain: bool,
    /// The request as it came, where another server is to see it.
    pub raw: Option<Box<Raw>>,
}

/// Why a body did not arrive whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// The client is gone, or what it sent is not a body.
    Lost,
    /// It has more bytes than the sandbox reads.
    TooLarge,
    /// It took too long.
    TooSlow,
}

impl Arrived {
    /// Puts together the head and the bytes of a request.
    ///
    /// `place`: where the scenario says that the key stands.
    pub fn new(parts: &Parts, bytes: &[u8], place: Option<&KeyPlace>) -> Self {
        let headers = readable(&parts.headers);
        let body = body::decode(headers.get("content-type").map(String::as_str), bytes);
        let found = key::find(place, parts.uri.path(), &headers, &body);
        let key_is_plain = found.as_ref().is_some_and(|found| found.at != key::STANDARD);
        let (key, key_at) = found.map(|found| (found.key, found.at)).unzip();
        Self {
            method: parts.method.as_str().to_owned(),
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().map(str::to_owned),
            body,
            body_sha256: hex::encode(Sha256::digest(bytes)),
            key,
            key_at,
            key_is_plain,
            headers,
            raw: None,
        }
    }

    /// The same, with what another server is to see.
    pub fn with_raw(self, parts: &Parts, bytes: Vec<u8>) -> Self {
        Self { raw: Some(Box::new(Raw { headers: parts.headers.clone(), bytes: bytes.into() })), ..self }
    }

    /// Puts together the call of a tool, from the head of its request and its arguments. `keys`: its key is among them.
    pub fn tool(headers: &HeaderMap, name: &str, arguments: serde_json::Map<String, Value>, keys: bool) -> Self {
        let key =
            arguments.get(mcp::KEY_ARGUMENT).and_then(Value::as_str).filter(|key| keys && !key.is_empty()).map(str::to_owned);
        let body = Value::Object(arguments);
        let key_at = key.is_some().then(|| format!("argument:{}", mcp::KEY_ARGUMENT));
        Self {
            method: mcp::METHOD.to_owned(),
            path: format!("/{name}"),
            query: None,
            headers: readable(headers),
            body_sha256: hex::encode(Sha256::digest(body.to_string())),
            body,
            key,
            key_at,
            key_is_plain: true,
            raw: None,
        }
    }
}

fn readable(headers: &HeaderMap) -> BTreeMap<String, String> {
    let mut readable: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in headers {
        let value = if SECRET.contains(&name.as_str()) { "(not kept)".into() } else { String::from_utf8_lossy(value.as_bytes()) };
        readable
            .entry(name.as_str().to_owned())
            .and_modify(|values| {
                values.push_str(", ");
                values.push_str(&value);
            })
            .or_insert_with(|| value.clone().into_owned());
    }
    readable
}

/// Reads a body to its end: every byte that its head announced, or its last chunk.
pub(super) async fn collect(mut body: Incoming, deadline: Instant) -> Result<Vec<u8>, Cut> {
    let announced = body.size_hint().upper().unwrap_or(0);
    if announced > u64::try_from(limits::BODY_MAX_BYTES).unwrap_or(u64::MAX) {
        return Err(Cut::TooLarge);
    }
    let read = async {
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| Cut::Lost)?;
            let Some(data) = frame.data_ref() else { continue };
            if bytes.len() + data.len() > limits::BODY_MAX_BYTES {
                return Err(Cut::TooLarge);
            }
            bytes.extend_from_slice(data);
        }
        Ok(bytes)
    };
    tokio::time::timeout_at(deadline, read).await.unwrap_or(Err(Cut::TooSlow))
}
