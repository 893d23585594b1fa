//! `killpoint points`: the census of a workflow: every crash point of one clean run.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use killpoint::campaign::{self, Abort, CellPoints, Tell};
use killpoint::model::census::CensusPoint;
use killpoint::model::exit::Exit;
use killpoint::model::life::LifeEnd;
use killpoint::model::point::Point;

use super::failure::Failure;
use super::matrix::MatrixArgs;
use super::options::Format;
use super::target::{LifeArgs, ResumeArgs, TargetArgs};
use super::terminal::{Terminal, washed};
use super::{help, options, work};

/// The name and version of the JSON form.
const SCHEMA: &str = "killpoint.points/1";

/// List the crash points of a workflow without crashing it.
///
/// The workflow runs once, uninjured, in the world that its trials would have.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = help::AFTER_POINTS)]
pub struct PointsArgs {
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    matrix: MatrixArgs,
    /// Only the points from the receipt of the first promised effect on
    #[arg(long)]
    window: bool,
    /// How the points are printed
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    /// Tell nothing but the points and errors
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    lives: LifeArgs,
}

/// The points of one cell, as JSON.
#[derive(Serialize)]
struct CellJson<'a> {
    cell: &'a [String],
    total: usize,
    window_start: Option<usize>,
    kept: bool,
    points: Vec<PointJson<'a>>,
    kinds: BTreeMap<String, usize>,
}

/// A point, as JSON. `number` counts from 1, `window_start` from the same 1.
#[derive(Serialize)]
struct PointJson<'a> {
    number: usize,
    at_us: u64,
    point: &'a Point,
    process: u32,
    aliases: &'a [Point],
}

impl PointsArgs {
    /// Prints the points; exit code 3 where the clean run breaks a promise or fails.
    ///
    /// # Errors
    /// The command line or the scenario is wrong, or the workflow cannot be run.
    pub fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let target = self.target.read(&self.lives, &ResumeArgs::default())?;
        let only = self.matrix.check(&target.scenario)?;
        let asked = campaign::Options { jobs: options::jobs(None), at: None, only, class_check: 0 };
        let run = async |tell: Tell, abort: &Abort| campaign::points(&target.scenario, &asked, tell, abort).await;
        let cells = work::carry_out(terminal, self.quiet, "interrupted: ending the running life".to_owned(), run)??;
        let done = &target.scenario.workflow().done_exit_codes;
        match self.format {
            Format::Text => terminal.print(&cells.iter().map(|cell| table(cell, self.window)).collect::<Vec<_>>().join("\n"))?,
            Format::Json => terminal.print(&json(&cells, self.window, done))?,
        }
        let broken: Vec<String> = cells.iter().filter_map(|cell| broken(cell, done)).collect();
        broken.iter().for_each(|told| terminal.note(&format!("warning: {told}")));
        Ok(if broken.is_empty() { Exit::Clean } else { Exit::BaselineBroken })
    }
}

/// Why a clean run is no baseline, where it is none.
pub fn broken(cell: &CellPoints, done_exit_codes: &[i32]) -> Option<String> {
    let done = matches!(cell.life.end, LifeEnd::Exited { code } if done_exit_codes.contains(&code));
    if !done {
        let output: String = cell.life.output_tail.iter().map(|line| format!("\n  | {}", washed(line))).collect();
        return Some(format!("the clean run failed: {}{output}{}", super::story::end_of(&cell.life), refused(cell)));
    }
    let judged = cell.judgements.iter().find(|judged| !judged.verdict.is_kept())?;
    let (promise, intent) = (&judged.promise, washed(&judged.intent));
    let (verdict, expected, observed) = (judged.verdict, &judged.expected, judged.observed);
    Some(format!("without any crash, {promise} of {intent} is {verdict}: {expected}, {observed} seen{}", refused(cell)))
}

/// What the clean run could not reach, in a line of its own.
fn refused(cell: &CellPoints) -> String {
    campaign::refused(&cell.life).map(|told| format!("\n{}", washed(&told))).unwrap_or_default()
}

/// The points that are shown, with their numbers.
fn shown(cell: &CellPoints, window: bool) -> impl Iterator<Item = (usize, &CensusPoint)> {
    let from = match (window, cell.census.window_start) {
        (false, _) => 0,
        (true, Some(start)) => start,
        (true, None) => cell.census.points.len(),
    };
    cell.census.points.iter().enumerate().skip(from).map(|(index, point)| (index + 1, point))
}

fn table(cell: &CellPoints, window: bool) -> String {
    let rows: Vec<[String; 4]> = shown(cell, window)
        .map(|(number, point)| {
            let process = if point.process == 0 { "-".to_owned() } else { point.process.to_string() };
            [number.to_string(), milliseconds(point.at_us), point.point.to_string(), process]
        })
        .collect();
    let head = ["number", "time", "point", "process"].map(str::to_owned);
    let width = |column: usize| rows.iter().chain([&head]).map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (number, time, point) = (width(0), width(1), width(2));
    let mut text = if cell.cell.is_empty() { String::new() } else { format!("{}\n", cell.cell.join(" ")) };
    for row in std::iter::once(&head).chain(&rows) {
        let _ = writeln!(text, "{:>number$}  {:>time$}  {:<point$}  {}", row[0], row[1], row[2], row[3]);
    }
    text.push('\n');
    text.push_str(&totals(cell, window));
    text
}

fn totals(cell: &CellPoints, window: bool) -> String {
    let mut kinds: Vec<(String, usize)> = kinds(cell, window).into_iter().collect();
    kinds.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let all: usize = kinds.iter().map(|(_, count)| count).sum();
    let listed: Vec<String> = kinds.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    let of = if window { format!(" of {} from the first promised effect on", cell.census.points.len()) } else { String::new() };
    let line = if listed.is_empty() { format!("0 points{of}") } else { format!("{all} points{of}: {}", listed.join(", ")) };
    format!("{}\n", textwrap::fill(&line, textwrap::Options::new(100).subsequent_indent("  ")))
}

/// How many points of each kind: the moment of a request, or the system call.
fn kinds(cell: &CellPoints, window: bool) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for (_, point) in shown(cell, window) {
        let kind = match &point.point {
            Point::Wire(wire) => format!("request {}", wire.moment),
            Point::Call { call, .. } => call.syscall.clone(),
            Point::Probe { .. } => "probe".to_owned(),
            Point::Output { .. } => "output".to_owned(),
            Point::After(_) => "after".to_owned(),
        };
        *kinds.entry(kind).or_default() += 1;
    }
    kinds
}

impl<'a> CellJson<'a> {
    fn new(cell: &'a CellPoints, window: bool, done_exit_codes: &[i32]) -> Self {
        Self {
            cell: &cell.cell,
            total: cell.census.points.len(),
            window_start: cell.census.window_start.map(|index| index + 1),
            kept: broken(cell, done_exit_codes).is_none(),
            points: shown(cell, window).map(|(number, point)| PointJson::new(number, point)).collect(),
            kinds: kinds(cell, window),
        }
    }
}

impl<'a> PointJson<'a> {
    fn new(number: usize, seen: &'a CensusPoint) -> Self {
        Self { number, at_us: seen.at_us, point: &seen.point, process: seen.process, aliases: &seen.aliases }
    }
}

fn json(cells: &[CellPoints], window: bool, done_exit_codes: &[i32]) -> String {
    let cells: Vec<CellJson<'_>> = cells.iter().map(|cell| CellJson::new(cell, window, done_exit_codes)).collect();
    format!("{:#}\n", serde_json::json!({ "schema": SCHEMA, "cells": cells }))
}

/// `12.345 ms`
fn milliseconds(micros: u64) -> String {
    format!("{}.{:03} ms", micros / 1_000, micros % 1_000)
}

#[cfg(test)]
mod tests {
    use super::super::tests::samples;
    use super::*;

    #[test]
    fn the_table_numbers_the_points_and_ends_with_totals_per_kind() {
        insta::assert_snapshot!(table(&samples::cell(), false));
    }

    #[test]
    fn the_window_keeps_the_numbers_of_the_whole_run() {
        insta::assert_snapshot!(table(&samples::cell(), true));
        let mut none = samples::cell();
        none.census.window_start = None;
        assert_eq!(shown(&none, true).count(), 0, "no promised effect, no window");
    }

    #[test]
    fn the_json_form_counts_from_one_like_the_table() {
        let value: serde_json::Value = serde_json::from_str(&json(&[samples::cell()], true, &[0])).unwrap();
        let cell = &value["cells"][0];
        assert_eq!(cell["points"][0]["number"], cell["window_start"]);
        assert_eq!((&cell["total"], &cell["kept"]), (&4.into(), &true.into()));
    }

    #[test]
    fn a_clean_run_that_failed_or_broke_a_promise_is_no_baseline() {
        let mut cell = samples::cell();
        assert_eq!(broken(&cell, &[0]), None);
        cell.judgements.push(samples::judgement(killpoint::model::verdict::Verdict::Lost, 0));
        assert!(broken(&cell, &[0]).is_some_and(|told| told.contains("charge of inv_9 is lost")));
        cell.life.end = LifeEnd::Exited { code: 1 };
        assert!(broken(&cell, &[0]).is_some_and(|told| told.contains("exit 1")));
    }
}
