//! A scenario for a bare command line (`killpoint run -- CMD`), where nobody wrote a file.

use std::path::Path;

use super::placeholder::escape_unknown;
use crate::model::limits::{DRAIN_DEFAULT_MS, LIFE_TIMEOUT_DEFAULT_MS, LINGER_DEFAULT_MS, LIVES_MAX_DEFAULT};
use crate::model::scenario::{CampaignSpec, Network, Role, SandboxSpec, Scenario, Scope};

/// What a scenario says where it says nothing.
pub(super) fn defaults(name: String, dir: std::path::PathBuf, start: Vec<String>) -> Scenario {
    let workflow = Role {
        name: "workflow".to_owned(),
        dir,
        dir_copy: false,
        state_paths: Vec::new(),
        setup: Vec::new(),
        setup_reads: Vec::new(),
        setup_always: false,
        resume: start.clone(),
        start,
        reset: Vec::new(),
        reconcile: Vec::new(),
        env: Vec::new(),
        network: Network::Private,
        done_exit_codes: vec![0],
        unknown_exit_codes: Vec::new(),
        accept_declared_unknown: false,
        ignore: Vec::new(),
        life_timeout_ms: LIFE_TIMEOUT_DEFAULT_MS,
        lives_max: LIVES_MAX_DEFAULT,
        drain_ms: DRAIN_DEFAULT_MS,
        linger_ms: LINGER_DEFAULT_MS,
    };
    let campaign = CampaignSpec::default();
    Scenario {
        name,
        scope: Scope::ProcessDeath,
        roles: vec![workflow],
        sandbox: SandboxSpec::default(),
        promises: Vec::new(),
        matrix: Vec::new(),
        campaign,
    }
}

/// The scenario of a command that is run in `cwd`: named after its program, the sandbox offered by `BILLING_URL`,
/// `STRIPE_API_BASE`, `MCP_URL` and `SMTP_URL`, a fresh folder by `STATE_DIR`, no promise but that every intent is done as often as in the clean run.
///
/// Braces in the command are what they are, except for the placeholders every trial knows (`{state}`, `{sandbox.url}`, ...).
#[must_use]
pub fn from_command(argv: &[String], cwd: &Path) -> Scenario {
    let program =
        argv.first().map(|program| Path::new(program).file_name().map_or(program.as_str().into(), |n| n.to_string_lossy()));
    let name = program.filter(|name| !name.is_empty()).map_or_else(|| "command".to_owned(), std::borrow::Cow::into_owned);
    let start = argv.iter().map(|word| escape_unknown(word)).collect();
    let mut scenario = defaults(name, cwd.to_path_buf(), start);
    let env = [
        ("BILLING_URL", "{sandbox.url}"),
        ("STRIPE_API_BASE", "{sandbox.url}"),
        ("MCP_URL", "{mcp.url}"),
        ("SMTP_URL", "{smtp.url}"),
        ("STATE_DIR", "{state}"),
    ];
    scenario.roles[0].env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    scenario
}
