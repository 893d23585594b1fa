//! Reels and states: a recorded life with the world at its crash points, and what became of one such world when it was resumed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::census::Census;
use super::fault::Fault;
use super::interleaving::Interleaving;
use super::ledger::Request;
use super::life::{Life, TrialEnd};
use super::point::Point;
use super::schedule::{Schedule, Step};
use super::shot::Shot;
use super::verdict::Judgement;

/// A recorded life.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reel {
    /// The order of its threads.
    pub interleaving: Interleaving,
    /// The lives before it, each as it stood when it was crashed.
    pub past: Vec<Life>,
    /// The life.
    pub life: Life,
    /// Its crash points.
    pub census: Census,
    /// The world at them; a point may have two, or none.
    pub shots: Vec<Shot>,
    /// The first thing that kept a shot from being taken.
    pub trouble: Option<String>,
    /// The ledger at its end.
    pub ledger: Vec<Request>,
    /// How it ended.
    pub end: TrialEnd,
    /// How many threads changed something.
    pub doers: usize,
}

impl Reel {
    /// The crashes of the lives before it.
    #[must_use]
    pub fn prefix(&self) -> Schedule {
        let points = self.past.iter().filter_map(|life| life.target.clone());
        Schedule(points.map(|point| Step { point, fault: Fault::Kill }).collect())
    }

    /// The schedule that ends at one of its points.
    #[must_use]
    pub fn schedule(&self, point: usize) -> Option<Schedule> {
        let point = self.census.points.get(point)?.point.clone();
        let mut steps = self.prefix().0;
        steps.push(Step { point, fault: Fault::Kill });
        Some(Schedule(steps))
    }

    /// The lives of a trial that was crashed at a shot of this reel.
    #[must_use]
    pub fn lives(&self, shot: &Shot) -> Vec<Life> {
        let point: Option<Point> = self.census.points.get(shot.point).map(|own| own.point.clone());
        let mut lives = self.past.clone();
        lives.push(Life {
            target: point,
            reached: true,
            end: super::life::LifeEnd::Killed,
            wall_us: shot.at_us,
            // What it did and said later belongs to a life that was not crashed.
            output_tail: Vec::new(),
            reconciles: false,
            ..self.life.clone()
        });
        lives
    }
}

/// A distinct durable state and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateRecord {
    /// The digest by which it is told from others.
    pub state: String,
    /// How many lives were crashed before it was resumed.
    pub depth: u32,
    /// The first schedule that led to it.
    pub schedule: Schedule,
    /// The order of threads of that recording.
    pub interleaving: Interleaving,
    /// Why its trial ended.
    pub end: TrialEnd,
    /// How many lives its trial took after the crash.
    pub lives: u32,
    /// CPU time of those lives, in microseconds.
    pub cpu_us: u64,
    /// What the oracles say, per intent.
    pub judgements: Vec<Judgement>,
    /// For each effect that was asked for again in a later life: whether its key stayed the same.
    pub keys_stable: BTreeMap<String, bool>,
    /// The state whose life told what becomes of this one: it has the same files, and another ledger that gave the same answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_by: Option<String>,
    /// The recording of its first life after the crash, where the crashes of that one are tried as well.
    pub reel: Option<Box<Reel>>,
}
