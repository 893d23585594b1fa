//! The sections `[matrix]` and `[campaign]`: how often and how the workflow is attacked.

use std::collections::BTreeMap;

use toml::Spanned;

use super::super::diagnostics::{Problem, did_you_mean};
use super::super::file::{CampaignFile, FailFile, Values};
use super::super::value::{InOrder, Number, Text};
use super::{Check, Variable};
use crate::model::fault::{Fault, FaultError, WORDS};
use crate::model::interleaving::Interleaving;
use crate::model::limits::{DEPTH_MAX, FAIL_TIMES_MAX, FAILS_MAX, INTERLEAVINGS_MAX, MATRIX_CELLS_MAX, TRIALS_MAX};
use crate::model::point::is_name;
use crate::model::scenario::{CampaignSpec, ModeChoice, StepFailure, Strategy};

/// Faults that the design knows and this version does not.
const FAULTS_LATER: [&str; 3] = ["term", "stop", "power-cut"];

impl Check<'_> {
    pub(super) fn matrix(&mut self, matrix: Option<&Spanned<InOrder<Values>>>) -> Vec<(String, Vec<String>)> {
        let Some(matrix) = matrix else { return Vec::new() };
        if matrix.get_ref().0.is_empty() {
            let problem = Problem::at(matrix.span(), "the matrix is empty").label("expected names with their values");
            self.report(problem.hint("such as `durability = [\"sync\", \"async\"]`; or leave `[matrix]` out"));
        }
        let rows: Vec<_> = matrix.get_ref().0.iter().map(|(name, values)| self.row(name, values)).collect();
        let cells = rows.iter().fold(1_usize, |cells, (_, values)| cells.saturating_mul(values.len()));
        if cells > MATRIX_CELLS_MAX {
            let problem =
                Problem::at(matrix.span(), format!("the matrix has {cells} cells")).label(format!("at most {MATRIX_CELLS_MAX}"));
            self.report(problem.hint("each cell is a campaign of its own; write several scenarios"));
        }
        rows
    }

    fn row(&mut self, name: &Text, values: &Values) -> (String, Vec<String>) {
        let text = name.get_ref().clone();
        if text.is_empty() || !text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')) {
            let problem = Problem::at(name.span(), "this cannot name a row of the matrix");
            self.report(problem.label("expected letters, digits, `_`, `-` and `.`"));
        }
        if values.get_ref().is_empty() {
            let problem = Problem::at(values.span(), format!("`{text}` has no values")).label("expected at least one");
            self.report(problem.hint("a matrix with an empty row has no cells, so nothing would be tried"));
        }
        let mut seen = BTreeMap::new();
        for value in values.get_ref() {
            self.no_nul(&Spanned::new(value.span(), value.get_ref().text.clone()));
            if let Some(twin) = seen.insert(value.get_ref().text.as_str(), value.span()) {
                let problem = Problem::at(value.span(), format!("a value of `{text}` stands twice")).label("again here");
                self.report(problem.other(twin, "first here").hint("the two cells would be the same"));
            }
        }
        self.matrix.push(Variable { name: text.clone(), at: name.span(), used: false });
        (text, values.get_ref().iter().map(|value| value.get_ref().text.clone()).collect())
    }

    /// Reports the names of the matrix that no command and no variable uses.
    pub(super) fn unused_matrix(&mut self) {
        for Variable { name, at, used } in std::mem::take(&mut self.matrix) {
            if !used && !self.matrix_unclear {
                let problem = Problem::at(at, format!("`{name}` is used nowhere")).label("its cells would all be the same");
                self.report(problem.hint(format!("put `{{matrix.{name}}}` into `start`, `resume` or `env`")));
            }
        }
    }

    pub(super) fn campaign(&mut self, file: &CampaignFile) -> CampaignSpec {
        let strategy = self.word(file.strategy.as_ref(), "strategy", &["replay"]);
        let points = self.word(file.points.as_ref(), "range of points", &[]);
        let faults = file.faults.as_ref().map_or_else(|| vec![Fault::Kill], |faults| self.faults(faults));
        let fail = self.fail(&file.fail.0);
        let seed = file.seed.as_ref().map_or(0, |seed| self.number(seed, 0..=u64::MAX, "`seed`"));
        let trials = self.trials(file, strategy);
        let mode = self.word(file.mode.as_ref(), "mode", &[]);
        let depth = file.depth.as_ref().map_or(1, |depth| self.depth(depth, mode));
        let dedup = self.word(file.dedup.as_ref(), "way to merge states", &[]);
        let orders = file.interleavings.as_ref();
        let interleavings = orders.map_or_else(Interleaving::defaults, |orders| self.interleavings(orders));
        CampaignSpec { strategy, points, faults, fail, seed, trials, twice: file.twice, mode, dedup, depth, interleavings }
    }

    fn depth(&mut self, depth: &Number, mode: ModeChoice) -> u32 {
        let value = self.number(depth, 1..=DEPTH_MAX, "`depth`");
        if value > 1 && mode == ModeChoice::Kill {
            let problem = Problem::at(depth.span(), "crashes of resumed lives need images").label("the mode is `kill`");
            self.report(problem.hint("leave `mode` out, or give a schedule of several points to `killpoint run --at`"));
        }
        value
    }

    fn interleavings(&mut self, file: &Spanned<Vec<Text>>) -> Vec<Interleaving> {
        if file.get_ref().is_empty() {
            let problem = Problem::at(file.span(), "no order of threads is to be recorded").label("expected at least one");
            self.report(problem.hint("`[\"as-is\"]` records the one that the machine happens to make"));
        }
        let mut orders = Vec::new();
        for word in file.get_ref() {
            match word.get_ref().parse::<Interleaving>() {
                Ok(order) if orders.contains(&order) => {
                    self.report(Problem::at(word.span(), format!("the order `{order}` stands twice")).hint("once is enough"));
                }
                Ok(order) => orders.push(order),
                Err(error) => {
                    let known = ["as-is", "flush-late", "flush-early"];
                    let problem = Problem::at(word.span(), format!("unknown order of threads `{}`", word.get_ref()));
                    self.report(problem.label(error.to_string()).maybe_hint(did_you_mean(word.get_ref(), known)));
                }
            }
        }
        if orders.len() > INTERLEAVINGS_MAX {
            let problem = Problem::at(file.span(), format!("{} orders of threads", orders.len()));
            self.report(problem.label(format!("at most {INTERLEAVINGS_MAX}")));
        }
        orders
    }

    fn faults(&mut self, file: &Spanned<Vec<Text>>) -> Vec<Fault> {
        if file.get_ref().is_empty() {
            let problem = Problem::at(file.span(), "no fault is to be injected").label("expected at least one");
            self.report(problem.hint("a campaign that injects nothing proves nothing; leave it out for `[\"kill\"]`"));
        }
        let mut faults = Vec::new();
        for word in file.get_ref() {
            let Some(fault) = self.one_fault(word) else { continue };
            if faults.contains(&fault) {
                self.report(Problem::at(word.span(), format!("the fault `{fault}` stands twice")).hint("once is enough"));
            }
            faults.push(fault);
        }
        faults
    }

    fn one_fault(&mut self, word: &Text) -> Option<Fault> {
        let text = word.get_ref().as_str();
        let error = match text.parse() {
            Ok(fault) => return Some(fault),
            Err(FaultError { expected, .. }) => expected,
        };
        let problem = if FAULTS_LATER.contains(&text) {
            Problem::at(word.span(), format!("the fault `{text}` is not possible yet")).label(error)
        } else {
            let close = did_you_mean(text, WORDS);
            Problem::at(word.span(), format!("unknown fault `{text}`")).label(error).maybe_hint(close)
        };
        self.report(problem);
        None
    }

    fn fail(&mut self, file: &[FailFile]) -> Vec<StepFailure> {
        if let Some(first) = file.get(FAILS_MAX) {
            let problem = Problem::at(first.effect.span(), format!("{} steps are to fail", file.len()));
            self.report(problem.label(format!("at most {FAILS_MAX}")));
        }
        let fails = file.iter().map(|fail| {
            if !is_name(fail.effect.get_ref()) {
                let problem =
                    Problem::at(fail.effect.span(), format!("`{}` cannot be the name of an effect", fail.effect.get_ref()));
                let problem = problem.label("expected a promise's name");
                self.report(problem.hint("such as \"charge\", where a `[[promise]]` has `name = \"charge\"`"));
            }
            StepFailure {
                effect: fail.effect.get_ref().clone(),
                at: fail.at.as_ref().map_or(1, |at| self.number(at, 1..=u32::MAX, "`at`")),
                status: fail.status.as_ref().map_or(500, |status| self.number(status, 400..=599, "`status`")),
                times: fail.times.as_ref().map_or(1, |times| self.number(times, 1..=FAIL_TIMES_MAX, "`times`")),
            }
        });
        fails.collect()
    }

    fn trials(&mut self, file: &CampaignFile, strategy: Strategy) -> u64 {
        let known = |word: &Text| matches!(word.get_ref().as_str(), "sample" | "sweep");
        match (strategy, &file.trials, &file.strategy) {
            (Strategy::Sample, Some(trials), _) => self.number(trials, 1..=TRIALS_MAX, "`trials`"),
            (Strategy::Sample, None, Some(word)) => {
                let problem = Problem::at(word.span(), "a sample needs its size").label("this needs `trials`");
                self.report(problem.hint("say how many points are drawn: `trials = 100`"));
                0
            }
            (Strategy::Sweep, Some(trials), word) if word.as_ref().is_none_or(known) => {
                let problem =
                    Problem::at(trials.span(), "`trials` has no meaning for a sweep").label("a sweep tries every point");
                self.report(problem.hint("leave it out, or write `strategy = \"sample\"`"));
                0
            }
            _ => 0,
        }
    }
}
