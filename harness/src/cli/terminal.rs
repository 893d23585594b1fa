//! Where texts go: data to stdout, notes to stderr, with or without colour. A reader that has gone away (`| head`) is no error.

use std::io::{self, IsTerminal as _, Write as _};

use anstream::{AutoStream, ColorChoice};
use killpoint::model::exit::Exit;

use super::failure::Failure;

/// Columns where stdout is no terminal.
const WIDTH_DEFAULT_COLUMNS: usize = 100;

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ColorWhen {
    /// Where it is shown on a terminal.
    #[default]
    Auto,
    /// Also in files and pipes.
    Always,
    /// Nowhere.
    Never,
}

/// The two streams and how they are written.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// Whether stdout takes colour.
    pub out_colour: bool,
    /// Whether stderr takes colour.
    pub err_colour: bool,
    /// Whether stderr is a terminal, which can draw a bar.
    pub err_is_terminal: bool,
    /// Columns of stdout.
    pub width: usize,
}

impl Terminal {
    /// Looks at both streams and the environment.
    pub fn new(when: ColorWhen) -> Self {
        match when {
            ColorWhen::Auto => ColorChoice::Auto,
            ColorWhen::Always => ColorChoice::Always,
            ColorWhen::Never => ColorChoice::Never,
        }
        .write_global();
        let width = if io::stdout().is_terminal() { textwrap::termwidth() } else { WIDTH_DEFAULT_COLUMNS };
        Self {
            out_colour: AutoStream::choice(&io::stdout()) != ColorChoice::Never,
            err_colour: AutoStream::choice(&io::stderr()) != ColorChoice::Never,
            err_is_terminal: io::stderr().is_terminal(),
            width,
        }
    }

    /// Writes data to stdout.
    ///
    /// # Errors
    /// It cannot be written, and not because the reader has gone away.
    pub fn print(&self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::new(Exit::Environment, "the output cannot be written").cause(error))
            }
            _ => Ok(()),
        }
    }

    /// Writes a note to stderr, as lines of its own. There is nobody to tell if that fails.
    pub fn note(&self, text: &str) {
        let _ = writeln!(io::stderr(), "{}", text.trim_end_matches('\n'));
    }
}

/// A foreign text without what a terminal would obey: control characters and the marks that turn the direction of writing are
/// written out.
pub fn washed(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || turns(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_text_cannot_drive_the_terminal() {
        assert_eq!(washed("a\u{1b}[2Jb\nc\u{202e}"), "a\\u{1b}[2Jb\\nc\\u{202e}");
        assert_eq!(washed("größe"), "größe");
    }
}
