//! From the file's structs to the model: everything that needs more than shapes to judge, all problems at once.
//! One file per section of the scenario.

mod campaign;
mod effect;
mod promise;
mod sandbox;
mod workflow;

use std::ops::{Range, RangeInclusive};
use std::path::Path;

use serde::de::{DeserializeOwned, IntoDeserializer, value};

use super::diagnostics::{Problem, did_you_mean};
use super::file::ScenarioFile;
use super::placeholder::{self, Piece, PlaceholderError};
use super::value::{Number, Text};
use crate::model::scenario::Scenario;

/// The scenario a file describes, or everything that is wrong with it. `base` is what `dir` is relative to.
pub(super) fn check(file: &ScenarioFile, source: &str, base: &Path) -> Result<Scenario, Vec<Problem>> {
    let mut check = Check { source, problems: Vec::new(), matrix: Vec::new(), matrix_unclear: false };
    if file.name.get_ref().trim().is_empty() {
        check.report(
            Problem::at(file.name.span(), "the scenario has no name")
                .hint("say what is tried: `name = \"refund: charge with a key\"`"),
        );
    }
    let scope = check.word(file.scope.as_ref(), "scope", &["power-loss", "lost-response"]);
    let matrix = check.matrix(file.matrix.as_ref());
    let workflow = check.workflow(file.workflow.get_ref(), base);
    let sandbox = check.sandbox(&file.sandbox);
    let promises = check.promises(&file.promise.0);
    let campaign = check.campaign(&file.campaign);
    check.window(&file.campaign, &promises);
    check.unused_matrix();
    if !check.problems.is_empty() {
        return Err(check.problems);
    }
    Ok(Scenario { name: file.name.get_ref().clone(), scope, roles: vec![workflow], sandbox, promises, matrix, campaign })
}

/// Where a text stands, which decides the placeholders it may use.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In what is run once, before any trial.
    Setup,
    /// In what is run in a trial.
    Trial,
}

/// One name of the matrix.
struct Variable {
    name: String,
    at: Range<usize>,
    used: bool,
}

struct Check<'a> {
    source: &'a str,
    problems: Vec<Problem>,
    matrix: Vec<Variable>,
    /// Whether a text that may use the matrix could not be understood; then an unused name is no news.
    matrix_unclear: bool,
}

impl Check<'_> {
    fn report(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Where the characters of a text start in the file, where it is written without escapes.
    fn body(&self, text: &Text) -> Option<usize> {
        let (span, value) = (text.span(), text.get_ref().as_str());
        let raw = self.source.get(span.clone())?;
        let quotes = ["\"\"\"", "'''", "\"", "'"];
        let quote = quotes.into_iter().find(|quote| raw.starts_with(*quote) && raw.len() >= 2 * quote.len())?;
        (raw[quote.len()..raw.len() - quote.len()] == *value).then_some(span.start + quote.len())
    }

    /// The byte range in the file of a part of a text; that of the whole text where it is written with escapes.
    fn part(&self, text: &Text, part: Range<usize>) -> Range<usize> {
        self.body(text).map_or(text.span(), |body| body + part.start..body + part.end)
    }

    /// A word out of a closed list; `later` are those the design knows and this version does not.
    fn word<T: DeserializeOwned + Default>(&mut self, word: Option<&Text>, what: &str, later: &[&str]) -> T {
        word.and_then(|word| self.one_word(word, what, later)).unwrap_or_default()
    }

    fn one_word<T: DeserializeOwned>(&mut self, word: &Text, what: &str, later: &[&str]) -> Option<T> {
        let text = word.get_ref().as_str();
        let deserializer: value::StrDeserializer<'_, value::Error> = text.into_deserializer();
        let error = match T::deserialize(deserializer) {
            Ok(value) => return Some(value),
            Err(error) => error.to_string(),
        };
        // serde's message names the possible words behind `expected`.
        let expected = error.rsplit_once(", expected ").map_or(error.as_str(), |(_, expected)| expected);
        let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
        let possible = known.iter().map(|known| format!("`{known}`")).collect::<Vec<_>>().join(", ");
        let problem = if later.contains(&text) {
            Problem::at(word.span(), format!("the {what} `{text}` is not possible yet"))
        } else {
            Problem::at(word.span(), format!("unknown {what} `{text}`")).maybe_hint(did_you_mean(text, known.iter().copied()))
        };
        self.report(problem.label(format!("possible now: {possible}")));
        None
    }

    /// A number within bounds; the lower bound where it is not.
    fn number<T>(&mut self, number: &Number, bounds: RangeInclusive<T>, what: &str) -> T
    where
        T: Copy + Into<i128> + TryFrom<i128> + std::fmt::Display + PartialOrd,
    {
        let value = T::try_from(*number.get_ref()).ok().filter(|value| bounds.contains(value));
        value.unwrap_or_else(|| {
            let title = format!("{what} must be a whole number from {} to {}", bounds.start(), bounds.end());
            self.report(Problem::at(number.span(), title).label(format!("this is {}", number.get_ref())));
            *bounds.start()
        })
    }

    /// A text handed to a process: no NUL, known placeholders only.
    fn process_text(&mut self, text: &Text, place: Place) -> String {
        self.no_nul(text);
        // Looked up once: a text may hold very many placeholders.
        let body = self.body(text);
        let in_file = |part: Range<usize>| body.map_or(text.span(), |body| body + part.start..body + part.end);
        for piece in placeholder::pieces(text.get_ref()) {
            match piece {
                Ok(Piece::Literal(_)) => {}
                Ok(Piece::Name(name, at)) => self.placeholder(name, in_file(at), place),
                Err(error) => {
                    self.matrix_unclear = true;
                    let at = error.at();
                    let (what, hint) = match error {
                        PlaceholderError::Unopened { .. } => {
                            ("closes a placeholder that was not opened", "a literal `}` is written `}}`")
                        }
                        _ => ("is not closed", "a literal `{` is written `{{`"),
                    };
                    let problem = Problem::at(in_file(at), "a brace without its other half");
                    self.report(problem.label(format!("this brace {what}")).hint(hint));
                }
            }
        }
        text.get_ref().clone()
    }

    fn placeholder(&mut self, name: &str, at: Range<usize>, place: Place) {
        let variable = name.strip_prefix(placeholder::MATRIX);
        self.matrix_unclear |= variable.is_some_and(|name| self.matrix.iter().all(|variable| variable.name != name));
        let variable = variable.and_then(|name| self.matrix.iter_mut().find(|variable| variable.name == name));
        if let Some(variable) = variable {
            variable.used = true;
        } else if placeholder::IN_SETUP.contains(&name) || (place == Place::Trial && placeholder::IN_TRIALS.contains(&name)) {
            return;
        } else if !placeholder::IN_TRIALS.contains(&name) {
            return self.unknown_placeholder(name, at, place);
        }
        if place == Place::Setup {
            let problem = Problem::at(at, format!("`{{{name}}}` cannot be used in `setup`"))
                .label("there is no trial yet")
                .hint("`setup` is run once, before all trials; use this in `start`, `resume` or `env`")
                .hint(format!("known in `setup`: {}", placeholder::list(placeholder::IN_SETUP.into_iter())));
            self.report(problem);
        }
    }

    fn unknown_placeholder(&mut self, name: &str, at: Range<usize>, place: Place) {
        let mut known: Vec<String> = placeholder::IN_SETUP.map(str::to_owned).to_vec();
        if place == Place::Trial {
            known.extend(placeholder::IN_TRIALS.map(str::to_owned));
            known.extend(self.matrix.iter().map(|variable| format!("{}{}", placeholder::MATRIX, variable.name)));
        }
        let close = did_you_mean(name, known.iter().map(String::as_str));
        let matrix = name.strip_prefix(placeholder::MATRIX).filter(|_| close.is_none());
        let problem = Problem::at(at, format!("unknown placeholder `{{{name}}}`"))
            .label("nothing is known by this name")
            .maybe_hint(close)
            .maybe_hint(
                matrix.map(|name| format!("the matrix has no `{name}`; say its values in `[matrix]`: `{name} = [\"a\", \"b\"]`")),
            )
            .hint(format!("known here: {}", placeholder::list(known.iter().map(String::as_str))))
            .hint(format!("literal braces are doubled: `{{{{{name}}}}}`"));
        self.report(problem);
    }

    fn no_nul(&mut self, text: &Text) {
        if text.get_ref().contains('\0') {
            let problem =
                Problem::at(text.span(), "a NUL character cannot be handed to a process").label("this text holds `\\u0000`");
            self.report(problem.hint("hand it over in a file"));
        }
    }
}
