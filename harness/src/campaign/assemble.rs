//! Puts the report together from what the campaigns came to, and takes up a run that was cut off from its events.

use std::collections::BTreeSet;
use std::time::Duration;

use super::baseline::Baseline;
use super::options::Source;
use super::summary::CellResult;
use crate::model::call::Notice;
use crate::model::event::{Event, TrialRecord};
use crate::model::finding::Finding;
use crate::model::report::{Isolation, Level, Mode, PointCounts, Report, RunVerdict, SCHEMA, StateCounts, TrialCounts};
use crate::model::scenario::{Scenario, Scope};
use crate::sys::signal::own_cpu_us;

/// How a run began.
#[derive(Clone, Debug)]
pub struct Opening {
    scenario: String,
    file: Option<String>,
    seed: u64,
    scope: Scope,
    /// The server behind the sandbox.
    upstream: Option<String>,
    at: String,
}

impl Opening {
    /// A run that begins now, or began when its first event says.
    #[must_use]
    pub fn of(scenario: &Scenario, source: &Source, past: &[Event]) -> Self {
        let began = past.iter().find_map(|event| if let Event::RunStarted { at, .. } = event { Some(at.clone()) } else { None });
        Self {
            scenario: scenario.name.clone(),
            file: source.file.as_ref().map(|file| file.display().to_string()),
            seed: scenario.campaign.seed,
            scope: scenario.scope,
            upstream: scenario.sandbox.upstream.clone(),
            at: began.unwrap_or_else(|| jiff::Timestamp::now().to_string()),
        }
    }

    /// Its event.
    #[must_use]
    pub fn event(&self, cells: usize) -> Event {
        Event::RunStarted {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            scenario: self.scenario.clone(),
            at: self.at.clone(),
            cells,
            seed: self.seed,
        }
    }
}

/// Adds up the campaigns of a run.
#[derive(Debug)]
pub struct Tally {
    opening: Opening,
    isolation: Option<Isolation>,
    results: Vec<CellResult>,
}

impl Tally {
    /// Nothing yet, of trials with this network.
    #[must_use]
    pub fn new(opening: Opening, isolation: Option<Isolation>) -> Self {
        Self { opening, isolation, results: Vec::new() }
    }

    /// One more campaign.
    pub fn add(&mut self, result: CellResult) {
        self.results.push(result);
    }

    /// How many findings there are.
    #[must_use]
    pub fn findings(&self) -> usize {
        self.results.iter().map(|result| result.findings.len()).sum()
    }

    /// The report. `cells` is how many campaigns there were to be.
    #[must_use]
    pub fn report(self, wall: Duration, is_interrupted: bool, cells: usize) -> Report {
        let verdict = self.verdict(is_interrupted, cells);
        let outside = self.outside();
        let Self { opening, isolation, results } = self;
        let sum = |of: fn(&CellResult) -> u64| results.iter().map(of).sum::<u64>();
        let mut findings: Vec<Finding> = results.iter().flat_map(|result| result.findings.clone()).collect();
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
        Report {
            schema: SCHEMA.to_owned(),
            killpoint_version: env!("CARGO_PKG_VERSION").to_owned(),
            scenario: opening.scenario,
            scenario_file: opening.file,
            seed: opening.seed,
            started_at: opening.at,
            scope: opening.scope,
            level: Level::Syscall,
            mode: if !results.is_empty() && results.iter().all(|result| result.summary.mode == Mode::Image) {
                Mode::Image
            } else {
                Mode::Kill
            },
            verdict,
            points: PointCounts {
                total: sum(|result| result.summary.points.total),
                reached: sum(|result| result.summary.points.reached),
                unreached: sum(|result| result.summary.points.unreached),
                census: sum(|result| result.summary.points.census),
            },
            states: StateCounts { raw: sum(|result| result.states.raw), distinct: sum(|result| result.states.distinct) },
            trials: TrialCounts {
                recorded: sum(|result| result.trials.recorded),
                resumed: sum(|result| result.trials.resumed),
                killed: sum(|result| result.trials.killed),
            },
            lives: sum(|result| result.lives),
            wall_ms: u64::try_from(wall.as_millis()).unwrap_or(u64::MAX),
            target_cpu_ms: sum(|result| result.cpu_us) / 1_000,
            harness_cpu_ms: own_cpu_us() / 1_000,
            effects: results.iter().flat_map(|result| result.effects.clone()).collect(),
            findings,
            unreached: results.iter().flat_map(|result| result.unreached.clone()).collect(),
            cells: results.into_iter().map(|result| result.summary).collect(),
            isolation,
            outside,
        }
    }

    /// Findings were proven, whatever else happened; a broken baseline outweighs what is merely open.
    fn verdict(&self, is_interrupted: bool, cells: usize) -> RunVerdict {
        let has = |verdict| self.results.iter().any(|result| result.summary.verdict == verdict);
        if has(RunVerdict::Findings) {
            RunVerdict::Findings
        } else if has(RunVerdict::BaselineBroken) {
            RunVerdict::BaselineBroken
        } else if is_interrupted || self.results.is_empty() || self.results.len() < cells || has(RunVerdict::Inconclusive) {
            RunVerdict::Inconclusive
        } else {
            RunVerdict::Clean
        }
    }

    /// What lies outside of what was shown.
    fn outside(&self) -> Vec<String> {
        let notices: BTreeSet<&Notice> = self.results.iter().flat_map(|result| &result.summary.notices).collect();
        let list = |pick: fn(&Notice) -> Option<&String>| {
            notices.iter().filter_map(|notice| pick(notice)).cloned().collect::<Vec<_>>().join(", ")
        };
        let mut outside = vec!["power loss: a SIGKILL leaves what the kernel was given, synced or not".to_owned()];
        if notices.contains(&Notice::IoUring) {
            outside.push("io_uring was set up: what goes through it makes no system call, so it is no point".to_owned());
        }
        if notices.contains(&Notice::Compat32) {
            outside.push("a 32-bit program ran: its vectored and socket writes are seen, but less is known of them".to_owned());
        }
        if let Some(upstream) = &self.opening.upstream {
            outside.push(format!("{upstream} stands behind the sandbox: what it keeps is not reset between trials"));
        }
        let mapped = list(|notice| if let Notice::SharedMapping { object } = notice { Some(object) } else { None });
        if !mapped.is_empty() {
            outside.push(format!("mapped shared and writable, so that pages change without a call: {mapped}"));
        }
        let connected = list(|notice| if let Notice::Connect { object } = notice { Some(object) } else { None });
        if !connected.is_empty() {
            outside.push(format!("talked to something that is neither the sandbox nor reset between trials: {connected}"));
        }
        let refused = list(|notice| if let Notice::Refused { object } = notice { Some(object) } else { None });
        if !refused.is_empty() {
            outside.push(format!("asked for something outside of the trial's own network, which was refused (`--network host` lets it through): {refused}"));
        }
        let written = list(|notice| if let Notice::OutsideWrite { object } = notice { Some(object) } else { None });
        if !written.is_empty() {
            outside.push(format!("wrote outside the trial's folders, which is not reset between trials (`dir_copy = true` copies the working directory, `state_paths` names folders that hold state, `ignore` what is harmless): {written}"));
        }
        outside
    }
}

/// The baseline of a cell, where a run that was cut off had one.
#[must_use]
pub fn past_baseline(past: &[Event], index: usize) -> Option<Baseline> {
    past.iter().find_map(|event| match event {
        Event::BaselineFinished { cell, life, ledger, second_ledger, judgements, census, not_repeatable } if *cell == index => {
            Some(Baseline {
                life: life.clone(),
                ledger: ledger.clone(),
                second_ledger: second_ledger.clone(),
                judgements: judgements.clone(),
                census: census.clone(),
                not_repeatable: not_repeatable.clone(),
            })
        }
        _ => None,
    })
}

/// The trials of a cell that a run that was cut off had done.
#[must_use]
pub fn past_records(past: &[Event], index: usize) -> Vec<TrialRecord> {
    let records =
        past.iter().filter_map(|event| if let Event::TrialFinished(record) = event { Some(record.clone()) } else { None });
    let mut seen = BTreeSet::new();
    records.filter(|record| record.cell == index && seen.insert(record.trial)).collect()
}

/// The event of a baseline.
#[must_use]
pub fn baseline_event(cell: usize, baseline: &Baseline) -> Event {
    let Baseline { life, ledger, second_ledger, judgements, census, not_repeatable } = baseline.clone();
    Event::BaselineFinished { cell, life, ledger, second_ledger, judgements, census, not_repeatable }
}
