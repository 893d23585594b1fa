//! The trials in which something goes wrong between the workflow and the outside world: each fault of the wire at each request that had
//! an effect in the clean run, and the failures that the scenario asks for.

use std::collections::BTreeSet;

use super::PlannedTrial;
use crate::model::census::Census;
use crate::model::fault::{Fault, WireFault};
use crate::model::limits::{POINT_TRIES_MAX, TRIALS_MAX};
use crate::model::point::{Moment, Point, WirePoint};
use crate::model::scenario::{CampaignSpec, StepFailure};
use crate::model::schedule::{Schedule, Step};

/// The number of the first of these trials: behind any that kills.
pub const WIRE_TRIALS_FROM: u64 = TRIALS_MAX;

/// All of them, in the order of the specification and then of the clean run. The same census and specification give the same plan.
#[must_use]
pub fn wire_trials(census: &Census, spec: &CampaignSpec) -> Vec<PlannedTrial> {
    let effects = effects(census);
    let mut tries: Vec<(usize, Vec<Schedule>)> = Vec::new();
    let mut seen = BTreeSet::new();
    for fault in &spec.faults {
        let Fault::Wire(fault) = *fault else { continue };
        if !seen.insert(fault) {
            continue;
        }
        for (index, effect, ordinal) in &effects {
            let at = |ordinal: u32| at(effect, ordinal, fault);
            let place = index_of(census, &at(*ordinal).point).unwrap_or(*index);
            if fault == WireFault::Hold {
                // A request that is still on its way when its client dies: the plainest case, and the only one where the client has no
                // time-out.
                let step = at(*ordinal);
                let kill = Step { point: step.point.clone(), fault: Fault::Kill };
                tries.push((place, vec![Schedule(vec![step, kill])]));
            }
            tries.push((place, vec![Schedule(vec![at(*ordinal)])]));
        }
    }
    tries.extend(spec.fail.iter().map(|failure| (place(&effects, failure), failing(failure))));
    let numbered = (WIRE_TRIALS_FROM..).zip(tries);
    numbered.map(|(trial, (point, schedules))| PlannedTrial { trial, point, schedules: repeated(&schedules) }).collect()
}

/// The requests that had an effect in the clean run: where they were executed, whose they are, and which of them.
fn effects(census: &Census) -> Vec<(usize, String, u32)> {
    let executed = |(index, own): (usize, &crate::model::census::CensusPoint)| match &own.point {
        Point::Wire(WirePoint { effect, ordinal, moment: Moment::Executed }) => Some((index, effect.clone(), *ordinal)),
        _ => None,
    };
    census.points.iter().enumerate().filter_map(executed).collect()
}

fn index_of(census: &Census, point: &Point) -> Option<usize> {
    census.points.iter().position(|own| own.point == *point)
}

fn at(effect: &str, ordinal: u32, fault: WireFault) -> Step {
    let point = Point::Wire(WirePoint { effect: effect.to_owned(), ordinal, moment: fault.moment() });
    Step { point, fault: Fault::Wire(fault) }
}

/// A request that the clean run does not have stands behind its end.
fn place(effects: &[(usize, String, u32)], failure: &StepFailure) -> usize {
    let own = effects.iter().find(|(_, effect, ordinal)| *effect == failure.effect && *ordinal == failure.at);
    own.or_else(|| effects.last()).map_or(0, |(index, _, _)| *index)
}

/// The schedules of a failure that comes so often in a row: as often as it is asked for, then less often, because a workflow that gives
/// up earlier does not send so many requests in one life.
fn failing(failure: &StepFailure) -> Vec<Schedule> {
    let fault = WireFault::ErrorBeforeCommit { status: failure.status };
    let times = |times: u32| (0..times).map(|more| at(&failure.effect, failure.at.saturating_add(more), fault)).collect();
    (1..=failure.times).rev().map(|count| Schedule(times(count))).collect()
}

/// Each a few times, because a request that did not come once mostly comes the next time.
fn repeated(schedules: &[Schedule]) -> Vec<Schedule> {
    let times = (POINT_TRIES_MAX as usize).div_ceil(2).max(1);
    if schedules.len() > 1 {
        return schedules.to_vec();
    }
    schedules.iter().flat_map(|schedule| std::iter::repeat_n(schedule.clone(), times)).collect()
}
