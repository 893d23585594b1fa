//! Why a command could not do what it was asked: one block of text with causes and hints, and an exit code.

use std::error::Error;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use killpoint::campaign::CampaignError;
use killpoint::model::exit::Exit;
use killpoint::scenario::ScenarioError;
use killpoint::store::StoreError;

/// Why a command failed. A broken promise is no failure.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    body: Body,
    hints: Vec<String>,
}

#[derive(Debug)]
enum Body {
    /// What went wrong and its causes, the outermost first.
    Causes(String),
    /// Drawn already, without and with colour.
    Drawn { plain: String, coloured: String },
}

impl Failure {
    /// Something went wrong.
    pub fn new(exit: Exit, what: impl Into<String>) -> Self {
        Self { exit, body: Body::Causes(what.into()), hints: Vec::new() }
    }

    /// The command line is wrong.
    pub fn usage(what: impl Into<String>) -> Self {
        Self::new(Exit::Usage, what)
    }

    /// Something that points at its place by itself.
    pub fn drawn(exit: Exit, plain: String, coloured: String) -> Self {
        Self { exit, body: Body::Drawn { plain, coloured }, hints: Vec::new() }
    }

    /// Says why.
    pub fn cause(mut self, cause: impl std::fmt::Display) -> Self {
        if let Body::Causes(text) = &mut self.body {
            let _ = write!(text, ": {cause}");
        }
        self
    }

    /// Says what helps.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The whole block, without a line break at its end.
    pub fn render(&self, colour: bool) -> String {
        let (red, cyan) = (AnsiColor::Red.on_default().bold(), AnsiColor::Cyan.on_default().bold());
        let painted = |style: Style, text: &str| if colour { format!("{style}{text}{style:#}") } else { text.to_owned() };
        let mut block = match &self.body {
            Body::Causes(text) => format!("{}{text}", painted(red, "error: ")),
            Body::Drawn { plain, coloured } => {
                if colour {
                    coloured.clone()
                } else {
                    plain.clone()
                }
            }
        };
        for hint in &self.hints {
            let _ = write!(block, "\n{}{hint}", painted(cyan, "hint: "));
        }
        block
    }

    /// An error with all its causes; the lines of its text that are hints become hints.
    pub fn from_error(exit: Exit, error: &(dyn Error + 'static)) -> Self {
        let mut failure = Self::new(exit, "");
        let mut causes = Vec::new();
        let mut next = Some(error);
        while let Some(cause) = next {
            next = cause.source();
            let text = cause.to_string();
            let (hints, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with("hint: "));
            let hints = hints.into_iter().filter_map(|hint| hint.strip_prefix("hint: ")).filter(|hint| !hint.is_empty());
            failure.hints.extend(hints.map(str::to_owned));
            causes.push(lines.join("\n").trim_end().to_owned());
        }
        failure.body = Body::Causes(causes.join(": "));
        failure
    }
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        Self::drawn(Exit::Usage, error.render(false), error.render(true))
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let exit = match &error {
            StoreError::NotEmpty { .. }
            | StoreError::NotARun { .. }
            | StoreError::BadName { .. }
            | StoreError::NoFinding { .. } => Exit::Usage,
            _ => Exit::Environment,
        };
        let mut failure = Self::from_error(exit, &error);
        failure.hints.extend(error.hint());
        failure
    }
}

impl From<CampaignError> for Failure {
    fn from(error: CampaignError) -> Self {
        let mut failure = Self::from_error(error.exit(), &error);
        match &error {
            CampaignError::Store(store) => failure.hints.extend(store.hint()),
            CampaignError::Machine { .. } => failure.hints.push("`killpoint doctor` looks at the whole machine".to_owned()),
            CampaignError::Bug(_) => failure.hints.push("please report it, with the run folder if there is one".to_owned()),
            _ => {}
        }
        failure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_stand_behind_what_they_caused_and_hints_below() {
        let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
        let error = CampaignError::Files { what: "the cache could not be written".to_owned(), source: Box::new(source) };
        let failure = Failure::from(error).hint("make room");
        assert_eq!(failure.exit, Exit::Environment);
        assert_eq!(failure.render(false), "error: the cache could not be written: no storage space\nhint: make room");
    }

    #[test]
    fn a_hint_within_a_message_moves_to_the_end() {
        let error = CampaignError::Program {
            what: "start".to_owned(),
            program: "pyhton".to_owned(),
            hint: Some("did you mean `python`?".to_owned()),
        };
        let told = Failure::from(error).render(false);
        assert_eq!(told, "error: start: `pyhton` was not found\nhint: did you mean `python`?");
    }

    #[test]
    fn colour_changes_no_word() {
        let failure = Failure::usage("no").hint("yes");
        let coloured = failure.render(true);
        assert!(coloured.contains('\u{1b}'));
        assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), failure.render(false));
    }
}
