//! `killpoint explain`: what a word of a report means, how killpoint knows it, and what to do.

use std::fmt::Write as _;

use killpoint::model::exit::Exit;

use super::failure::Failure;
use super::render::{self, Explanation};
use super::terminal::{Terminal, washed};

/// Explain a word of a report: a verdict, a cause, a moment of a request, a fault, a notice or an exit code.
#[derive(Clone, Debug, clap::Args)]
pub struct ExplainArgs {
    /// The word, such as `duplicated`, `no_key`, `answered` or `4`; without one, all words are listed
    #[arg(value_name = "WORD")]
    word: Vec<String>,
}

impl ExplainArgs {
    /// Prints the explanation, or the words there are.
    ///
    /// # Errors
    /// The word is not known.
    pub fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let word = self.word.join(" ");
        let text = match word.as_str() {
            "" => list(&render::explain_all()),
            word => render::explain(word).ok_or_else(|| unknown(word))?.to_string(),
        };
        terminal.print(&text)?;
        Ok(Exit::Clean)
    }
}

/// The words, one line for each kind.
fn list(all: &[Explanation]) -> String {
    let mut kinds: Vec<&str> = Vec::new();
    for known in all {
        if !kinds.contains(&known.kind) {
            kinds.push(known.kind);
        }
    }
    let mut text = "Words that `killpoint explain WORD` explains:\n".to_owned();
    for kind in kinds {
        let words: Vec<&str> = all.iter().filter(|known| known.kind == kind).map(|known| known.word.as_str()).collect();
        let line = textwrap::fill(&words.join(", "), textwrap::Options::new(80).initial_indent("  ").subsequent_indent("  "));
        let _ = write!(text, "\n{kind}:\n{line}\n");
    }
    text
}

fn unknown(word: &str) -> Failure {
    let likeness = |known: &Explanation| strsim::jaro_winkler(&word.to_lowercase(), &known.word);
    let all = render::explain_all();
    let best = all.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b))).filter(|best| likeness(best) > 0.8);
    let hint = best.map_or_else(
        || "`killpoint explain` lists the words".to_owned(),
        |best| format!("did you mean `{}`? `killpoint explain` lists the words", best.word),
    );
    Failure::usage(format!("no word of a report: `{}`", washed(word))).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_listed_and_a_misspelt_one_is_found_again() {
        let text = list(&render::explain_all());
        for known in render::explain_all() {
            assert!(text.contains(&known.word), "{}", known.word);
        }
        let told = unknown("duplicatd").render(false);
        assert!(told.contains("did you mean `duplicated`?"), "{told}");
        assert!(!unknown("qqq").render(false).contains("did you mean"));
    }
}
