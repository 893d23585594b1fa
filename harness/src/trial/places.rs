//! What a scenario's placeholders stand for in one trial: its folders, and where its sandbox is.

use super::TrialPlan;
use super::layout::{self, Layout};
use crate::sandbox::{Sandbox, mcp};
use crate::scenario::Placeholders;

/// Every placeholder that a trial knows.
pub fn of_trial(plan: &TrialPlan<'_>, layout: &Layout, sandbox: &Sandbox) -> Placeholders {
    let mut places = Placeholders::new();
    places.set("state", layout.state.to_string_lossy());
    places.set("tmp", layout.tmp.to_string_lossy());
    places.set("dir", layout.dir.to_string_lossy());
    places.set("sandbox.url", sandbox.url());
    places.set("sandbox.port", sandbox.addr().port().to_string());
    places.set("mcp.url", mcp_url(sandbox));
    places.set("mcp.command", layout::own_program().to_string_lossy());
    places.set("smtp.url", sandbox.mail_url());
    places.set("smtp.host", sandbox.mail_addr().ip().to_string());
    places.set("smtp.port", sandbox.mail_addr().port().to_string());
    for name in ["cache", "venv"] {
        places.set(name, plan.cache.unwrap_or(&layout.dir).to_string_lossy());
    }
    for (name, value) in plan.cell {
        places.set(format!("matrix.{name}"), value);
    }
    places
}

/// Where the MCP server is.
pub fn mcp_url(sandbox: &Sandbox) -> String {
    format!("{}{}", sandbox.url(), mcp::PATH)
}
