//! Recordings: one uninjured life for each order of threads, with the world at each crash point.

use std::sync::Arc;

use tokio::task::JoinSet;

use crate::campaign::options::CampaignError;
use crate::campaign::stage::{Restart, Stage};
use crate::model::interleaving::Interleaving;
use crate::model::life::{Life, TrialEnd};
use crate::model::reel::Reel;
use crate::model::schedule::Schedule;
use crate::state::ImageStore;
use crate::trial::TrialResult;

/// Records an uninjured life in each of these orders, several side by side; in the order that was asked for.
///
/// # Errors
/// A life could not be run at all, or the campaign was interrupted.
pub async fn record(
    stage: &Stage,
    store: &Arc<ImageStore>,
    orders: &[Interleaving],
    jobs: usize,
) -> Result<Vec<Reel>, CampaignError> {
    let mut reels: Vec<(usize, Reel)> = Vec::new();
    let (mut running, mut next) = (JoinSet::new(), orders.iter().copied().enumerate());
    loop {
        while running.len() < jobs && !stage.abort.is_set() {
            let Some((index, order)) = next.next() else { break };
            let (stage, store) = (stage.clone(), store.clone());
            running.spawn(async move { Ok::<_, CampaignError>((index, one(&stage, &store, order, index).await?)) });
        }
        let Some(joined) = running.join_next().await else { break };
        reels.push(joined.map_err(|error| CampaignError::Bug(format!("a recording panicked: {error}")))??);
    }
    if stage.abort.is_set() {
        return Err(CampaignError::Interrupted);
    }
    reels.sort_by_key(|(index, _)| *index);
    Ok(reels.into_iter().map(|(_, reel)| reel).collect())
}

async fn one(stage: &Stage, store: &Arc<ImageStore>, order: Interleaving, index: usize) -> Result<Reel, CampaignError> {
    let world = stage.world(&format!("c{}-r{index}", stage.index))?;
    let restart = Restart { interleaving: order, past: Vec::new(), film: Some(store.clone()) };
    // A clean run is one life, as the baseline is.
    let result = stage.with_lives(1).trial_from(Schedule::default(), restart, &world).await?;
    if result.trial.end == TrialEnd::Interrupted {
        return Err(CampaignError::Interrupted);
    }
    reel(order, &[], result).ok_or_else(|| CampaignError::Bug("a recording without a life".to_owned()))
}

/// The reel of the first life that a trial ran after `past`.
#[must_use]
pub fn reel(interleaving: Interleaving, past: &[Life], result: TrialResult) -> Option<Reel> {
    let life = result.trial.lives.get(past.len())?.clone();
    let first = result.first;
    Some(Reel {
        interleaving,
        past: past.to_vec(),
        life,
        census: first.census,
        shots: first.shots,
        trouble: first.trouble,
        ledger: result.trial.ledger,
        end: result.trial.end,
        doers: first.doers,
    })
}
