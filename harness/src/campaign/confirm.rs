//! Brings a finding back: for its folder, where the world of a failing trial and its crash image are kept, and for `killpoint replay`.

use std::path::Path;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt, TryStreamExt};

use super::Desk;
use super::options::{Answer, CampaignError};
use super::stage::{Restart, Stage};
use super::sweep::{called, is_reached};
use crate::model::census::Census;
use crate::model::event::Event;
use crate::model::fault::Fault;
use crate::model::finding::Finding;
use crate::model::life::{Life, Trial, TrialEnd};
use crate::model::schedule::Schedule;
use crate::model::verdict::Judgement;
use crate::oracle::{self, Expectation};
use crate::plan;
use crate::state::{ImageStore, World};
use crate::store::{FINDING_SCHEMA, FindingFile, FindingImage};

/// Where findings of one campaign come from and go to.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The cell.
    pub stage: &'a Stage,
    /// What the campaign was given.
    pub desk: Desk<'a>,
    /// What is expected of every trial.
    pub expectation: &'a Expectation,
    /// The crash points of the clean run.
    pub census: &'a Census,
    /// Where its images are, if it has some.
    pub store: Option<&'a Arc<ImageStore>>,
}

/// What it took to show findings again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Lives.
    pub lives: u64,
    /// Their CPU time, in microseconds.
    pub cpu_us: u64,
}

impl Cost {
    fn add(&mut self, lives: &[Life]) {
        self.lives += lives.len() as u64;
        self.cpu_us += lives.iter().map(|life| life.cpu_us).sum::<u64>();
    }
}

/// Opens the store in the folder of a finding.
///
/// # Errors
/// It is not there.
pub fn open_store(finding: &Path) -> Result<Arc<ImageStore>, CampaignError> {
    let what = "the crash image of the finding cannot be read".to_owned();
    let store = ImageStore::open(&FindingImage::store_in(finding));
    store.map(Arc::new).map_err(|error| CampaignError::Files { what, source: Box::new(error) })
}

/// Resumes a finding's crash image once, in a world of that name.
///
/// # Errors
/// The trial could not be made at all, or the image cannot be read.
pub async fn from_image(
    stage: &Stage,
    expectation: &Expectation,
    finding: &Finding,
    store: &Arc<ImageStore>,
    image: &FindingImage,
    name: &str,
) -> Result<Answer, CampaignError> {
    let world = stage.restored(store, &image.shot, name).await?;
    let restart = Restart { past: image.past.clone(), ..Restart::default() };
    let trial = stage.trial_from(finding.schedule.clone(), restart, &world).await?.trial;
    let is_over = matches!(trial.end, TrialEnd::Done | TrialEnd::DeclaredUnknown | TrialEnd::Stuck { .. });
    Ok(judged(expectation, finding, trial, is_over))
}

fn judged(expectation: &Expectation, finding: &Finding, trial: Trial, reached: bool) -> Answer {
    let judgements = oracle::judge(expectation, &trial);
    let is_same = |judgement: &Judgement| {
        judgement.promise == finding.promise
            && judgement.verdict == finding.verdict
            && finding.intents.contains(&judgement.intent)
    };
    let reproduced = reached && judgements.iter().any(is_same);
    Answer { reached, reproduced, end: trial.end, judgements, lives: trial.lives, ledger: trial.ledger }
}

/// Carries out a finding's schedule once, in a world of that name, which is returned too, and what it took. A point that is not reached is tried
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
) -> Result<(Answer, World, Cost), CampaignError> {
    let (mut world, mut cost) = (stage.world(name)?, Cost::default());
    let restart = || Restart { interleaving: finding.interleaving, ..Restart::default() };
    let mut trial = stage.trial_from(finding.schedule.clone(), restart(), &world).await?.trial;
    cost.add(&trial.lives);
    for schedule in other_names(&finding.schedule, census) {
        if trial.end != TrialEnd::Unreached || stage.abort.is_set() {
            break;
        }
        // The old world goes before the new one of the same name is made.
        drop(world);
        world = stage.world(name)?;
        trial = stage.trial_from(schedule, restart(), &world).await?.trial;
        cost.add(&trial.lives);
    }
    let reached = is_reached(&trial);
    Ok((judged(expectation, finding, trial, reached), world, cost))
}

/// The same call counted from earlier anchors. A name that leaves parts open would count other calls as well.
fn other_names(schedule: &Schedule, census: &Census) -> Vec<Schedule> {
    let others = plan::single(schedule, census).schedules.into_iter();
    others.filter(|other| other != schedule && called(other) == called(schedule)).collect()
}

/// Keeps all findings of a campaign, several side by side, numbered from `before` on.
///
/// # Errors
/// As [`keep`].
pub async fn keep_all(
    place: Place<'_>,
    found: Vec<(Finding, Option<FindingImage>)>,
    before: usize,
) -> Result<(Vec<Finding>, Cost), CampaignError> {
    (place.desk.tell)(&Event::Planned { cell: place.stage.index, trials: found.len() as u64 });
    let numbered = found.into_iter().enumerate();
    let kept = stream::iter(numbered).map(|(index, (mut finding, image))| async move {
        let cost = keep(place, &mut finding, image, before + index + 1).await?;
        place.desk.note(&Event::FindingMade { cell: place.stage.index, finding: Box::new(finding.clone()) })?;
        Ok((finding, cost))
    });
    let kept: Vec<(Finding, Cost)> = kept.buffered(place.desk.options.jobs.max(1)).try_collect().await?;
    let mut all = Cost::default();
    for (_, cost) in &kept {
        all.lives += cost.lives;
        all.cpu_us += cost.cpu_us;
    }
    Ok((kept.into_iter().map(|(finding, _)| finding).collect(), all))
}

/// Gives a finding its id and its command, brings it back by a SIGKILL, and keeps the world of that trial and the crash image in its
/// folder.
///
/// # Errors
/// The trial could not be made, or the run folder cannot be written.
async fn keep(
    place: Place<'_>,
    finding: &mut Finding,
    image: Option<FindingImage>,
    number: usize,
) -> Result<Cost, CampaignError> {
    let Place { stage, desk, .. } = place;
    finding.id = format!("F{number}");
    let folder = desk.folder.finding_dir(&finding.id).map_err(CampaignError::Store)?;
    finding.repro = format!("killpoint replay {}", folder.display());
    let cost = if stage.abort.is_set() { Cost::default() } else { again(place, finding, &folder).await? };
    if let (Some(image), Some(store)) = (&image, place.store) {
        export(store, image, &folder)?;
    }
    let file = FindingFile {
        schema: FINDING_SCHEMA.to_owned(),
        killpoint_version: env!("CARGO_PKG_VERSION").to_owned(),
        scenario_file: desk.source.file.clone(),
        scenario_text: Some(desk.source.text.clone()),
        base_dir: stage.scenario.workflow().dir.clone(),
        seed: stage.scenario.campaign.seed,
        cell: stage.cell.clone(),
        scenario: (*stage.scenario).clone(),
        finding: finding.clone(),
        image,
    };
    desk.folder.write_finding(&file).map_err(CampaignError::Store)?;
    Ok(cost)
}

/// Copies an image into the store of a finding.
fn export(store: &ImageStore, image: &FindingImage, folder: &Path) -> Result<(), CampaignError> {
    let copy = || {
        let target = ImageStore::open(&FindingImage::store_in(folder))?;
        store.export(&image.shot.files.parse()?, &target)?;
        store.export_blob(&image.shot.ledger, &target)
    };
    copy().map_err(|error| CampaignError::Files {
        what: "the crash image of a finding could not be kept".to_owned(),
        source: Box::new(error),
    })
}

/// How often a finding is brought back before it is said that it did not come.
const AGAIN_TRIES: u32 = 3;

async fn again(place: Place<'_>, finding: &mut Finding, folder: &Path) -> Result<Cost, CampaignError> {
    let Place { stage, expectation, census, .. } = place;
    let mut cost = Cost::default();
    for _ in 0..AGAIN_TRIES {
        let name = format!("c{}-{}", stage.index, finding.id);
        let (answer, world, own) = answer(stage, expectation, finding, census, &name).await?;
        cost.lives += own.lives;
        cost.cpu_us += own.cpu_us;
        if answer.end == TrialEnd::Interrupted {
            return Ok(cost);
        }
        if answer.reproduced {
            finding.confirmed_by_sigkill = finding.schedule.kills() > 0;
            let target = folder.join("world");
            if target.exists() {
                let _ = std::fs::remove_dir_all(&target);
            }
            // The finding stands without its files: a workflow may make paths that nobody can copy.
            if let Err(error) = world.keep(&target) {
                let why = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
                finding.why.push(format!("not all files of its trial could be kept: {why}"));
            }
            return Ok(cost);
        }
    }
    let trials = finding.trials;
    finding.why.push(if finding.fault != Fault::Kill {
        format!("shown in {trials} trials, but not in {AGAIN_TRIES} more with this fault: the run differs from time to time")
    } else if finding.confirmed_by_sigkill {
        format!("shown in {trials} trials by SIGKILL, but not in {AGAIN_TRIES} more at this point: the order of threads differs from run to run")
    } else {
        format!("shown by image only: in {AGAIN_TRIES} trials by SIGKILL the threads did not come into this order again")
    });
    Ok(cost)
}
