//! A page of text: wrapping, indents and colour, and the washing of foreign texts. It knows nothing of reports.

use anstyle::{AnsiColor, Style as Paint};

use super::Style;

/// The columns that the labels of a block take.
const LABEL_COLUMNS: usize = 8;
/// The indent of a block.
pub(in crate::report) const BLOCK: &str = "  ";

/// What a piece of text is, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::report) enum Role {
    /// Text.
    Plain,
    /// What the eye should find: names and commands.
    Strong,
    /// A label.
    Faint,
    /// A broken promise.
    Bad,
    /// A kept one.
    Good,
    /// Neither.
    Doubt,
}

/// A piece of text.
#[derive(Clone, Debug)]
pub(in crate::report) struct Span(pub(in crate::report) Role, pub(in crate::report) String);

impl Span {
    /// A piece without colour.
    pub(in crate::report) fn plain(text: impl Into<String>) -> Self {
        Self(Role::Plain, text.into())
    }
}

impl From<String> for Span {
    fn from(text: String) -> Self {
        Self::plain(text)
    }
}

impl From<&str> for Span {
    fn from(text: &str) -> Self {
        Self::plain(text)
    }
}

/// A page that grows downwards.
pub(in crate::report) struct Page {
    style: Style,
    text: String,
}

impl Page {
    pub(in crate::report) fn new(style: Style) -> Self {
        Self { style, text: String::new() }
    }

    pub(in crate::report) fn into_text(self) -> String {
        self.text
    }

    /// An empty line.
    pub(in crate::report) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// A line that is not wrapped, whatever its length.
    pub(in crate::report) fn line(&mut self, spans: &[Span]) {
        let line: String = spans.iter().map(|span| self.painted(span)).collect();
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// A paragraph, wrapped between words. What has no space in it is never broken, so that it can be copied.
    pub(in crate::report) fn wrapped(&mut self, first: &str, next: &str, spans: &[Span]) {
        let whole: String = spans.iter().map(|span| self.painted(span)).collect();
        let options = textwrap::Options::new(self.style.width)
            .initial_indent(first)
            .subsequent_indent(next)
            .break_words(false)
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        for line in textwrap::wrap(&whole, options) {
            self.text.push_str(line.trim_end());
            self.text.push('\n');
        }
    }

    /// A labelled paragraph of a block; without a label it goes on with the one above.
    pub(in crate::report) fn field(&mut self, label: &str, spans: &[Span]) {
        let padded = self.painted(&Span(Role::Faint, format!("{label:LABEL_COLUMNS$}")));
        let next = Self::field_indent();
        self.wrapped(&format!("{BLOCK}{padded}"), &next, spans);
    }

    /// A labelled line of a block that is never wrapped.
    pub(in crate::report) fn field_line(&mut self, label: &str, span: Span) {
        let label = Span(Role::Faint, format!("{label:LABEL_COLUMNS$}"));
        self.line(&[BLOCK.into(), label, span]);
    }

    /// The indent of what stands behind a label.
    pub(in crate::report) fn field_indent() -> String {
        format!("{BLOCK}{:LABEL_COLUMNS$}", "")
    }

    /// The columns behind a label.
    pub(in crate::report) fn field_columns(&self) -> usize {
        self.style.width - Self::field_indent().len()
    }

    fn painted(&self, Span(role, text): &Span) -> String {
        let text = washed(text);
        let paint = match role {
            Role::Plain => Paint::new(),
            Role::Strong => Paint::new().bold(),
            Role::Faint => Paint::new().dimmed(),
            Role::Bad => AnsiColor::Red.on_default().bold(),
            Role::Good => AnsiColor::Green.on_default().bold(),
            Role::Doubt => AnsiColor::Yellow.on_default().bold(),
        };
        if self.style.colour && paint != Paint::new() { format!("{paint}{text}{paint:#}") } else { text }
    }
}

/// A foreign text without what could drive a terminal: control characters are written out, and so are the marks that turn the
/// direction of writing.
pub(in crate::report) fn washed(text: &str) -> String {
    let drives =
        |c: char| c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if drives(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}
