//! The sandbox's keeper: passes each moment of a request to the eye of the life that is running, and stops and kills the tree when the
//! point has come.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::recorder::{Order, Recorder};
use crate::model::limits::ANSWER_WRITE_MAX_MS;
use crate::model::point::Moment;
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
}

/// The keeper of one trial's sandbox. Between lives it lets everything pass.
#[derive(Debug, Default)]
pub struct Keeper {
    grip: Mutex<Option<Grip>>,
}

impl Keeper {
    /// Sets the life that is running.
    pub fn set(&self, grip: Option<Grip>) {
        *self.grip.lock().unwrap_or_else(PoisonError::into_inner) = grip;
    }

    fn grip(&self) -> Option<Grip> {
        self.grip.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn moment(&self, seen: &Seen, moment: Moment) -> Go {
        match self.grip() {
            Some(grip) if grip.recorder.moment(seen, moment) == Order::Kill => stop_and_kill(&grip).await,
            _ => Go::On,
        }
    }
}

/// Stops every thread first, so that nothing can run past the point, then kills.
async fn stop_and_kill(grip: &Grip) -> Go {
    // A life that is over cannot be stopped; then its end says that nothing was killed.
    let _ = grip.control.freeze().await;
    grip.control.kill(AT_POINT);
    Go::Drop
}

/// A client that has closed its end gets no answer, so that the point does not come; its tree must not stand still for ever.
fn release_if_unanswered(grip: Grip) {
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(ANSWER_WRITE_MAX_MS)).await;
        if grip.recorder.still_waits_for_its_answer() {
            grip.control.thaw(false);
        }
    });
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
            if let Some(grip) = self.grip()
                && grip.recorder.answering(request) == Order::Hold
            {
                let _ = grip.control.freeze().await;
                release_if_unanswered(grip);
            }
            Go::On
        })
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
            // An answer that does not fit the socket's buffer goes out only while the client reads.
            (Written::Pending, Order::Pass) if grip.recorder.answering(request) == Order::Hold => grip.control.thaw(false),
            _ => {}
        }
    }

    fn probe<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Go> {
        Box::pin(async move {
            match self.grip() {
                Some(grip) if grip.recorder.probe(name) == Order::Kill => stop_and_kill(&grip).await,
                _ => Go::On,
            }
        })
    }
}
