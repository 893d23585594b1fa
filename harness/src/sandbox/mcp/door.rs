//! Our side of the server: what is protocol is answered as it comes, and a tool call is carried through the moments of a request.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use rmcp::model::CallToolResult;
use serde_json::Value;
use tokio::sync::oneshot;

use super::super::carry::{self, Outlet};
use super::super::ledger::Reply;
use super::super::moments::{self, Entered, Passed};
use super::super::request::Arrived;
use super::super::server::{Arriving, World};
use super::PATH;
use super::service::Call;

/// Whether a path is the server's.
pub(in crate::sandbox) fn is_ours(path: &str) -> bool {
    path.strip_suffix('/').unwrap_or(path) == PATH
}

/// Carries a request to the server from its arrival to its answer.
pub(in crate::sandbox) async fn carry(
    world: &World,
    parts: Parts,
    body: Bytes,
    peer: SocketAddr,
    arriving: Arriving,
    mut outlet: Outlet,
) {
    let head_only = parts.method == Method::HEAD;
    let headers = parts.headers.clone();
    let (handed, call) = oneshot::channel();
    let mut answer = pin!(world.mcp.answer(parts, body, handed));
    let (call, early) = tokio::select! {
        biased;
        call = call => (call.ok(), None),
        response = &mut answer => (None, Some(response)),
    };
    let Some(Call { name, arguments, result }) = call else {
        let response = match early {
            Some(response) => response,
            None => answer.await,
        };
        drop(arriving);
        return carry::send(whole(response).await, head_only, outlet);
    };
    let arrived = Arrived::tool(&headers, &name, arguments, world.mcp.keys);
    let entered = moments::enter(world, Arc::new(arrived), peer);
    drop(arriving);
    let Some(entered) = entered else { return };
    let Entered { seen, arrived, .. } = &entered;
    let mut done: Option<Reply> = None;
    let execute = async {
        let reply = world.ledger.execute(seen.seq, arrived)?;
        done = Some(reply.clone());
        Ok(reply)
    };
    let (reply, half) = match moments::pass(world, &entered, outlet.closed(), execute).await {
        Passed::Answered { reply, half } => (reply, half),
        Passed::Closed { reset } => return carry::close(reset, outlet),
    };
    let response = if done.as_ref() == Some(&reply) {
        // rmcp waits for it, and answers with it.
        let _ = result.send(outcome(&reply));
        whole(answer.await).await
    } else {
        // The tool did what it did; a failing server in front of it answers for itself.
        carry::response(seen.seq, reply)
    };
    carry::deliver(world, &entered, response, head_only, half, outlet).await;
}

/// What the caller of a tool gets to see: the object, or what is wrong with the call.
fn outcome(reply: &Reply) -> CallToolResult {
    let value = serde_json::from_str(&reply.body).unwrap_or_else(|_| Value::String(reply.body.clone()));
    if reply.status < 400 { CallToolResult::structured(value) } else { CallToolResult::structured_error(value) }
}

/// An answer with all of its body: the server sends nothing in pieces.
async fn whole(response: Response<BoxBody<Bytes, Infallible>>) -> Response<Full<Bytes>> {
    let (parts, body) = response.into_parts();
    let Ok(body) = body.collect().await;
    Response::from_parts(parts, Full::new(body.to_bytes()))
}
