//! `killpoint audit --mcp-server`: the tools of a real MCP server, on the official SDK for Python, and servers that are none.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::scenario;
use crate::support::{self, python};

/// A server with four tools: one for each thing that a schema can say of a key.
const SERVER: &str = r#"
import os
from mcp.server import MCPServer
from mcp.types import ToolAnnotations

assert os.environ["BILLING_URL"].startswith("http://127.0.0.1:")
server = MCPServer("shop")

@server.tool()
def charge(invoice: str, cents: int) -> str:
    open("called", "w").close()
    return invoice

@server.tool()
def refund(charge: str, idempotency_key: str) -> str:
    return charge

@server.tool()
def pause(subscription: str, idempotency_key: str | None = None) -> str:
    return subscription

@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def balance() -> int:
    return 0

"#;

const STDIO: &str = "server.run(\"stdio\")\n";

/// It listens before it says where.
const HTTP: &str = r#"
import socket
import uvicorn

listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
config = uvicorn.Config(server.streamable_http_app(), log_level="error")
uvicorn.Server(config).run(sockets=[listener])
"#;

fn audit(command: &str) -> (Option<i32>, Value, tempfile::TempDir) {
    let folder = scenario("charge_with_key", "\"inv_1:2900\"", true);
    std::fs::write(folder.path().join("server.py"), format!("{SERVER}{STDIO}")).expect("it can be written");
    let mut audit = Command::new(support::killpoint());
    audit.args(["audit", "scenario.toml", "--format", "json", "--slow-ack", "200ms", "--mcp-server", command]);
    let output = audit.current_dir(folder.path()).output().expect("killpoint runs");
    let shown = String::from_utf8_lossy(&output.stderr).into_owned();
    let audit = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {shown}"));
    (output.status.code(), audit, folder)
}

/// Whether the four tools are told as they are.
fn assert_told(audit: &Value) {
    let server = &audit["servers"][0];
    let told = |name: &str| {
        let tools = server["tools"].as_array().expect("a list");
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("no {name}: {audit:#}"));
        (tool["key"].as_str().map(str::to_owned), tool["key_is_required"] == true, tool["read_only_hint"] == true)
    };
    let key = || Some("idempotency_key".to_owned());
    assert_eq!(told("charge"), (None, false, false));
    assert_eq!(told("refund"), (key(), true, false));
    assert_eq!(told("pause"), (key(), false, false));
    assert_eq!(told("balance"), (None, false, true));
}

#[test]
fn the_tools_of_a_real_server_are_told_by_what_their_schemas_say_of_a_key() {
    let python = python::programs("targets/mcp_agent/requirements.txt").join("python");
    let (code, audit, folder) = audit(&format!("{} server.py", python.display()));
    assert_eq!(code, Some(1), "{audit:#}");
    assert_told(&audit);
    assert!(!folder.path().join("called").exists(), "no tool is called");
}

#[test]
fn a_server_is_asked_where_it_listens_too() {
    let python = python::programs("targets/mcp_agent/requirements.txt").join("python");
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let file = folder.path().join("server.py");
    std::fs::write(&file, format!("{SERVER}{HTTP}")).expect("it can be written");
    let mut start = Command::new(python);
    start.arg(&file).current_dir(folder.path()).env("BILLING_URL", "http://127.0.0.1:9").stdout(Stdio::piped());
    let mut server = Ended(start.spawn().expect("python runs"));
    let mut port = String::new();
    BufReader::new(server.0.stdout.take().expect("a pipe")).read_line(&mut port).expect("it can be read");
    let (code, audit, _folder) = audit(&format!("http://127.0.0.1:{}/mcp", port.trim()));
    assert_eq!(code, Some(1), "{audit:#}");
    assert_told(&audit);
    assert!(!folder.path().join("called").exists(), "no tool is called");
}

#[test]
fn an_address_where_nobody_speaks_mcp_is_not_known() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = silent.local_addr().expect("it is bound");
    drop(silent);
    for (url, expected) in [(format!("http://{address}/mcp"), "MCP server"), ("https://shop.example/mcp".to_owned(), "TLS")] {
        let (code, audit, _folder) = audit(&url);
        assert!(code != Some(0), "{audit:#}");
        assert!(audit["servers"][0]["trouble"].as_str().is_some_and(|told| told.contains(expected)), "{url}: {audit:#}");
    }
}

/// A child that is ended with this value.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // One that has ended by itself need not be.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_is_no_server_is_not_known_and_leaves_nobody_behind() {
    let (code, audit, folder) = audit("sleep 1000 >/dev/null & echo $! > pid; exec cat /dev/null");
    assert!(code != Some(0), "{audit:#}");
    assert!(audit["servers"][0]["trouble"].as_str().is_some_and(|told| told.contains("MCP server")), "{audit:#}");
    let pid = std::fs::read_to_string(folder.path().join("pid")).expect("it was started");
    let is_alive = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| !stat.contains(") Z "));
    assert!(!is_alive, "what it started lives on");
}
