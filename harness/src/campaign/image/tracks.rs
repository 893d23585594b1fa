//! Tracks: what the states say of each crash point of a recording, as records of trials from which findings are made.

use std::collections::HashMap;

use super::explore::Explored;
use crate::model::event::TrialRecord;
use crate::model::life::TrialEnd;
use crate::model::reel::{Reel, StateRecord};

/// A recording and the records of its points.
#[derive(Debug)]
pub struct Track<'a> {
    /// The recording.
    pub reel: &'a Reel,
    /// One record for each shot of a point that was asked for.
    pub records: Vec<TrialRecord>,
}

/// The tracks of all recordings, the plainest first. `wanted` says which points were asked for: one that was not may well have a state
/// that is known from another point.
#[must_use]
pub fn tracks(cell: usize, explored: &Explored, wanted: impl Fn(&Reel, usize) -> bool) -> Vec<Track<'_>> {
    let mut trial = 0;
    let track = |(reel, digests): &'_ (Reel, Vec<String>)| {
        let shots = reel.shots.iter().zip(digests).filter(|(shot, _)| wanted(reel, shot.point));
        let records = shots.filter_map(|(shot, digest)| {
            let record = record(cell, trial, reel, shot.point, explored.states.get(digest)?)?;
            trial += 1;
            Some(record)
        });
        records.collect::<Vec<_>>()
    };
    let records: Vec<_> = explored.reels.iter().map(track).collect();
    explored.reels.iter().zip(records).map(|((reel, _), records)| Track { reel, records }).collect()
}

fn record(cell: usize, trial: u64, reel: &Reel, point: usize, state: &StateRecord) -> Option<TrialRecord> {
    if state.end == TrialEnd::Interrupted {
        return None;
    }
    Some(TrialRecord {
        cell,
        trial,
        point,
        interleaving: reel.interleaving,
        state: Some(state.state.clone()),
        schedule: reel.schedule(point)?,
        tries: 1,
        // Its world was kept with every thread stopped there; a machine that got in the way says nothing.
        reached: !matches!(state.end, TrialEnd::Environment { .. }),
        end: state.end.clone(),
        // Lives are counted once for each state, not for each of its points.
        lives: 0,
        cpu_us: 0,
        judgements: state.judgements.clone(),
        keys_stable: state.keys_stable.clone(),
    })
}

/// The first recording and shot that led to a state by this schedule.
#[must_use]
pub fn shot_of<'a>(
    explored: &'a Explored,
    schedule: &crate::model::schedule::Schedule,
    interleaving: crate::model::interleaving::Interleaving,
    is_wanted: impl Fn(&StateRecord) -> bool,
) -> Option<(&'a Reel, &'a crate::model::shot::Shot)> {
    let states: &HashMap<String, StateRecord> = &explored.states;
    explored.reels.iter().filter(|(reel, _)| reel.interleaving == interleaving).find_map(|(reel, digests)| {
        let mut shots = reel.shots.iter().zip(digests);
        let own = |shot: &crate::model::shot::Shot| reel.schedule(shot.point).as_ref() == Some(schedule);
        shots.find(|(shot, digest)| own(shot) && states.get(*digest).is_some_and(&is_wanted)).map(|(shot, _)| (reel, shot))
    })
}
