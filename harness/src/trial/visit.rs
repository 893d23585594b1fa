//! A visit: a world is opened as it stood, with the sandbox running and the environment set, for a program on our terminal.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::keeper::Keeper;
use super::{Stage, TrialError, TrialPlan, enclose, ready, sandbox_config};
use crate::model::ledger::Request;
use crate::model::limits::SETTLE_MAX_MS;
use crate::state::World;
use crate::sys::guest;

/// What a visitor is told before the program runs.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The state folder.
    pub state: String,
    /// The sandbox's URL.
    pub sandbox: String,
    /// The command that would resume the workflow, ready to be typed.
    pub resume: Vec<String>,
}

/// What came of a visit.
#[derive(Clone, Debug)]
pub struct Visited {
    /// The program's exit code; `None`: it died of a signal.
    pub code: Option<i32>,
    /// The ledger afterwards.
    pub ledger: Vec<Request>,
}

/// Opens a world and runs a program in it; `None`: the user's shell. `tell` is called once all is ready.
///
/// # Errors
/// The world cannot be opened, or the program cannot be run.
pub async fn visit(
    plan: &TrialPlan<'_>,
    world: &World,
    command: Option<&[String]>,
    tell: impl FnOnce(&Opened),
) -> Result<Visited, TrialError> {
    let role = plan.scenario.workflow();
    let keeper = Arc::new(Keeper::default());
    let config = sandbox_config(plan, world);
    let mut enclosure = enclose(plan, world, role)?;
    let sandbox = enclosure.sandbox(config, keeper).await.map_err(TrialError::Sandbox)?;
    sandbox.begin_life(u32::try_from(plan.past.len() + 1).unwrap_or(u32::MAX));
    let stage = Stage::new(plan, world, role, &sandbox, &enclosure)?;
    let layout = &enclosure.layout;
    let outside = |path: &Path| layout.outside(path);
    let words = |argv: &[String], what| {
        ready(argv, &layout.dir, &stage.env, &stage.places, &outside).map_err(|source| TrialError::Command { what, source })
    };
    let resume = words(&role.resume, "resume")?;
    let shell = [std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".to_owned())];
    let program = words(command.unwrap_or(&shell), "the visitor's command")?;
    tell(&Opened {
        state: layout.state.display().to_string(),
        sandbox: sandbox.url(),
        resume: resume.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
    });
    let mut start = std::process::Command::new(&program.program);
    start.args(program.argv.iter().skip(1)).env_clear().envs(stage.env.iter().cloned());
    let dir = CString::new(layout.dir.as_os_str().as_bytes()).unwrap_or_default();
    let inside = enclosure.namespaces.clone();
    // The program dies with the thread that started it, so that thread waits for it.
    let run = move || guest::spawn(start, dir, inside.as_deref())?.wait();
    let ended = tokio::task::spawn_blocking(run).await.map_err(std::io::Error::other).and_then(|ended| ended);
    let status = ended.map_err(TrialError::Guest)?;
    sandbox.settle(Duration::from_millis(SETTLE_MAX_MS)).await;
    let ledger = sandbox.ledger().map_err(TrialError::Sandbox)?;
    sandbox.stop().await;
    Ok(Visited { code: status.code(), ledger })
}
