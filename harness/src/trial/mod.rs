//! A trial: one schedule carried out. Its lives one after the other in one world with one sandbox, until the workflow is done.
//!
//! Here two rooms meet that do not know each other: the tracer's calls and the sandbox's moments, in one sequence (`recorder`).

mod album;
mod around;
mod command;
mod enclosure;
mod keeper;
mod layout;
mod life;
mod naming;
mod places;
mod recorder;
#[cfg(test)]
mod tests;
mod visit;
mod witness;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use globset::{Glob, GlobSet, GlobSetBuilder};
use tokio::sync::watch;

pub use command::{Command, CommandError, environment, ready};
use enclosure::Enclosure;
pub use enclosure::{EnclosureError, ability, isolation, wandering};
pub use layout::Layout;
pub use visit::{Opened, Visited, visit};

use crate::model::call::Notice;
use crate::model::census::Census;
use crate::model::interleaving::Interleaving;
use crate::model::life::{Life, LifeEnd, Trial, TrialEnd};
use crate::model::limits::SETTLE_MAX_MS;
use crate::model::point::Point;
use crate::model::scenario::{Network, Role, Scenario};
use crate::model::schedule::Schedule;
use crate::model::shot::Shot;
use crate::sandbox::{EffectRule, Sandbox, SandboxConfig, SandboxError, mcp};
use crate::scenario::Placeholders;
use crate::state::{ImageStore, World};
use crate::tracer::{Control, Launch};
use album::Album;
use keeper::{Grip, Keeper};
use life::LifePlan;
use naming::Namer;
use recorder::{Recorder, Watched};

/// What a trial is given.
#[derive(Clone, Debug)]
pub struct TrialPlan<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The matrix cell.
    pub cell: &'a [(String, String)],
    /// The folder that setup filled, where there is one.
    pub cache: Option<&'a Path>,
    /// The faults.
    pub schedule: Schedule,
    /// Names and endpoints of the effects that are points; promises first.
    pub rules: Vec<(String, crate::model::promise::Endpoint)>,
    /// The order of threads in the first life that is run.
    pub interleaving: Interleaving,
    /// Lives that have gone before: the world is a copy of the one they left. The schedule's first steps are theirs.
    pub past: Vec<Life>,
    /// Where the images of the first life that is run go, if it is recorded.
    pub film: Option<Arc<ImageStore>>,
}

/// What a trial came to.
#[derive(Clone, Debug)]
pub struct TrialResult {
    /// Its lives and ledger.
    pub trial: Trial,
    /// What is known of the first life that was run.
    pub first: Recording,
}

/// What is known of a life that was run.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Its crash points.
    pub census: Census,
    /// Whether the census holds all of them.
    pub census_is_whole: bool,
    /// The world at them, where it was recorded. A point whose world could not be kept has none.
    pub shots: Vec<Shot>,
    /// The first thing that kept a shot from being taken.
    pub trouble: Option<String>,
    /// How many threads changed something.
    pub doers: usize,
}

/// Why a trial could not be made. What happens to a workflow is never an error.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// A command cannot be made ready.
    #[error("`{what}` cannot be run")]
    Command {
        /// Which command (`start`).
        what: &'static str,
        /// Why.
        source: CommandError,
    },
    /// The sandbox could not be started or read.
    #[error("the sandbox failed")]
    Sandbox(#[source] SandboxError),
    /// Its namespaces could not be made.
    #[error(transparent)]
    Enclosure(#[from] EnclosureError),
    /// A visitor's program could not be run.
    #[error("the program could not be run in the trial's world")]
    Guest(#[source] std::io::Error),
    /// A folder inside of it could not be made.
    #[error("the folders of a trial could not be made ready")]
    Layout(#[source] std::io::Error),
    /// A glob of `ignore` cannot be read.
    #[error("`ignore` holds a glob that cannot be read")]
    Glob(#[source] globset::Error),
}

/// The interrupt of a campaign, as a life waits for it.
#[derive(Clone, Debug)]
pub struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    /// Follows a flag.
    #[must_use]
    pub fn new(flag: watch::Receiver<bool>) -> Self {
        Self(flag)
    }

    /// Whether it has come.
    #[must_use]
    pub fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    async fn wait(&self) {
        if self.0.clone().wait_for(|set| *set).await.is_err() {
            // Nobody is left who could interrupt.
            std::future::pending::<()>().await;
        }
    }
}

/// Carries out one schedule in a world of its own.
///
/// # Errors
/// The trial could not be made at all.
pub async fn run(plan: &TrialPlan<'_>, world: &World, interrupt: &Interrupt) -> Result<TrialResult, TrialError> {
    let role = plan.scenario.workflow();
    let keeper = Arc::new(Keeper::default());
    let config = sandbox_config(plan, world);
    let mut enclosure = enclose(plan, world, role)?;
    let sandbox = enclosure.sandbox(config, keeper.clone()).await.map_err(TrialError::Sandbox)?;
    let stage = Stage::new(plan, world, role, &sandbox, &enclosure)?;
    let (lives, mut end, first) = stage.lives(&keeper, interrupt).await?;
    // What was held on its way arrives in the end, at the latest now.
    sandbox.release_held().await.map_err(TrialError::Sandbox)?;
    if !drain(role, &sandbox, &lives).await {
        end = unsettled();
    }
    let mut ledger = sandbox.ledger().map_err(TrialError::Sandbox)?;
    if matches!(end, TrialEnd::Done | TrialEnd::DeclaredUnknown | TrialEnd::Stuck { .. }) && !plan.schedule.is_done_to(&ledger) {
        end = TrialEnd::Unreached;
    }
    let gaps = witness::hear(&stage, &lives, &mut ledger).await;
    sandbox.stop().await;
    Ok(TrialResult { trial: Trial { schedule: plan.schedule.clone(), lives, ledger, end, gaps }, first })
}

/// The sandbox of a trial: its ledger goes on where the one of the lives before has ended.
fn sandbox_config(plan: &TrialPlan<'_>, world: &World) -> SandboxConfig {
    let rules = plan.rules.iter().map(|(name, endpoint)| EffectRule { name: name.clone(), endpoint: endpoint.clone() });
    SandboxConfig {
        spec: plan.scenario.sandbox.clone(),
        rules: rules.collect(),
        ledger_path: world.ledger(),
        epoch: Instant::now().checked_sub(elapsed(&plan.past)).unwrap_or_else(Instant::now),
    }
}

/// How long the lives took that have gone before: the ledger's times go on from there.
fn elapsed(past: &[Life]) -> Duration {
    past.iter().map(|life| Duration::from_micros(life.wall_us)).sum()
}

/// The network and the mounts of a trial, as its scenario asks for them.
fn enclose(plan: &TrialPlan<'_>, world: &World, role: &Role) -> Result<Enclosure, TrialError> {
    if role.network == Network::Host {
        return Ok(Enclosure::host(Layout::plain(world, role)));
    }
    let needs = layout::needs(role, plan.cache, plan.cell);
    let layout = Layout::private(world, role, &needs).map_err(TrialError::Layout)?;
    Ok(Enclosure::private(layout)?)
}

/// What all lives of a trial share.
struct Stage<'a> {
    plan: &'a TrialPlan<'a>,
    world: &'a World,
    role: &'a Role,
    sandbox: &'a Sandbox,
    places: Placeholders,
    enclosure: &'a Enclosure,
    env: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    namer: Arc<Namer>,
}

impl<'a> Stage<'a> {
    fn new(
        plan: &'a TrialPlan<'a>,
        world: &'a World,
        role: &'a Role,
        sandbox: &'a Sandbox,
        enclosure: &'a Enclosure,
    ) -> Result<Self, TrialError> {
        let layout = &enclosure.layout;
        let places = places::of_trial(plan, layout, sandbox);
        let home = layout.home.iter().map(|home| ("HOME", home.as_path()));
        let folders: Vec<_> = [("TMPDIR", layout.tmp.as_path())].into_iter().chain(home).collect();
        let mcp_url = places::mcp_url(sandbox);
        let own = [(mcp::URL_VARIABLE, mcp_url.as_str())];
        let env = environment(role, &places, &folders, &own).map_err(|source| TrialError::Command { what: "env", source })?;
        let ignore = globs(&role.ignore).map_err(TrialError::Glob)?;
        let namer = Namer::new(
            layout.roots(),
            [sandbox.addr(), sandbox.mail_addr()],
            enclosure.connections.clone(),
            enclosure.namespaces.is_some(),
            ignore,
        );
        Ok(Self { plan, world, role, sandbox, places, enclosure, env, namer: Arc::new(namer) })
    }

    /// Lives until the workflow is done, or may live no more.
    async fn lives(&self, keeper: &Keeper, interrupt: &Interrupt) -> Result<(Vec<Life>, TrialEnd, Recording), TrialError> {
        let (mut lives, mut first) = (self.plan.past.clone(), Recording::default());
        let kills = self.plan.schedule.kills();
        if let Some(end) = self.reset(keeper, interrupt).await? {
            return Ok((lives, end, first));
        }
        loop {
            let number = u32::try_from(lives.len() + 1).unwrap_or(u32::MAX);
            let target = self.plan.schedule.kill_of(number).cloned();
            let command = if number == 1 { ("start", &*self.role.start) } else { ("resume", &*self.role.resume) };
            let (life, recorder, is_settled) = self.live(number, target, command, keeper, interrupt).await?;
            if lives.len() == self.plan.past.len() {
                first = self.recording(&recorder);
            }
            let end = if is_settled { self.after(&life, lives.len() < kills) } else { Some(unsettled()) };
            lives.push(life);
            let end = end.or_else(|| {
                let reason = || format!("not done after {number} lives; the last one {}", last_words(&lives));
                (number >= self.role.lives_max).then(|| TrialEnd::Stuck { reason: reason() })
            });
            if let Some(end) = end {
                let end = self.reconcile(&mut lives, end, keeper, interrupt).await?;
                return Ok((lives, end, first));
            }
        }
    }

    async fn live(
        &self,
        number: u32,
        target: Option<Point>,
        (what, argv): (&'static str, &[String]),
        keeper: &Keeper,
        interrupt: &Interrupt,
    ) -> Result<(Life, Arc<Recorder>, bool), TrialError> {
        let layout = &self.enclosure.layout;
        let outside = |path: &Path| layout.outside(path);
        let command =
            ready(argv, &layout.dir, &self.env, &self.places, &outside).map_err(|source| TrialError::Command { what, source })?;
        let is_first = usize::try_from(number) == Ok(self.plan.past.len() + 1);
        let interleaving = if is_first { self.plan.interleaving } else { Interleaving::AsIs };
        let launch = Launch {
            program: command.program,
            argv: command.argv,
            env: self.env.clone(),
            dir: layout.dir.clone(),
            output: self.world.output(number),
            inside: self.enclosure.namespaces.clone(),
            stop_at_calls: true,
            stop_at_wakes: interleaving == Interleaving::FlushLate,
            pauses: if let Interleaving::Seed(seed) = interleaving { Some(seed) } else { None },
        };
        let promised = self.plan.scenario.promises.iter().map(|promise| promise.name.clone()).collect();
        let watched = Watched {
            target: target.clone(),
            promised,
            interleaving,
            album: self.plan.film.as_ref().filter(|_| is_first).map(|store| self.album(store)),
            lens: Some(self.sandbox.lens()),
        };
        let recorder = Arc::new(Recorder::new(self.namer.clone(), watched));
        let control = Control::default();
        self.sandbox.begin_life(number);
        let wire = self.plan.schedule.wire_of(number).map(|(at, fault)| (at.clone(), fault)).collect();
        keeper.set(Some(Grip { recorder: recorder.clone(), control: control.clone(), wire }));
        let plan = LifePlan {
            number,
            launch,
            target,
            timeout: Duration::from_millis(self.role.life_timeout_ms),
            linger: Duration::from_millis(self.role.linger_ms),
        };
        let life = life::live(plan, &recorder, &control, interrupt).await;
        keeper.set(None);
        // A request that was on its way is settled before anybody else may act, so that what follows does not depend on it.
        let is_settled = self.sandbox.settle(Duration::from_millis(SETTLE_MAX_MS)).await;
        Ok((life, recorder, is_settled))
    }

    /// An album of the trial's folders.
    fn album(&self, store: &Arc<ImageStore>) -> Arc<Album> {
        let layout = &self.enclosure.layout;
        let roots = self.world.roots(&layout.mount_points());
        Arc::new(Album::new(store.clone(), roots, layout.clone(), self.sandbox.lens()))
    }

    fn recording(&self, recorder: &Recorder) -> Recording {
        let (census, census_is_whole) = recorder.census();
        let (shots, trouble) = recorder.album().map(|album| album.take()).unwrap_or_default();
        Recording { census, census_is_whole, shots, trouble, doers: recorder.doers() }
    }

    /// Whether the trial ends with this life. `aimed`: the life was to be killed at a point.
    fn after(&self, life: &Life, aimed: bool) -> Option<TrialEnd> {
        let environment = |reason: String| Some(TrialEnd::Environment { reason });
        match &life.end {
            LifeEnd::Killed => None,
            LifeEnd::Interrupted => Some(TrialEnd::Interrupted),
            LifeEnd::KilledFromOutside => environment(format!(
                "a process of life {} died of a SIGKILL that killpoint did not send (out of memory?)",
                life.number
            )),
            LifeEnd::LimitHit { limit } => environment(format!("life {} went past a limit: {limit}", life.number)),
            LifeEnd::Failed { reason } => environment(reason.clone()),
            _ if aimed => Some(TrialEnd::Unreached),
            LifeEnd::Exited { code } if self.role.done_exit_codes.contains(code) => Some(TrialEnd::Done),
            LifeEnd::Exited { code } if self.role.unknown_exit_codes.contains(code) => Some(TrialEnd::DeclaredUnknown),
            LifeEnd::Exited { .. } | LifeEnd::Signalled { .. } | LifeEnd::TimedOut => None,
        }
    }
}

/// What the last life did, for people.
fn last_words(lives: &[Life]) -> String {
    match lives.last().map(|life| &life.end) {
        Some(LifeEnd::Exited { code }) => format!("exited with {code}"),
        Some(LifeEnd::Signalled { signal }) => format!("died of signal {signal}"),
        Some(LifeEnd::TimedOut) => "did not end within its time".to_owned(),
        _ => "was killed".to_owned(),
    }
}

/// Waits for late effects. With the tree dead and every connection closed only something outside of the tree could still act, so
/// time is spent only where such a thing was seen. Returns whether all came to rest.
async fn drain(role: &Role, sandbox: &Sandbox, lives: &[Life]) -> bool {
    let is_elsewhere = lives.iter().flat_map(|life| &life.notices).any(|notice| matches!(notice, Notice::Connect { .. }));
    if is_elsewhere {
        tokio::time::sleep(Duration::from_millis(role.drain_ms)).await;
        return sandbox.settle(Duration::from_millis(SETTLE_MAX_MS)).await;
    }
    true
}

/// The end of a trial in which requests were under way although nobody of the tree was left: its ledger may still change.
fn unsettled() -> TrialEnd {
    TrialEnd::Environment {
        reason: format!(
            "the sandbox did not come to rest within {SETTLE_MAX_MS} ms after a life: somebody else holds a connection to it"
        ),
    }
}

fn globs(patterns: &[String]) -> Result<GlobSet, globset::Error> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(Glob::new(pattern)?);
    }
    set.build()
}
