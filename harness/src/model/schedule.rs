//! Schedules: the faults of successive lives, in order, with a text form that round-trips.
//!
//! `charge#1:answered kill; start/openat(checkpoints.db)#1 kill` kills the first life when the first charge was answered, and the
//! second before it opens its database. Where a fault is left out it is `kill`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::point::{Point, PointError, serde_as_text};

/// What happens at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The whole process tree dies by SIGKILL.
    Kill,
}

/// A fault at a point of one life.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Step {
    /// Where.
    pub point: Point,
    /// What.
    pub fault: Fault,
}

/// The faults of successive lives, in order. The lives after the last step run uninjured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Schedule(pub Vec<Step>);

impl Schedule {
    /// A schedule of one SIGKILL.
    #[must_use]
    pub fn kill(point: Point) -> Self {
        Self(vec![Step { point, fault: Fault::Kill }])
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill => f.write_str("kill"),
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{} {}", step.point, step.fault)?;
        }
        Ok(())
    }
}

/// Why a text is not a schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// A step's point could not be read.
    #[error("step {step}: not a crash point")]
    Point {
        /// The step, from 1.
        step: usize,
        /// What is wrong with it.
        source: PointError,
    },
    /// There is no step.
    #[error("expected at least one crash point")]
    Empty,
}

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut steps = Vec::new();
        for part in split_outside_objects(text) {
            let part = part.trim();
            if part.is_empty() {
                continue;
            }
            let point_text = part.strip_suffix(" kill").unwrap_or(part).trim_end();
            let point = point_text.parse().map_err(|source| ScheduleError::Point { step: steps.len() + 1, source })?;
            steps.push(Step { point, fault: Fault::Kill });
        }
        if steps.is_empty() { Err(ScheduleError::Empty) } else { Ok(Self(steps)) }
    }
}

/// Splits at `;`, but not inside parentheses or double quotes, where an object or a text may hold one.
fn split_outside_objects(text: &str) -> Vec<&str> {
    let (mut parts, mut from, mut in_object, mut in_quotes, mut escaped) = (Vec::new(), 0, false, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_quotes => escaped = true,
            '"' if !in_object => in_quotes = !in_quotes,
            '(' if !in_quotes => in_object = true,
            ')' if !in_quotes => in_object = false,
            ';' if !in_object && !in_quotes => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

serde_as_text!(Schedule);

impl schemars::JsonSchema for Schedule {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Schedule".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = String::json_schema(generator);
        schema.insert("description".into(), "Crash points with faults, such as `charge#1:answered kill`.".into());
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_schedule_survives_its_text_form(objects in prop::collection::vec((any::<String>(), any::<bool>()), 1..4)) {
            let steps = objects.into_iter().map(|(text, quoted)| {
                let point = if quoted {
                    Point::Output { text, ordinal: 1 }
                } else {
                    let call = super::super::point::CallName { syscall: "write".to_owned(), object: text };
                    Point::Call { anchor: super::super::point::Anchor::Start, call, ordinal: 2 }
                };
                Step { point, fault: Fault::Kill }
            });
            let schedule = Schedule(steps.collect());
            prop_assert_eq!(schedule.to_string().parse::<Schedule>(), Ok(schedule));
        }
    }
}
