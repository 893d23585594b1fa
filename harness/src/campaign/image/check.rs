//! The class check: resumes all members of some classes of states that were taken as one and compares their verdicts. A difference is
//! a bug of killpoint: two states were merged that are not one, or one was told what becomes of another.

use std::collections::{BTreeMap, BTreeSet};

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use tokio::task::JoinSet;

use super::explore::{self, Candidate, Explored, Lab};
use crate::campaign::options::CampaignError;
use crate::model::life::TrialEnd;
use crate::model::reel::StateRecord;
use crate::model::report::ClassCheck;
use crate::model::shot::Shot;

/// What of a verdict must be equal: by promise and intent.
type Verdicts = BTreeSet<(String, String, String)>;

/// Checks so many classes of more than one member, drawn by a seed.
///
/// # Errors
/// A trial could not be made at all.
pub async fn classes(lab: &Lab<'_>, explored: &Explored, count: usize, seed: u64) -> Result<ClassCheck, CampaignError> {
    let mut members: BTreeMap<&str, Vec<Candidate>> = BTreeMap::new();
    for (reel, digests) in &explored.reels {
        for (shot, state) in reel.shots.iter().zip(digests) {
            let Some(schedule) = reel.schedule(shot.point).filter(|_| explored.states.contains_key(state)) else { continue };
            let class = members.entry(state).or_default();
            let is_known = |other: &Candidate| bytes(&other.shot) == bytes(shot);
            if !class.iter().any(is_known) {
                let (past, interleaving) = (reel.lives(shot), reel.interleaving);
                class.push(Candidate { state: state.clone(), shot: shot.clone(), past, schedule, interleaving, kin: None });
            }
        }
    }
    // A state that another one's life told is resumed itself.
    let is_told = |state: &str| explored.states.get(state).is_some_and(|record| record.told_by.is_some());
    let mut classes: Vec<(&str, Vec<Candidate>)> =
        members.into_iter().filter(|(state, class)| class.len() > 1 || is_told(state)).collect();
    classes.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    let mut check = ClassCheck::default();
    for (state, class) in classes.into_iter().take(count) {
        let Some(known) = explored.states.get(state) else { continue };
        let (members, mut is_whole) = (class.len() as u64, true);
        let mut running = JoinSet::new();
        let mut rest = class.into_iter().enumerate();
        loop {
            while running.len() < lab.desk.options.jobs
                && let Some((number, member)) = rest.next()
            {
                let name = format!("c{}-check-{number}", lab.stage.index);
                let (stage, expectation, store) = (lab.stage.clone(), lab.expectation.clone(), lab.store.clone());
                running.spawn(async move { explore::resume(&stage, &expectation, &store, &member, &name, false).await });
            }
            let Some(joined) = running.join_next().await else { break };
            let (record, _) = joined.map_err(|error| CampaignError::Bug(format!("a check panicked: {error}")))??;
            check.lives += u64::from(record.lives);
            if record.end == TrialEnd::Interrupted {
                is_whole = false;
            } else if verdicts(&record) != verdicts(known) {
                check.disagreements.push(format!(
                    "a world at {} was taken for that at {}, but comes to {} instead of {}",
                    record.schedule,
                    known.schedule,
                    words(&record),
                    words(known)
                ));
            }
        }
        if is_whole {
            check.classes += 1;
            check.members += members;
        }
    }
    Ok(check)
}

fn bytes(shot: &Shot) -> (&str, &str) {
    (&shot.files, &shot.ledger)
}

fn verdicts(record: &StateRecord) -> Verdicts {
    let one =
        |judged: &crate::model::verdict::Judgement| (judged.promise.clone(), judged.intent.clone(), judged.verdict.to_string());
    record.judgements.iter().map(one).collect()
}

fn words(record: &StateRecord) -> String {
    let each = verdicts(record).into_iter().map(|(promise, intent, verdict)| format!("{verdict} for {intent} of {promise}"));
    let text = each.collect::<Vec<_>>().join(", ");
    if text.is_empty() { format!("{:?}", record.end) } else { text }
}
