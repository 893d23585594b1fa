//! Faults: what happens at a crash point, with a text form that round-trips.
//!
//! `kill` can stand at any point. Every other fault is one of the wire: it is done to one request, between the sandbox and its
//! client, and stands at the moment of that request at which it begins: those before the commit at `received`, those after it at
//! `executed`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::limits::{SLOW_ACK_DEFAULT_MS, SLOW_ACK_MAX_MS};
use super::point::{Moment, serde_as_text};

/// What happens at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// The whole process tree dies by SIGKILL.
    Kill,
    /// Something goes wrong between the workflow and the outside world; nobody dies of it.
    Wire(WireFault),
}

/// What can go wrong with one request while everybody lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WireFault {
    /// `drop-ack`: the effect is committed, and the connection is closed without one byte of an answer.
    DropAck,
    /// `reset-ack`: the same, and the client sees a reset.
    ResetAck,
    /// `half-ack`: the effect is committed, and the connection is closed after half of the answer.
    HalfAck,
    /// `slow-ack(30s)`: the effect is committed, and the answer comes so much later, or not at all where the client goes away first.
    SlowAck {
        /// How much later, in milliseconds.
        delay_ms: u64,
    },
    /// `error-after-commit(500)`: the effect is committed, and the answer says that something failed.
    ErrorAfterCommit {
        /// The status of the answer.
        status: u16,
    },
    /// `error-before-commit(500)`: the answer says that something failed, and nothing was done.
    ErrorBeforeCommit {
        /// The status of the answer.
        status: u16,
    },
    /// `duplicate`: the request is delivered twice, one copy right after the other.
    Duplicate,
    /// `hold`: the request is held on its way, without an answer, and arrives after the next life's request for the same effect, or when
    /// the workflow is done.
    Hold,
    /// `pending`: the effect is committed, and the first answer says that it is under way still; looked at later it has succeeded.
    Pending,
}

impl WireFault {
    /// The moment of its request at which it stands.
    #[must_use]
    pub fn moment(self) -> Moment {
        match self {
            Self::ErrorBeforeCommit { .. } | Self::Duplicate | Self::Hold => Moment::Received,
            Self::DropAck
            | Self::ResetAck
            | Self::HalfAck
            | Self::SlowAck { .. }
            | Self::ErrorAfterCommit { .. }
            | Self::Pending => Moment::Executed,
        }
    }

    /// What it does, for people: the end of a sentence that starts with a request.
    #[must_use]
    pub fn meaning(self) -> String {
        match self {
            Self::DropAck => "was executed, and its connection closed without an answer".to_owned(),
            Self::ResetAck => "was executed, and its connection reset without an answer".to_owned(),
            Self::HalfAck => "was executed, and its connection closed after half of the answer".to_owned(),
            Self::SlowAck { delay_ms } => format!("was executed, and answered {} later", duration(delay_ms)),
            Self::ErrorAfterCommit { status } => format!("was executed, and answered {status}"),
            Self::ErrorBeforeCommit { status } => format!("was answered {status} and not executed"),
            Self::Duplicate => "was delivered twice".to_owned(),
            Self::Hold => "was held on its way and executed later".to_owned(),
            Self::Pending => "was executed, and answered as if it were under way still".to_owned(),
        }
    }
}

/// The words of all faults, as they stand in a text; those that take a value with an example of it.
pub const WORDS: [&str; 10] = [
    "kill",
    "drop-ack",
    "reset-ack",
    "half-ack",
    "slow-ack(30s)",
    "error-after-commit(500)",
    "error-before-commit(500)",
    "duplicate",
    "hold",
    "pending",
];

/// Statuses that a failing server answers with.
const STATUSES: std::ops::RangeInclusive<u16> = 400..=599;
/// The status where none is given.
const STATUS_DEFAULT: u16 = 500;

impl fmt::Display for WireFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DropAck => f.write_str("drop-ack"),
            Self::ResetAck => f.write_str("reset-ack"),
            Self::HalfAck => f.write_str("half-ack"),
            Self::SlowAck { delay_ms } => write!(f, "slow-ack({})", duration(*delay_ms)),
            Self::ErrorAfterCommit { status } => write!(f, "error-after-commit({status})"),
            Self::ErrorBeforeCommit { status } => write!(f, "error-before-commit({status})"),
            Self::Duplicate => f.write_str("duplicate"),
            Self::Hold => f.write_str("hold"),
            Self::Pending => f.write_str("pending"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill => f.write_str("kill"),
            Self::Wire(fault) => fault.fmt(f),
        }
    }
}

/// Why a text is not a fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a fault; {expected}")]
pub struct FaultError {
    /// The text.
    pub text: String,
    /// What was expected.
    pub expected: String,
}

impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = |expected: String| FaultError { text: text.to_owned(), expected };
        let (word, value) = match text.split_once('(') {
            Some((word, rest)) => {
                let value = rest.strip_suffix(')').ok_or_else(|| fail("expected `)` at its end".to_owned()))?;
                (word, Some(value))
            }
            None => (text, None),
        };
        let status = || match value.map(str::parse) {
            None => Ok(STATUS_DEFAULT),
            Some(Ok(status)) if STATUSES.contains(&status) => Ok(status),
            Some(_) => Err(fail(format!("expected a status from {} to {}", STATUSES.start(), STATUSES.end()))),
        };
        let wire = match word {
            "slow-ack" => WireFault::SlowAck {
                delay_ms: value.map_or(Some(SLOW_ACK_DEFAULT_MS), parse_duration).ok_or_else(|| {
                    fail(format!("expected a time up to {}, such as `500ms`, `30s` or `2m`", duration(SLOW_ACK_MAX_MS)))
                })?,
            },
            "error-after-commit" => WireFault::ErrorAfterCommit { status: status()? },
            "error-before-commit" => WireFault::ErrorBeforeCommit { status: status()? },
            "kill" | "drop-ack" | "reset-ack" | "half-ack" | "duplicate" | "hold" | "pending" if value.is_some() => {
                return Err(fail(format!("`{word}` takes no value")));
            }
            "kill" => return Ok(Self::Kill),
            "drop-ack" => WireFault::DropAck,
            "reset-ack" => WireFault::ResetAck,
            "half-ack" => WireFault::HalfAck,
            "duplicate" => WireFault::Duplicate,
            "hold" => WireFault::Hold,
            "pending" => WireFault::Pending,
            _ => return Err(fail(format!("expected one of {}", WORDS.map(|word| format!("`{word}`")).join(", ")))),
        };
        Ok(Self::Wire(wire))
    }
}

/// Milliseconds in the largest unit that needs no fraction.
fn duration(ms: u64) -> String {
    match ms {
        0 => "0ms".to_owned(),
        ms if ms % 60_000 == 0 => format!("{}m", ms / 60_000),
        ms if ms % 1_000 == 0 => format!("{}s", ms / 1_000),
        ms => format!("{ms}ms"),
    }
}

fn parse_duration(text: &str) -> Option<u64> {
    let units = [("ms", 1), ("s", 1_000), ("m", 60_000)];
    let (number, unit) = units.iter().find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?, *unit)))?;
    let is_plain = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse::<u64>().ok().filter(|_| is_plain)?.checked_mul(unit).filter(|ms| *ms <= SLOW_ACK_MAX_MS)
}

serde_as_text!(Fault);

impl schemars::JsonSchema for Fault {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Fault".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = String::json_schema(generator);
        schema
            .insert("description".into(), "What happens at a crash point, such as `kill`, `drop-ack` or `slow-ack(30s)`.".into());
        let pattern = r"^(kill|drop-ack|reset-ack|half-ack|duplicate|hold|pending|slow-ack(\([0-9]+(ms|s|m)\))?|error-(after|before)-commit(\([45][0-9]{2}\))?)$";
        schema.insert("pattern".into(), pattern.into());
        schema
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn fault() -> impl Strategy<Value = Fault> {
        prop_oneof![
            Just(Fault::Kill),
            prop::sample::select(vec![
                WireFault::DropAck,
                WireFault::ResetAck,
                WireFault::HalfAck,
                WireFault::Duplicate,
                WireFault::Hold,
                WireFault::Pending,
            ])
            .prop_map(Fault::Wire),
            (0..=SLOW_ACK_MAX_MS).prop_map(|delay_ms| Fault::Wire(WireFault::SlowAck { delay_ms })),
            STATUSES.prop_map(|status| Fault::Wire(WireFault::ErrorAfterCommit { status })),
            STATUSES.prop_map(|status| Fault::Wire(WireFault::ErrorBeforeCommit { status })),
        ]
    }

    proptest! {
        #[test]
        fn a_fault_survives_its_text_form(fault in fault()) {
            prop_assert_eq!(fault.to_string().parse::<Fault>(), Ok(fault));
        }

        #[test]
        fn any_text_is_a_fault_or_an_error_and_never_a_panic(text in any::<String>()) {
            if let Ok(fault) = text.parse::<Fault>() {
                prop_assert_eq!(fault.to_string().parse::<Fault>(), Ok(fault));
            }
        }
    }

    #[test]
    fn every_word_that_is_offered_is_read() {
        for word in WORDS {
            assert!(word.parse::<Fault>().is_ok(), "{word}");
        }
    }

    #[test]
    fn a_mistake_says_what_was_expected() {
        let told = |text: &str| text.parse::<Fault>().expect_err("no fault").to_string();
        assert_eq!(
            told("error-after-commit(200)"),
            "`error-after-commit(200)` is not a fault; expected a status from 400 to 599"
        );
        assert_eq!(
            told("slow-ack(1h)"),
            "`slow-ack(1h)` is not a fault; expected a time up to 10m, such as `500ms`, `30s` or `2m`"
        );
        assert_eq!(told("kill(9)"), "`kill(9)` is not a fault; `kill` takes no value");
        assert!(told("drop").starts_with("`drop` is not a fault; expected one of `kill`, `drop-ack`"));
    }
}
