//! An audit of retries from observation: clean runs, then one trial for each write and failure, and what all of them show together.

mod probes;
mod servers;
mod tools;
mod writes;

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::task::JoinSet;

use super::options::{Abort, CampaignError, Tell};
use super::stage::Stage;
use super::{Options, assemble, baseline, stages, sweep};
use crate::model::audit::{Audit, AuditedCell, Probe, SCHEMA};
use crate::model::event::{Event, TrialRecord};
use crate::model::interleaving::Interleaving;
use crate::model::ledger::Request;
use crate::model::life::{Trial, TrialEnd};
use crate::model::limits::SLOW_ACK_DEFAULT_MS;
use crate::model::scenario::Scenario;
use crate::model::schedule::Schedule;
use crate::oracle::forensics;
use probes::Planned;

/// How an audit is made, beyond what the scenario says.
#[derive(Clone, Debug)]
pub struct AuditOptions {
    /// Trials side by side.
    pub jobs: usize,
    /// Only cells that have these values.
    pub only: Vec<(String, String)>,
    /// How much later the answer comes that is to be too late, in milliseconds; by default half of what a life may take, and
    /// [`SLOW_ACK_DEFAULT_MS`] at most.
    pub slow_ack_ms: Option<u64>,
    /// Commands that start MCP servers, or addresses where they listen, whose tools are looked at.
    pub mcp_servers: Vec<String>,
}

/// How often a trial is made again when the machine got in the way.
const ENVIRONMENT_TRIES: u32 = 2;

/// A trial that was made for a plan.
struct Tried {
    planned: Planned,
    trial: Trial,
}

/// Audits every cell that is asked for.
///
/// # Errors
/// As of a run; or it was interrupted.
pub async fn audit(scenario: &Scenario, options: &AuditOptions, tell: Tell, abort: &Abort) -> Result<Audit, CampaignError> {
    let mut scenario = scenario.clone();
    // Two clean runs: what differs between them is not what a key may be made of.
    scenario.campaign.twice = true;
    let asked = Options { jobs: options.jobs, at: None, only: options.only.clone(), class_check: 0 };
    let stages = stages(&scenario, &asked, &tell, abort).await?;
    tell(&Event::RunStarted {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        scenario: scenario.name.clone(),
        at: jiff::Timestamp::now().to_string(),
        cells: stages.len(),
        seed: scenario.campaign.seed,
    });
    let mut cells = Vec::new();
    for stage in &stages {
        tell(&Event::CellStarted { cell: stage.index, values: stage.values() });
        cells.push(cell(stage, options, &tell).await?);
        if abort.is_set() {
            return Err(CampaignError::Interrupted);
        }
    }
    let mut asked = Vec::new();
    if let Some(stage) = stages.first() {
        for command in &options.mcp_servers {
            asked.push(servers::ask(command, stage).await);
        }
    }
    let killpoint_version = env!("CARGO_PKG_VERSION").to_owned();
    Ok(Audit { schema: SCHEMA.to_owned(), killpoint_version, scenario: scenario.name, cells, servers: asked })
}

async fn cell(stage: &Stage, options: &AuditOptions, tell: &Tell) -> Result<AuditedCell, CampaignError> {
    let baseline = baseline::run(stage).await?;
    tell(&assemble::baseline_event(stage.index, &baseline));
    if let Some(reason) = baseline.trouble() {
        return Ok(AuditedCell { cell: stage.values(), broken: Some(reason), probes: Vec::new(), writes: Vec::new() });
    }
    let clean: Vec<Vec<Request>> = std::iter::once(&baseline.ledger).chain(&baseline.second_ledger).cloned().collect();
    let accepts = stage.scenario.workflow().accept_declared_unknown;
    let expectation = forensics::expect_all(&stage.scenario.promises, &clean).accepting_declared_unknown(accepts);
    let uninjured = |ledger: Vec<Request>| Trial {
        schedule: Schedule::default(),
        lives: vec![baseline.life.clone()],
        ledger,
        end: TrialEnd::Done,
        gaps: Vec::new(),
    };
    let clean: Vec<Trial> = clean.into_iter().map(uninjured).collect();
    let ends = writes::ends(&expectation, &clean[0]);
    let longest = stage.scenario.workflow().life_timeout_ms / 2;
    let slow_ack_ms = options.slow_ack_ms.unwrap_or(SLOW_ACK_DEFAULT_MS.min(longest.max(1)));
    let plan: Vec<Planned> = ends.iter().flat_map(|(promise, ends)| probes::first_round(promise, ends, slow_ack_ms)).collect();
    let mut tried = round(stage, options.jobs, plan, 0, tell).await?;
    let series: Vec<Planned> = writes::repeating(&expectation, &tried)
        .into_iter()
        .filter_map(|promise| ends.get(&promise).map(|(first, _)| probes::series(&promise, first)))
        .collect();
    tried.extend(round(stage, options.jobs, series, tried.len() as u64, tell).await?);
    let role = stage.scenario.workflow();
    let mut arguments: Vec<String> = role.start.iter().chain(&role.resume).cloned().collect();
    arguments.extend(stage.cell.iter().map(|(_, value)| value.clone()));
    let mut writes = writes::writes(&expectation, &stage.scenario.promises, &clean, &tried, &arguments);
    let sandbox = &stage.scenario.sandbox;
    if sandbox.upstream.is_none() {
        tools::note(&mut writes, &crate::sandbox::mcp::facts(sandbox.mcp_keys));
    }
    Ok(AuditedCell { cell: stage.values(), broken: None, probes: tried.iter().map(probe).collect(), writes })
}

/// Carries out a plan, several trials side by side; the results are in its order.
async fn round(stage: &Stage, jobs: usize, plan: Vec<Planned>, from: u64, tell: &Tell) -> Result<Vec<Tried>, CampaignError> {
    if plan.is_empty() {
        return Ok(Vec::new());
    }
    tell(&Event::Planned { cell: stage.index, trials: plan.len() as u64 });
    let stage = Arc::new(stage.clone());
    let (mut plan, mut running) = ((from..).zip(plan), JoinSet::new());
    let mut tried = BTreeMap::new();
    loop {
        while running.len() < jobs && !stage.abort.is_set() {
            let Some((number, planned)) = plan.next() else { break };
            running.spawn(one(Arc::clone(&stage), number, planned));
        }
        let Some(joined) = running.join_next().await else { break };
        let (number, own) = joined.map_err(|error| CampaignError::Bug(format!("a trial panicked: {error}")))??;
        if stage.abort.is_set() {
            return Err(CampaignError::Interrupted);
        }
        tell(&Event::TrialFinished(record(stage.index, number, &own)));
        tried.insert(number, own);
    }
    if stage.abort.is_set() { Err(CampaignError::Interrupted) } else { Ok(tried.into_values().collect()) }
}

async fn one(stage: Arc<Stage>, number: u64, planned: Planned) -> Result<(u64, Tried), CampaignError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let world = stage.world(&format!("c{}-a{number}", stage.index))?;
        let trial = stage.trial(planned.schedule.clone(), &world).await?.trial;
        let again = matches!(trial.end, TrialEnd::Environment { .. }) && tries < ENVIRONMENT_TRIES;
        if !again || stage.abort.is_set() {
            return Ok((number, Tried { planned, trial }));
        }
    }
}

impl Tried {
    /// Whether what was planned came to happen. Of a series the first step is enough: a client may give up before its end.
    fn reached(&self) -> bool {
        if !self.planned.is_series {
            return sweep::is_reached(&self.trial);
        }
        let first = Schedule(self.planned.schedule.0.iter().take(1).cloned().collect());
        first.is_done_to(&self.trial.ledger)
    }

    /// Why nothing can be said; nothing where something can.
    fn trouble(&self) -> Option<String> {
        match &self.trial.end {
            TrialEnd::Environment { reason } => Some(reason.clone()),
            TrialEnd::Interrupted => Some("interrupted".to_owned()),
            _ if !self.reached() => Some("it did not come to happen: the life ended before it".to_owned()),
            _ => None,
        }
    }
}

fn probe(tried: &Tried) -> Probe {
    let reason = tried.trouble();
    let (effect, schedule) = (tried.planned.promise.clone(), tried.planned.schedule.clone());
    Probe { effect, schedule, reached: reason.is_none(), reason }
}

/// What the progress line is told of a trial.
fn record(cell: usize, trial: u64, tried: &Tried) -> TrialRecord {
    TrialRecord {
        cell,
        trial,
        point: 0,
        interleaving: Interleaving::AsIs,
        state: None,
        schedule: tried.planned.schedule.clone(),
        tries: 1,
        reached: tried.trouble().is_none(),
        end: tried.trial.end.clone(),
        lives: u32::try_from(tried.trial.lives.len()).unwrap_or(u32::MAX),
        cpu_us: tried.trial.lives.iter().map(|life| life.cpu_us).sum(),
        judgements: Vec::new(),
        keys_stable: BTreeMap::new(),
    }
}
