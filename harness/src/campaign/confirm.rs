//! Brings a finding back: for its folder, where the world of a failing trial is kept, and for `killpoint replay`.

use super::options::{Answer, CampaignError, Source};
use super::stage::Stage;
use super::sweep::{called, is_reached};
use crate::model::census::Census;
use crate::model::finding::Finding;
use crate::model::life::TrialEnd;
use crate::model::schedule::Schedule;
use crate::model::verdict::Judgement;
use crate::oracle::{self, Expectation};
use crate::plan;
use crate::state::World;
use crate::store::{FINDING_SCHEMA, FindingFile, RunFolder};

/// Carries out a finding's schedule once, in a world of that name, which is returned too. A point that is not reached is tried
/// under its other names.
///
/// # Errors
/// The trial could not be made at all.
pub async fn answer(
    stage: &Stage,
    expectation: &Expectation,
    finding: &Finding,
    census: &Census,
    name: &str,
) -> Result<(Answer, World), CampaignError> {
    let mut world = stage.world(name)?;
    let mut trial = stage.trial(finding.schedule.clone(), &world).await?.trial;
    for schedule in other_names(&finding.schedule, census) {
        if trial.end != TrialEnd::Unreached || stage.abort.is_set() {
            break;
        }
        // The old world goes before the new one of the same name is made.
        drop(world);
        world = stage.world(name)?;
        trial = stage.trial(schedule, &world).await?.trial;
    }
    let judgements = oracle::judge(expectation, &trial);
    let is_same = |judgement: &Judgement| {
        judgement.promise == finding.promise
            && judgement.verdict == finding.verdict
            && finding.intents.contains(&judgement.intent)
    };
    let answer = Answer {
        reached: is_reached(&trial),
        reproduced: is_reached(&trial) && judgements.iter().any(is_same),
        end: trial.end,
        judgements,
        lives: trial.lives,
        ledger: trial.ledger,
    };
    Ok((answer, world))
}

/// The same call counted from earlier anchors. A name that leaves parts open would count other calls as well.
fn other_names(schedule: &Schedule, census: &Census) -> Vec<Schedule> {
    let others = plan::single(schedule, census).schedules.into_iter();
    others.filter(|other| other != schedule && called(other) == called(schedule)).collect()
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
        let name = format!("c{}-{}", stage.index, finding.id);
        let (answer, world) = answer(stage, expectation, finding, census, &name).await?;
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
