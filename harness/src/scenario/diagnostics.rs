//! Errors of a scenario, shown with the file, line and column, the source line, what was expected and a hint.
//! Knows nothing of what a scenario means.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use crate::model::limits::SCENARIO_PROBLEMS_MAX;

/// Everything that is wrong with one scenario file. Its text form is the plain rendering.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.render(false))]
pub struct ScenarioError {
    file: String,
    text: String,
    problems: Vec<Problem>,
    #[source]
    source: Option<std::io::Error>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// What is wrong, in a few words.
    title: String,
    /// Where; nothing where the file could not be read.
    at: Option<Range<usize>>,
    /// What stands or was expected there.
    label: String,
    /// Another place that matters.
    other: Option<(Range<usize>, String)>,
    /// What would help.
    hints: Vec<String>,
}

impl Problem {
    /// A problem at a byte range of the file.
    pub fn at(at: Range<usize>, title: impl Into<String>) -> Self {
        Self { at: Some(at), ..Self::of_file(title) }
    }

    /// A problem with the file as a whole.
    pub fn of_file(title: impl Into<String>) -> Self {
        Self { title: visible(&title.into()), at: None, label: String::new(), other: None, hints: Vec::new() }
    }

    /// Says what stands or was expected at its place.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = visible(&label.into());
        self
    }

    /// Points at a second place.
    pub fn other(mut self, at: Range<usize>, label: impl Into<String>) -> Self {
        self.other = Some((at, visible(&label.into())));
        self
    }

    /// Says what would help.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(visible(&hint.into()));
        self
    }

    /// Says what would help, where something would.
    pub fn maybe_hint(self, hint: Option<String>) -> Self {
        match hint {
            Some(hint) => self.hint(hint),
            None => self,
        }
    }
}

impl ScenarioError {
    /// Problems of a text; shown in the order of their places.
    pub(super) fn new(file: &str, text: &str, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| problem.at.as_ref().map(|at| at.start));
        // As many bytes as before, so that the places stay right; the other control characters are replaced in the rendering.
        let text = text.replace(|c: char| ('\u{80}'..='\u{9F}').contains(&c), "\u{BF}");
        Self { file: visible(file), text, problems, source: None }
    }

    /// A problem with a file whose text is not at hand.
    pub(super) fn of_file(file: &str, problem: Problem, source: Option<std::io::Error>) -> Self {
        Self { source, ..Self::new(file, "", vec![problem]) }
    }

    /// The whole message for a terminal, without a line break at its end.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        let shown = self.problems.iter().take(SCENARIO_PROBLEMS_MAX);
        let mut blocks: Vec<String> = shown.map(|problem| renderer.render(&[self.group(problem)])).collect();
        let left = self.problems.len().saturating_sub(SCENARIO_PROBLEMS_MAX);
        if left > 0 {
            blocks.push(renderer.render(&[Group::with_title(Level::NOTE.primary_title(format!("{left} more not shown")))]));
        }
        blocks.join("\n\n")
    }

    fn group<'a>(&'a self, problem: &'a Problem) -> Group<'a> {
        let group = Group::with_title(Level::ERROR.primary_title(&problem.title));
        let group = match &problem.at {
            None => group.element(Origin::path(&self.file)),
            Some(at) => {
                let main = AnnotationKind::Primary.span(self.on_one_line(at)).label(&problem.label);
                let other =
                    problem.other.iter().map(|(at, label)| AnnotationKind::Context.span(self.on_one_line(at)).label(label));
                group.element(Snippet::source(&self.text).path(&self.file).annotation(main).annotations(other))
            }
        };
        group.elements(problem.hints.iter().map(|hint| Level::HELP.with_name("hint").message(hint)))
    }

    /// The part of a range that lies on its first line, within the text and between characters; at least one wide where
    /// there is something to point at.
    fn on_one_line(&self, at: &Range<usize>) -> Range<usize> {
        let start = floor_boundary(&self.text, at.start);
        let line = self.text[start..].find(['\r', '\n']).map_or(self.text.len(), |end| start + end);
        let end = floor_boundary(&self.text, at.end.min(line)).max(start);
        if end > start {
            return start..end;
        }
        start..self.text[start..line].chars().next().map_or(start, |c| start + c.len_utf8())
    }
}

/// A text without anything a terminal would obey or break a line at: it may hold what stands in the file.
fn visible(text: &str) -> String {
    let text = text.replace('\n', "\u{240A}");
    annotate_snippets::normalize_untrusted_str(&text).replace(char::is_control, "\u{FFFD}")
}

fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The known word that was probably meant, as a hint.
pub(super) fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let close = known.into_iter().map(|known| (strsim::jaro_winkler(&word.to_lowercase(), known), known));
    let (likeness, best) = close.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (likeness > 0.8 && best != word).then(|| format!("did you mean `{best}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_made_to_lie_between_characters_on_one_line() {
        let error = ScenarioError::new("a.toml", "aß\r\n\nc", Vec::new());
        let shown = |at| error.on_one_line(&at);
        assert_eq!(shown(0..9), 0..3, "cut at the end of the line");
        assert_eq!(shown(2..3), 1..3, "widened to the character");
        assert_eq!(shown(1..2), 1..3, "at least one character");
        assert_eq!(shown(5..6), 5..5, "nothing to point at");
        assert_eq!(shown(90..99), 7..7, "behind the end");
    }

    #[test]
    fn characters_that_are_taken_out_do_not_move_the_places_behind_them() {
        let problem = Problem::at(7..8, "here").label("x marks it");
        let shown = ScenarioError::new("a.toml", "\"\u{9b}\" = x", vec![problem.clone()]).to_string();
        assert!(shown.contains("a.toml:1:7\n"), "{shown}");
        assert_eq!(shown, ScenarioError::new("a.toml", "\"\u{BF}\" = x", vec![problem]).to_string());
    }
}
