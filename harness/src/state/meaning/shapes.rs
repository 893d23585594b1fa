//! Shapes: texts of which runs make new ones each time. A text of such a shape is only a candidate: whether it is volatile is learned.

use std::sync::LazyLock;

use regex::bytes::{Match, Regex};

/// What a text looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Shape {
    /// A UUID (RFC 9562), with or without hyphens.
    Uuid,
    /// A time (RFC 3339 and its relatives).
    Time,
    /// A long fraction, such as a random number's.
    Fraction,
    /// A long run of hexadecimal digits.
    Hex,
    /// Digits that can be a time since 1970, in seconds, milliseconds, microseconds or nanoseconds, from 2017 to 2039.
    Epoch,
    /// Another long run of digits, such as a random number.
    Digits,
    /// What Python's `tempfile` and its relatives make.
    Temporary,
    /// A word, `_`, then letters and digits, as payment APIs name their objects.
    Object,
    /// An address of the loopback interface with its port.
    Address,
    /// Letters and digits mixed, such as a ULID or a nanoid.
    Mixed,
}

const ALL: [(Shape, &str); 10] = [
    (Shape::Uuid, "uuid"),
    (Shape::Time, "time"),
    (Shape::Fraction, "fraction"),
    (Shape::Hex, "hex"),
    (Shape::Epoch, "epoch"),
    (Shape::Digits, "digits"),
    (Shape::Temporary, "temporary"),
    (Shape::Object, "object"),
    (Shape::Address, "address"),
    (Shape::Mixed, "mixed"),
];

static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
    let text = concat!(
        r"(?-u)",
        r"(?P<uuid>\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b)",
        r"|(?P<time>\b\d{4}-\d{2}-\d{2}[T_ ]\d{2}[:_.-]?\d{2}(?:[:_.-]?\d{2})?(?:[.,]\d{1,9})?(?:Z|[+-]\d{2}:?\d{2})?)",
        r"|(?P<address>\b127\.0\.0\.1:\d{2,5}\b)",
        r"|(?P<object>\b[a-z]{2,10}_[0-9A-Za-z]{12,}\b)",
        r"|(?P<fraction>\b\d*\.\d{9,}(?:[eE][+-]?\d+)?\b)",
        r"|(?P<epoch>\b(?:1[5-9]|2[01])\d{8}(?:\d{3}|\d{6}|\d{9})?(?:\.\d+)?\b)",
        r"|(?P<digits>\b\d{9,19}(?:\.\d+)?\b)",
        r"|(?P<hex>\b[0-9a-fA-F]{16,}\b)",
        r"|(?P<temporary>\btmp[a-z0-9_]{6,10}\b)",
        r"|(?P<mixed>\b[0-9A-Za-z_-]{20,40}\b)",
    );
    Regex::new(text).expect("a constant pattern")
});

/// Places where a letter stands beside a digit, in a random word.
const TURNS_AT_LEAST: usize = 3;

impl Shape {
    /// A byte that stands for it.
    pub fn sign(self) -> u8 {
        self as u8
    }
}

/// The candidates in some bytes, in order, with their shapes.
pub fn candidates(bytes: &[u8]) -> impl Iterator<Item = (Shape, Match<'_>)> {
    PATTERN.captures_iter(bytes).filter_map(|found| {
        let (shape, found) = ALL.iter().find_map(|(shape, name)| found.name(name).map(|found| (*shape, found)))?;
        is_random(shape, found.as_bytes()).then_some((shape, found))
    })
}

/// Whether a text of a shape can have been drawn at random. Counters and words are as long, and a counter must never be one: then
/// two attempts would be one state. What begins with zeros is counted and filled up; random values seldom do.
fn is_random(shape: Shape, text: &[u8]) -> bool {
    match shape {
        Shape::Uuid | Shape::Time | Shape::Fraction | Shape::Temporary | Shape::Address | Shape::Epoch => true,
        Shape::Digits => !text.starts_with(b"00"),
        Shape::Hex => !text.starts_with(b"0000") && is_mixed(text),
        Shape::Object => is_mixed(text),
        Shape::Mixed => is_mixed(text) && has_turns(text),
    }
}

/// Whether letters and digits stand beside each other in many places: words with a number behind them have one such place.
fn has_turns(text: &[u8]) -> bool {
    let is_turn = |pair: &&[u8]| {
        let [one, other] = pair else { return false };
        (one.is_ascii_digit() && other.is_ascii_alphabetic()) || (one.is_ascii_alphabetic() && other.is_ascii_digit())
    };
    text.windows(2).filter(is_turn).count() >= TURNS_AT_LEAST
}

/// Words are long as well; what mixes digits with letters all along is none.
fn is_mixed(bytes: &[u8]) -> bool {
    bytes.iter().filter(|byte| byte.is_ascii_digit()).count() >= 3 && bytes.iter().any(u8::is_ascii_alphabetic)
}

/// A text with its candidates taken out, as part of the name of a place.
pub fn without(text: &str) -> String {
    let mut out = String::new();
    let mut from = 0;
    for (_, found) in candidates(text.as_bytes()) {
        out.push_str(&text[from..found.start()]);
        out.push('*');
        from = found.end();
    }
    out.push_str(&text[from..]);
    out
}

/// Whether a number may be a time since 1970, in seconds, milliseconds, microseconds or nanoseconds, from 2001 to 2100.
pub fn is_epoch(number: f64) -> bool {
    [1.0, 1e3, 1e6, 1e9].iter().any(|unit| (1.0e9..4.2e9).contains(&(number / unit)))
}
