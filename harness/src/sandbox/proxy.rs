//! The sandbox in front of another HTTP server: what it is asked, it asks there, and passes the answer on. Its ledger says what was asked
//! and how it was answered; what the other server keeps, it does not know.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderName};
use http::{HeaderMap, Method, Request};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use super::api;
use super::error::SandboxError;
use super::ledger::{Foreign, Ledger, Reply};
use super::request::Arrived;
use crate::model::ledger::Outcome;
use crate::model::limits;

/// Headers that are about one connection and not about what is sent over it (RFC 9110, section 7.6.1), and those that are made anew.
const HOP: [HeaderName; 9] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::HOST,
    header::CONTENT_LENGTH,
];

/// A request as it came, for another server to see.
#[derive(Clone, Debug)]
pub(super) struct Raw {
    pub headers: HeaderMap,
    pub bytes: Bytes,
}

/// The way to another server.
#[derive(Debug)]
pub(super) struct Proxy {
    client: Client<HttpConnector, Full<Bytes>>,
    /// Its base URL, without a slash at the end.
    base: String,
}

impl Proxy {
    /// The way to the server at this base URL.
    pub fn new(base: &str) -> Self {
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self { client, base: base.trim_end_matches('/').to_owned() }
    }

    /// Has a request carried out there, and writes down what became of it. A server that cannot be reached is answered for with 502.
    pub async fn carry_out(&self, ledger: &Ledger, seq: u64, arrived: &Arc<Arrived>) -> Result<Reply, SandboxError> {
        let answered = match self.ask(arrived).await {
            Ok(answered) => answered,
            Err(reason) => {
                let body =
                    serde_json::json!({ "error": { "type": "upstream_error", "message": format!("{}: {reason}", self.base) } });
                let reply = Reply {
                    status: 502,
                    body: body.to_string(),
                    outcome: Outcome::Rejected,
                    object: None,
                    key: arrived.key.clone(),
                    media: "application/json",
                    headers: Vec::new(),
                    foreign: None,
                };
                ledger.carried_out(seq, &reply)?;
                return Ok(reply);
            }
        };
        let reply = read(seq, arrived, answered);
        ledger.carried_out(seq, &reply)?;
        Ok(reply)
    }

    async fn ask(&self, arrived: &Arrived) -> Result<(u16, HeaderMap, Bytes), String> {
        let raw = arrived.raw.as_ref().ok_or("the request is not one of HTTP")?;
        let query = arrived.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        let method = Method::from_bytes(arrived.method.as_bytes()).map_err(|error| error.to_string())?;
        let mut request = Request::builder().method(method).uri(format!("{}{}{query}", self.base, arrived.path));
        if let Some(headers) = request.headers_mut() {
            *headers = without_hop(&raw.headers);
        }
        let request = request.body(Full::new(raw.bytes.clone())).map_err(|error| error.to_string())?;
        let asked = async {
            let answer = self.client.request(request).await.map_err(|error| whole(&error))?;
            let (parts, body) = answer.into_parts();
            let body =
                Limited::new(body, limits::UPSTREAM_ANSWER_MAX_BYTES).collect().await.map_err(|error| error.to_string())?;
            Ok((parts.status.as_u16(), without_hop(&parts.headers), body.to_bytes()))
        };
        let limit = Duration::from_millis(limits::UPSTREAM_TIMEOUT_MS);
        tokio::time::timeout(limit, asked).await.unwrap_or_else(|_| Err(format!("no answer within {} ms", limit.as_millis())))
    }
}

/// What an answer says of the request: a 2xx is an effect where the method writes, unless it is said to be the answer of an earlier one.
fn read(seq: u64, arrived: &Arrived, (status, headers, bytes): (u16, HeaderMap, Bytes)) -> Reply {
    let is_replay = headers.get("idempotent-replayed").is_some_and(|value| value == "true");
    let outcome = match status {
        200..=299 if !api::writes(&arrived.method) => Outcome::Read,
        200..=299 if is_replay => Outcome::Replayed,
        200..=299 => Outcome::Executed,
        409 => Outcome::Conflict,
        _ => Outcome::Rejected,
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let named = || serde_json::from_str::<serde_json::Value>(&text).ok()?.get("id")?.as_str().map(str::to_owned);
    let object = (outcome == Outcome::Executed).then(|| named().unwrap_or_else(|| format!("upstream_{seq}")));
    let foreign = Some(Box::new(Foreign { headers, bytes }));
    let key = arrived.key.clone();
    Reply { status, body: text, media: "application/json", headers: Vec::new(), outcome, object, key, foreign }
}

fn without_hop(headers: &HeaderMap) -> HeaderMap {
    // What `Connection` names is about the connection as well.
    let named: Vec<String> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let kept =
        |name: &HeaderName| !HOP.contains(name) && name.as_str() != "keep-alive" && !named.iter().any(|own| own == name.as_str());
    headers.iter().filter(|(name, _)| kept(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// An error with what caused it.
fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
