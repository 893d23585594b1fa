//! What one campaign came to: its verdict, its counts, its picture.

use std::collections::{BTreeMap, BTreeSet};

use super::allowances;
use super::baseline::Baseline;
use super::confirm::Cost;
use super::image::Developed;
use super::stage::Stage;
use super::sweep::Swept;
use super::wire::Wired;
use crate::model::call::Notice;
use crate::model::census::Census;
use crate::model::event::TrialRecord;
use crate::model::finding::Finding;
use crate::model::life::TrialEnd;
use crate::model::point::{Moment, Point, WirePoint};
use crate::model::report::{
    BaselineEffect, Cell, Landmark, Mode, PointCounts, RunVerdict, StateCounts, TrialCounts, UnreachedPoint,
};
use crate::model::verdict::Verdict;
use crate::oracle::Expectation;
use crate::oracle::forensics::origin_in_summary;

/// What one campaign came to.
#[derive(Debug)]
pub struct CellResult {
    /// For the report.
    pub summary: Cell,
    /// Its findings.
    pub findings: Vec<Finding>,
    /// The effects of its baseline.
    pub effects: Vec<BaselineEffect>,
    /// Points that were not reached.
    pub unreached: Vec<UnreachedPoint>,
    /// Its trials.
    pub trials: TrialCounts,
    /// Lives of all of it.
    pub lives: u64,
    /// CPU time of those lives, in microseconds.
    pub cpu_us: u64,
    /// Its states.
    pub states: StateCounts,
}

impl CellResult {
    /// A campaign whose clean run broke its own promises.
    #[must_use]
    pub fn broken(stage: &Stage, baseline: Baseline, reason: String) -> Self {
        let expectation = baseline.expectation(stage);
        let mut summary = summary(stage, &baseline);
        summary.verdict = RunVerdict::BaselineBroken;
        summary.reason = Some(reason);
        let effects = effects(stage, &baseline, &expectation, &[]);
        let lives = clean_runs(&baseline);
        let trials = TrialCounts { recorded: lives, ..TrialCounts::default() };
        Self {
            summary,
            findings: Vec::new(),
            effects,
            unreached: Vec::new(),
            trials,
            lives,
            cpu_us: baseline.life.cpu_us,
            states: StateCounts::default(),
        }
    }

    /// A campaign with trials. `planned` is how many there were to be.
    #[must_use]
    pub fn of(stage: &Stage, baseline: Baseline, swept: Swept, findings: Vec<Finding>, planned: u64) -> Self {
        let records = &swept.records;
        let expectation = baseline.expectation(stage);
        let mut summary = summary(stage, &baseline);
        let unreached: Vec<_> =
            records.iter().filter(|record| !record.reached).map(|record| missed(stage, &baseline.census, record)).collect();
        summary.points = points(&baseline, records, planned);
        (summary.verdict, summary.reason) = verdict(records, &findings, &swept, summary.points, planned);
        summary.strip = strip(&baseline.census, records);
        summary.landmarks = landmarks(&baseline.census, records, &findings);
        summary.allowances = allowances::of(records);
        let killed = records.iter().filter(|record| record.reached && record.state.is_none()).count() as u64;
        let lives: u64 = records.iter().map(|record| u64::from(record.lives)).sum();
        let tries: u64 = records.iter().map(|record| u64::from(record.tries)).sum();
        let clean = clean_runs(&baseline);
        Self {
            effects: effects(stage, &baseline, &expectation, records),
            trials: TrialCounts { recorded: clean, resumed: lives - tries.min(lives), killed },
            lives: lives + clean,
            cpu_us: records.iter().map(|record| record.cpu_us).sum::<u64>() + baseline.life.cpu_us,
            states: StateCounts { raw: killed, distinct: killed },
            summary,
            findings,
            unreached,
        }
    }

    /// A campaign from crash images.
    #[must_use]
    pub fn of_images(stage: &Stage, baseline: Baseline, developed: Developed, findings: Vec<Finding>) -> Self {
        let Developed { swept, others, planned, depths, orders, check, doubts, recorded_lives, resumed_lives, cpu_us, .. } =
            developed;
        let mut result = Self::of(stage, baseline, swept, findings, planned);
        let summary = &mut result.summary;
        summary.mode = Mode::Image;
        let mut doubts = doubts;
        doubts.extend(check.iter().flat_map(|check| check.disagreements.iter().cloned()));
        doubts.extend(unjudged(&others).filter(|_| summary.reason.is_none()));
        if !doubts.is_empty() {
            summary.reason = Some(summary.reason.iter().cloned().chain(doubts).collect::<Vec<_>>().join("; "));
            if summary.verdict == RunVerdict::Clean {
                summary.verdict = RunVerdict::Inconclusive;
            }
        }
        result.states = StateCounts {
            raw: depths.iter().map(|depth| depth.raw).sum(),
            distinct: depths.iter().map(|depth| depth.distinct).sum(),
        };
        let checked_lives = check.as_ref().map_or(0, |check| check.lives);
        (summary.depths, summary.orders, summary.class_check) = (depths, orders, check);
        let confirmed = result.findings.iter().filter(|finding| finding.confirmed_by_sigkill).count() as u64;
        result.trials.killed += confirmed;
        result.trials.recorded += recorded_lives;
        result.trials.resumed += resumed_lives;
        result.lives += recorded_lives + resumed_lives + checked_lives;
        result.cpu_us += cpu_us;
        result
    }

    /// The same, with what it took to show its findings again.
    #[must_use]
    pub fn and(mut self, cost: Cost) -> Self {
        self.lives += cost.lives;
        self.cpu_us += cost.cpu_us;
        self
    }

    /// The same, with what went wrong on the wire.
    #[must_use]
    pub fn with(mut self, stage: &Stage, census: &Census, wired: Wired) -> Self {
        if wired.planned == 0 {
            return self;
        }
        let records = &wired.swept.records;
        let summary = &mut self.summary;
        let (was, reason) = (summary.verdict, summary.reason.take());
        // Where nobody was to be killed, that no point was tried is no reason for anything.
        let doubts = reason.filter(|_| summary.points.total > 0).into_iter().chain(doubt(&wired));
        let doubts: Vec<String> = doubts.collect();
        summary.reason = (!doubts.is_empty()).then(|| doubts.join("; "));
        summary.verdict = match was {
            RunVerdict::BaselineBroken | RunVerdict::Findings => was,
            _ if !wired.findings.is_empty() => RunVerdict::Findings,
            _ if summary.reason.is_some() => RunVerdict::Inconclusive,
            _ => RunVerdict::Clean,
        };
        summary.wire = wired.counts;
        self.unreached.extend(records.iter().filter(|record| !record.reached).map(|record| missed(stage, census, record)));
        let lives: u64 = records.iter().map(|record| u64::from(record.lives)).sum();
        let tries: u64 = records.iter().map(|record| u64::from(record.tries)).sum();
        self.trials.resumed += lives - tries.min(lives);
        self.trials.killed += records.iter().filter(|record| record.reached && record.schedule.kills() > 0).count() as u64;
        self.lives += lives;
        self.cpu_us += records.iter().map(|record| record.cpu_us).sum::<u64>();
        self.findings.extend(wired.findings);
        self.and(wired.cost)
    }

    /// The same, with the reason why it was not made from images.
    #[must_use]
    pub fn because(mut self, reason: Option<String>) -> Self {
        self.summary.mode_reason = reason;
        self
    }
}

/// Why the trials with faults of the wire do not say all that they were to say.
fn doubt(wired: &Wired) -> Option<String> {
    let records = &wired.swept.records;
    let missed = records.iter().filter(|record| !record.reached).count();
    if wired.swept.is_interrupted {
        return Some(format!("interrupted after {} of {} trials with faults of the wire", records.len(), wired.planned));
    }
    if missed > 0 {
        return Some(format!("{missed} of {} faults of the wire did not come to happen", wired.planned));
    }
    unjudged(records)
}

/// Why some trials say nothing.
fn unjudged(records: &[TrialRecord]) -> Option<String> {
    let unknown = records.iter().flat_map(|record| &record.judgements).find(|judgement| judgement.verdict == Verdict::Unknown);
    if let Some(judgement) = unknown {
        let evidence = judgement.evidence.join("; ");
        return Some(format!("`{}` of {} could not be judged at every point: {evidence}", judgement.promise, judgement.intent));
    }
    let silent = records.iter().find(|record| !record.reached || record.judgements.is_empty())?;
    Some(format!("the trial at {} could not be judged", silent.schedule))
}

fn clean_runs(baseline: &Baseline) -> u64 {
    1 + u64::from(baseline.second_ledger.is_some())
}

fn summary(stage: &Stage, baseline: &Baseline) -> Cell {
    Cell {
        cell: stage.values(),
        verdict: RunVerdict::Inconclusive,
        reason: None,
        points: PointCounts { census: baseline.census.points.len() as u64, ..PointCounts::default() },
        baseline_us: baseline.life.wall_us,
        baseline: baseline.judgements.clone(),
        notices: notices(baseline),
        not_repeatable: baseline.not_repeatable.clone(),
        strip: String::new(),
        landmarks: Vec::new(),
        mode: Mode::Kill,
        mode_reason: None,
        depths: Vec::new(),
        orders: Vec::new(),
        wire: Vec::new(),
        class_check: None,
        allowances: Vec::new(),
    }
}

fn notices(baseline: &Baseline) -> Vec<Notice> {
    baseline.life.notices.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect()
}

fn points(baseline: &Baseline, records: &[TrialRecord], planned: u64) -> PointCounts {
    let is_image = records.iter().any(|record| record.state.is_some());
    let (reached, unreached) = if is_image {
        // A point may have two worlds; it is reached where both were judged.
        let all: BTreeSet<usize> = records.iter().map(|record| record.point).collect();
        let missed: BTreeSet<usize> = records.iter().filter(|record| !record.reached).map(|record| record.point).collect();
        ((all.len() - missed.len()) as u64, missed.len() as u64)
    } else {
        let reached = records.iter().filter(|record| record.reached).count() as u64;
        (reached, records.len() as u64 - reached)
    };
    PointCounts { total: planned, reached, unreached, census: baseline.census.points.len() as u64 }
}

fn missed(stage: &Stage, census: &Census, record: &TrialRecord) -> UnreachedPoint {
    let named = census.points.get(record.point).map(|point| point.point.clone());
    let asked = record.schedule.0.first().map(|step| step.point.clone());
    let reason = match &record.end {
        TrialEnd::Environment { reason } => reason.clone(),
        _ => "the life ended before it came: the run made other calls this time".to_owned(),
    };
    let point = named.or(asked).unwrap_or(Point::After(std::time::Duration::ZERO));
    UnreachedPoint { cell: stage.values(), point, tries: record.tries, reason }
}

/// What came out, and why where no finding says so.
fn verdict(
    records: &[TrialRecord],
    findings: &[Finding],
    swept: &Swept,
    points: PointCounts,
    planned: u64,
) -> (RunVerdict, Option<String>) {
    let unknown = records.iter().flat_map(|record| &record.judgements).find(|judgement| judgement.verdict == Verdict::Unknown);
    let unjudged = records.iter().find(|record| record.reached && record.judgements.is_empty());
    let reason = if planned == 0 {
        Some("nothing was injected: the plan has no point (no promised effect was seen?)".to_owned())
    } else if swept.is_interrupted {
        Some(format!("interrupted after {} of {planned} trials", records.len()))
    } else if points.unreached > 0 {
        Some(format!("{} of {planned} points were not reached", points.unreached))
    } else if let Some(judgement) = unknown {
        let evidence = judgement.evidence.join("; ");
        Some(format!("`{}` of {} could not be judged at every point: {evidence}", judgement.promise, judgement.intent))
    } else {
        unjudged.map(|record| format!("the trial at point {} could not be judged", record.point + 1))
    };
    match (findings.is_empty(), &reason) {
        (false, _) => (RunVerdict::Findings, reason),
        (true, None) => (RunVerdict::Clean, None),
        (true, Some(_)) => (RunVerdict::Inconclusive, reason),
    }
}

/// What became of each planned point, in the order of the clean run.
fn outcomes(records: &[TrialRecord]) -> BTreeMap<usize, char> {
    let rank = |mark: char| ".-?x".find(mark);
    let mut marks = BTreeMap::new();
    for record in records {
        let is_finding = record.judgements.iter().any(|judgement| judgement.verdict.is_finding());
        let is_kept = record.reached
            && !record.judgements.is_empty()
            && record.judgements.iter().all(|judgement| judgement.verdict.is_kept());
        let mark = if is_finding {
            'x'
        } else if is_kept {
            '.'
        } else {
            '?'
        };
        marks
            .entry(record.point)
            .and_modify(|old| {
                if rank(mark) > rank(*old) {
                    *old = mark
                }
            })
            .or_insert(mark);
    }
    marks
}

fn strip(census: &Census, records: &[TrialRecord]) -> String {
    let marks = outcomes(records);
    let first = marks.keys().next().copied().unwrap_or(0);
    (first..census.points.len()).map(|index| marks.get(&index).copied().unwrap_or('-')).collect()
}

fn landmarks(census: &Census, records: &[TrialRecord], findings: &[Finding]) -> Vec<Landmark> {
    let first = records.iter().map(|record| record.point).min().unwrap_or(0);
    let windows = findings.iter().flat_map(|finding| &finding.windows);
    let edges: BTreeSet<&Point> =
        windows.flat_map(|window| [Some(&window.first), Some(&window.last), window.closed_by.as_ref()]).flatten().collect();
    let is_spoken_of = |point: &Point| matches!(point, Point::Wire(_)) || edges.contains(point);
    let places = census.points.iter().enumerate().skip(first).filter(|(_, point)| is_spoken_of(&point.point));
    places
        .map(|(index, point)| Landmark { index: u32::try_from(index - first).unwrap_or(u32::MAX), point: point.point.clone() })
        .collect()
}

fn effects(stage: &Stage, baseline: &Baseline, expectation: &Expectation, records: &[TrialRecord]) -> Vec<BaselineEffect> {
    let mut origins = BTreeMap::<&str, bool>::new();
    for (effect, stable) in records.iter().flat_map(|record| &record.keys_stable) {
        origins.entry(effect).and_modify(|all| *all &= stable).or_insert(*stable);
    }
    let effects = baseline.ledger.iter().filter(|request| request.had_effect());
    effects
        .map(|request| {
            let promise = expectation.promises().iter().find(|promise| promise.endpoint.matches(&request.method, &request.path));
            let stable = origins.get(request.effect.as_str()).copied();
            let origin = origin_in_summary(expectation, request, baseline.second_ledger.as_deref(), stable);
            BaselineEffect {
                cell: stage.values(),
                promise: request.effect.clone(),
                method: request.method.clone(),
                path: request.path.clone(),
                intent: promise.and_then(|promise| expectation.intent_of(promise, request)),
                key: request.key.clone(),
                key_origin: origin.code(),
                body_sha256: request.body_sha256.clone(),
                life: request.life,
                at: Point::Wire(WirePoint { effect: request.effect.clone(), ordinal: request.ordinal, moment: Moment::Executed }),
            }
        })
        .collect()
}
