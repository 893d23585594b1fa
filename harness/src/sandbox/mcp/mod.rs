//! The MCP server: the billing API as tools, over streamable HTTP at the path `/mcp` of the sandbox's port, or over stdio by a process
//! that passes calls on to it.
//!
//! The protocol is rmcp's: `tools` (which tools there are), `service` (rmcp's side: it hands each call over and waits), `door` (our side: it
//! takes the call through its moments), `stdio` (the process that passes calls on). A new tool: its lines in `tools` and in
//! `../api/tools.rs`.

mod door;
mod service;
mod stdio;
mod tools;

pub(super) use self::door::{carry, is_ours};
pub(super) use self::service::Front;
pub use self::stdio::{StdioError, serve_stdio};
pub use self::tools::facts;

/// Where the server is, on the sandbox's port.
pub const PATH: &str = "/mcp";
/// The environment variable that tells the server over stdio where this is.
pub const URL_VARIABLE: &str = "KILLPOINT_MCP_URL";
/// The argument that holds the key, in the tools that take one.
pub(super) const KEY_ARGUMENT: &str = "idempotency_key";
/// The method by which a tool call stands in the ledger.
pub(super) const METHOD: &str = "MCP";
