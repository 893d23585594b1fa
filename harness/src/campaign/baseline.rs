//! The clean run: it must keep its own promises, it lists every crash point, and it says what is expected of every trial.

use std::collections::BTreeMap;

use super::options::CampaignError;
use super::stage::Stage;
use crate::model::census::Census;
use crate::model::ledger::Request;
use crate::model::life::{Life, LifeEnd, Trial, TrialEnd};
use crate::model::promise::IntentSource;
use crate::model::schedule::Schedule;
use crate::model::verdict::{Judgement, Verdict};
use crate::oracle::{self, Expectation};

/// What the clean run of a cell showed.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// Its life.
    pub life: Life,
    /// Its ledger.
    pub ledger: Vec<Request>,
    /// The ledger of the second clean run, where there was one.
    pub second_ledger: Option<Vec<Request>>,
    /// What it was judged to be.
    pub judgements: Vec<Judgement>,
    /// Its crash points.
    pub census: Census,
    /// What differed between two clean runs.
    pub not_repeatable: Vec<String>,
}

/// Differences between two clean runs that are named.
const DIFFERENCES_SHOWN: usize = 20;

impl Baseline {
    /// What is expected of every trial.
    #[must_use]
    pub fn expectation(&self, stage: &Stage) -> Expectation {
        let ledgers: Vec<_> = std::iter::once(&self.ledger).chain(&self.second_ledger).cloned().collect();
        let accepts = stage.scenario.workflow().accept_declared_unknown;
        oracle::expect(&stage.scenario.promises, &ledgers).accepting_declared_unknown(accepts)
    }

    /// Why the clean run is no baseline; `None` if it is one.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        let broken: Vec<_> = self.judgements.iter().filter(|judgement| judgement.verdict != Verdict::Once).collect();
        let first = broken.first()?;
        let evidence = first.evidence.join("; ");
        Some(format!(
            "uninjured, {} of `{}` is {}: promised {}, observed {}{}{evidence}",
            first.intent,
            first.promise,
            first.verdict,
            first.expected,
            first.observed,
            if evidence.is_empty() { "" } else { "; " }
        ))
    }
}

/// Runs the workflow uninjured, twice where that is asked for or needed to learn what is volatile.
///
/// # Errors
/// It could not be run at all, or the campaign was interrupted.
pub async fn run(stage: &Stage) -> Result<Baseline, CampaignError> {
    let first = clean_run(stage, "baseline").await?;
    let mut baseline = Baseline {
        life: first.0.lives.last().cloned().ok_or_else(|| CampaignError::Bug("a trial without a life".to_owned()))?,
        ledger: first.0.ledger.clone(),
        second_ledger: None,
        judgements: Vec::new(),
        census: first.1,
        not_repeatable: Vec::new(),
    };
    let promises = &stage.scenario.promises;
    let is_auto = promises.is_empty() || promises.iter().any(|promise| promise.intent == IntentSource::Auto);
    if (stage.scenario.campaign.twice || is_auto) && first.0.end == TrialEnd::Done {
        let (second, census) = clean_run(stage, "baseline-2").await?;
        baseline.not_repeatable = differences(&baseline.census, &census);
        baseline.second_ledger = Some(second.ledger);
    }
    baseline.judgements = oracle::judge_baseline(&baseline.expectation(stage), &first.0);
    Ok(baseline)
}

async fn clean_run(stage: &Stage, name: &str) -> Result<(Trial, Census), CampaignError> {
    let world = stage.world(&format!("c{}-{name}", stage.index))?;
    // A clean run is one life: a workflow that is only done after a restart has not been shown to be right.
    let mut scenario = (*stage.scenario).clone();
    scenario.roles[0].lives_max = 1;
    let stage = Stage { scenario: scenario.into(), ..stage.clone() };
    let result = stage.trial(Schedule::default(), &world).await?;
    match &result.trial.end {
        TrialEnd::Interrupted => Err(CampaignError::Interrupted),
        // The workflow's own doing, not the machine's.
        TrialEnd::Environment { reason }
            if matches!(result.trial.lives.last(), Some(Life { end: LifeEnd::LimitHit { .. }, .. })) =>
        {
            Err(CampaignError::Baseline(reason.clone()))
        }
        TrialEnd::Environment { reason } => Err(CampaignError::Machine {
            reason: reason.clone(),
            hint: "`killpoint doctor` looks at what tracing needs".to_owned(),
        }),
        _ if !result.census_is_whole => {
            Err(CampaignError::Scenario("the workflow makes more state-changing calls than a census holds".to_owned()))
        }
        _ => Ok((result.trial, result.census)),
    }
}

/// Crash points that only one of two clean runs had, by their name without the count.
fn differences(first: &Census, second: &Census) -> Vec<String> {
    let count = |census: &Census| {
        let mut counts = BTreeMap::<String, usize>::new();
        for point in &census.points {
            let text = point.point.to_string();
            *counts.entry(text.rsplit_once('#').map_or(text.clone(), |(name, _)| name.to_owned())).or_default() += 1;
        }
        counts
    };
    let (first, second) = (count(first), count(second));
    let names: std::collections::BTreeSet<_> = first.keys().chain(second.keys()).collect();
    let of = |counts: &BTreeMap<String, usize>, name: &str| counts.get(name).copied().unwrap_or(0);
    let different = names.into_iter().filter(|name| of(&first, name) != of(&second, name));
    different
        .take(DIFFERENCES_SHOWN)
        .map(|name| format!("{name}: {} times, then {}", of(&first, name), of(&second, name)))
        .collect()
}
