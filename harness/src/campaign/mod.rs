//! A campaign: baseline, census, plan, trials, findings; and what stands beside it: the list of points, and replay.
//!
//! A run is one campaign for each cell of a scenario's matrix. Everything that happens is told as an [`Event`].

mod allowances;
mod assemble;
pub mod audit;
mod baseline;
mod confirm;
pub mod findings;
mod image;
pub mod options;
mod setup;
mod stage;
mod summary;
mod sweep;
mod wire;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

pub use options::{Abort, Answer, CampaignError, CellPoints, Options, Source, Tell};

use crate::model::event::Event;
use crate::model::fault::Fault;
use crate::model::reel::Reel;
use crate::model::report::Report;
use crate::model::scenario::{ModeChoice, Scenario, Strategy};
use crate::oracle::Expectation;
use crate::plan::{self, PlannedTrial};
use crate::state::{ImageStore, Worlds};
use crate::store::{FindingFile, RunFolder};
use crate::tracer::{Ability, probe};
use crate::trial;
pub use crate::trial::{Opened, Visited};
use assemble::{Opening, Tally};
use baseline::Baseline;
pub use baseline::refused;
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
    // What stands on a server is not a trial's own: two trials at once would see each other's rows.
    let is_shared = scenario.promises.iter().filter_map(|promise| promise.source.as_ref()).any(|source| source.is_server());
    let options = &Options { jobs: if is_shared { 1 } else { options.jobs }, ..options.clone() };
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
    let mut tally = Tally::new(opening, stages.first().map(|stage| stage.isolation.clone()));
    for stage in &stages {
        if abort.is_set() {
            break;
        }
        note(Event::CellStarted { cell: stage.index, values: stage.values() })?;
        let desk = Desk { source, options, folder, tell: &tell, past: &past };
        let result = match cell(stage, desk, tally.findings()).await {
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
    if !is_interrupted {
        // Each finding has a copy of its own image.
        folder.remove_images().map_err(CampaignError::Store)?;
    }
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

/// Brings a finding back `times` times and judges each; for `killpoint replay`. From its crash image in its folder where it has one and
/// `by_kill` is not set, else by a SIGKILL in a trial from the start.
///
/// # Errors
/// As [`run`].
pub async fn replay(
    finding: &FindingFile,
    folder: &Path,
    by_kill: bool,
    times: u32,
    tell: Tell,
    abort: &Abort,
) -> Result<Vec<Answer>, CampaignError> {
    let options = Options { jobs: 1, at: None, only: finding.cell.clone(), class_check: 0 };
    let stages = stages(&finding.scenario, &options, &tell, abort).await?;
    let stage =
        stages.first().ok_or_else(|| CampaignError::Scenario("the finding's cell is not in its scenario's matrix".to_owned()))?;
    // What is expected stands on a clean run of today: the target may have been mended.
    let baseline = baseline::run(stage).await?;
    if let Some(trouble) = baseline.trouble() {
        return Err(CampaignError::Baseline(trouble));
    }
    let expectation = baseline.expectation(stage);
    let image = match &finding.image {
        Some(image) if !by_kill => Some((image, confirm::open_store(folder)?)),
        _ => None,
    };
    let mut answers = Vec::new();
    for time in 0..times {
        if abort.is_set() {
            break;
        }
        let name = format!("replay-{time}");
        answers.push(match &image {
            Some((image, store)) => confirm::from_image(stage, &expectation, &finding.finding, store, image, &name).await?,
            None => confirm::answer(stage, &expectation, &finding.finding, &baseline.census, &name).await?.0,
        });
    }
    Ok(answers)
}

/// Opens the world of a finding as it stood at the crash, for a program on the terminal; `None`: the user's shell.
///
/// # Errors
/// As [`run`]; or the finding has no crash image.
pub async fn visit(
    finding: &FindingFile,
    folder: &Path,
    command: Option<&[String]>,
    tell: Tell,
    opened: impl FnOnce(&Opened),
) -> Result<Visited, CampaignError> {
    let Some(image) = &finding.image else {
        let hint = "a run in image mode keeps one: `killpoint run --mode image`";
        return Err(CampaignError::Scenario(format!("the finding has no crash image that could be opened\nhint: {hint}")));
    };
    let options = Options { jobs: 1, at: None, only: finding.cell.clone(), class_check: 0 };
    let stages = stages(&finding.scenario, &options, &tell, &Abort::default()).await?;
    let stage =
        stages.first().ok_or_else(|| CampaignError::Scenario("the finding's cell is not in its scenario's matrix".to_owned()))?;
    let store = confirm::open_store(folder)?;
    let world = stage.restored(&store, &image.shot, "visit").await?;
    stage.visit(image.past.clone(), &world, command, opened).await
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
    let isolation = trial::isolation(scenario.workflow(), worlds.path());
    let mut scenario = scenario.clone();
    scenario.roles[0].network = isolation.network;
    let scenario = Arc::new(scenario);
    let cells = scenario.cells().into_iter().enumerate();
    let wanted = cells.filter(|(_, cell)| options.only.iter().all(|value| cell.contains(value)));
    let stage = |(index, cell)| Stage {
        scenario: scenario.clone(),
        index,
        cell,
        cache: cache.clone(),
        worlds: worlds.clone(),
        isolation: isolation.clone(),
        abort: abort.clone(),
    };
    Ok(wanted.map(stage).collect())
}

/// What every campaign of a run is given.
#[derive(Clone, Copy)]
struct Desk<'a> {
    source: &'a Source,
    options: &'a Options,
    folder: &'a RunFolder,
    tell: &'a Tell,
    /// The events of a run that was cut off.
    past: &'a [Event],
}

impl Desk<'_> {
    /// Keeps an event and tells it.
    fn note(&self, event: &Event) -> Result<(), CampaignError> {
        self.folder.append(event).map_err(CampaignError::Store)?;
        (self.tell)(event);
        Ok(())
    }
}

/// One campaign.
async fn cell(stage: &Stage, desk: Desk<'_>, findings_before: usize) -> Result<CellResult, CampaignError> {
    let store = image_store(stage, &desk)?;
    let (baseline, reel) = baseline_of(stage, &desk, store.as_ref()).await?;
    if let Some(reason) = baseline.trouble() {
        return Ok(CellResult::broken(stage, baseline, reason));
    }
    let expectation = baseline.expectation(stage);
    let spec = &stage.scenario.campaign;
    // Whoever asks for images knows whether the workflow stores an address or a path.
    let wandering = trial::wandering(stage.scenario.workflow()).filter(|_| spec.mode == ModeChoice::Auto && spec.depth == 1);
    let wandering =
        wandering.map(|why| format!("{why}, so that an address or a path that it stored would not be good after a restore"));
    let upstream = stage.scenario.sandbox.upstream.as_ref();
    let behind = upstream.map(|upstream| format!("{upstream} stands behind the sandbox, and its state is not kept"));
    let objection = image::fitness::objection(&baseline.life.notices).or(behind).or(wandering);
    let census = baseline.census.clone();
    let killed = match (store, reel, &objection) {
        (Some(store), Some(reel), None) => {
            let developed = image::develop(stage, &expectation, &baseline, reel, &store, desk).await?;
            by_images(stage, desk, baseline, &expectation, &store, developed, findings_before).await?
        }
        (Some(_), _, Some(reason)) if spec.mode == ModeChoice::Image || spec.depth > 1 => {
            return Err(CampaignError::Scenario(format!(
                "it cannot be resumed from images: {reason}\nhint: leave out `mode` and `depth`; then each trial is made by a SIGKILL"
            )));
        }
        _ => by_kills(stage, desk, baseline, &expectation, objection, findings_before).await?,
    };
    let found = findings_before + killed.findings.len();
    let wired = wire::run(stage, desk, &expectation, &census, found).await?;
    Ok(killed.with(stage, &census, wired))
}

/// Where images go, if the campaign is one for images.
fn image_store(stage: &Stage, desk: &Desk<'_>) -> Result<Option<Arc<ImageStore>>, CampaignError> {
    let spec = &stage.scenario.campaign;
    let is_fit = desk.options.at.is_none()
        && spec.faults.contains(&Fault::Kill)
        && match spec.mode {
            ModeChoice::Kill => false,
            ModeChoice::Image => true,
            // Draws are the weak way that images make needless; who asks for them wants kills.
            ModeChoice::Auto => spec.strategy == Strategy::Sweep,
        };
    if !is_fit {
        return Ok(None);
    }
    let what = "the folder of the crash images could not be made".to_owned();
    let store = ImageStore::open(&desk.folder.images_dir());
    store.map(|store| Some(Arc::new(store))).map_err(|error| CampaignError::Files { what, source: Box::new(error) })
}

/// The clean run: the one of a run that was cut off, or a new one. With a store, its recording as well.
async fn baseline_of(
    stage: &Stage,
    desk: &Desk<'_>,
    store: Option<&Arc<ImageStore>>,
) -> Result<(Baseline, Option<Reel>), CampaignError> {
    if let Some(baseline) = assemble::past_baseline(desk.past, stage.index) {
        let reel = image::past_reels(desk.past, stage.index).into_iter().next();
        return Ok((baseline, reel));
    }
    let (baseline, reel) = baseline::record(stage, store).await?;
    if let Some(reel) = &reel {
        desk.note(&Event::Recorded { cell: stage.index, reel: Box::new(reel.clone()) })?;
    }
    desk.note(&assemble::baseline_event(stage.index, &baseline))?;
    Ok((baseline, reel))
}

/// Numbers the findings of a campaign from images and shows each by a SIGKILL.
async fn by_images(
    stage: &Stage,
    desk: Desk<'_>,
    baseline: Baseline,
    expectation: &Expectation,
    store: &Arc<ImageStore>,
    mut developed: image::Developed,
    findings_before: usize,
) -> Result<CellResult, CampaignError> {
    let place = confirm::Place { stage, desk, expectation, census: &baseline.census, store: Some(store) };
    let found = std::mem::take(&mut developed.findings);
    let (kept, cost) = confirm::keep_all(place, found, findings_before).await?;
    Ok(CellResult::of_images(stage, baseline, developed, kept).and(cost))
}

/// A campaign in which each trial is made by a SIGKILL. `reason`: why images are not sound.
async fn by_kills(
    stage: &Stage,
    desk: Desk<'_>,
    baseline: Baseline,
    expectation: &Expectation,
    reason: Option<String>,
    findings_before: usize,
) -> Result<CellResult, CampaignError> {
    let spec = &stage.scenario.campaign;
    let plan: Box<dyn Iterator<Item = PlannedTrial> + Send> = match &desk.options.at {
        Some(schedule) if schedule.fault() == Fault::Kill => Box::new(std::iter::once(plan::single(schedule, &baseline.census))),
        // What goes wrong on the wire comes behind the kills.
        Some(_) => Box::new(std::iter::empty()),
        None => Box::new(plan::trials(&baseline.census, spec)),
    };
    let trials = match &desk.options.at {
        Some(schedule) => u64::from(schedule.fault() == Fault::Kill),
        None => plan::size(&baseline.census, spec),
    };
    if trials > 0 {
        (desk.tell)(&Event::Planned { cell: stage.index, trials });
    }
    let swept = sweep::sweep(stage, expectation, &baseline.census, plan, desk).await?;
    let found = findings::group(&stage.values(), &baseline.census, &swept.records);
    let place = confirm::Place { stage, desk, expectation, census: &baseline.census, store: None };
    let found = found.into_iter().map(|finding| (finding, None)).collect();
    let (found, cost) = confirm::keep_all(place, found, findings_before).await?;
    Ok(CellResult::of(stage, baseline, swept, found, trials).and(cost).because(reason))
}
