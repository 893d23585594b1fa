//! The eye on one life: it orders the tracer's calls and the sandbox's moments in one sequence, counts them, and knows when the
//! point that was asked for has come.
//!
//! One lock orders everything. The last byte of an answer is written while it is held, so that no call which the client makes
//! because of the answer can be recorded before the answer.
//!
//! * `sequence`: what is counted, under the lock.
//! * `eye`: the same as the tracer sees it.

mod eye;
mod sequence;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use eye::Eye;
use sequence::Sequence;

use super::album::Album;
use super::naming::Namer;
use crate::model::call::Notice;
use crate::model::census::Census;
use crate::model::interleaving::Interleaving;
use crate::model::point::{Moment, Point, WirePoint};
use crate::sandbox::{Lens, Seen, Written};

/// Counts and records one life.
#[derive(Debug)]
pub struct Recorder {
    sequence: Mutex<Sequence>,
    /// Where the world is kept at each point, in a life that is recorded.
    album: Option<Arc<Album>>,
    /// The sandbox, for those who wait until it has nothing to say.
    lens: Option<Lens>,
    interleaving: Interleaving,
}

/// What an eye is told about its life.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// The point it is to be killed at, if it is.
    pub target: Option<Point>,
    /// Names of the effects that open the window; none: any effect does.
    pub promised: Vec<String>,
    /// The order of threads that is asked for.
    pub interleaving: Interleaving,
    /// Where the world is kept at each point, if it is.
    pub album: Option<Arc<Album>>,
    /// The sandbox.
    pub lens: Option<Lens>,
}

/// What is to be done about a moment of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Nothing.
    Pass,
    /// The point has come: stop the tree and kill it.
    Kill,
    /// The point is the answer to this request: stop the tree before the answer goes out.
    Hold,
    /// The point with this index has come: stop the tree and keep its world.
    Image(usize),
}

impl Recorder {
    /// An eye on a life.
    #[must_use]
    pub fn new(namer: Arc<Namer>, watched: Watched) -> Self {
        let Watched { target, promised, interleaving, album, lens } = watched;
        Self { sequence: Mutex::new(Sequence::new(namer, target, promised)), album, lens, interleaving }
    }

    fn lock(&self) -> MutexGuard<'_, Sequence> {
        self.sequence.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The album, in a life that is recorded.
    #[must_use]
    pub fn album(&self) -> Option<&Arc<Album>> {
        self.album.as_ref()
    }

    /// The order of threads that is asked for.
    #[must_use]
    pub fn interleaving(&self) -> Interleaving {
        self.interleaving
    }

    /// A moment of a request has come: `received` or `executed`.
    pub fn moment(&self, seen: &Seen, moment: Moment) -> Order {
        let mut sequence = self.lock();
        let wire = WirePoint { effect: seen.effect.clone(), ordinal: seen.ordinal, moment };
        if moment == Moment::Received {
            sequence.opens_window(&seen.effect);
        }
        let index = sequence.wire(&wire);
        if sequence.aim(&Point::Wire(wire)) { Order::Kill } else { self.image(index) }
    }

    /// The answer to a request is about to be written.
    pub fn answering(&self, seen: &Seen) -> Order {
        let sequence = self.lock();
        let is_target = sequence.targets(seen, Moment::Answered) || sequence.targets(seen, Moment::Acked);
        if self.album.is_some() || (is_target && !sequence.is_hit()) { Order::Hold } else { Order::Pass }
    }

    /// Writes a piece of an answer under the lock. Returns `Kill` when the target was that it be written, and `Hold` when the target
    /// is that it be read, so that the tree must be stepped from here on.
    pub fn answer(&self, seen: &Seen, write: &mut dyn FnMut() -> Written) -> (Written, Order) {
        let mut sequence = self.lock();
        let written = write();
        if written != Written::Last {
            return (written, Order::Pass);
        }
        let wire = WirePoint { effect: seen.effect.clone(), ordinal: seen.ordinal, moment: Moment::Answered };
        let index = sequence.answered(&wire, seen);
        let order = if sequence.aim(&Point::Wire(wire)) {
            Order::Kill
        } else if sequence.watch_if_targeted(seen) {
            Order::Hold
        } else {
            self.image(index)
        };
        (written, order)
    }

    /// The workflow announced a point.
    pub fn probe(&self, name: &str) -> Order {
        let mut sequence = self.lock();
        let (index, point) = sequence.probe(name);
        if sequence.aim(&point) { Order::Kill } else { self.image(index) }
    }

    fn image(&self, index: Option<usize>) -> Order {
        match (index, &self.album) {
            (Some(index), Some(_)) => Order::Image(index),
            _ => Order::Pass,
        }
    }

    /// A time offset was the target and has passed.
    pub fn passed_time(&self) {
        self.lock().hit();
    }

    /// Whether the target has come.
    #[must_use]
    pub fn is_hit(&self) -> bool {
        self.lock().is_hit()
    }

    /// Whether the target is the answer to this request, which has neither gone out nor been the end.
    #[must_use]
    pub fn is_waited_for(&self, seen: &Seen) -> bool {
        let sequence = self.lock();
        let is_target = sequence.targets(seen, Moment::Answered) || sequence.targets(seen, Moment::Acked);
        is_target && sequence.still_waits_for_its_answer()
    }

    /// How long nothing has happened.
    #[must_use]
    pub fn idle(&self) -> Duration {
        self.lock().idle()
    }

    /// Whether the first process has ended.
    #[must_use]
    pub fn first_has_ended(&self) -> bool {
        self.lock().first_has_ended()
    }

    /// What was noticed.
    #[must_use]
    pub fn notices(&self) -> Vec<Notice> {
        self.lock().notices()
    }

    /// How many threads have changed something.
    #[must_use]
    pub fn doers(&self) -> usize {
        self.lock().doers()
    }

    /// The crash points of the life, which is over. `false`: there were more than are kept.
    #[must_use]
    pub fn census(&self) -> (Census, bool) {
        self.lock().take_census()
    }
}
