//! `killpoint mcp`: the MCP server over stdio that a workflow starts as its child. It passes every call on to the trial's sandbox.

use killpoint::model::exit::Exit;
use killpoint::sandbox::mcp::{StdioError, URL_VARIABLE, serve_stdio};

use super::failure::Failure;

/// Whose fault it is.
fn exit(error: &StdioError) -> Exit {
    match error {
        StdioError::Address { .. } => Exit::Usage,
        StdioError::Begin(_) | StdioError::BrokenOff(_) => Exit::Environment,
    }
}

/// Serve the sandbox's MCP tools on stdin and stdout
///
/// For a workflow that starts its MCP server as a child, with the command `["{mcp.command}", "mcp", "{mcp.url}"]` of a scenario. Each call
/// is passed on to the trial's sandbox. It ends when stdin is closed.
#[derive(Clone, Debug, clap::Args)]
pub struct McpArgs {
    /// The sandbox's MCP server; where it is left out, KILLPOINT_MCP_URL of the environment. Clients of the MCP SDKs keep most of their
    /// environment from the servers that they start, so say it
    #[arg(value_name = "URL")]
    url: Option<String>,
}

impl McpArgs {
    /// Serves until stdin is closed.
    ///
    /// # Errors
    /// There is no sandbox to pass calls on to, or the client does not speak the protocol.
    pub fn run(self) -> Result<Exit, Failure> {
        let url = self.url.or_else(|| std::env::var(URL_VARIABLE).ok()).ok_or_else(|| {
            Failure::usage(format!("`killpoint mcp` is given no URL and finds no {URL_VARIABLE} in its environment"))
                .hint("a workflow starts it inside of a trial: hand `{mcp.command}` and `{mcp.url}` over in the scenario's `start` or `env`")
        })?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::new(Exit::Environment, "no thread for the server").cause(error))?;
        let served = runtime.block_on(serve_stdio(&url));
        // A thread may still wait for stdin; nobody waits for it.
        runtime.shutdown_background();
        served.map(|()| Exit::Clean).map_err(|error| Failure::from_error(exit(&error), &error))
    }
}
