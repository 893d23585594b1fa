//! Exploration: every distinct state is resumed once and judged, or told by the life of another one; with depth, the lives that resume are recorded and their states
//! are resumed in turn, until there is no new one.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use tokio::task::JoinSet;

use super::darkroom::Darkroom;
use super::film::reel;
use super::telling::{self, Teller};
use crate::campaign::Desk;
use crate::campaign::options::CampaignError;
use crate::campaign::stage::{Restart, Stage};
use crate::model::event::Event;
use crate::model::interleaving::Interleaving;
use crate::model::life::{Life, Trial, TrialEnd};
use crate::model::limits::STATES_PER_CAMPAIGN_MAX;
use crate::model::reel::{Reel, StateRecord};
use crate::model::report::DepthCounts;
use crate::model::schedule::Schedule;
use crate::model::shot::Shot;
use crate::oracle::{self, Expectation};
use crate::state::ImageStore;

/// What all states of a campaign share.
#[derive(Clone)]
pub struct Lab<'a> {
    /// The cell.
    pub stage: &'a Stage,
    /// What is expected of every trial.
    pub expectation: Arc<Expectation>,
    /// Where the images are.
    pub store: &'a Arc<ImageStore>,
    /// How many lives are crashed, at most.
    pub depth: u32,
    /// What the campaign was given.
    pub desk: Desk<'a>,
}

/// A state that is to be resumed.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its digest.
    pub state: String,
    /// One world of it.
    pub shot: Shot,
    /// The lives that led to it.
    pub past: Vec<Life>,
    /// The schedule that led to it.
    pub schedule: Schedule,
    /// The order of threads in its recording.
    pub interleaving: Interleaving,
    /// Its recording and what its folders mean: within one recording these states differ in their ledgers alone.
    pub kin: Option<(usize, String)>,
}

/// What exploring came to.
#[derive(Debug, Default)]
pub struct Explored {
    /// Every state, by its digest.
    pub states: HashMap<String, StateRecord>,
    /// The digest of each shot of each reel, the first recordings first; those of resumed lives follow.
    pub reels: Vec<(Reel, Vec<String>)>,
    /// Counts for each number of crashes.
    pub depths: Vec<DepthCounts>,
    /// How many states each of the first recordings was the first to show.
    pub news: Vec<u64>,
    /// Whether it was interrupted before its end.
    pub is_interrupted: bool,
    /// Why not every state was resumed.
    pub limit: Option<String>,
}

/// Characters of a state's digest in the name of its world.
const STATE_CHARS: usize = 16;

/// How often a state is resumed when the machine got in the way.
const ENVIRONMENT_TRIES: u32 = 2;

/// Explores from the first recordings. `wanted` says which points are asked for; `past` holds states that are done.
///
/// # Errors
/// A trial could not be made at all, or the run folder cannot be written.
pub async fn explore(
    lab: &Lab<'_>,
    darkroom: &Darkroom,
    reels: Vec<Reel>,
    wanted: impl Fn(&Reel, usize) -> bool,
    mut past: HashMap<String, StateRecord>,
) -> Result<Explored, CampaignError> {
    let mut out = Explored::default();
    let mut level = reels;
    let mut seen = HashSet::new();
    for depth in 1..=lab.depth {
        let (mut candidates, mut raw) = (Vec::new(), HashSet::new());
        let mut counts = DepthCounts { depth, ..DepthCounts::default() };
        for reel in std::mem::take(&mut level) {
            let digests = darkroom.digests(&reel.shots)?;
            let before = candidates.len();
            let mut points = HashSet::new();
            for (shot, state) in reel.shots.iter().zip(&digests).filter(|(shot, _)| depth > 1 || wanted(&reel, shot.point)) {
                points.insert(shot.point);
                raw.insert((shot.files.clone(), shot.ledger.clone()));
                if seen.insert(state.clone())
                    && let Some(schedule) = reel.schedule(shot.point)
                {
                    let (past, interleaving) = (reel.lives(shot), reel.interleaving);
                    let kin = darkroom.files(shot)?.map(|files| (out.reels.len(), files));
                    candidates.push(Candidate { state: state.clone(), shot: shot.clone(), past, schedule, interleaving, kin });
                }
            }
            counts.points += points.len() as u64;
            if depth == 1 {
                out.news.push((candidates.len() - before) as u64);
            }
            out.reels.push((reel, digests));
        }
        (counts.raw, counts.distinct) = (raw.len() as u64, candidates.len() as u64);
        out.depths.push(counts);
        if seen.len() > STATES_PER_CAMPAIGN_MAX {
            out.limit = Some(format!("more than {STATES_PER_CAMPAIGN_MAX} states"));
            break;
        }
        (lab.desk.tell)(&Event::Planned { cell: lab.stage.index, trials: candidates.len() as u64 });
        let records = try_all(lab, candidates, depth < lab.depth, &mut past).await?;
        if let Some(counts) = out.depths.last_mut() {
            counts.told = records.iter().filter(|record| record.told_by.is_some()).count() as u64;
        }
        out.is_interrupted |= records.iter().any(|record| record.end == TrialEnd::Interrupted);
        for record in records {
            level.extend(record.reel.as_deref().cloned());
            out.states.insert(record.state.clone(), record);
        }
        if out.is_interrupted || level.is_empty() {
            break;
        }
    }
    Ok(out)
}

/// Comes to know what becomes of each candidate; in their order. One of each kin is resumed, and the others are told by its life where that
/// is sound; then the rest is resumed.
async fn try_all(
    lab: &Lab<'_>,
    candidates: Vec<Candidate>,
    is_recorded: bool,
    past: &mut HashMap<String, StateRecord>,
) -> Result<Vec<StateRecord>, CampaignError> {
    let mut records: BTreeMap<usize, StateRecord> = BTreeMap::new();
    let can_tell = !is_recorded && telling::is_sound_for(&lab.stage.scenario);
    let (mut kins, mut first, mut others) = (HashSet::new(), Vec::new(), Vec::new());
    for (number, candidate) in candidates.into_iter().enumerate() {
        if let Some(record) = past.remove(&candidate.state) {
            (lab.desk.tell)(&Event::StateTried { cell: lab.stage.index, state: Box::new(record.clone()) });
            records.insert(number, record);
        } else if candidate.kin.clone().is_none_or(|kin| !can_tell || kins.insert(kin)) {
            first.push((number, candidate));
        } else {
            others.push((number, candidate));
        }
    }
    let mut tellers = HashMap::new();
    resume_all(lab, first, is_recorded, &mut records, &mut tellers).await?;
    let mut rest = Vec::new();
    for (number, candidate) in others {
        let teller = candidate.kin.as_ref().and_then(|kin| tellers.get(kin));
        let told = match teller {
            Some(teller) if !lab.stage.abort.is_set() => telling::tell(lab, teller, &candidate)?,
            _ => None,
        };
        match told {
            Some((record, trial)) => {
                keep(lab, &record, &trial)?;
                records.insert(number, record);
            }
            None => rest.push((number, candidate)),
        }
    }
    resume_all(lab, rest, is_recorded, &mut records, &mut HashMap::new()).await?;
    Ok(records.into_values().collect())
}

/// Resumes each of these, several side by side. `tellers` are those of a kin that came to their end, each with its trial.
async fn resume_all(
    lab: &Lab<'_>,
    candidates: Vec<(usize, Candidate)>,
    is_recorded: bool,
    records: &mut BTreeMap<usize, StateRecord>,
    tellers: &mut HashMap<(usize, String), Teller>,
) -> Result<(), CampaignError> {
    let (mut running, mut next) = (JoinSet::new(), candidates.into_iter());
    loop {
        while running.len() < lab.desk.options.jobs && !lab.stage.abort.is_set() {
            let Some((number, candidate)) = next.next() else { break };
            let (stage, expectation, store) = (lab.stage.clone(), lab.expectation.clone(), lab.store.clone());
            running.spawn(async move {
                let name = format!("c{}-s{}", stage.index, &candidate.state[..STATE_CHARS]);
                let tried = resume(&stage, &expectation, &store, &candidate, &name, is_recorded).await;
                tried.map(|(record, trial)| (number, candidate, record, trial))
            });
        }
        let Some(joined) = running.join_next().await else { break };
        let (number, candidate, record, trial) =
            joined.map_err(|error| CampaignError::Bug(format!("a resumed trial panicked: {error}")))??;
        if record.end != TrialEnd::Interrupted {
            keep(lab, &record, &trial)?;
        }
        records.insert(number, record);
        if let Some(kin) = candidate.kin.clone() {
            tellers.insert(kin, Teller { candidate, trial });
        }
    }
    if let Some((number, candidate)) = next.next() {
        records.insert(number, interrupted(candidate));
    }
    Ok(())
}

/// Writes down what became of a state.
fn keep(lab: &Lab<'_>, record: &StateRecord, trial: &Trial) -> Result<(), CampaignError> {
    lab.desk.folder.write_state(lab.stage.index, &record.state, trial).map_err(CampaignError::Store)?;
    lab.desk.note(&Event::StateTried { cell: lab.stage.index, state: Box::new(record.clone()) })
}

/// A state of which nothing is known yet.
pub fn interrupted(candidate: Candidate) -> StateRecord {
    StateRecord {
        state: candidate.state,
        depth: u32::try_from(candidate.past.len()).unwrap_or(u32::MAX),
        schedule: candidate.schedule,
        interleaving: candidate.interleaving,
        end: TrialEnd::Interrupted,
        lives: 0,
        cpu_us: 0,
        judgements: Vec::new(),
        keys_stable: BTreeMap::new(),
        told_by: None,
        reel: None,
    }
}

/// Resumes one state in a world of that name, which nobody else has, and judges what came of it.
///
/// # Errors
/// The trial could not be made at all.
pub async fn resume(
    stage: &Stage,
    expectation: &Expectation,
    store: &Arc<ImageStore>,
    candidate: &Candidate,
    name: &str,
    is_recorded: bool,
) -> Result<(StateRecord, Trial), CampaignError> {
    let (mut lives, mut cpu_us, mut tries) = (0, 0, 0);
    loop {
        let world = stage.restored(store, &candidate.shot, name).await?;
        let film = is_recorded.then(|| store.clone());
        let restart = Restart { interleaving: Interleaving::AsIs, past: candidate.past.clone(), film };
        let result = stage.trial_from(candidate.schedule.clone(), restart, &world).await?;
        let own = &result.trial.lives[candidate.past.len().min(result.trial.lives.len())..];
        lives += u32::try_from(own.len()).unwrap_or(u32::MAX);
        cpu_us += own.iter().map(|life| life.cpu_us).sum::<u64>();
        tries += 1;
        let is_troubled = matches!(result.trial.end, TrialEnd::Environment { .. });
        if is_troubled && tries < ENVIRONMENT_TRIES && !stage.abort.is_set() {
            continue;
        }
        let trial = result.trial.clone();
        let is_judged = !is_troubled && trial.end != TrialEnd::Interrupted;
        let record = StateRecord {
            lives,
            cpu_us,
            end: trial.end.clone(),
            judgements: if is_judged { oracle::judge(expectation, &trial) } else { Vec::new() },
            keys_stable: if is_judged { oracle::key_stability(expectation, &trial) } else { BTreeMap::new() },
            reel: if is_recorded { reel(Interleaving::AsIs, &candidate.past, result).map(Box::new) } else { None },
            ..interrupted(candidate.clone())
        };
        return Ok((record, trial));
    }
}
