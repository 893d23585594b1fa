//! Carries one HTTP request from its body to its answer. It runs apart from the connection, because a request that has arrived whole is
//! carried through its moments whether or not its client still lives.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::api::Refusal;
use super::ledger::Reply;
use super::line::Answer;
use super::moments::{self, Entered, Passed};
use super::openapi;
use super::request::{self, Arrived, Cut};
use super::server::{Arriving, World};
use super::watch::Go;
use super::{mail, mcp};
use crate::model::limits;
use crate::model::point::is_name;

/// The paths that are killpoint's own.
const OWN: &str = "/_killpoint/";

/// Methods that name effects of another kind in the ledger: nobody gets at them by writing the name into a request of HTTP.
const NOT_HTTP: [&str; 2] = [mail::METHOD, mcp::METHOD];

/// What is on its way to a connection.
pub(super) enum Outgoing {
    /// An answer.
    Answer {
        response: Response<Full<Bytes>>,
        answer: Answer,
        /// Whether the client may still be sending what nobody will read.
        linger: bool,
    },
    /// A reset instead of an answer.
    Reset,
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
    mut outlet: Outlet,
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
    if NOT_HTTP.contains(&parts.method.as_str()) {
        return plain(&Refusal::no_such_path(parts.method.as_str(), parts.uri.path()), false, outlet);
    }
    if mcp::is_ours(parts.uri.path()) && world.upstream.is_none() {
        return mcp::carry(&world, parts, bytes.into(), peer, arriving, outlet).await;
    }
    let mut arrived = Arrived::new(&parts, &bytes, world.key.as_ref());
    if world.upstream.is_some() {
        arrived = arrived.with_raw(&parts, bytes);
    }
    let entered = moments::enter(&world, Arc::new(arrived), peer);
    drop(arriving);
    let Some(entered) = entered else { return };
    let Entered { seen, arrived, .. } = &entered;
    let execute = world.carry_out(seen.seq, arrived);
    let (reply, half) = match moments::pass(&world, &entered, outlet.closed(), execute).await {
        Passed::Answered { reply, half } => (reply, half),
        Passed::Closed { reset } => return close(reset, outlet),
    };
    deliver(&world, &entered, response(seen.seq, reply), head_only, half, outlet).await;
}

/// Ends a connection without an answer.
pub(super) fn close(reset: bool, outlet: Outlet) {
    if reset {
        // Where the connection is gone there is nothing to reset.
        let _ = outlet.send(Outgoing::Reset);
    }
}

/// Brings the answer of a request that was entered on its way, and writes down when it was out.
pub(super) async fn deliver(
    world: &World,
    entered: &Entered,
    response: Response<Full<Bytes>>,
    head_only: bool,
    half: bool,
    outlet: Outlet,
) {
    let Entered { seen, watched, .. } = entered;
    let (done, written) = oneshot::channel();
    let answer = Answer { seen: watched.then(|| Arc::clone(seen)), body_bytes: body_bytes(&response, head_only), half, done };
    let is_taken = outlet.send(Outgoing::Answer { response, answer, linger: false }).is_ok();
    match written.await {
        Ok(at) if is_taken => {
            let at_us = world.ledger.us_at(at.into_std());
            let _ = world.ledger.answered(seen.seq, at_us);
        }
        _ if *watched => world.watch.unanswered(seen),
        _ => {}
    }
}

/// `POST /_killpoint/probe/NAME`, or the description of the API. Neither has a row in the ledger, because it is no part of the outside
/// world.
async fn probe(world: &World, method: &Method, own: &str, outlet: Outlet) {
    if own == "openapi.json" && *method == Method::GET {
        let text = openapi::openapi().to_string();
        return send(json_response(StatusCode::OK, text), false, outlet);
    }
    let name = own.strip_prefix("probe/").filter(|name| is_name(name) && *method == Method::POST);
    let Some(name) = name else {
        return plain(&Refusal::no_such_path(method.as_str(), &format!("{OWN}{own}")), false, outlet);
    };
    if world.watch.probe(name).await == Go::On {
        send(json_response(StatusCode::OK, "{}".to_owned()), false, outlet);
    }
}

/// Refuses a request that is not read to its end, and closes the connection.
fn refuse(status: u16, message: String, outlet: Outlet) {
    plain(&Refusal::limit(status, message), true, outlet);
}

fn plain(refusal: &Refusal, close: bool, outlet: Outlet) {
    let body = refusal.body().to_string();
    let mut response = json_response(StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST), body);
    if close {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    let (done, _) = oneshot::channel();
    let answer = Answer { seen: None, body_bytes: body_bytes(&response, false), half: false, done };
    // Where the connection is gone there is nobody to tell.
    let _ = outlet.send(Outgoing::Answer { response, answer, linger: close });
}

/// Brings an answer on its way that belongs to no request of the ledger.
pub(super) fn send(response: Response<Full<Bytes>>, head_only: bool, outlet: Outlet) {
    let (done, _) = oneshot::channel();
    // Where the connection is gone there is nobody to tell.
    let answer = Answer { seen: None, body_bytes: body_bytes(&response, head_only), half: false, done };
    let _ = outlet.send(Outgoing::Answer { response, answer, linger: false });
}

/// Bytes of an answer's body on the wire.
fn body_bytes(response: &Response<Full<Bytes>>, head_only: bool) -> usize {
    let bytes = response.body().size_hint().exact().unwrap_or(0);
    if head_only { 0 } else { usize::try_from(bytes).unwrap_or(usize::MAX) }
}

pub(super) fn response(seq: u64, reply: Reply) -> Response<Full<Bytes>> {
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Some(foreign) = reply.foreign {
        let mut response = Response::new(Full::new(foreign.bytes));
        *response.status_mut() = status;
        *response.headers_mut() = foreign.headers;
        return response;
    }
    let mut response = json_response(status, reply.body);
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&format!("req_{seq:06}")) {
        headers.insert("request-id", id);
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(reply.media));
    for (name, value) in reply.headers {
        // A key that cannot stand in a header does not come back in one.
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
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
