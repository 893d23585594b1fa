//! Telling: what becomes of a state, told by the life of another one that has the same files. A life knows the ledger by its answers
//! alone, so where the other ledger gives the same ones, the life would have been the same, and no process need be started to see it.
//!
//! It is told within one recording only: there volatile values are the same in all images, and so is what was stored of a key.

use super::explore::{Candidate, Lab, interrupted};
use crate::campaign::options::CampaignError;
use crate::model::life::{Trial, TrialEnd};
use crate::model::reel::StateRecord;
use crate::model::scenario::Scenario;
use crate::oracle;
use crate::sandbox;

/// A state that was resumed, with what came of it.
#[derive(Debug)]
pub struct Teller {
    /// The state.
    pub candidate: Candidate,
    /// Its trial.
    pub trial: Trial,
}

/// Whether all that a scenario's lives learn of the outside world, and all that is judged of them, comes from the ledger and their own
/// folders.
#[must_use]
pub fn is_sound_for(scenario: &Scenario) -> bool {
    let role = scenario.workflow();
    scenario.sandbox.upstream.is_none()
        && role.reset.is_empty()
        && role.reconcile.is_empty()
        && scenario.promises.iter().all(|promise| promise.source.is_none())
}

/// What becomes of a state by the life of a teller; `None`: it has to be resumed itself.
///
/// # Errors
/// A ledger of an image cannot be read.
pub fn tell(lab: &Lab<'_>, teller: &Teller, candidate: &Candidate) -> Result<Option<(StateRecord, Trial)>, CampaignError> {
    let (trial, lives) = (&teller.trial, teller.candidate.past.len());
    let is_plain = trial.end == TrialEnd::Done && trial.lives.len() == lives + 1 && candidate.past.len() == lives;
    if !is_plain || !trial.gaps.is_empty() {
        return Ok(None);
    }
    let own = trial.lives[lives].number;
    let asked: Vec<_> = trial.ledger.iter().filter(|request| request.life >= own).cloned().collect();
    let read = |blob: &str| lab.store.get(blob).map_err(super::darkroom::unreadable);
    let (begun, other) = (read(&teller.candidate.shot.ledger)?, read(&candidate.shot.ledger)?);
    let retold = sandbox::retell(&lab.stage.scenario.sandbox, &begun, &other, &asked);
    let what = || "the ledger of a crash image cannot be read".to_owned();
    let Some(ledger) = retold.map_err(|error| CampaignError::Files { what: what(), source: Box::new(error) })? else {
        return Ok(None);
    };
    let mut all = candidate.past.clone();
    all.push(trial.lives[lives].clone());
    let told = Trial { schedule: candidate.schedule.clone(), lives: all, ledger, end: TrialEnd::Done, gaps: Vec::new() };
    let record = StateRecord {
        end: TrialEnd::Done,
        judgements: oracle::judge(&lab.expectation, &told),
        keys_stable: oracle::key_stability(&lab.expectation, &told),
        told_by: Some(teller.candidate.state.clone()),
        ..interrupted(candidate.clone())
    };
    Ok(Some((record, told)))
}
