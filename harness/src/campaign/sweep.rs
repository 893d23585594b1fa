//! Carries out the trials of a plan, several side by side, each tried again under its other names while its point is not reached.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::task::JoinSet;

use super::Desk;
use super::options::CampaignError;
use super::stage::Stage;
use crate::model::census::{Census, CensusPoint};
use crate::model::event::{Event, TrialRecord};
use crate::model::interleaving::Interleaving;
use crate::model::life::{Trial, TrialEnd};
use crate::model::point::{CallName, Point};
use crate::model::schedule::Schedule;
use crate::oracle::{self, Expectation};
use crate::plan::{PlannedTrial, WIRE_TRIALS_FROM};
use crate::trial::TrialResult;

/// What the trials of a cell came to.
#[derive(Debug, Default)]
pub struct Swept {
    /// One record for each trial that was carried out, in the plan's order.
    pub records: Vec<TrialRecord>,
    /// Whether it was interrupted before the plan's end.
    pub is_interrupted: bool,
}

/// How often a trial is made again when the machine got in the way.
const ENVIRONMENT_TRIES: u32 = 2;

/// Carries out a plan; trials that a run which was cut off had done are not done again.
///
/// # Errors
/// A trial could not be made at all, or the run folder cannot be written.
pub async fn sweep(
    stage: &Stage,
    expectation: &Expectation,
    census: &Census,
    plan: impl Iterator<Item = PlannedTrial>,
    desk: Desk<'_>,
) -> Result<Swept, CampaignError> {
    let mut plan = plan.peekable();
    let is_wire = plan.peek().is_some_and(|planned| planned.trial >= WIRE_TRIALS_FROM);
    let mut done = super::assemble::past_records(desk.past, stage.index);
    done.retain(|record| (record.trial >= WIRE_TRIALS_FROM) == is_wire);
    for record in &done {
        (desk.tell)(&Event::TrialFinished(record.clone()));
    }
    let known: BTreeSet<u64> = done.iter().map(|record| record.trial).collect();
    let mut records = done;
    let mut plan = plan.filter(|planned| !known.contains(&planned.trial));
    let expectation = Arc::new(expectation.clone());
    let names: Arc<BTreeSet<CallName>> =
        Arc::new(census.points.iter().filter_map(|own| called_at(&own.point)).cloned().collect());
    let (mut running, mut is_interrupted) = (JoinSet::new(), false);
    loop {
        while running.len() < desk.options.jobs && !stage.abort.is_set() {
            let Some(planned) = plan.next() else { break };
            running.spawn(one(stage.clone(), expectation.clone(), names.clone(), planned));
        }
        let Some(joined) = running.join_next().await else { break };
        let (record, trial) = joined.map_err(|error| CampaignError::Bug(format!("a trial panicked: {error}")))??;
        if record.end == TrialEnd::Interrupted {
            is_interrupted = true;
            continue;
        }
        desk.folder.write_trial(stage.index, record.trial, &trial).map_err(CampaignError::Store)?;
        desk.note(&Event::TrialFinished(record.clone()))?;
        records.push(record);
    }
    is_interrupted |= plan.next().is_some();
    records.sort_by_key(|record| record.trial);
    Ok(Swept { records, is_interrupted })
}

/// One trial, until its point is reached or it has been tried often enough.
async fn one(
    stage: Stage,
    expectation: Arc<Expectation>,
    known: Arc<BTreeSet<CallName>>,
    planned: PlannedTrial,
) -> Result<(TrialRecord, Trial), CampaignError> {
    let (mut lives, mut cpu_us, mut tries, mut environment) = (0, 0, 0, 0);
    let mut last = None;
    let mut names = Names::of(&planned);
    for schedule in planned.schedules {
        if !names.may_stand(&schedule) {
            continue;
        }
        let world = stage.world(&format!("c{}-t{}", stage.index, planned.trial))?;
        let TrialResult { trial, first } = stage.trial(schedule, &world).await?;
        names.look(&first.census, &known);
        tries += 1;
        lives += u32::try_from(trial.lives.len()).unwrap_or(u32::MAX);
        cpu_us += trial.lives.iter().map(|life| life.cpu_us).sum::<u64>();
        let again = match &trial.end {
            TrialEnd::Unreached => true,
            TrialEnd::Environment { .. } => {
                environment += 1;
                environment < ENVIRONMENT_TRIES
            }
            _ => false,
        };
        last = Some(trial);
        if !again || stage.abort.is_set() {
            break;
        }
    }
    let mut trial = last.ok_or_else(|| CampaignError::Bug("a planned trial without a schedule".to_owned()))?;
    if stage.abort.is_set() && trial.end == TrialEnd::Unreached {
        // It was not tried as often as it should have been.
        trial.end = TrialEnd::Interrupted;
    }
    let reached = is_reached(&trial);
    let record = TrialRecord {
        cell: stage.index,
        trial: planned.trial,
        point: planned.point,
        interleaving: Interleaving::AsIs,
        state: None,
        schedule: trial.schedule.clone(),
        tries,
        reached,
        end: trial.end.clone(),
        lives,
        cpu_us,
        judgements: if reached { oracle::judge(&expectation, &trial) } else { Vec::new() },
        keys_stable: if reached { oracle::key_stability(&expectation, &trial) } else { BTreeMap::new() },
    };
    Ok((record, trial))
}

/// Under which names a point may be met. A name that leaves parts open also counts other calls, so it stands for the point only
/// where the point's own name is seen to be random: it did not come again, and one of the same form came that the clean run lacks.
struct Names {
    own: Option<CallName>,
    open: BTreeSet<CallName>,
    is_random: bool,
}

impl Names {
    fn of(planned: &PlannedTrial) -> Self {
        let own = planned.schedules.first().and_then(called).cloned();
        let others = planned.schedules.iter().filter_map(called).filter(|call| Some(*call) != own.as_ref());
        Self { open: others.cloned().collect(), own, is_random: false }
    }

    /// Looks at the calls of a life that was not killed at the point.
    fn look(&mut self, life: &Census, clean: &BTreeSet<CallName>) {
        let recurs = life.points.iter().any(|point| called_at(&point.point) == self.own.as_ref());
        let is_new = |point: &&CensusPoint| called_at(&point.point).is_some_and(|call| !clean.contains(call));
        let is_alike = |point: &CensusPoint| point.aliases.iter().filter_map(called_at).any(|call| self.open.contains(call));
        self.is_random |= !recurs && life.points.iter().filter(is_new).any(is_alike);
    }

    fn may_stand(&self, schedule: &Schedule) -> bool {
        self.is_random || called(schedule).is_none_or(|call| !self.open.contains(call))
    }
}

/// The call at which a schedule of one step kills.
#[must_use]
pub fn called(schedule: &Schedule) -> Option<&CallName> {
    if let [step] = schedule.0.as_slice() { called_at(&step.point) } else { None }
}

fn called_at(point: &Point) -> Option<&CallName> {
    if let Point::Call { call, .. } = point { Some(call) } else { None }
}

/// Whether every point of the trial's schedule was reached, with the SIGKILL seen to land.
#[must_use]
pub fn is_reached(trial: &Trial) -> bool {
    let is_something = !trial.schedule.0.is_empty();
    let killed = trial.lives.iter().filter(|life| life.target.is_some() && life.reached).count();
    is_something && killed == trial.schedule.kills() && trial.schedule.is_done_to(&trial.ledger)
}
