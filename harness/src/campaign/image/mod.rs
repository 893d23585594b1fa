//! The campaign of one cell from crash images: recordings in several orders of threads, distinct states, one resume for each,
//! findings. Points whose world could not be kept are tried by a SIGKILL.
//!
//! * `fitness`: whether images are sound for a workflow.
//! * `film`: recordings.
//! * `darkroom`: which states are one.
//! * `explore`: resumes.
//! * `telling`: what need not be resumed.
//! * `tracks`: what that says of each point.
//! * `check`: whether states that were taken as one really are.

mod check;
mod darkroom;
mod explore;
pub mod film;
pub mod fitness;
mod telling;
mod tracks;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::Desk;
use super::baseline::Baseline;
use super::findings::{self, Told};
use super::options::CampaignError;
use super::stage::Stage;
use super::sweep::{self, Swept};
use crate::model::event::{Event, TrialRecord};
use crate::model::finding::Finding;
use crate::model::interleaving::Interleaving;
use crate::model::reel::{Reel, StateRecord};
use crate::model::report::{ClassCheck, DepthCounts, OrderCounts};
use crate::model::scenario::{Dedup, PointRange};
use crate::model::schedule::Schedule;
use crate::oracle::{self, Expectation};
use crate::plan;
use crate::state::ImageStore;
use crate::store::FindingImage;
use darkroom::Darkroom;
use explore::{Explored, Lab};

/// What a campaign from images came to.
#[derive(Debug, Default)]
pub struct Developed {
    /// The records of the plainest recording's points, of a clean run's order.
    pub swept: Swept,
    /// The records of all other recordings.
    pub others: Vec<TrialRecord>,
    /// How many points were planned.
    pub planned: u64,
    /// What was found, the worst first; ids are not given yet.
    pub findings: Vec<(Finding, Option<FindingImage>)>,
    /// States at each number of crashes.
    pub depths: Vec<DepthCounts>,
    /// The orders that were recorded.
    pub orders: Vec<OrderCounts>,
    /// A check of merged states.
    pub check: Option<ClassCheck>,
    /// What keeps the cell from being called clean, beyond its records.
    pub doubts: Vec<String>,
    /// Lives that recordings took, without the clean run's.
    pub recorded_lives: u64,
    /// Lives that resumed states took.
    pub resumed_lives: u64,
    /// CPU time of all these, in microseconds.
    pub cpu_us: u64,
}

/// Carries out the campaign of one cell from images. `first` is the clean run's recording.
///
/// # Errors
/// A trial could not be made at all, or the run folder cannot be written.
pub async fn develop(
    stage: &Stage,
    expectation: &Expectation,
    baseline: &Baseline,
    first: Reel,
    store: &Arc<ImageStore>,
    desk: Desk<'_>,
) -> Result<Developed, CampaignError> {
    let spec = &stage.scenario.campaign;
    let reels = recordings(stage, store, first, desk).await?;
    let doubts = doubts(expectation, &reels);
    let dedup = spec.dedup;
    let (room_store, room_reels) = (store.clone(), reels.clone());
    let darkroom = tokio::task::spawn_blocking(move || Darkroom::new(dedup, &room_store, &room_reels));
    let darkroom = darkroom.await.map_err(|error| CampaignError::Bug(format!("the darkroom panicked: {error}")))??;
    let lab = Lab { stage, expectation: Arc::new(expectation.clone()), store, depth: spec.depth, desk };
    let range = spec.points;
    let is_wanted = move |reel: &Reel, point: usize| match range {
        PointRange::All => true,
        // A life that resumes after a crash is asked for as a whole.
        PointRange::Window if !reel.past.is_empty() => true,
        PointRange::Window => reel.census.window_start.is_some_and(|start| point >= start),
    };
    let reel_count = reels.len() as u64;
    let explored = explore::explore(&lab, &darkroom, reels, is_wanted, past_states(desk.past, stage.index)).await?;
    let check = if desk.options.class_check > 0 && dedup != Dedup::None && !explored.is_interrupted {
        Some(check::classes(&lab, &explored, desk.options.class_check, spec.seed).await?)
    } else {
        None
    };
    let mut developed = sum_up(stage, baseline, &explored, doubts, is_wanted);
    developed.check = check;
    developed.recorded_lives = reel_count - 1;
    unpictured(stage, expectation, baseline, &explored, desk, &mut developed).await?;
    Ok(developed)
}

/// The recordings: the clean run's, and one for each further order. A workflow in which one thread does everything has one order.
async fn recordings(stage: &Stage, store: &Arc<ImageStore>, first: Reel, desk: Desk<'_>) -> Result<Vec<Reel>, CampaignError> {
    let spec = &stage.scenario.campaign;
    let mut orders: Vec<Interleaving> = Vec::new();
    if first.doers > 1 {
        orders.extend(spec.interleavings.iter().filter(|order| **order != Interleaving::AsIs));
    }
    if orders.is_empty() && spec.depth > 1 && spec.dedup == Dedup::Logical {
        // What is volatile is learned from two clean runs.
        orders.push(Interleaving::AsIs);
    }
    let mut known: Vec<Reel> = past_reels(desk.past, stage.index);
    known.retain(|reel| *reel != first);
    orders.retain(|order| !known.iter().any(|reel| reel.interleaving == *order));
    let new = film::record(stage, store, &orders, desk.options.jobs).await?;
    for reel in &new {
        desk.note(&Event::Recorded { cell: stage.index, reel: Box::new(reel.clone()) })?;
    }
    let mut reels = vec![first];
    reels.extend(known);
    reels.extend(new);
    Ok(reels)
}

/// The recordings of a cell that a run that was cut off had made.
#[must_use]
pub fn past_reels(past: &[Event], index: usize) -> Vec<Reel> {
    let own = past.iter().filter_map(|event| match event {
        Event::Recorded { cell, reel } if *cell == index => Some((**reel).clone()),
        _ => None,
    });
    own.collect()
}

fn past_states(past: &[Event], index: usize) -> HashMap<String, StateRecord> {
    let own = past.iter().filter_map(|event| match event {
        Event::StateTried { cell, state } if *cell == index => Some((state.state.clone(), (**state).clone())),
        _ => None,
    });
    own.collect()
}

/// Recordings that break a promise although nobody injured them: in that order of threads the workflow is wrong without a crash.
fn doubts(expectation: &Expectation, reels: &[Reel]) -> Vec<String> {
    let mut doubts = Vec::new();
    for reel in reels.iter().skip(1) {
        let trial = crate::model::life::Trial {
            schedule: Schedule::default(),
            lives: vec![reel.life.clone()],
            ledger: reel.ledger.clone(),
            end: reel.end.clone(),
            gaps: Vec::new(),
        };
        let judged = oracle::judge_baseline(expectation, &trial);
        if let Some(broken) = judged.iter().find(|judgement| !judgement.verdict.is_kept()) {
            doubts.push(format!(
                "uninjured, in the order `{}`, {} of `{}` is {}: promised {}, observed {}",
                reel.interleaving, broken.intent, broken.promise, broken.verdict, broken.expected, broken.observed
            ));
        }
        if let Some(reason) = fitness::objection(&reel.life.notices) {
            doubts.push(format!("in the order `{}` images are not sound: {reason}", reel.interleaving));
        }
    }
    doubts
}

fn sum_up(
    stage: &Stage,
    baseline: &Baseline,
    explored: &Explored,
    doubts: Vec<String>,
    is_wanted: impl Fn(&Reel, usize) -> bool,
) -> Developed {
    let tracks = tracks::tracks(stage.index, explored, is_wanted);
    let told = tracks.iter().map(|track| Told {
        interleaving: track.reel.interleaving,
        prefix: track.reel.prefix(),
        findings: findings::group(&stage.values(), &track.reel.census, &track.records),
    });
    let found = findings::merge(told.collect());
    let findings = found.into_iter().map(|finding| {
        let image = image_of(explored, &finding);
        (finding, image)
    });
    let mut developed =
        Developed { findings: findings.collect(), depths: explored.depths.clone(), doubts, ..Developed::default() };
    developed.doubts.extend(explored.limit.clone());
    developed.resumed_lives = explored.states.values().map(|state| u64::from(state.lives)).sum();
    developed.cpu_us = explored.states.values().map(|state| state.cpu_us).sum();
    developed.orders = orders(explored);
    // The plainest recording's are tried by a SIGKILL; those of another order would not come again.
    let missing = developed.orders.iter().skip(1).filter(|order| order.unpictured > 0 && !explored.is_interrupted);
    developed.doubts.extend(missing.map(|order| {
        format!("{} points of the order `{}` were not tried: their world could not be kept", order.unpictured, order.interleaving)
    }));
    let mut tracks = tracks.into_iter();
    if let Some(first) = tracks.next() {
        developed.swept.records = first.records;
    }
    developed.swept.is_interrupted = explored.is_interrupted;
    developed.others = tracks.flat_map(|track| track.records).collect();
    developed.planned = plan::size(&baseline.census, &stage.scenario.campaign);
    developed
}

fn orders(explored: &Explored) -> Vec<OrderCounts> {
    let first = explored.reels.iter().zip(&explored.news);
    let count = |((reel, _), news): (&(Reel, Vec<String>), &u64)| {
        let pictured: BTreeSet<usize> = reel.shots.iter().map(|shot| shot.point).collect();
        OrderCounts {
            interleaving: reel.interleaving,
            points: reel.census.points.len() as u64,
            unpictured: (reel.census.points.len() - pictured.len().min(reel.census.points.len())) as u64,
            new_states: *news,
        }
    };
    first.map(count).collect()
}

/// The image that brings a finding back.
fn image_of(explored: &Explored, finding: &Finding) -> Option<FindingImage> {
    let fails = |state: &StateRecord| {
        state.judgements.iter().any(|judged| {
            judged.promise == finding.promise && judged.verdict == finding.verdict && finding.intents.contains(&judged.intent)
        })
    };
    let (reel, shot) = tracks::shot_of(explored, &finding.schedule, finding.interleaving, fails)?;
    Some(FindingImage { shot: shot.clone(), past: reel.lives(shot) })
}

/// Tries the points of the plainest recording whose world could not be kept by a SIGKILL.
async fn unpictured(
    stage: &Stage,
    expectation: &Expectation,
    baseline: &Baseline,
    explored: &Explored,
    desk: Desk<'_>,
    developed: &mut Developed,
) -> Result<(), CampaignError> {
    let Some((first, _)) = explored.reels.first() else { return Ok(()) };
    let pictured: BTreeSet<usize> = first.shots.iter().map(|shot| shot.point).collect();
    let spec = &stage.scenario.campaign;
    let missing: Vec<_> = plan::trials(&baseline.census, spec).filter(|planned| !pictured.contains(&planned.point)).collect();
    if missing.is_empty() || stage.abort.is_set() {
        return Ok(());
    }
    if let Some(trouble) = &first.trouble {
        (desk.tell)(&Event::Warning { message: format!("{} points are tried by a SIGKILL: {trouble}", missing.len()) });
    }
    (desk.tell)(&Event::Planned { cell: stage.index, trials: missing.len() as u64 });
    let swept = sweep::sweep(stage, expectation, &baseline.census, missing.into_iter(), desk).await?;
    let mut killed = findings::group(&stage.values(), &baseline.census, &swept.records);
    // What images have shown is told from there.
    killed.retain(|finding| {
        !developed
            .findings
            .iter()
            .any(|(known, _)| (&known.promise, known.verdict, known.cause) == (&finding.promise, finding.verdict, finding.cause))
    });
    developed.findings.extend(killed.into_iter().map(|finding| (finding, None)));
    developed.swept.is_interrupted |= swept.is_interrupted;
    developed.swept.records.extend(swept.records);
    Ok(())
}
