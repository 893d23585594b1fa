//! The sandbox's keeper: passes each moment of a request to the eye of the life that is running, and stops and kills the tree when the
//! point has come; in a life that is recorded it stops the tree at each moment and has the world kept.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;

use super::recorder::{Order, Recorder};
use crate::model::fault::WireFault;
use crate::model::interleaving::Interleaving;
use crate::model::limits::STILL_MAX_MS;
use crate::model::point::{Moment, WirePoint};
use crate::sandbox::{BoxFuture, Go, Seen, Watch, Written};
use crate::tracer::Control;

/// Why the tree was killed, when the point was a moment of a request.
pub const AT_POINT: &str = "point";

/// The eye and the hand on the life that is running.
#[derive(Clone, Debug)]
pub struct Grip {
    /// The eye.
    pub recorder: Arc<Recorder>,
    /// The hand.
    pub control: Control,
    /// What is to go wrong with requests of this life.
    pub wire: Vec<(WirePoint, WireFault)>,
}

/// The keeper of one trial's sandbox. Between lives it lets everything pass.
#[derive(Debug, Default)]
pub struct Keeper {
    grip: Mutex<Option<Grip>>,
    /// Held by the moment for which the tree is stopped, so that no other one lets it go.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// The answer before which the tree is stopped in a life that is recorded.
    stopped_for: Mutex<Option<Stopped>>,
}

/// The tree stands still until this answer is written.
#[derive(Debug)]
struct Stopped {
    seq: u64,
    _turn: OwnedMutexGuard<()>,
}

impl Keeper {
    /// Sets the life that is running. Nothing is stopped in it yet, and whatever was in the one before is over.
    pub fn set(&self, grip: Option<Grip>) {
        *self.stopped_for() = None;
        *self.grip.lock().unwrap_or_else(PoisonError::into_inner) = grip;
    }

    fn grip(&self) -> Option<Grip> {
        self.grip.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn stopped_for(&self) -> MutexGuard<'_, Option<Stopped>> {
        self.stopped_for.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn moment(&self, seen: &Seen, moment: Moment) -> Go {
        let Some(grip) = self.grip() else { return Go::On };
        let here = |at: &WirePoint| at.moment == moment && at.ordinal == seen.ordinal && at.effect == seen.effect;
        let fault = grip.wire.iter().find(|(at, _)| here(at)).map(|(_, fault)| Go::Fault(*fault));
        match grip.recorder.moment(seen, moment) {
            // What goes wrong with the request goes wrong although its client dies: a request on its way is held all the same.
            Order::Kill => {
                let go = stop_and_kill(&grip).await;
                return fault.unwrap_or(go);
            }
            Order::Image(point) => self.keep(&grip, point, (moment == Moment::Received).then_some(seen.seq)).await,
            Order::Pass | Order::Hold => {}
        }
        fault.unwrap_or(Go::On)
    }

    /// Stops the tree, has its world kept, and lets it go.
    async fn keep(&self, grip: &Grip, point: usize, but: Option<u64>) {
        let Some(album) = grip.recorder.album() else { return };
        let _turn = self.turn.lock().await;
        // A life that is over stands still as well.
        let _ = grip.control.freeze().await;
        album.until_quiet().await;
        album.shoot([point], but);
        grip.control.thaw(false);
    }

    /// Stops the tree before an answer.
    async fn stop_for(&self, grip: &Grip, seen: &Seen) {
        let is_recorded = grip.recorder.album().is_some();
        let turn = self.turn.clone().lock_owned().await;
        let _ = grip.control.freeze().await;
        if let Some(album) = grip.recorder.album() {
            album.until_quiet().await;
        }
        if is_recorded {
            *self.stopped_for() = Some(Stopped { seq: seen.seq, _turn: turn });
        }
    }

    /// Whether the tree is stopped for this answer; from here on it is not.
    fn release(&self, seen: &Seen) -> bool {
        let mut stopped = self.stopped_for();
        let is_ours = stopped.as_ref().is_some_and(|stopped| stopped.seq == seen.seq);
        if is_ours {
            *stopped = None;
        }
        is_ours
    }
}

/// Stops every thread first, so that nothing can run past the point, then kills.
async fn stop_and_kill(grip: &Grip) -> Go {
    // A life that is over cannot be stopped; then its end says that nothing was killed.
    let _ = grip.control.freeze().await;
    grip.control.kill(AT_POINT);
    Go::Drop
}

impl Watch for Keeper {
    fn received<'a>(&'a self, request: &'a Seen) -> BoxFuture<'a, Go> {
        Box::pin(self.moment(request, Moment::Received))
    }

    fn executed<'a>(&'a self, request: &'a Seen) -> BoxFuture<'a, Go> {
        Box::pin(self.moment(request, Moment::Executed))
    }

    fn answering<'a>(&'a self, request: &'a Seen) -> BoxFuture<'a, Go> {
        Box::pin(async move {
            let Some(grip) = self.grip() else { return Go::On };
            if grip.recorder.interleaving() == Interleaving::FlushEarly {
                // A tree that never stands still is answered all the same.
                let _ = grip.control.still(Duration::from_millis(STILL_MAX_MS)).await;
            }
            if grip.recorder.answering(request) == Order::Hold {
                self.stop_for(&grip, request).await;
            }
            Go::On
        })
    }

    fn unanswered(&self, request: &Seen) {
        let Some(grip) = self.grip() else { return };
        if self.release(request) || grip.recorder.is_waited_for(request) {
            grip.control.thaw(false);
        }
    }

    fn answer(&self, request: &Seen, write: &mut dyn FnMut() -> Written) {
        let Some(grip) = self.grip() else {
            write();
            return;
        };
        match grip.recorder.answer(request, write) {
            (_, Order::Kill) => grip.control.kill(AT_POINT),
            // The client must run to read it; it is looked at after each of its system calls.
            (_, Order::Hold) => grip.control.thaw(true),
            (_, Order::Image(point)) => {
                let is_stopped = self.stopped_for().as_ref().is_some_and(|stopped| stopped.seq == request.seq);
                // An answer that did not fit the socket's buffer went out while the client ran: its point has no picture.
                if let Some(album) = grip.recorder.album().filter(|_| is_stopped) {
                    album.shoot([point], None);
                    grip.control.thaw(false);
                    self.release(request);
                }
            }
            // An answer that does not fit the socket's buffer goes out only while the client reads.
            (Written::Pending, Order::Pass) if grip.recorder.answering(request) == Order::Hold => {
                grip.control.thaw(false);
                self.release(request);
            }
            _ => {}
        }
    }

    fn probe<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Go> {
        Box::pin(async move {
            let Some(grip) = self.grip() else { return Go::On };
            match grip.recorder.probe(name) {
                Order::Kill => return stop_and_kill(&grip).await,
                Order::Image(point) => self.keep(&grip, point, None).await,
                Order::Pass | Order::Hold => {}
            }
            Go::On
        })
    }
}
