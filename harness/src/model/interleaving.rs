//! Interleavings: in which order the threads of a life get their turns, where killpoint has a say in it.
//!
//! One recording is one order. Each has a text form (`as-is`, `flush-late`, `flush-early`, `seed:7`).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::point::serde_as_text;

/// An order of threads that a recording asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Interleaving {
    /// As the machine does it.
    #[default]
    AsIs,
    /// After an effect was answered, every thread that is about to write state waits until the rest of the tree stands still.
    FlushLate,
    /// An answer waits until the tree stands still.
    FlushEarly,
    /// Threads are paused by priorities drawn from this seed (Burckhardt et al., "A Randomized Scheduler with Probabilistic
    /// Guarantees of Finding Bugs", ASPLOS 2010).
    Seed(u64),
}

impl Interleaving {
    /// What is recorded where a scenario says nothing: both orders of a background flush, and a few draws.
    #[must_use]
    pub fn defaults() -> Vec<Self> {
        let seeds = (1..=4).map(Self::Seed);
        [Self::AsIs, Self::FlushLate, Self::FlushEarly].into_iter().chain(seeds).collect()
    }
}

impl fmt::Display for Interleaving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AsIs => f.write_str("as-is"),
            Self::FlushLate => f.write_str("flush-late"),
            Self::FlushEarly => f.write_str("flush-early"),
            Self::Seed(seed) => write!(f, "seed:{seed}"),
        }
    }
}

/// A text that is not an interleaving.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `as-is`, `flush-late`, `flush-early` or `seed:NUMBER`, found `{0}`")]
pub struct InterleavingError(String);

impl FromStr for Interleaving {
    type Err = InterleavingError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let seed = text.strip_prefix("seed:").filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        match (text, seed.map(str::parse)) {
            ("as-is", _) => Ok(Self::AsIs),
            ("flush-late", _) => Ok(Self::FlushLate),
            ("flush-early", _) => Ok(Self::FlushEarly),
            (_, Some(Ok(seed))) => Ok(Self::Seed(seed)),
            _ => Err(InterleavingError(text.to_owned())),
        }
    }
}

serde_as_text!(Interleaving);

impl schemars::JsonSchema for Interleaving {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Interleaving".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = String::json_schema(generator);
        schema
            .insert("description".into(), "The order of threads: `as-is`, `flush-late`, `flush-early` or `seed:NUMBER`.".into());
        schema.insert("pattern".into(), "^(as-is|flush-late|flush-early|seed:[0-9]+)$".into());
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interleaving_survives_its_text_form_and_nothing_else_is_one() {
        for order in [Interleaving::AsIs, Interleaving::FlushLate, Interleaving::FlushEarly, Interleaving::Seed(u64::MAX)] {
            assert_eq!(order.to_string().parse(), Ok(order));
        }
        for text in ["", "late", "seed:", "seed:-1", "seed:+1", "seed:99999999999999999999", "As-Is"] {
            assert!(text.parse::<Interleaving>().is_err(), "{text}");
        }
    }
}
