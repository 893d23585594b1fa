//! The words of a progress bar, read from events. It draws nothing; the command does.

use crate::model::event::Event;

use super::words;

/// How far a run is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    cells: usize,
    cell: String,
    cell_number: usize,
    total: u64,
    done: u64,
    unreached: u64,
    findings: u64,
}

/// A line that stays on the screen, above the bar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its text, without a newline; it may hold text of the workflow.
    pub text: String,
    /// Whether it tells of something that is wrong.
    pub bad: bool,
}

impl Progress {
    /// Takes in one event; returns a line where a person should see one.
    pub fn feed(&mut self, event: &Event) -> Option<Line> {
        match event {
            Event::RunStarted { version, scenario, cells, seed, .. } => {
                self.cells = *cells;
                let cells = words::counted(*cells as u64, "cell");
                good(format!("killpoint {version}: {scenario}, {cells}, seed {seed}"))
            }
            Event::SetupStarted { command } => good(format!("setup: {command}")),
            Event::CellStarted { cell, values } => {
                self.cell = words::cell_name(values);
                self.cell_number = cell + 1;
                None
            }
            Event::BaselineFinished { judgements, census, .. } => {
                match judgements.iter().find(|judgement| !judgement.verdict.is_kept()) {
                    Some(broken) => bad(format!("{}: without a crash: {}", self.cell, words::judged(broken))),
                    None => good(format!(
                        "{}: {} in a clean run",
                        self.cell,
                        words::counted(census.points.len() as u64, "crash point")
                    )),
                }
            }
            Event::Planned { trials, .. } => {
                self.total += trials;
                None
            }
            Event::Recorded { .. } => None,
            Event::StateTried { .. } => {
                self.done += 1;
                None
            }
            Event::TrialFinished(record) => {
                self.done += 1;
                self.unreached += u64::from(!record.reached);
                None
            }
            Event::FindingMade { finding, .. } => {
                // Each was planned as one more trial, which shows it again.
                self.done += 1;
                self.findings += 1;
                bad(format!("{} {}: {}{}", finding.id, finding.verdict, words::headline(finding), in_cell(&finding.cell)))
            }
            Event::Warning { message } => bad(format!("warning: {message}")),
            Event::Interrupted => bad(format!("interrupted after {} of {}", self.done, words::counted(self.total, "trial"))),
            Event::SetupFinished | Event::CellFinished { .. } | Event::RunFinished => None,
        }
    }

    /// Trials that are over.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Trials planned so far; it grows with each cell that is planned.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// What stands beside the bar: the cell, the findings so far, the points not reached.
    #[must_use]
    pub fn message(&self) -> String {
        let mut parts = Vec::new();
        if self.cells > 1 && self.cell_number > 0 {
            parts.push(format!("cell {} of {}, {}", self.cell_number, self.cells, self.cell));
        }
        if self.findings > 0 {
            parts.push(words::counted(self.findings, "finding"));
        }
        if self.unreached > 0 {
            parts.push(format!("{} not reached", words::counted(self.unreached, "point")));
        }
        parts.join("; ")
    }
}

fn in_cell(values: &[String]) -> String {
    if values.is_empty() { String::new() } else { format!(" [{}]", values.join(" ")) }
}

#[expect(clippy::unnecessary_wraps, reason = "it ends the arms of a match on options")]
fn good(text: String) -> Option<Line> {
    Some(Line { text, bad: false })
}

#[expect(clippy::unnecessary_wraps, reason = "it ends the arms of a match on options")]
fn bad(text: String) -> Option<Line> {
    Some(Line { text, bad: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::event::TrialRecord;
    use crate::model::life::TrialEnd;
    use crate::report::samples;

    fn trial(reached: bool) -> Event {
        Event::TrialFinished(TrialRecord {
            cell: 1,
            trial: 0,
            point: 0,
            interleaving: crate::model::interleaving::Interleaving::AsIs,
            state: None,
            schedule: "charge#1:answered kill".parse().expect("a schedule"),
            tries: 1,
            reached,
            end: TrialEnd::Done,
            lives: 2,
            cpu_us: 0,
            judgements: vec![],
            keys_stable: std::collections::BTreeMap::new(),
        })
    }

    #[test]
    fn the_bar_counts_trials_and_says_what_was_found() {
        let mut progress = Progress::default();
        let started = Event::RunStarted {
            version: "0.1.0".to_owned(),
            scenario: "langgraph".to_owned(),
            at: "2026-08-21T10:15:30Z".to_owned(),
            cells: 3,
            seed: 7,
        };
        assert_eq!(progress.feed(&started), good("killpoint 0.1.0: langgraph, 3 cells, seed 7".to_owned()));
        progress.feed(&Event::CellStarted { cell: 1, values: vec!["durability=async".to_owned()] });
        progress.feed(&Event::Planned { cell: 1, trials: 2 });
        assert_eq!((progress.done(), progress.total()), (0, 2));
        assert_eq!(progress.message(), "cell 2 of 3, durability=async");
        progress.feed(&trial(true));
        progress.feed(&trial(false));
        progress.feed(&Event::Planned { cell: 1, trials: 1 });
        let finding = Box::new(samples::findings().findings[1].clone());
        let text = "F2 duplicated: charge of inv_9 happened 2 times, promised exactly 1 [durability=async]";
        assert_eq!(progress.feed(&Event::FindingMade { cell: 1, finding }), bad(text.to_owned()));
        assert_eq!((progress.done(), progress.total()), (3, 3), "a finding is shown again, which is a trial of its own");
        assert_eq!(progress.message(), "cell 2 of 3, durability=async; 1 finding; 1 point not reached");
        assert_eq!(progress.feed(&Event::Interrupted), bad("interrupted after 3 of 3 trials".to_owned()));
    }
}
