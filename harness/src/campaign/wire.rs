//! What goes wrong between the workflow and the outside world: trials from the start, each with a fault at one of its requests.

use std::collections::BTreeMap;

use super::options::CampaignError;
use super::stage::Stage;
use super::sweep::{self, Swept};
use super::{Desk, confirm, findings};
use crate::model::census::Census;
use crate::model::event::Event;
use crate::model::fault::Fault;
use crate::model::finding::Finding;
use crate::model::report::WireCounts;
use crate::oracle::Expectation;
use crate::plan::{self, PlannedTrial};

/// What the trials with faults of the wire came to.
#[derive(Debug, Default)]
pub struct Wired {
    /// Their records.
    pub swept: Swept,
    /// How many there were to be.
    pub planned: u64,
    /// What they found.
    pub findings: Vec<Finding>,
    /// Counts, by fault.
    pub counts: Vec<WireCounts>,
    /// What it took to show the findings again.
    pub cost: confirm::Cost,
}

/// Carries out all trials with faults of the wire. `found` findings were numbered before.
///
/// # Errors
/// As of any sweep.
pub async fn run(
    stage: &Stage,
    desk: Desk<'_>,
    expectation: &Expectation,
    census: &Census,
    found: usize,
) -> Result<Wired, CampaignError> {
    let trials = match &desk.options.at {
        Some(schedule) if schedule.fault() == Fault::Kill => Vec::new(),
        Some(schedule) => vec![PlannedTrial { trial: plan::WIRE_TRIALS_FROM, ..plan::single(schedule, census) }],
        None => plan::wire_trials(census, &stage.scenario.campaign),
    };
    let planned = trials.len() as u64;
    if trials.is_empty() || stage.abort.is_set() {
        return Ok(Wired { planned, ..Wired::default() });
    }
    (desk.tell)(&Event::Planned { cell: stage.index, trials: planned });
    let plans: Vec<Fault> = trials.iter().filter_map(|trial| trial.schedules.first()).map(|schedule| schedule.fault()).collect();
    let swept = sweep::sweep(stage, expectation, census, trials.into_iter(), desk).await?;
    let grouped = findings::group(&stage.values(), census, &swept.records);
    let place = confirm::Place { stage, desk, expectation, census, store: None };
    let grouped = grouped.into_iter().map(|finding| (finding, None)).collect();
    let (findings, cost) = confirm::keep_all(place, grouped, found).await?;
    let counts = counts(&plans, &swept);
    Ok(Wired { swept, planned, findings, counts, cost })
}

/// For each fault how many trials there were to be, how many saw it happen, and in how many of these a promise was broken.
fn counts(plans: &[Fault], swept: &Swept) -> Vec<WireCounts> {
    let mut counts: BTreeMap<Fault, WireCounts> = BTreeMap::new();
    for fault in plans {
        let own = counts.entry(*fault).or_insert_with(|| WireCounts { fault: *fault, planned: 0, reached: 0, broken: 0 });
        own.planned += 1;
    }
    for record in swept.records.iter().filter(|record| record.reached) {
        if let Some(own) = counts.get_mut(&record.schedule.fault()) {
            own.reached += 1;
            own.broken += u64::from(record.judgements.iter().any(|judgement| judgement.verdict.is_finding()));
        }
    }
    counts.into_values().collect()
}
