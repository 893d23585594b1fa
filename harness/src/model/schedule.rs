//! Schedules: the faults of successive lives, in order, with a text form that round-trips.
//!
//! `charge#1:answered kill; start/openat(checkpoints.db)#1 kill` kills the first life when the first charge was answered, and the
//! second before it opens its database. Where a fault is left out it is `kill`. A fault of the wire ends no life: the steps up to a
//! kill, and that kill, belong to one life, and so do the steps behind the last kill.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::fault::{Fault, FaultError, WireFault};
use super::ledger::Request;
use super::point::{Moment, Point, PointError, WirePoint, serde_as_text};

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

    /// The steps of each life, in order; the lives behind the last one run uninjured.
    #[must_use]
    pub fn lives(&self) -> Vec<&[Step]> {
        self.0.split_inclusive(|step| step.fault == Fault::Kill).collect()
    }

    /// The point at which a life is to be killed, by its number from 1.
    #[must_use]
    pub fn kill_of(&self, life: u32) -> Option<&Point> {
        self.steps_of(life).iter().find(|step| step.fault == Fault::Kill).map(|step| &step.point)
    }

    /// What is to be done to requests in a life, by its number from 1.
    pub fn wire_of(&self, life: u32) -> impl Iterator<Item = (&WirePoint, WireFault)> {
        self.steps_of(life).iter().filter_map(Step::wire)
    }

    /// How many lives end by a kill.
    #[must_use]
    pub fn kills(&self) -> usize {
        self.0.iter().filter(|step| step.fault == Fault::Kill).count()
    }

    /// What it is about: what it does on the wire, if it does, else the kill.
    #[must_use]
    pub fn fault(&self) -> Fault {
        self.0.iter().map(|step| step.fault).find(|fault| *fault != Fault::Kill).unwrap_or(Fault::Kill)
    }

    /// Whether everything that was to go wrong with requests did: the ledger says so.
    #[must_use]
    pub fn is_done_to(&self, ledger: &[Request]) -> bool {
        let lives = self.lives();
        let numbered = (1_u32..).zip(lives);
        let mut steps =
            numbered.flat_map(|(life, steps)| steps.iter().filter_map(Step::wire).map(move |(at, fault)| (life, at, fault)));
        steps.all(|(life, at, fault)| {
            let is_it = |request: &Request| request.life == life && request.ordinal == at.ordinal && request.effect == at.effect;
            ledger.iter().any(|request| is_it(request) && request.fault.as_deref() == Some(fault.to_string().as_str()))
        })
    }

    fn steps_of(&self, life: u32) -> &[Step] {
        let index = usize::try_from(life).unwrap_or(usize::MAX).wrapping_sub(1);
        self.lives().get(index).copied().unwrap_or_default()
    }
}

impl Step {
    /// The request and what is done to it, where it is a fault of the wire.
    #[must_use]
    pub fn wire(&self) -> Option<(&WirePoint, WireFault)> {
        match (&self.point, self.fault) {
            (Point::Wire(at), Fault::Wire(fault)) => Some((at, fault)),
            _ => None,
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
    /// A step's fault could not be read.
    #[error("step {step}: not a fault")]
    Fault {
        /// The step, from 1.
        step: usize,
        /// What is wrong with it.
        source: FaultError,
    },
    /// A fault of the wire stands where it cannot happen.
    #[error("step {step}: `{fault}` cannot happen at `{point}`")]
    Misplaced {
        /// The step, from 1.
        step: usize,
        /// The fault.
        fault: WireFault,
        /// Where it stands.
        point: Point,
        /// The moment of a request at which it can stand.
        moment: Moment,
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
            let step = steps.len() + 1;
            let (point_text, fault_text) = split_fault(part);
            let point = point_text.parse().map_err(|source| ScheduleError::Point { step, source })?;
            let fault = fault_text.map_or(Ok(Fault::Kill), str::parse).map_err(|source| ScheduleError::Fault { step, source })?;
            if let Fault::Wire(fault) = fault {
                let moment = fault.moment();
                if !matches!(&point, Point::Wire(at) if at.moment == moment) {
                    return Err(ScheduleError::Misplaced { step, fault, point, moment });
                }
            }
            steps.push(Step { point, fault });
        }
        if steps.is_empty() { Err(ScheduleError::Empty) } else { Ok(Self(steps)) }
    }
}

/// Splits at `;`, but not inside parentheses or double quotes, where an object or a text may hold one.
fn split_outside_objects(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut from = 0;
    for at in outside_objects(text, ';') {
        parts.push(&text[from..at]);
        from = at + 1;
    }
    parts.push(&text[from..]);
    parts
}

/// Splits a step at its last space into point and fault.
fn split_fault(step: &str) -> (&str, Option<&str>) {
    match outside_objects(step, ' ').last() {
        Some(at) => (step[..*at].trim_end(), Some(&step[at + 1..])),
        None => (step, None),
    }
}

/// Where a character stands outside of parentheses and double quotes.
fn outside_objects(text: &str, wanted: char) -> Vec<usize> {
    let (mut places, mut in_object, mut in_quotes, mut escaped) = (Vec::new(), false, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_quotes => escaped = true,
            '"' if !in_object => in_quotes = !in_quotes,
            '(' if !in_quotes => in_object = true,
            ')' if !in_quotes => in_object = false,
            c if c == wanted && !in_object && !in_quotes => places.push(at),
            _ => {}
        }
    }
    places
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

    use super::super::fault::tests::fault;
    use super::super::point::{Anchor, CallName};

    fn step() -> impl Strategy<Value = Step> {
        let call = any::<String>().prop_map(|object| {
            let call = CallName { syscall: "write".to_owned(), object };
            Point::Call { anchor: Anchor::Start, call, ordinal: 2 }
        });
        let output = any::<String>().prop_map(|text| Point::Output { text, ordinal: 1 });
        let place = prop_oneof![call, output];
        (place, fault()).prop_map(|(place, fault)| match fault {
            Fault::Kill => Step { point: place, fault },
            Fault::Wire(wire) => {
                let at = WirePoint { effect: "charge".to_owned(), ordinal: 1, moment: wire.moment() };
                Step { point: Point::Wire(at), fault }
            }
        })
    }

    proptest! {
        #[test]
        fn a_schedule_survives_its_text_form(steps in prop::collection::vec(step(), 1..4)) {
            let schedule = Schedule(steps);
            prop_assert_eq!(schedule.to_string().parse::<Schedule>(), Ok(schedule));
        }
    }

    #[test]
    fn a_life_has_the_steps_up_to_its_kill() {
        let text = "charge#1:executed drop-ack; charge#2:answered kill; charge#1:received hold";
        let schedule: Schedule = text.parse().expect("a schedule");
        assert_eq!(schedule.lives().iter().map(|steps| steps.len()).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(schedule.kill_of(1).map(ToString::to_string).as_deref(), Some("charge#2:answered"));
        assert_eq!((schedule.kill_of(2), schedule.kill_of(3)), (None, None));
        assert_eq!(schedule.wire_of(2).map(|(_, fault)| fault).collect::<Vec<_>>(), [WireFault::Hold]);
    }

    #[test]
    fn a_fault_of_the_wire_stands_at_its_moment_only() {
        let misplaced = "charge#1:received drop-ack".parse::<Schedule>().expect_err("nothing is executed yet");
        assert!(matches!(misplaced, ScheduleError::Misplaced { step: 1, moment: Moment::Executed, .. }));
        assert!(matches!("start/write(a)#1 hold".parse::<Schedule>(), Err(ScheduleError::Misplaced { .. })));
        assert!(matches!("charge#1:received kil".parse::<Schedule>(), Err(ScheduleError::Fault { step: 1, .. })));
    }
}
