//! What a group measured, a row each, and the page that shows it.

use super::machine::Machine;

/// Whether a ratio is to be large or small.
#[derive(Clone, Copy)]
pub enum Goal {
    /// As often as that, or more.
    AtLeast(f64),
    /// As much as that, or less.
    AtMost(f64),
    /// Nothing was promised.
    None,
}

/// One comparison.
pub struct Row {
    /// The group's name.
    pub group: &'static str,
    /// What was compared, and how.
    pub what: String,
    /// killpoint's number, with its unit.
    pub ours: String,
    /// The other number, with its unit.
    pub other: String,
    /// The ratio, or nothing where it could not be measured.
    pub ratio: Option<f64>,
    /// Whether the ratio is only a lower bound.
    pub is_bound: bool,
    /// What the ratio should be.
    pub goal: Goal,
}

impl Row {
    /// A row that says why there is no number.
    pub fn skipped(group: &'static str, why: &str) -> Self {
        let none = || "skipped".to_owned();
        Self { group, what: why.to_owned(), ours: none(), other: none(), ratio: None, is_bound: false, goal: Goal::None }
    }

    fn text(&self) -> String {
        let bound = if self.is_bound { ">" } else { "" };
        let ratio = self.ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{bound}{ratio:.2}x"));
        let (goal, is_met) = match self.goal {
            Goal::AtLeast(goal) => (format!("at least {goal}x"), self.ratio.map(|ratio| ratio >= goal)),
            Goal::AtMost(goal) => (format!("at most {goal}x"), self.ratio.map(|ratio| ratio <= goal)),
            Goal::None => (String::new(), None),
        };
        let is_met = is_met.map_or("", |is_met| if is_met { "met" } else { "not met" });
        format!("| {} | {} | {} | {} | {ratio} | {goal} | {is_met} |\n", self.group, self.what, self.ours, self.other)
    }
}

/// The page.
pub fn text(rows: &[Row], machine: &Machine) -> String {
    let full = if machine.is_full { "KILLPOINT_BENCH_FULL=1 " } else { "" };
    let mut text = format!(
        "# Benchmarks\n\nWritten by `{full}cargo bench`; not edited. All numbers are of one run, side by side, on {} CPUs.\n\
         Times differ from machine to machine; the ratios are what is compared.\n\n\
         | group | what | killpoint | other | ratio | goal | |\n|---|---|---|---|---|---|---|\n",
        machine.cpus
    );
    text.extend(rows.iter().map(Row::text));
    text
}

/// The middle one of some numbers.
pub fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
