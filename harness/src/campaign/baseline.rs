//! The clean run: it must keep its own promises, it lists every crash point, and it says what is expected of every trial.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::image::film;
use super::options::CampaignError;
use super::stage::{Restart, Stage};
use crate::model::call::Notice;
use crate::model::census::Census;
use crate::model::interleaving::Interleaving;
use crate::model::ledger::Request;
use crate::model::life::{Life, LifeEnd, TrialEnd};
use crate::model::promise::IntentSource;
use crate::model::reel::Reel;
use crate::model::schedule::Schedule;
use crate::model::verdict::{Judgement, Verdict};
use crate::oracle::{self, Expectation};
use crate::state::ImageStore;
use crate::trial::TrialResult;

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
        let refused = refused(&self.life).map(|told| format!("; {told}")).unwrap_or_default();
        Some(format!(
            "uninjured, {} of `{}` is {}: promised {}, observed {}{}{evidence}{refused}",
            first.intent,
            first.promise,
            first.verdict,
            first.expected,
            first.observed,
            if evidence.is_empty() { "" } else { "; " }
        ))
    }
}

/// What a life was refused because its trial has a network of its own, with what to do about it; `None`: nothing.
#[must_use]
pub fn refused(life: &Life) -> Option<String> {
    let names = life
        .notices
        .iter()
        .filter_map(|notice| if let Notice::Refused { object } = notice { Some(object.as_str()) } else { None });
    let names: Vec<_> = names.collect();
    (!names.is_empty()).then(|| {
        let names = names.join(", ");
        format!("it was refused {names}, because a trial has a network of its own; hint: `--network host`, or `network = \"host\"` under `[workflow]`, lets it through")
    })
}

/// Runs the workflow uninjured, twice where that is asked for or needed to learn what is volatile.
///
/// # Errors
/// It could not be run at all, or the campaign was interrupted.
pub async fn run(stage: &Stage) -> Result<Baseline, CampaignError> {
    Ok(record(stage, None).await?.0)
}

/// The same, with the world kept at each point of the first clean run where there is a store for it.
///
/// # Errors
/// As [`run`].
pub async fn record(stage: &Stage, film: Option<&Arc<ImageStore>>) -> Result<(Baseline, Option<Reel>), CampaignError> {
    let first = clean_run(stage, "baseline", film).await?;
    let mut baseline = Baseline {
        life: first.trial.lives.first().cloned().ok_or_else(|| CampaignError::Bug("a trial without a life".to_owned()))?,
        ledger: first.trial.ledger.clone(),
        second_ledger: None,
        judgements: Vec::new(),
        census: first.first.census.clone(),
        not_repeatable: Vec::new(),
    };
    let promises = &stage.scenario.promises;
    let is_auto = promises.is_empty() || promises.iter().any(|promise| promise.intent == IntentSource::Auto);
    if (stage.scenario.campaign.twice || is_auto) && first.trial.end == TrialEnd::Done {
        let second = clean_run(stage, "baseline-2", None).await?;
        baseline.not_repeatable = differences(&baseline.census, &second.first.census);
        baseline.second_ledger = Some(second.trial.ledger);
    }
    baseline.judgements = oracle::judge_baseline(&baseline.expectation(stage), &first.trial);
    let reel = if film.is_some() { film::reel(Interleaving::AsIs, &[], first) } else { None };
    Ok((baseline, reel))
}

async fn clean_run(stage: &Stage, name: &str, film: Option<&Arc<ImageStore>>) -> Result<TrialResult, CampaignError> {
    let world = stage.world(&format!("c{}-{name}", stage.index))?;
    // A clean run is one life: a workflow that is only done after a restart has not been shown to be right.
    let restart = Restart { film: film.cloned(), ..Restart::default() };
    let result = stage.with_lives(1).trial_from(Schedule::default(), restart, &world).await?;
    match &result.trial.end {
        TrialEnd::Interrupted => Err(CampaignError::Interrupted),
        // The workflow's own doing, not the machine's.
        TrialEnd::Environment { reason }
            if matches!(result.trial.lives.last(), Some(Life { end: LifeEnd::LimitHit { .. }, .. })) =>
        {
            Err(CampaignError::Baseline(reason.clone()))
        }
        // What comes before the first life has failed.
        TrialEnd::Environment { reason } if result.trial.lives.is_empty() => Err(CampaignError::Scenario(reason.clone())),
        TrialEnd::Environment { reason } => Err(CampaignError::Machine {
            reason: reason.clone(),
            hint: "`killpoint doctor` looks at what tracing needs".to_owned(),
        }),
        _ if !result.first.census_is_whole => {
            Err(CampaignError::Scenario("the workflow makes more state-changing calls than a census holds".to_owned()))
        }
        _ => Ok(result),
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
