//! MCP servers of others, asked by the official SDK which tools they have: over stdio, each started as its client would start it and ended
//! afterwards, or over streamable HTTP, where it listens. No tool is called.

use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport};
use rmcp::{RoleClient, ServiceExt};
use tokio::process::{Child, Command};

use crate::campaign::stage::Stage;
use crate::model::limits::TOOLS_ANSWER_MAX_MS;
use crate::model::tool::{Tool, ToolServer};
use crate::scenario::Placeholders;

/// What a server is told of addresses: nobody listens there (port 9 is the one that discards), so that it cannot do anything.
const NOWHERE: &str = "http://127.0.0.1:9";

/// Asks the server at an address that begins with `http://`, or the one that a shell's command starts, in the workflow's folder and with
/// its environment. `{venv}`, `{cache}`, `{dir}` and `{matrix.NAME}` stand for what they stand for in the scenario.
pub async fn ask(command: &str, stage: &Stage) -> ToolServer {
    let tools = async {
        match command.split_once("://") {
            Some(("http", _)) => listening(command).await,
            Some(("https", _)) => Err("it is asked without TLS only; hint: run it where it listens on http://".to_owned()),
            _ => started(command, stage).await,
        }
    };
    let asked = tokio::time::timeout(Duration::from_millis(TOOLS_ANSWER_MAX_MS), tools).await;
    let late = || Err(format!("it did not say within {} s which tools it has", TOOLS_ANSWER_MAX_MS / 1_000));
    let (tools, trouble) = match asked.unwrap_or_else(|_| late()) {
        Ok(tools) => (tools, None),
        Err(trouble) => (Vec::new(), Some(trouble)),
    };
    ToolServer { command: command.to_owned(), tools, trouble }
}

/// A server and all that it started; dropping it ends them.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // One that is over by itself needs no signal.
        if let Some(group) = self.0.id().and_then(|id| i32::try_from(id).ok()) {
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
    }
}

async fn started(command: &str, stage: &Stage) -> Result<Vec<Tool>, String> {
    let scratch = tempfile::tempdir().map_err(|error| format!("no folder for it can be made: {error}"))?;
    let places = places(stage, scratch.path());
    let role = stage.scenario.workflow();
    let filled = places.fill(command).map_err(|error| error.to_string())?;
    let mut start = Command::new("/bin/sh");
    start.args(["-c", &filled]).current_dir(&role.dir).process_group(0).kill_on_drop(true);
    start.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    // A value that cannot be filled belongs to something that this server does not know either.
    start.envs(role.env.iter().filter_map(|(name, value)| Some((name, places.fill(value).ok()?))));
    let child = start.spawn().map_err(|error| format!("it cannot be started: {error}"))?;
    let mut running = Running(child);
    let (Some(stdout), Some(stdin)) = (running.0.stdout.take(), running.0.stdin.take()) else {
        return Err("it has no stdin and stdout".to_owned());
    };
    tools((stdout, stdin)).await
}

async fn listening(url: &str) -> Result<Vec<Tool>, String> {
    tools(StreamableHttpClientTransport::from_uri(url)).await
}

/// What a server says that it has, and leave of it.
async fn tools<T, E, A>(transport: T) -> Result<Vec<Tool>, String>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let client = ().serve(transport).await.map_err(|error| format!("it does not begin as an MCP server does: {error}"))?;
    let listed = client.list_all_tools().await.map_err(|error| format!("it does not say which tools it has: {error}"))?;
    // It is ended in any case.
    let _ = client.cancel().await;
    let listed = serde_json::to_value(listed).map_err(|error| error.to_string())?;
    Ok(Tool::listed(&serde_json::json!({ "tools": listed })))
}

fn places(stage: &Stage, scratch: &std::path::Path) -> Placeholders {
    let dir = &stage.scenario.workflow().dir;
    let mut places = Placeholders::new();
    for name in ["state", "tmp"] {
        places.set(name, scratch.to_string_lossy());
    }
    for name in ["sandbox.url", "mcp.url", "smtp.url"] {
        places.set(name, NOWHERE);
    }
    places.set("dir", dir.to_string_lossy());
    for name in ["cache", "venv"] {
        places.set(name, stage.cache.as_deref().unwrap_or(dir).to_string_lossy());
    }
    for (name, value) in &stage.cell {
        places.set(format!("matrix.{name}"), value);
    }
    places
}
