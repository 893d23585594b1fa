//! What all trials of one cell share, and how one of them is carried out.

use std::path::PathBuf;
use std::sync::Arc;

use super::options::{Abort, CampaignError};
use super::setup::command_error;
use crate::model::interleaving::Interleaving;
use crate::model::life::Life;
use crate::model::promise::Endpoint;
use crate::model::report::Isolation;
use crate::model::scenario::Scenario;
use crate::model::schedule::Schedule;
use crate::model::shot::Shot;
use crate::state::{ImageError, ImageStore, World, WorldError, Worlds};
use crate::trial::{self, Interrupt, Opened, TrialError, TrialPlan, TrialResult, Visited};

/// How a trial begins, where it does not begin plainly with its first life.
#[derive(Clone, Debug, Default)]
pub struct Restart {
    /// The order of threads in the first life that is run.
    pub interleaving: Interleaving,
    /// Lives that have gone before.
    pub past: Vec<Life>,
    /// Where the images of the first life that is run go, if it is recorded.
    pub film: Option<Arc<ImageStore>>,
}

/// What all trials of one cell share.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The scenario.
    pub scenario: Arc<Scenario>,
    /// Index of the cell in the scenario's matrix.
    pub index: usize,
    /// The cell.
    pub cell: Vec<(String, String)>,
    /// The folder that setup filled.
    pub cache: Option<PathBuf>,
    /// Where worlds are made.
    pub worlds: Arc<Worlds>,
    /// Whose network and mounts its trials have.
    pub isolation: Isolation,
    /// The interrupt.
    pub abort: Abort,
}

impl Stage {
    /// The cell as `name=value` each.
    #[must_use]
    pub fn values(&self) -> Vec<String> {
        self.cell.iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    /// Makes a world.
    ///
    /// # Errors
    /// Its folders cannot be made.
    pub fn world(&self, name: &str) -> Result<World, CampaignError> {
        let role = self.scenario.workflow();
        self.made(self.worlds.world(name, role.dir_copy.then_some(role.dir.as_path())), true)
    }

    fn made(&self, world: Result<World, WorldError>, is_filled: bool) -> Result<World, CampaignError> {
        let add = |mut world: World| {
            self.scenario.workflow().state_paths.iter().try_for_each(|path| world.add(path, is_filled)).map(|()| world)
        };
        let what = "the folders of a trial could not be made".to_owned();
        world.and_then(add).map_err(|error| CampaignError::Files { what, source: Box::new(error) })
    }

    /// Makes a world that is filled with what a shot holds.
    ///
    /// # Errors
    /// The image cannot be read, or the world cannot be written.
    pub async fn restored(&self, store: &Arc<ImageStore>, shot: &Shot, name: &str) -> Result<World, CampaignError> {
        let world = self.made(self.worlds.empty(name, self.scenario.workflow().dir_copy), false)?;
        let (store, shot) = (store.clone(), shot.clone());
        let (roots, ledger) = (world.roots(&[]), world.ledger());
        let restore = move || -> Result<(), ImageError> {
            store.restore(&shot.files.parse()?, &roots)?;
            store.restore_blob(&shot.ledger, &ledger)
        };
        let done = tokio::task::spawn_blocking(restore).await;
        let done = done.map_err(|error| CampaignError::Bug(format!("a restore panicked: {error}")))?;
        let what = "a crash image could not be restored".to_owned();
        done.map(|()| world).map_err(|error| CampaignError::Files { what, source: Box::new(error) })
    }

    /// The same with another limit of lives.
    #[must_use]
    pub fn with_lives(&self, lives_max: u32) -> Self {
        let mut scenario = (*self.scenario).clone();
        scenario.roles[0].lives_max = lives_max;
        Self { scenario: scenario.into(), ..self.clone() }
    }

    /// Carries out one schedule in a fresh world.
    ///
    /// # Errors
    /// The trial could not be made at all.
    pub async fn trial(&self, schedule: Schedule, world: &World) -> Result<TrialResult, CampaignError> {
        self.trial_from(schedule, Restart::default(), world).await
    }

    /// Carries out one schedule in a world.
    ///
    /// # Errors
    /// The trial could not be made at all.
    pub async fn trial_from(&self, schedule: Schedule, restart: Restart, world: &World) -> Result<TrialResult, CampaignError> {
        let interrupt = Interrupt::new(self.abort.flag());
        trial::run(&self.plan(schedule, restart), world, &interrupt).await.map_err(|error| self.explain(error))
    }

    fn plan(&self, schedule: Schedule, restart: Restart) -> TrialPlan<'_> {
        let rules: Vec<(String, Endpoint)> =
            self.scenario.promises.iter().map(|promise| (promise.name.clone(), promise.endpoint.clone())).collect();
        let Restart { interleaving, past, film } = restart;
        let (scenario, cell, cache) = (&*self.scenario, &*self.cell, self.cache.as_deref());
        TrialPlan { scenario, cell, cache, schedule, rules, interleaving, past, film }
    }

    /// Opens a world for a program on the terminal.
    ///
    /// # Errors
    /// The world cannot be opened, or the program cannot be run.
    pub async fn visit(
        &self,
        past: Vec<Life>,
        world: &World,
        command: Option<&[String]>,
        tell: impl FnOnce(&Opened),
    ) -> Result<Visited, CampaignError> {
        let restart = Restart { past, ..Restart::default() };
        let plan = self.plan(Schedule::default(), restart);
        trial::visit(&plan, world, command, tell).await.map_err(|error| self.explain(error))
    }

    fn explain(&self, error: TrialError) -> CampaignError {
        let role = self.scenario.workflow();
        match error {
            TrialError::Command { what, source } => {
                let argv = match what {
                    "resume" => &role.resume,
                    "reset" => &role.reset,
                    "reconcile" => &role.reconcile,
                    _ => &role.start,
                };
                command_error(what, argv, &source)
            }
            TrialError::Sandbox(source) => {
                CampaignError::Files { what: "the sandbox could not be used".to_owned(), source: Box::new(source) }
            }
            TrialError::Enclosure(source) => {
                CampaignError::Machine { reason: source.to_string(), hint: "`killpoint doctor` says what to change".to_owned() }
            }
            TrialError::Layout(source) => {
                CampaignError::Files { what: "the folders of a trial could not be made".to_owned(), source: Box::new(source) }
            }
            TrialError::Guest(source) => CampaignError::Files {
                what: "the program could not be run in the trial's world".to_owned(),
                source: Box::new(source),
            },
            TrialError::Glob(source) => CampaignError::Scenario(format!("`ignore`: {source}")),
        }
    }
}
