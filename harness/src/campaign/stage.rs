//! What all trials of one cell share, and how one of them is carried out.

use std::path::PathBuf;
use std::sync::Arc;

use super::options::{Abort, CampaignError};
use super::setup::command_error;
use crate::model::promise::Endpoint;
use crate::model::scenario::Scenario;
use crate::model::schedule::Schedule;
use crate::state::{World, Worlds};
use crate::trial::{self, Interrupt, TrialError, TrialPlan, TrialResult};

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
        let copy = role.dir_copy.then_some(role.dir.as_path());
        let what = "the folders of a trial could not be made".to_owned();
        self.worlds.world(name, copy).map_err(|error| CampaignError::Files { what, source: Box::new(error) })
    }

    /// Carries out one schedule in a world.
    ///
    /// # Errors
    /// The trial could not be made at all.
    pub async fn trial(&self, schedule: Schedule, world: &World) -> Result<TrialResult, CampaignError> {
        let rules: Vec<(String, Endpoint)> =
            self.scenario.promises.iter().map(|promise| (promise.name.clone(), promise.endpoint.clone())).collect();
        let plan = TrialPlan { scenario: &self.scenario, cell: &self.cell, cache: self.cache.as_deref(), schedule, rules };
        let interrupt = Interrupt::new(self.abort.flag());
        trial::run(&plan, world, &interrupt).await.map_err(|error| self.explain(error))
    }

    fn explain(&self, error: TrialError) -> CampaignError {
        let role = self.scenario.workflow();
        match error {
            TrialError::Command { what, source } => {
                let argv = if what == "resume" { &role.resume } else { &role.start };
                command_error(what, argv, &source)
            }
            TrialError::Sandbox(source) => {
                CampaignError::Files { what: "the sandbox could not be used".to_owned(), source: Box::new(source) }
            }
            TrialError::Glob(source) => CampaignError::Scenario(format!("`ignore`: {source}")),
        }
    }
}
