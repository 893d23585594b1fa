//! Brings a finding back: for its folder, where the world of a failing trial is kept, and for `killpoint replay`.

use super::options::{Answer, CampaignError, Source};
use super::stage::Stage;
use super::sweep::is_reached;
use crate::model::census::Census;
use crate::model::event::TrialRecord;
use crate::model::finding::Finding;
use crate::model::life::TrialEnd;
use crate::model::point::{Moment, Point};
use crate::model::schedule::Schedule;
use crate::model::verdict::Judgement;
use crate::oracle::{self, Expectation};
use crate::plan;
use crate::state::World;
use crate::store::{FINDING_SCHEMA, FindingFile, RunFolder};

/// Chooses the schedule that brings a finding back most surely. Calls change their order with the threads, and with them what is
/// done by then; at the moment when the sandbox has just carried out the effect, or answered it, it is done and not recorded in any order.
pub fn choose_steadiest(finding: &mut Finding, records: &[TrialRecord]) {
    let is_steady = |record: &&TrialRecord| match record.schedule.0.as_slice() {
        [step] => {
            matches!(&step.point, Point::Wire(wire) if wire.effect == finding.promise && matches!(wire.moment, Moment::Executed | Moment::Answered))
        }
        _ => false,
    };
    let shows = |record: &&TrialRecord| {
        let is_it = |judgement: &Judgement| {
            judgement.promise == finding.promise && judgement.verdict == finding.verdict && judgement.cause == Some(finding.cause)
        };
        record.judgements.iter().any(is_it)
    };
    let steady: Vec<_> = records.iter().filter(is_steady).filter(shows).collect();
    // The answer is the moment that people know.
    let answered = steady.iter().find(|record| record.schedule.to_string().contains(Moment::Answered.word()));
    if let Some(record) = answered.or(steady.first()) {
        finding.schedule = record.schedule.clone();
    }
}

/// Carries out a finding's schedule once. A point that is not reached is tried under its other names.
///
/// # Errors
/// The trial could not be made at all.
pub async fn answer(
    stage: &Stage,
    expectation: &Expectation,
    finding: &Finding,
    census: &Census,
    world: &World,
) -> Result<Answer, CampaignError> {
    let mut trial = stage.trial(finding.schedule.clone(), world).await?.trial;
    for schedule in other_names(&finding.schedule, census) {
        if trial.end != TrialEnd::Unreached || stage.abort.is_set() {
            break;
        }
        let name = world.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let fresh = stage.world(&name)?;
        trial = stage.trial(schedule, &fresh).await?.trial;
        // The folders are the first world's; it removes them.
        std::mem::forget(fresh);
    }
    let judgements = oracle::judge(expectation, &trial);
    let is_same = |judgement: &Judgement| {
        judgement.promise == finding.promise
            && judgement.verdict == finding.verdict
            && finding.intents.contains(&judgement.intent)
    };
    Ok(Answer {
        reached: is_reached(&trial),
        reproduced: is_reached(&trial) && judgements.iter().any(is_same),
        end: trial.end,
        judgements,
        lives: trial.lives,
        ledger: trial.ledger,
    })
}

/// The same call under the names it has from earlier anchors.
fn other_names(schedule: &Schedule, census: &Census) -> Vec<Schedule> {
    plan::single(schedule, census).schedules.into_iter().filter(|other| other != schedule).collect()
}

/// Gives a finding its id and its command, brings it back once more, and keeps the world of that trial in its folder.
///
/// # Errors
/// The trial could not be made, or the run folder cannot be written.
pub async fn keep(
    stage: &Stage,
    source: &Source,
    expectation: &Expectation,
    census: &Census,
    finding: &mut Finding,
    number: usize,
    folder: &RunFolder,
) -> Result<(), CampaignError> {
    finding.id = format!("F{number}");
    let place = folder.finding_dir(&finding.id).map_err(CampaignError::Store)?;
    finding.repro = format!("killpoint replay {}", place.display());
    if !stage.abort.is_set() {
        again(stage, expectation, census, finding, &place).await?;
    }
    let file = FindingFile {
        schema: FINDING_SCHEMA.to_owned(),
        killpoint_version: env!("CARGO_PKG_VERSION").to_owned(),
        scenario_file: source.file.clone(),
        scenario_text: Some(source.text.clone()),
        base_dir: stage.scenario.workflow().dir.clone(),
        seed: stage.scenario.campaign.seed,
        cell: stage.cell.clone(),
        scenario: (*stage.scenario).clone(),
        finding: finding.clone(),
    };
    folder.write_finding(&file).map_err(CampaignError::Store)
}

/// How often a finding is brought back before it is said that it did not come.
const AGAIN_TRIES: u32 = 3;

async fn again(
    stage: &Stage,
    expectation: &Expectation,
    census: &Census,
    finding: &mut Finding,
    place: &std::path::Path,
) -> Result<(), CampaignError> {
    for attempt in 1..=AGAIN_TRIES {
        let world = stage.world(&format!("c{}-{}", stage.index, finding.id))?;
        let answer = answer(stage, expectation, finding, census, &world).await?;
        if answer.end == TrialEnd::Interrupted {
            return Ok(());
        }
        if answer.reproduced {
            let target = place.join("world");
            if target.exists() {
                let _ = std::fs::remove_dir_all(&target);
            }
            // The finding stands without its files: a workflow may make paths that nobody can copy.
            if let Err(error) = world.keep(&target) {
                let why = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
                finding.why.push(format!("not all files of its trial could be kept: {why}"));
            }
            return Ok(());
        }
        if attempt == AGAIN_TRIES {
            finding.why.push(format!("shown in {} trials by SIGKILL, but not in {AGAIN_TRIES} more at this point: the order of threads differs from run to run", finding.trials));
        }
    }
    Ok(())
}
