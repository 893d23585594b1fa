//! Crash points: one place where a life can end, and its text form, which round-trips.
//!
//! ```text
//! start/openat(checkpoints.db)#1                        before that call, counted from the start of the life
//! charge#1:received                                     the sandbox has the whole request, nothing executed yet
//! charge#1:executed                                     committed to the ledger, nothing answered yet
//! charge#1:answered                                     the last byte of the response was written
//! charge#1:acked                                        the client has read the last byte of the response
//! charge#1:answered/pwrite64(checkpoints.db-wal)#3      before the third such call after that
//! probe:after_charge#1                                  the workflow itself announced it
//! output:"captured inv_9"#1                             before a line of its output that contains this text
//! after:35ms                                            a time offset from the start of the life: the old, weak way
//! ```
//!
//! **Counting.** All numbers start at 1 and are counted over the whole process tree of one life. `charge#2` is the second
//! request that the promise `charge` matches, whatever became of it. A call is counted by its name and what it acts on,
//! from its anchor to the end of the life; later anchors do not start the count again. A call counts when it can change
//! something that outlives the process: not terminal output, not pipes and socket pairs inside the tree, not an `unlink`
//! of what does not exist or an `open` that creates nothing.
//!
//! **Objects.** A path is relative to the state folder; `tmp:` stands for the trial's own temporary folder, `dir:` for the
//! working directory, and any other path is absolute. Volatile parts of names (UUIDs, process ids, random suffixes, timestamps) are
//! written as `{uuid}`, `{pid}`, `{rand}`, `{time}`; in another name of a call, all that could be as `{any}`. A socket is `sandbox` or `tcp:HOST:PORT`, `udp:...`, `unix:PATH`. The characters `%`, `(`, `)`,
//! and control characters are written as `%XX`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// One place where a life can end. See the module for the grammar.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Point {
    /// A moment of a request, as the sandbox saw it.
    Wire(WirePoint),
    /// Before a call, counted from an anchor.
    Call {
        /// Where the count starts.
        anchor: Anchor,
        /// What the call is.
        call: CallName,
        /// The how-manieth such call after the anchor, from 1.
        ordinal: u32,
    },
    /// The workflow announced it by a request to `/_killpoint/probe/NAME`.
    Probe {
        /// Its name.
        name: String,
        /// The how-manieth announcement of that name, from 1.
        ordinal: u32,
    },
    /// Before a line of output that contains a text.
    Output {
        /// The text looked for.
        text: String,
        /// The how-manieth such line, from 1.
        ordinal: u32,
    },
    /// A time after the start of the life.
    After(Duration),
}

/// Where the count of a call starts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Anchor {
    /// The start of the life.
    Start,
    /// A moment of a request.
    Wire(WirePoint),
}

/// A moment of the n-th request of an effect.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WirePoint {
    /// The promise's name, or the endpoint's where no promise names it.
    pub effect: String,
    /// The how-manieth request of that effect in this life, from 1.
    pub ordinal: u32,
    /// What had happened to it.
    pub moment: Moment,
}

/// What the sandbox has seen of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// The whole request has arrived; nothing is executed.
    Received,
    /// Its effect is committed to the ledger; nothing is answered.
    Executed,
    /// The last byte of the response was written.
    Answered,
    /// The client has read the last byte of the response.
    Acked,
}

/// A call by its system call's name and the object it acts on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallName {
    /// The system call's name (`pwrite64`).
    pub syscall: String,
    /// What it acts on, in the form of the module's *Objects* (`checkpoints.db-wal`, `sandbox`).
    pub object: String,
}

impl Moment {
    /// All moments, in the order in which they come.
    pub const ALL: [Self; 4] = [Self::Received, Self::Executed, Self::Answered, Self::Acked];

    /// Its word in a point.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Executed => "executed",
            Self::Answered => "answered",
            Self::Acked => "acked",
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl fmt::Display for WirePoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}:{}", self.effect, self.ordinal, self.moment)
    }
}

impl fmt::Display for Anchor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("start"),
            Self::Wire(wire) => wire.fmt(f),
        }
    }
}

impl fmt::Display for CallName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.syscall, escape(&self.object))
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wire(wire) => wire.fmt(f),
            Self::Call { anchor, call, ordinal } => write!(f, "{anchor}/{call}#{ordinal}"),
            Self::Probe { name, ordinal } => write!(f, "probe:{name}#{ordinal}"),
            Self::Output { text, ordinal } => write!(f, "output:\"{}\"#{ordinal}", quote(text)),
            Self::After(offset) => {
                let micros = offset.as_micros();
                if micros.is_multiple_of(1_000) { write!(f, "after:{}ms", micros / 1_000) } else { write!(f, "after:{micros}us") }
            }
        }
    }
}

/// Why a text is not a crash point, and where in it the trouble starts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{expected}, at character {at} of `{text}`")]
pub struct PointError {
    /// The whole text.
    pub text: String,
    /// The 1-based character at which reading stopped.
    pub at: usize,
    /// What was expected there.
    pub expected: &'static str,
}

impl FromStr for Point {
    type Err = PointError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = |rest: &str, expected| PointError {
            text: text.to_owned(),
            at: text[..text.len() - rest.len()].chars().count() + 1,
            expected,
        };
        if let Some(rest) = text.strip_prefix("after:") {
            return parse_offset(rest).map(Self::After).ok_or_else(|| fail(rest, "expected a whole number with `ms` or `us`"));
        }
        if let Some(rest) = text.strip_prefix("probe:") {
            let (name, ordinal) = name_and_ordinal(rest).map_err(|(at, expected)| fail(at, expected))?;
            return Ok(Self::Probe { name: name.to_owned(), ordinal });
        }
        if let Some(rest) = text.strip_prefix("output:") {
            let (line, ordinal) = quoted_and_ordinal(rest).map_err(|(at, expected)| fail(at, expected))?;
            return Ok(Self::Output { text: line, ordinal });
        }
        let (anchor_text, call_text) = match text.split_once('/') {
            Some((anchor, call)) => (anchor, Some(call)),
            None => (text, None),
        };
        let anchor = if anchor_text == "start" {
            Anchor::Start
        } else {
            // The anchor's own text ends where the call's begins, so its trouble is placed against the whole text.
            Anchor::Wire(parse_wire(anchor_text).map_err(|(at, expected)| PointError {
                text: text.to_owned(),
                at: anchor_text[..anchor_text.len() - at.len()].chars().count() + 1,
                expected,
            })?)
        };
        match (anchor, call_text) {
            (Anchor::Wire(wire), None) => Ok(Self::Wire(wire)),
            (Anchor::Start, None) => Err(fail("", "expected `/call(object)#n` after `start`")),
            (anchor, Some(call_text)) => {
                let (call, ordinal) = parse_call(call_text).map_err(|(at, expected)| fail(at, expected))?;
                Ok(Self::Call { anchor, call, ordinal })
            }
        }
    }
}

type Trouble<'a> = (&'a str, &'static str);

fn parse_wire(text: &str) -> Result<WirePoint, Trouble<'_>> {
    let (head, moment) =
        text.rsplit_once(':').ok_or((text, "expected `EFFECT#n:MOMENT`, `start/...`, `probe:`, `output:` or `after:`"))?;
    let word = Moment::ALL.into_iter().find(|known| known.word() == moment);
    let moment = word.ok_or((moment, "expected `received`, `executed`, `answered` or `acked`"))?;
    let (effect, ordinal) = name_and_ordinal(head)?;
    Ok(WirePoint { effect: effect.to_owned(), ordinal, moment })
}

fn name_and_ordinal(text: &str) -> Result<(&str, u32), Trouble<'_>> {
    let (name, number) = text.rsplit_once('#').ok_or((text, "expected a name, `#` and a number"))?;
    if !is_name(name) {
        return Err((text, "expected a name of letters, digits, `_`, `-` and `.`"));
    }
    Ok((name, parse_ordinal(number)?))
}

/// Whether a text can stand as an effect's or a probe's name in a point.
#[must_use]
pub fn is_name(text: &str) -> bool {
    !text.is_empty() && text != "start" && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

fn parse_ordinal(text: &str) -> Result<u32, Trouble<'_>> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    match text.parse() {
        Ok(number) if plain => Ok(number),
        _ => Err((text, "expected a number from 1")),
    }
}

fn parse_call(text: &str) -> Result<(CallName, u32), Trouble<'_>> {
    let (syscall, rest) = text.split_once('(').ok_or((text, "expected `call(object)#n`"))?;
    if syscall.is_empty() || !syscall.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_') {
        return Err((text, "expected the name of a system call"));
    }
    let (object, tail) = rest.split_once(')').ok_or((rest, "expected `)` after the object"))?;
    let object = unescape(object).ok_or((rest, "expected `%` to be followed by two hexadecimal digits of UTF-8"))?;
    let number = tail.strip_prefix('#').ok_or((tail, "expected `#` and a number"))?;
    Ok((CallName { syscall: syscall.to_owned(), object }, parse_ordinal(number)?))
}

fn quoted_and_ordinal(text: &str) -> Result<(String, u32), Trouble<'_>> {
    let body = text.strip_prefix('"').ok_or((text, "expected a text in double quotes"))?;
    let mut line = String::new();
    let mut chars = body.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => {
                let tail = &body[at + 1..];
                let number = tail.strip_prefix('#').ok_or((tail, "expected `#` and a number"))?;
                return Ok((line, parse_ordinal(number)?));
            }
            '\\' => match chars.next() {
                Some((_, 'n')) => line.push('\n'),
                Some((_, 't')) => line.push('\t'),
                Some((_, c @ ('"' | '\\'))) => line.push(c),
                _ => return Err((&body[at..], "expected `\\\"`, `\\\\`, `\\n` or `\\t`")),
            },
            c => line.push(c),
        }
    }
    Err(("", "expected a closing double quote"))
}

fn quote(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t")
}

fn parse_offset(text: &str) -> Option<Duration> {
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit()).then(|| s.parse::<u64>().ok()).flatten();
    if let Some(micros) = text.strip_suffix("us") {
        return digits(micros).map(Duration::from_micros);
    }
    text.strip_suffix("ms").and_then(digits).map(Duration::from_millis)
}

/// Writes an object so that it can stand between parentheses.
fn escape(object: &str) -> String {
    let mut out = String::with_capacity(object.len());
    for c in object.chars() {
        if matches!(c, '%' | '(' | ')') || c.is_control() {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                out.push_str(&format!("%{byte:02X}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

fn unescape(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let hex = |b: u8| char::from(b).to_digit(16);
            let (high, low) = (hex(bytes.next()?)?, hex(bytes.next()?)?);
            out.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

/// Serialises a type by its text form.
macro_rules! serde_as_text {
    ($type:ty) => {
        impl Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use serde_as_text;
serde_as_text!(Point);

impl schemars::JsonSchema for Point {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Point".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = String::json_schema(generator);
        schema.insert("description".into(), "A crash point in its text form, such as `charge#1:answered`.".into());
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name() -> impl Strategy<Value = String> {
        "[a-zA-Z0-9_.-]{1,12}".prop_filter("`start` is the anchor", |name| name != "start")
    }

    fn wire() -> impl Strategy<Value = WirePoint> {
        (name(), 1..u32::MAX, prop::sample::select(Moment::ALL.to_vec())).prop_map(|(effect, ordinal, moment)| WirePoint {
            effect,
            ordinal,
            moment,
        })
    }

    pub(crate) fn point() -> impl Strategy<Value = Point> {
        let anchor = prop_oneof![Just(Anchor::Start), wire().prop_map(Anchor::Wire)];
        prop_oneof![
            wire().prop_map(Point::Wire),
            (anchor, "[a-z][a-z0-9_]{0,15}", any::<String>(), 1..u32::MAX).prop_map(|(anchor, syscall, object, ordinal)| {
                Point::Call { anchor, call: CallName { syscall, object }, ordinal }
            }),
            (name(), 1..u32::MAX).prop_map(|(name, ordinal)| Point::Probe { name, ordinal }),
            (any::<String>(), 1..u32::MAX).prop_map(|(text, ordinal)| Point::Output { text, ordinal }),
            any::<u32>().prop_map(|micros| Point::After(Duration::from_micros(micros.into()))),
        ]
    }

    proptest! {
        #[test]
        fn a_point_survives_its_text_form(point in point()) {
            prop_assert_eq!(point.to_string().parse::<Point>(), Ok(point));
        }

        #[test]
        fn any_text_is_a_point_or_an_error_and_never_a_panic(text in any::<String>()) {
            if let Ok(point) = text.parse::<Point>() {
                prop_assert_eq!(point.to_string().parse::<Point>(), Ok(point));
            }
        }
    }

    #[test]
    fn the_examples_of_the_grammar_are_read_and_written_back() {
        for text in [
            "start/openat(checkpoints.db)#1",
            "charge#1:received",
            "charge#1:answered/pwrite64(checkpoints.db-wal)#3",
            "probe:after_charge#1",
            "output:\"captured inv_9\"#1",
            "after:35ms",
        ] {
            assert_eq!(text.parse::<Point>().map(|p| p.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn an_error_names_the_character_and_what_was_expected() {
        let error = "charge#1:answerd/pwrite64(x)#1".parse::<Point>().expect_err("a misspelt moment");
        assert_eq!((error.at, error.expected), (10, "expected `received`, `executed`, `answered` or `acked`"));
        let error = "start/pwrite64(x)#0".parse::<Point>().expect_err("ordinals start at 1");
        assert_eq!((error.at, error.expected), (19, "expected a number from 1"));
    }
}
