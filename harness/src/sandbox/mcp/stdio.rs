//! The server over stdio: a process that a workflow starts as its child. It knows no tools of its own; each request is passed on to the
//! sandbox's HTTP server, and what comes back is written to the pipe. So a process stands between the sandbox and the workflow, as it
//! does where a payment provider's MCP server is started by an agent.

use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResponse, CallToolResult, ClientJsonRpcMessage, ClientRequest, ContentBlock,
    ListToolsRequest, ListToolsResult, PaginatedRequestParams, RequestId, ResultType, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::net::TcpStream;

use super::service::info;
use crate::model::limits;

/// Why the server over stdio cannot run.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    /// The address is not one of an HTTP server.
    #[error("`{url}` is not the address of an MCP server over HTTP")]
    Address {
        /// What was given.
        url: String,
    },
    /// The client did not begin as the protocol wants it.
    #[error("the conversation on stdin and stdout did not begin")]
    Begin(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The conversation was broken off.
    #[error("the conversation on stdin and stdout was broken off")]
    BrokenOff(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Serves stdin and stdout until stdin is closed, passing every request on to the server at a URL (`http://127.0.0.1:1234/mcp`).
/// Writes nothing but the protocol to stdout.
///
/// # Errors
/// The URL is none, or the conversation is not one of the protocol.
pub async fn serve_stdio(url: &str) -> Result<(), StdioError> {
    let bad = || StdioError::Address { url: url.to_owned() };
    let uri: Uri = url.parse().map_err(|_| bad())?;
    let host =
        uri.authority().filter(|_| uri.scheme_str() == Some("http")).map(|host| host.as_str().to_owned()).ok_or_else(bad)?;
    let address = if uri.port().is_some() { host.clone() } else { format!("{host}:80") };
    let relay = Relay { address, host, path: uri.path().to_owned(), calls: AtomicU32::new(0) };
    // A client that closes stdin before it has said anything has ended the conversation like any other.
    let running = match relay.serve(rmcp::transport::stdio()).await {
        Ok(running) => running,
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(StdioError::Begin(Box::new(error))),
    };
    running.waiting().await.map(drop).map_err(|error| StdioError::BrokenOff(Box::new(error)))
}

/// Passes requests on.
struct Relay {
    address: String,
    host: String,
    path: String,
    calls: AtomicU32,
}

/// The answer of a JSON-RPC request.
#[derive(Deserialize)]
struct Answer {
    result: Option<Value>,
    error: Option<ErrorData>,
}

/// Why a request that was passed on has no result.
enum Lost {
    /// The server said so, in the protocol's words.
    Refused(ErrorData),
    /// There is no answer, or none of the protocol's; for the caller.
    NoAnswer(String),
}

impl Relay {
    /// Passes a request on, on a connection of its own: when the caller gives up, only that one is closed.
    async fn pass<T: DeserializeOwned>(&self, request: ClientRequest) -> Result<T, Lost> {
        let lost = |error: &dyn std::fmt::Display| Lost::NoAnswer(format!("the payment server gave no answer: {error}"));
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let message = ClientJsonRpcMessage::request(request, RequestId::Number(number.into()));
        let body = serde_json::to_vec(&message).map_err(|error| lost(&error))?;
        let stream = TcpStream::connect(&self.address).await.map_err(|error| lost(&error))?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|error| lost(&error))?;
        let mut request = Request::post(&self.path).body(Full::new(Bytes::from(body))).map_err(|error| lost(&error))?;
        let host = HeaderValue::from_str(&self.host).map_err(|error| lost(&error))?;
        request.headers_mut().insert(header::HOST, host);
        request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let exchange = async {
            let answer = sender.send_request(request).await.map_err(|error| lost(&error))?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), limits::BODY_MAX_BYTES).collect().await.map_err(|error| lost(&error))?;
            Ok((status, body.to_bytes()))
        };
        // The connection is driven for as long as its one exchange takes.
        let (status, body) = tokio::select! {
            exchanged = exchange => exchanged?,
            Err(error) = connection => return Err(lost(&error)),
        };
        read(status, &body)
    }
}

fn read<T: DeserializeOwned>(status: StatusCode, body: &[u8]) -> Result<T, Lost> {
    let other = || Lost::NoAnswer(format!("the payment server answered {status}: {}", String::from_utf8_lossy(body)));
    let answer: Answer = serde_json::from_slice(body).map_err(|_| other())?;
    match answer {
        Answer { error: Some(error), .. } if status.is_success() => Err(Lost::Refused(error)),
        Answer { result: Some(result), .. } if status.is_success() => serde_json::from_value(result).map_err(|_| other()),
        _ => Err(other()),
    }
}

impl ServerHandler for Relay {
    fn get_info(&self) -> ServerConfig {
        info()
    }

    async fn list_tools(
        &self,
        params: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let request = ClientRequest::ListToolsRequest(ListToolsRequest { params, ..Default::default() });
        let listed: Result<ListToolsResult, Lost> = self.pass(request).await;
        match listed {
            Ok(listed) => Ok(ListToolsResult::with_all_items(listed.tools)),
            Err(Lost::Refused(error)) => Err(error),
            Err(Lost::NoAnswer(why)) => Err(ErrorData::internal_error(why, None)),
        }
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut passed = CallToolRequestParams::new(params.name);
        passed.arguments = params.arguments;
        let done = tokio::select! {
            done = self.pass::<CallToolResult>(ClientRequest::CallToolRequest(CallToolRequest::new(passed))) => done,
            // Nobody reads what is answered to a request that was cancelled.
            () = context.ct.cancelled() => Err(Lost::NoAnswer("the call was cancelled".to_owned())),
        };
        match done {
            Ok(mut result) => {
                // Older versions of the protocol, in which the sandbox was asked, do not say it; rmcp leaves it out again for older clients.
                result.result_type = Some(ResultType::COMPLETE);
                Ok(result.into())
            }
            Err(Lost::Refused(error)) => Err(error),
            Err(Lost::NoAnswer(why)) => Ok(CallToolResult::error(vec![ContentBlock::text(why)]).into()),
        }
    }
}
