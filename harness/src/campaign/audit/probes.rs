//! What an audit tries: for each write one schedule per failure. A further failure is a line in `FAILURES`.

use crate::model::fault::{Fault, WireFault};
use crate::model::ledger::Request;
use crate::model::limits::BACK_OFF_PROBED_MAX;
use crate::model::point::{Moment, Point, WirePoint};
use crate::model::schedule::{Schedule, Step};

/// What goes wrong with a write, each in a trial of its own. The slow answer takes its delay from the options.
fn failures(slow_ack_ms: u64) -> [Fault; 6] {
    [
        Fault::Kill,
        Fault::Wire(WireFault::DropAck),
        Fault::Wire(WireFault::ResetAck),
        Fault::Wire(WireFault::SlowAck { delay_ms: slow_ack_ms }),
        Fault::Wire(WireFault::ErrorAfterCommit { status: 500 }),
        Fault::Wire(WireFault::ErrorBeforeCommit { status: 503 }),
    ]
}

/// One thing that is tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    /// The promise it is about.
    pub(super) promise: String,
    pub(super) schedule: Schedule,
    /// Whether it only serves to see the back-off.
    pub(super) is_series: bool,
}

/// The first round for a write, of which the clean run has these ends: each failure at the first request, and a kill after the last one
/// too, where a key that follows the order of things is another one in the next life.
pub(super) fn first_round(promise: &str, (first, last): &(Request, Request), slow_ack_ms: u64) -> Vec<Planned> {
    if !goes_by_wire(first) {
        return Vec::new();
    }
    let mut steps = failures(slow_ack_ms).map(|fault| step(first, 0, fault)).to_vec();
    if last.seq != first.seq {
        steps.push(step(last, 0, Fault::Kill));
    }
    let plan = |step| Planned { promise: promise.to_owned(), schedule: Schedule(vec![step]), is_series: false };
    steps.into_iter().map(plan).collect()
}

/// The second round for a write that is repeated by itself: several attempts in a row fail, so that their spacing is seen.
pub(super) fn series(promise: &str, first: &Request) -> Planned {
    let fault = Fault::Wire(WireFault::ErrorBeforeCommit { status: 503 });
    let steps = (0..BACK_OFF_PROBED_MAX).map(|more| step(first, more, fault));
    Planned { promise: promise.to_owned(), schedule: Schedule(steps.collect()), is_series: true }
}

/// Rows and lines are read after the fact: nothing can go wrong with their answer.
fn goes_by_wire(request: &Request) -> bool {
    !matches!(request.method.as_str(), "ROWS" | "LINES")
}

fn step(first: &Request, more: u32, fault: Fault) -> Step {
    let moment = match fault {
        Fault::Kill => Moment::Executed,
        Fault::Wire(wire) => wire.moment(),
    };
    let at = WirePoint { effect: first.effect.clone(), ordinal: first.ordinal + more, moment };
    Step { point: Point::Wire(at), fault }
}
