//! Placeholders in a scenario's texts: `{state}` stands for a value, `{{` and `}}` for the braces themselves.

use std::collections::BTreeMap;
use std::ops::Range;

/// Placeholders that are known everywhere.
pub(super) const IN_SETUP: [&str; 3] = ["venv", "cache", "dir"];
/// Placeholders that are known only inside a trial.
pub(super) const IN_TRIALS: [&str; 9] =
    ["state", "sandbox.url", "sandbox.port", "mcp.url", "mcp.command", "smtp.url", "smtp.host", "smtp.port", "tmp"];
/// What stands before the name of a matrix variable.
pub(super) const MATRIX: &str = "matrix.";

/// Values for placeholders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placeholders {
    values: BTreeMap<String, String>,
}

/// Why a text could not be filled, and the byte range of the trouble in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceholderError {
    /// Nothing is known by that name.
    #[error("`{{{name}}}` is not known here; known are {known}")]
    Unknown {
        /// What stands in the braces.
        name: String,
        /// The known ones, as a list for people.
        known: String,
        /// Where, with the braces.
        at: Range<usize>,
    },
    /// A `{` without its `}`.
    #[error("`{{` without its `}}`")]
    Unclosed {
        /// Where.
        at: Range<usize>,
    },
    /// A `}` without its `{`.
    #[error("`}}` without its `{{`")]
    Unopened {
        /// Where.
        at: Range<usize>,
    },
}

impl PlaceholderError {
    /// Where in the text the trouble is, in bytes.
    #[must_use]
    pub fn at(&self) -> Range<usize> {
        match self {
            Self::Unknown { at, .. } | Self::Unclosed { at } | Self::Unopened { at } => at.clone(),
        }
    }
}

impl Placeholders {
    /// None known yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a placeholder known, or changes its value. The name stands without braces (`sandbox.url`).
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.values.insert(name.into(), value.into());
    }

    /// The text with every placeholder replaced by its value. Values are not looked into again.
    ///
    /// # Errors
    /// A placeholder that is not known, or a brace without its other half.
    pub fn fill(&self, text: &str) -> Result<String, PlaceholderError> {
        let mut filled = String::with_capacity(text.len());
        for piece in pieces(text) {
            match piece? {
                Piece::Literal(literal) => filled.push_str(literal),
                Piece::Name(name, at) => match self.values.get(name) {
                    Some(value) => filled.push_str(value),
                    None => {
                        let known = list(self.values.keys().map(String::as_str));
                        return Err(PlaceholderError::Unknown { name: name.to_owned(), known, at });
                    }
                },
            }
        }
        Ok(filled)
    }
}

/// Names as a list for people: `{a}`, `{b}`.
pub(super) fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{{{name}}}`")).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Stands for itself.
    Literal(&'a str),
    /// Stands for a value; with the byte range of the whole placeholder.
    Name(&'a str, Range<usize>),
}

/// Takes a text apart. Ends after the first error.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = Result<Piece<'_>, PlaceholderError>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        let piece = next_piece(rest, at);
        at += match &piece {
            Ok((_, length)) => *length,
            Err(_) => rest.len(),
        };
        Some(piece.map(|(piece, _)| piece))
    })
}

/// The first part of a text that starts at byte `at` of the whole, and its length in bytes.
fn next_piece(rest: &str, at: usize) -> Result<(Piece<'_>, usize), PlaceholderError> {
    match rest.find(['{', '}']) {
        None => return Ok((Piece::Literal(rest), rest.len())),
        Some(0) => {}
        Some(brace) => return Ok((Piece::Literal(&rest[..brace]), brace)),
    }
    if rest.starts_with("{{") || rest.starts_with("}}") {
        return Ok((Piece::Literal(&rest[..1]), 2));
    }
    if rest.starts_with('}') {
        return Err(PlaceholderError::Unopened { at: at..at + 1 });
    }
    match rest[1..].find(['{', '}']).map(|end| end + 1) {
        Some(end) if rest[end..].starts_with('}') => Ok((Piece::Name(&rest[1..end], at..at + end + 1), end + 1)),
        _ => Err(PlaceholderError::Unclosed { at: at..at + 1 }),
    }
}

/// Doubles every brace except those of the placeholders every trial knows, for texts that were not written as a scenario's.
pub(super) fn escape_unknown(text: &str) -> String {
    let known = || IN_SETUP.iter().chain(&IN_TRIALS);
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let behind = rest.strip_prefix('{').filter(|_| !escaped.ends_with('{'));
        let name = behind.and_then(|behind| known().find(|name| behind.strip_prefix(**name).is_some_and(|b| b.starts_with('}'))));
        if let Some(name) = name {
            escaped.push_str(&rest[..name.len() + 2]);
            rest = &rest[name.len() + 2..];
            continue;
        }
        if matches!(c, '{' | '}') {
            escaped.push(c);
        }
        escaped.push(c);
        rest = &rest[c.len_utf8()..];
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn known() -> Placeholders {
        let mut known = Placeholders::new();
        known.set("state", "/s {x}");
        known.set("matrix.mode", "sync");
        known
    }

    #[test]
    fn placeholders_are_filled_once_and_doubled_braces_are_braces() {
        assert_eq!(known().fill("a{state}b{matrix.mode}"), Ok("a/s {x}bsync".to_owned()));
        assert_eq!(known().fill("${{HOME}} {{{state}}}"), Ok("${HOME} {/s {x}}".to_owned()));
        assert_eq!(known().fill(""), Ok(String::new()));
    }

    #[test]
    fn trouble_is_placed_by_byte() {
        let error = known().fill("ü{stat}").expect_err("a typo");
        assert_eq!(error.at(), 2..8);
        assert_eq!(error.to_string(), "`{stat}` is not known here; known are `{matrix.mode}`, `{state}`");
        assert_eq!(known().fill("{state"), Err(PlaceholderError::Unclosed { at: 0..1 }));
        assert_eq!(known().fill("{a{state}"), Err(PlaceholderError::Unclosed { at: 0..1 }));
        assert_eq!(known().fill("a}"), Err(PlaceholderError::Unopened { at: 1..2 }));
        assert_eq!(PlaceholderError::Unclosed { at: 0..1 }.to_string(), "`{` without its `}`");
    }

    #[test]
    fn a_command_line_keeps_its_braces_and_may_use_the_known_placeholders() {
        assert_eq!(escape_unknown("${HOME} {state}/x {}"), "${{HOME}} {state}/x {{}}");
        assert_eq!(escape_unknown("{{state}}"), "{{{{state}}}}");
    }

    proptest! {
        #[test]
        fn braces_of_a_command_line_survive(text in "[a{}$ü]{0,12}") {
            prop_assert_eq!(known().fill(&escape_unknown(&text)), Ok(text));
        }

        #[test]
        fn any_text_is_filled_or_an_error_and_never_a_panic(text in any::<String>()) {
            if let Err(error) = known().fill(&text) {
                prop_assert!(text.get(error.at()).is_some());
            }
        }
    }
}
