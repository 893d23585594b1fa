//! rmcp's side of the server: it reads the protocol and answers it. A tool call is handed over to whoever carries the request, and its
//! result waited for; so what is done with a call stands outside, like what is done with any other request.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response};
use http_body_util::Full;
use http_body_util::combinators::BoxBody;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, JsonObject, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::sync::oneshot;

use super::tools;
use crate::model::limits;

/// A tool call, on its way to whoever carries it.
pub(super) struct Call {
    /// The tool's name; there is such a tool.
    pub name: String,
    /// Its arguments.
    pub arguments: JsonObject,
    /// Where its result goes. Dropping it ends the call without one.
    pub result: oneshot::Sender<CallToolResult>,
}

/// Where the call of one request is handed over; the first one counts, and there is no second in a request.
#[derive(Clone)]
struct Hatch(Arc<Mutex<Option<oneshot::Sender<Call>>>>);

/// The server over HTTP. It keeps no sessions, and each answer is one JSON text: a session that a client loses is a failure of its own.
pub(in crate::sandbox) struct Front {
    service: StreamableHttpService<Server, NeverSessionManager>,
    /// Whether the tools take a key.
    pub keys: bool,
}

impl Front {
    pub fn new(keys: bool) -> Self {
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(limits::BODY_MAX_BYTES);
        let server = Server(tools::all(keys).into());
        Self { service: StreamableHttpService::new(move || Ok(server.clone()), Arc::default(), config), keys }
    }

    /// Answers a request. Its tool call, if it is one, comes out by `handed`, and the answer waits for its result.
    pub(super) async fn answer(
        &self,
        mut parts: Parts,
        body: Bytes,
        handed: oneshot::Sender<Call>,
    ) -> Response<BoxBody<Bytes, Infallible>> {
        parts.extensions.insert(Hatch(Arc::new(Mutex::new(Some(handed)))));
        self.service.handle(Request::from_parts(parts, Full::new(body))).await
    }
}

/// The handler of the protocol's requests.
#[derive(Clone)]
struct Server(Arc<[Tool]>);

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        info()
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.0.to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.0.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.get_tool(&request.name).is_none() {
            let known: Vec<&str> = self.0.iter().map(|tool| tool.name.as_ref()).collect();
            let message = format!("Unknown tool: {}; the tools are {}", request.name, known.join(", "));
            return Err(ErrorData::invalid_params(message, None));
        }
        let hatch = context.extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<Hatch>());
        let handed = hatch.and_then(|Hatch(hatch)| hatch.lock().unwrap_or_else(PoisonError::into_inner).take());
        let handed = handed.ok_or_else(|| ErrorData::invalid_request("a request may hold one call", None))?;
        let (result, done) = oneshot::channel();
        let call = Call { name: request.name.into_owned(), arguments: request.arguments.unwrap_or_default(), result };
        // Whoever carries the call may have let go of it; then nobody reads what is answered here.
        let gone = || ErrorData::internal_error("the call was not carried through", None);
        handed.send(call).map_err(|_| gone())?;
        done.await.map(Into::into).map_err(|_| gone())
    }
}

/// What the server says of itself.
pub(super) fn info() -> ServerConfig {
    ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
        .with_server_info(Implementation::new("killpoint-sandbox", env!("CARGO_PKG_VERSION")))
}
