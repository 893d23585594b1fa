//! What each word of a report means, how killpoint knows it, and what to do: the texts of `killpoint explain`.
//!
//! To explain a new word: a constant in the file of its kind and a line in that file's table, which the compiler asks for.

mod causes;
mod faults;
mod moments;
mod notices;
mod outcomes;
mod verdicts;

#[cfg(test)]
mod tests;

use crate::model::verdict::Cause;

/// The columns of an explanation.
const WIDTH_COLUMNS: usize = 80;

/// A word explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The word, as it stands in reports.
    pub word: String,
    /// What kind of word it is (`cause`, `verdict`, ...).
    pub kind: &'static str,
    /// What it means.
    pub means: &'static str,
    /// How killpoint knows.
    pub known: &'static str,
    /// What to do about it.
    pub mend: &'static str,
    /// Lines of code that show it, where that helps; may be empty.
    pub example: &'static str,
}

/// The text of an explanation without its word.
#[derive(Clone, Copy)]
struct Text {
    means: &'static str,
    known: &'static str,
    mend: &'static str,
    example: &'static str,
}

impl Text {
    fn of(self, kind: &'static str, word: impl Into<String>) -> Explanation {
        let Self { means, known, mend, example } = self;
        Explanation { word: word.into(), kind, means, known, mend, example }
    }
}

impl std::fmt::Display for Explanation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let wrapped = |text: &str| textwrap::fill(text, textwrap::Options::new(WIDTH_COLUMNS).break_words(false));
        writeln!(f, "{} ({})\n", self.word, self.kind)?;
        writeln!(f, "{}\n", wrapped(self.means))?;
        writeln!(f, "{}\n", wrapped(&format!("How killpoint knows: {}", self.known)))?;
        writeln!(f, "{}", wrapped(&format!("What to do: {}", self.mend)))?;
        if !self.example.is_empty() {
            writeln!(f, "\n{}", textwrap::indent(self.example, "    "))?;
        }
        Ok(())
    }
}

/// Explains a word of a report: a verdict, a cause, an exit code (`3`, `exit 3`), a moment, a fault or a notice. Capitals, `-` and spaces
/// do not matter. `None` where the word is not known; [`words`] has those that are.
#[must_use]
pub fn explain(word: &str) -> Option<Explanation> {
    let asked = normal(word);
    let asked = asked.strip_prefix("exit_code_").or_else(|| asked.strip_prefix("exit_")).unwrap_or(&asked);
    explain_all().into_iter().find(|known| known.word == asked)
}

/// All explanations, by kind.
#[must_use]
pub fn explain_all() -> Vec<Explanation> {
    let kinds =
        [outcomes::runs(), verdicts::all(), causes::all(), moments::all(), faults::all(), notices::all(), outcomes::exits()];
    kinds.into_iter().flatten().collect()
}

/// All words that can be explained.
#[must_use]
pub fn words() -> Vec<String> {
    explain_all().into_iter().map(|known| known.word).collect()
}

/// How to mend a cause, in one line.
#[must_use]
pub fn mend_line(cause: Cause) -> &'static str {
    causes::mend_line(cause)
}

fn normal(word: &str) -> String {
    word.trim().to_lowercase().replace(['-', ' '], "_")
}
