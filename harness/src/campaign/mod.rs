//! A campaign: baseline, census, plan, trials, findings; and what stands beside it: the list of points, and replay.
//!
//! A run is one campaign for each cell of a scenario's matrix. Everything that happens is told as an [`Event`].

mod assemble;
mod baseline;
mod confirm;
pub mod findings;
pub mod options;
mod setup;
mod stage;
mod summary;
mod sweep;

use std::sync::Arc;
use std::time::Instant;

pub use options::{Abort, Answer, CampaignError, CellPoints, Options, Source, Tell};

use crate::model::event::{Event, TrialRecord};
use crate::model::report::Report;
use crate::model::scenario::Scenario;
use crate::plan::{self, PlannedTrial};
use crate::state::Worlds;
use crate::store::{FindingFile, RunFolder};
use crate::tracer::{Ability, probe};
use assemble::{Opening, Tally};
use baseline::Baseline;
use stage::Stage;
use summary::CellResult;

/// Runs all campaigns of a scenario into a run folder. Where the folder holds events of a run that was cut off, trials that
/// are done are not done again.
///
/// # Errors
/// The scenario cannot be carried out at all: setup failed, a program is missing, this machine cannot trace, the folder cannot be written.
pub async fn run(
    scenario: &Scenario,
    source: &Source,
    options: &Options,
    folder: &RunFolder,
    tell: Tell,
    abort: &Abort,
) -> Result<Report, CampaignError> {
    let started = Instant::now();
    let past = folder.events().map_err(CampaignError::Store)?;
    let note = |event: Event| -> Result<(), CampaignError> {
        folder.append(&event).map_err(CampaignError::Store)?;
        tell(&event);
        Ok(())
    };
    // Findings are made anew from all trials; those of a part of them may not be among them.
    folder.clear_findings().map_err(CampaignError::Store)?;
    let opening = Opening::of(scenario, source, &past);
    let stages = stages(scenario, options, &tell, abort).await?;
    note(opening.event(stages.len()))?;
    let mut tally = Tally::new(opening);
    for stage in &stages {
        if abort.is_set() {
            break;
        }
        note(Event::CellStarted { cell: stage.index, values: stage.values() })?;
        let result = match cell(stage, source, options, folder, &tell, &past, tally.findings()).await {
            Err(CampaignError::Interrupted) => break,
            other => other?,
        };
        let summary = Box::new(result.summary.clone());
        note(Event::CellFinished { cell: stage.index, summary })?;
        tally.add(result);
    }
    let is_interrupted = abort.is_set();
    note(if is_interrupted { Event::Interrupted } else { Event::RunFinished })?;
    let report = tally.report(started.elapsed(), is_interrupted, stages.len());
    folder.write_report(&report).map_err(CampaignError::Store)?;
    Ok(report)
}

/// Runs only the baselines and returns their crash points.
///
/// # Errors
/// As [`run`].
pub async fn points(scenario: &Scenario, options: &Options, tell: Tell, abort: &Abort) -> Result<Vec<CellPoints>, CampaignError> {
    let mut cells = Vec::new();
    for stage in stages(scenario, options, &tell, abort).await? {
        tell(&Event::CellStarted { cell: stage.index, values: stage.values() });
        let Baseline { life, ledger, judgements, census, .. } = baseline::run(&stage).await?;
        cells.push(CellPoints { cell: stage.values(), census, life, ledger, judgements });
    }
    Ok(cells)
}

/// Carries out a finding's schedule `times` times and judges each; for `killpoint replay`.
///
/// # Errors
/// As [`run`].
pub async fn replay(finding: &FindingFile, times: u32, tell: Tell, abort: &Abort) -> Result<Vec<Answer>, CampaignError> {
    let options = Options { jobs: 1, at: None, only: finding.cell.clone() };
    let stages = stages(&finding.scenario, &options, &tell, abort).await?;
    let stage =
        stages.first().ok_or_else(|| CampaignError::Scenario("the finding's cell is not in its scenario's matrix".to_owned()))?;
    // What is expected stands on a clean run of today: the target may have been mended.
    let baseline = baseline::run(stage).await?;
    if let Some(trouble) = baseline.trouble() {
        return Err(CampaignError::Baseline(trouble));
    }
    let expectation = baseline.expectation(stage);
    let mut answers = Vec::new();
    for time in 0..times {
        if abort.is_set() {
            break;
        }
        let name = format!("replay-{time}");
        let (answer, _world) = confirm::answer(stage, &expectation, &finding.finding, &baseline.census, &name).await?;
        answers.push(answer);
    }
    Ok(answers)
}

/// The stages of all cells that are asked for, with setup done and the machine found able.
async fn stages(scenario: &Scenario, options: &Options, tell: &Tell, abort: &Abort) -> Result<Vec<Stage>, CampaignError> {
    let what = "the folders of the trials could not be made".to_owned();
    let worlds = Worlds::create().map_err(|error| CampaignError::Files { what, source: Box::new(error) })?;
    let worlds = Arc::new(worlds);
    let scratch = worlds.path().to_owned();
    let able =
        tokio::task::spawn_blocking(move || probe(&scratch)).await.map_err(|error| CampaignError::Bug(error.to_string()))?;
    if let Ability::None { reason } = able {
        let hint = "`killpoint doctor` says what to change; in a container, SYS_PTRACE may have to be allowed".to_owned();
        return Err(CampaignError::Machine { reason, hint });
    }
    let cache = setup::prepare(scenario.workflow(), worlds.path(), tell, abort).await?;
    let scenario = Arc::new(scenario.clone());
    let cells = scenario.cells().into_iter().enumerate();
    let wanted = cells.filter(|(_, cell)| options.only.iter().all(|value| cell.contains(value)));
    let stage = |(index, cell)| Stage {
        scenario: scenario.clone(),
        index,
        cell,
        cache: cache.clone(),
        worlds: worlds.clone(),
        abort: abort.clone(),
    };
    Ok(wanted.map(stage).collect())
}

/// One campaign.
async fn cell(
    stage: &Stage,
    source: &Source,
    options: &Options,
    folder: &RunFolder,
    tell: &Tell,
    past: &[Event],
    findings_before: usize,
) -> Result<CellResult, CampaignError> {
    let (baseline, is_new) = match assemble::past_baseline(past, stage.index) {
        Some(baseline) => (baseline, false),
        None => (baseline::run(stage).await?, true),
    };
    if is_new {
        let event = assemble::baseline_event(stage.index, &baseline);
        folder.append(&event).map_err(CampaignError::Store)?;
        tell(&event);
    }
    if let Some(reason) = baseline.trouble() {
        return Ok(CellResult::broken(stage, baseline, reason));
    }
    let expectation = baseline.expectation(stage);
    let spec = &stage.scenario.campaign;
    let plan: Box<dyn Iterator<Item = PlannedTrial> + Send> = match &options.at {
        Some(schedule) => Box::new(std::iter::once(plan::single(schedule, &baseline.census))),
        None => Box::new(plan::trials(&baseline.census, spec)),
    };
    let trials = match &options.at {
        Some(_) => 1,
        None => plan::size(&baseline.census, spec),
    };
    tell(&Event::Planned { cell: stage.index, trials });
    let done: Vec<TrialRecord> = assemble::past_records(past, stage.index);
    for record in &done {
        tell(&Event::TrialFinished(record.clone()));
    }
    let swept = sweep::sweep(stage, &expectation, &baseline.census, plan, done, options.jobs, folder, tell).await?;
    let mut found = findings::group(&stage.values(), &baseline.census, &swept.records);
    for (index, finding) in found.iter_mut().enumerate() {
        confirm::keep(stage, source, &expectation, &baseline.census, finding, findings_before + index + 1, folder).await?;
        let event = Event::FindingMade { cell: stage.index, finding: Box::new(finding.clone()) };
        folder.append(&event).map_err(CampaignError::Store)?;
        tell(&event);
    }
    Ok(CellResult::of(stage, baseline, swept, found, trials))
}
