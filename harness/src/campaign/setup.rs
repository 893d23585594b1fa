//! Runs the setup commands of a scenario, once for each content of what they read.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::options::{Abort, CampaignError, Tell};
use crate::model::call::{Notice, Object};
use crate::model::event::Event;
use crate::model::limits::SETUP_TIMEOUT_MS;
use crate::model::scenario::Role;
use crate::scenario::Placeholders;
use crate::state::{Cache, CacheError};
use crate::tracer::{Action, Call, Control, Death, Launch, Outcome, Policy, run_life};
use crate::trial::{CommandError, environment, ready};

/// Follows a setup command so that nothing of it survives; nothing is stopped.
struct Follow;

impl Policy for Follow {
    fn on_call(&mut self, _: &Call) -> Action {
        Action::Continue
    }
    fn on_notice(&mut self, _: Notice, _: Option<&Object>) {}
    fn on_first_exit(&mut self) {}
}

fn files(error: CacheError) -> CampaignError {
    CampaignError::Files { what: "the folder for setup could not be used".to_owned(), source: Box::new(error) }
}

/// Runs what has to be run and returns the folder that setup fills; `None` where there is no setup.
///
/// # Errors
/// A command fails, or the cache cannot be used.
pub async fn prepare(role: &Role, scratch: &Path, tell: &Tell, abort: &Abort) -> Result<Option<PathBuf>, CampaignError> {
    if role.setup.is_empty() {
        return Ok(None);
    }
    let cache = Cache::of(&role.dir, &role.setup, &role.setup_reads).map_err(files)?;
    let folder = cache.folder().to_owned();
    let waiting = Arc::new(cache);
    let guard = {
        let cache = waiting.clone();
        // Another run may hold the lock for minutes.
        tokio::task::spawn_blocking(move || cache.enter())
            .await
            .map_err(|error| CampaignError::Bug(error.to_string()))?
            .map_err(files)?
    };
    if guard.is_filled && !role.setup_always {
        return Ok(Some(folder));
    }
    let mut places = Placeholders::new();
    places.set("dir", role.dir.to_string_lossy());
    for name in ["venv", "cache"] {
        places.set(name, folder.to_string_lossy());
    }
    for (index, argv) in role.setup.iter().enumerate() {
        let output = scratch.join(format!("setup-{index}.log"));
        run(role, argv, &places, &output, tell, abort).await?;
    }
    waiting.mark(&guard).map_err(files)?;
    tell(&Event::SetupFinished);
    Ok(Some(folder))
}

async fn run(
    role: &Role,
    argv: &[String],
    places: &Placeholders,
    output: &Path,
    tell: &Tell,
    abort: &Abort,
) -> Result<(), CampaignError> {
    let missing = |error: CommandError| command_error("setup", argv, &error);
    // Setup may read the whole environment but not what only a trial has.
    let env = environment(&Role { env: Vec::new(), ..role.clone() }, places, &[], &[]).map_err(missing)?;
    let command = ready(argv, &role.dir, &env, places, &Path::to_owned).map_err(missing)?;
    let spelt: Vec<_> = command.argv.iter().map(|argument| argument.to_string_lossy()).collect();
    let spelt = spelt.join(" ");
    tell(&Event::SetupStarted { command: spelt.clone() });
    let launch = Launch {
        program: command.program,
        argv: command.argv,
        env,
        dir: role.dir.clone(),
        output: output.to_owned(),
        inside: None,
        stop_at_calls: false,
        stop_at_wakes: false,
        pauses: None,
    };
    let outcome = follow(launch, abort).await?;
    let how = match outcome.death {
        Death::Exited(0) => return Ok(()),
        Death::KilledOnCommand { .. } if abort.is_set() => return Err(CampaignError::Interrupted),
        Death::Exited(code) => format!("exited with {code}"),
        Death::Signalled(signal) => format!("died of signal {signal}"),
        Death::NotStarted(reason) => format!("could not be started: {reason}"),
        Death::KilledOnCommand { .. } => format!("did not end within {} minutes", SETUP_TIMEOUT_MS / 60_000),
        other => format!("ended badly: {other:?}"),
    };
    let text = std::fs::read_to_string(output).unwrap_or_default();
    Err(CampaignError::Setup { command: spelt, how, output: tail_with_hint(&text) })
}

async fn follow(launch: Launch, abort: &Abort) -> Result<Outcome, CampaignError> {
    let control = Control::default();
    let (done, mut outcome) = oneshot::channel();
    let hand = control.clone();
    std::thread::Builder::new()
        .name("setup".to_owned())
        .spawn(move || done.send(run_life(&launch, &mut Follow, &hand)))
        .map_err(|error| CampaignError::Bug(format!("cannot make a thread: {error}")))?;
    tokio::select! {
        biased;
        outcome = &mut outcome => return outcome.map_err(|error| CampaignError::Bug(error.to_string())),
        () = abort.wait() => control.kill("interrupted"),
        () = tokio::time::sleep(Duration::from_millis(SETUP_TIMEOUT_MS)) => control.kill("timeout"),
    }
    outcome.await.map_err(|error| CampaignError::Bug(error.to_string()))
}

/// A command that cannot be run, with a hint.
#[must_use]
pub fn command_error(what: &str, argv: &[String], error: &CommandError) -> CampaignError {
    let program = match error {
        CommandError::NotFound { program } => program.clone(),
        CommandError::Placeholder(source) => return CampaignError::Scenario(format!("{what}: {source}")),
    };
    let program = if program.is_empty() { argv.first().cloned().unwrap_or_default() } else { program };
    CampaignError::Program { what: what.to_owned(), program, hint: error.hint() }
}

/// The end of a command's output; with a hint for what people run into on fresh machines.
fn tail_with_hint(text: &str) -> String {
    const LINES: usize = 15;
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let mut out: Vec<String> = lines[lines.len().saturating_sub(LINES)..].iter().map(|line| format!("  | {line}")).collect();
    let hints = [
        ("ensurepip is not", "on Debian: apt-get install python3-venv"),
        ("No module named venv", "on Debian: apt-get install python3-venv"),
        ("No module named pip", "on Debian: apt-get install python3-pip python3-venv"),
        ("linker `cc` not found", "on Debian: apt-get install gcc"),
        ("Temporary failure in name resolution", "the network is needed once, to fetch the pinned packages"),
        (
            "No matching distribution found",
            "is this Python new enough for the pinned packages, and is the package index reachable?",
        ),
        ("No space left on device", "the disk is full; `KILLPOINT_CACHE` moves the folder that setup fills"),
    ];
    if let Some((_, hint)) = hints.iter().find(|(sign, _)| text.contains(sign)) {
        out.push(format!("hint: {hint}"));
    }
    out.join("\n")
}
