//! Carries one request through its moments: received, executed, answering, answered. It runs apart from the connection, because a
//! request that has arrived whole is carried through whether or not its client still lives.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::api::{self, Refusal};
use super::error::SandboxError;
use super::ledger::Reply;
use super::naming;
use super::openapi;
use super::request::{self, Arrived, Cut};
use super::server::{Arriving, World};
use super::watch::{Go, Seen};
use super::wire::Answer;
use crate::model::limits;
use crate::model::point::is_name;

/// The paths that are killpoint's own.
const OWN: &str = "/_killpoint/";

/// An answer on its way to its connection.
pub(super) struct Outgoing {
    pub response: Response<Full<Bytes>>,
    pub answer: Answer,
    /// Whether the client may still be sending what nobody will read.
    pub linger: bool,
}

/// Where the answer goes; dropping it closes the connection.
pub(super) type Outlet = oneshot::Sender<Outgoing>;

/// Carries a request from its body to its answer.
pub(super) async fn carry(
    world: Arc<World>,
    request: Request<Incoming>,
    peer: SocketAddr,
    began: Instant,
    arriving: Arriving,
    outlet: Outlet,
) {
    let (parts, body) = request.into_parts();
    let head_only = parts.method == Method::HEAD;
    let bytes = match request::collect(body, began + world.read_timeout).await {
        Ok(bytes) => bytes,
        Err(Cut::Lost) => return,
        Err(Cut::TooLarge) => return refuse(413, format!("a body may have {} bytes at most", limits::BODY_MAX_BYTES), outlet),
        Err(Cut::TooSlow) => {
            return refuse(408, format!("the request did not arrive within {} ms", world.read_timeout.as_millis()), outlet);
        }
    };
    if let Some(own) = parts.uri.path().strip_prefix(OWN) {
        drop(arriving);
        return probe(&world, &parts.method, own, outlet).await;
    }
    let arrived = Arc::new(Arrived::new(&parts, &bytes));
    let rule = naming::rule_for(&world.rules, &arrived.method, &arrived.path);
    let watched = api::writes(&arrived.method) || rule.is_some();
    let effect = rule.map_or_else(|| naming::slug(&arrived.method, &arrived.path), |rule| rule.name.clone());
    // An error of the ledger is kept by the ledger itself, and makes it no evidence; the client only sees a closed connection.
    let Ok(entry) = world.ledger.receive(&arrived, &effect) else { return };
    drop(arriving);
    let seen = Arc::new(Seen {
        seq: entry.seq,
        life: entry.life,
        effect,
        ordinal: entry.ordinal,
        method: arrived.method.clone(),
        path: arrived.path.clone(),
        peer,
    });
    let reply = moments(&world, &seen, &arrived, watched).await;
    world.ledger.is_over(seen.seq);
    let released = if arrived.stripe_key().is_some() { world.ledger.release(seen.seq) } else { Ok(()) };
    let (Ok(Some(reply)), Ok(())) = (reply, released) else { return };
    let (done, written) = oneshot::channel();
    let body_bytes = if head_only { 0 } else { reply.body.len() };
    let answer = Answer { seen: watched.then(|| Arc::clone(&seen)), body_bytes, done };
    let response = response(seen.seq, reply);
    let is_taken = outlet.send(Outgoing { response, answer, linger: false }).is_ok();
    match written.await {
        Ok(at) if is_taken => {
            let at_us = world.ledger.us_at(at.into_std());
            let _ = world.ledger.answered(seen.seq, at_us);
        }
        _ if watched => world.watch.unanswered(&seen),
        _ => {}
    }
}

/// The moments before the answer; nothing where the keeper drops the request.
async fn moments(world: &World, seen: &Seen, arrived: &Arrived, watched: bool) -> Result<Option<Reply>, SandboxError> {
    if watched && world.watch.received(seen).await == Go::Drop {
        return Ok(None);
    }
    let reply = world.ledger.execute(seen.seq, arrived)?;
    if watched && reply.object.is_some() && world.watch.executed(seen).await == Go::Drop {
        return Ok(None);
    }
    if watched && world.watch.answering(seen).await == Go::Drop {
        return Ok(None);
    }
    Ok(Some(reply))
}

/// `POST /_killpoint/probe/NAME`, or the description of the API. Neither has a row in the ledger, because it is no part of the outside
/// world.
async fn probe(world: &World, method: &Method, own: &str, outlet: Outlet) {
    if own == "openapi.json" && *method == Method::GET {
        let text = openapi::openapi().to_string();
        let bytes = text.len();
        return send(json_response(StatusCode::OK, text), bytes, false, outlet);
    }
    let name = own.strip_prefix("probe/").filter(|name| is_name(name) && *method == Method::POST);
    let Some(name) = name else {
        return plain(&Refusal::no_such_path(method.as_str(), &format!("{OWN}{own}")), false, outlet);
    };
    if world.watch.probe(name).await == Go::On {
        send(json_response(StatusCode::OK, "{}".to_owned()), 2, false, outlet);
    }
}

/// Refuses a request that is not read to its end, and closes the connection.
fn refuse(status: u16, message: String, outlet: Outlet) {
    plain(&Refusal::limit(status, message), true, outlet);
}

fn plain(refusal: &Refusal, close: bool, outlet: Outlet) {
    let body = refusal.body().to_string();
    let bytes = body.len();
    let mut response = json_response(StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST), body);
    if close {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    send(response, bytes, close, outlet);
}

fn send(response: Response<Full<Bytes>>, body_bytes: usize, linger: bool, outlet: Outlet) {
    let (done, _) = oneshot::channel();
    // Where the connection is gone there is nobody to tell.
    let _ = outlet.send(Outgoing { response, answer: Answer { seen: None, body_bytes, done }, linger });
}

fn response(seq: u64, reply: Reply) -> Response<Full<Bytes>> {
    let replayed = reply.outcome == crate::model::ledger::Outcome::Replayed;
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json_response(status, reply.body);
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&format!("req_{seq:06}")) {
        headers.insert("request-id", id);
    }
    if let Some(key) = reply.key.and_then(|key| HeaderValue::from_str(&key).ok()) {
        headers.insert("idempotency-key", key);
    }
    if replayed {
        headers.insert("idempotent-replayed", HeaderValue::from_static("true"));
    }
    response
}

fn json_response(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// What the connection's service can fail with: nothing but the wish to close it.
#[derive(Debug, thiserror::Error)]
#[error("the connection is to be closed without an answer")]
pub(super) struct Close;
