//! The plan of a campaign: which crash points are tried, in which order, and under which names. It starts nothing and knows no
//! ledger; the same census, specification and seed give the same plan.
//!
//! **To add a strategy**, add a variant to [`Strategy`] and a branch to [`trials`]. Each trial is one point with one fault.

#[cfg(test)]
mod tests;
mod wire;

pub use wire::{WIRE_TRIALS_FROM, wire_trials};

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;

use crate::model::census::{Census, CensusPoint};
use crate::model::fault::Fault;
use crate::model::limits::POINT_TRIES_MAX;
use crate::model::point::Point;
use crate::model::scenario::{CampaignSpec, PointRange, Strategy};
use crate::model::schedule::{Schedule, Step};

/// Tries under a point's own name before its first alias: a point that is missed once is mostly met the next time.
const OWN_NAME_TRIES: usize = 2;

/// One trial that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedTrial {
    /// Its number in the campaign, from 0.
    pub trial: u64,
    /// Index of its point in the census.
    pub point: usize,
    /// What to carry out, one schedule for each try, until the point is reached; `POINT_TRIES_MAX` of them. The point's own
    /// name comes twice, then each alias, then all of that again.
    pub schedules: Vec<Schedule>,
}

/// The whole plan. See [`trials`].
#[must_use]
pub fn plan(census: &Census, spec: &CampaignSpec) -> Vec<PlannedTrial> {
    trials(census, spec).collect()
}

/// The trials one by one, for a plan that is too long to be kept. A sweep takes every point in the order of the clean run; a
/// sample draws `spec.trials` of them, none twice before all were drawn. A window without a promised effect has no points.
pub fn trials<'a>(census: &'a Census, spec: &'a CampaignSpec) -> impl Iterator<Item = PlannedTrial> + 'a {
    let targets = targets(census, spec);
    let count = match spec.strategy {
        Strategy::Sweep => targets.len() as u64,
        Strategy::Sample if targets.is_empty() => 0,
        Strategy::Sample => spec.trials,
    };
    let mut order = Order::new(targets, spec);
    (0..count).filter_map(move |trial| {
        let (point, fault) = order.next_target()?;
        Some(PlannedTrial { trial, point, schedules: schedules(census.points.get(point)?, fault) })
    })
}

/// How many trials [`trials`] gives.
#[must_use]
pub fn size(census: &Census, spec: &CampaignSpec) -> u64 {
    match targets(census, spec).len() as u64 {
        0 => 0,
        points if spec.strategy == Strategy::Sweep => points,
        _ => spec.trials,
    }
}

/// A plan of one schedule that somebody asked for. If it is one point that the census knows, it is tried under its other names
/// as well; a point that the census does not know stands at the census' end.
#[must_use]
pub fn single(schedule: &Schedule, census: &Census) -> PlannedTrial {
    let known = |point: &Point| {
        let is_named = |other: &CensusPoint| other.point == *point || other.aliases.contains(point);
        census.points.iter().position(is_named)
    };
    let first = schedule.0.first();
    let place = first.and_then(|step| known(&step.point));
    let asked = std::iter::repeat_n(schedule.clone(), POINT_TRIES_MAX as usize);
    let schedules = match (place.and_then(|place| census.points.get(place)), first) {
        (Some(point), Some(step)) if schedule.0.len() == 1 => {
            let others = schedules(point, step.fault);
            asked.take(OWN_NAME_TRIES).chain(others.into_iter().filter(|other| other != schedule)).collect()
        }
        _ => asked.collect(),
    };
    PlannedTrial { trial: 0, point: place.unwrap_or(census.points.len()), schedules }
}

/// Every point of the range, if a SIGKILL is to be tried, in the order of the clean run. Faults of the wire have a plan of their own.
fn targets(census: &Census, spec: &CampaignSpec) -> Vec<(usize, Fault)> {
    let first = match spec.points {
        PointRange::All => 0,
        PointRange::Window => census.window_start.unwrap_or(census.points.len()),
    };
    if !spec.faults.contains(&Fault::Kill) {
        return Vec::new();
    }
    (first..census.points.len()).map(|point| (point, Fault::Kill)).collect()
}

/// Hands out targets: in order, or shuffled anew in each round.
struct Order {
    targets: Vec<(usize, Fault)>,
    next: usize,
    draws: Option<ChaCha8Rng>,
}

impl Order {
    fn new(targets: Vec<(usize, Fault)>, spec: &CampaignSpec) -> Self {
        let draws = match spec.strategy {
            Strategy::Sweep => None,
            Strategy::Sample => Some(ChaCha8Rng::seed_from_u64(spec.seed)),
        };
        Self { targets, next: 0, draws }
    }

    fn next_target(&mut self) -> Option<(usize, Fault)> {
        if self.next == 0
            && let Some(draws) = &mut self.draws
        {
            self.targets.shuffle(draws);
        }
        let target = self.targets.get(self.next).copied();
        self.next = (self.next + 1) % self.targets.len().max(1);
        target
    }
}

fn schedules(point: &CensusPoint, fault: Fault) -> Vec<Schedule> {
    let own = std::iter::repeat_n(&point.point, OWN_NAME_TRIES);
    let names: Vec<&Point> = own.chain(&point.aliases).collect();
    let schedule = |name: &&Point| Schedule(vec![Step { point: (*name).clone(), fault }]);
    names.iter().cycle().take(POINT_TRIES_MAX as usize).map(schedule).collect()
}
