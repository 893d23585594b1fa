//! Stops of the whole tree: a freeze that somebody asked for, and an image before a call. An image is taken as soon as all stand, and
//! a freeze that came meanwhile is answered after it.

use std::time::{Duration, Instant};

use libc::pid_t;
use tokio::sync::oneshot;

use super::Engine;
use crate::model::limits::FREEZE_MAX_MS;
use crate::sys::ptrace;
use crate::sys::signal::Ticker;
use crate::tracer::tasks::State;

/// The stops under way.
#[derive(Debug, Default)]
pub(super) struct Stops {
    freeze: Option<Freeze>,
    /// Since when the tree is being stopped for an image.
    image: Option<Instant>,
    /// Wakes the tracer when that takes too long.
    alarm: Option<Ticker>,
}

/// A freeze under way or done.
#[derive(Debug)]
struct Freeze {
    done: Option<oneshot::Sender<()>>,
    since: Instant,
}

impl Stops {
    /// Whether threads are to be kept where they stop.
    pub(super) fn is_stopping(&self) -> bool {
        self.freeze.is_some() || self.image.is_some()
    }

    /// Nothing is stopped any more.
    pub(super) fn give_up(&mut self) {
        *self = Self::default();
    }
}

impl Engine<'_> {
    /// Stops every thread; answered when all stand still.
    pub(super) fn freeze(&mut self, done: oneshot::Sender<()>) {
        self.interrupt_all();
        self.stops.freeze = Some(Freeze { done: Some(done), since: Instant::now() });
        self.look_at_stops();
    }

    /// Lets all go on that a freeze has stopped.
    pub(super) fn thaw(&mut self, step: bool) {
        self.stepping = step;
        self.stops.freeze = None;
        self.let_go();
    }

    /// A thread stands before a call at which an image is to be taken.
    pub(super) fn stop_for_image(&mut self, tid: pid_t) {
        self.tasks.set(tid, State::Decided);
        self.interrupt_all();
        self.stops.image = Some(Instant::now());
        self.look_at_stops();
        if self.stops.image.is_some() && self.stops.alarm.is_none() {
            // Without a timer a thread that cannot be stopped is waited for until somebody gives a command.
            self.stops.alarm = Ticker::start(Duration::from_millis(FREEZE_MAX_MS)).ok();
        }
    }

    fn interrupt_all(&mut self) {
        for tid in self.tasks.running() {
            self.interrupt(tid);
        }
    }

    /// Asks a thread to stop.
    pub(super) fn interrupt(&mut self, tid: pid_t) {
        self.repeats.interrupted(tid);
        // One that is gone will be reaped.
        let _ = ptrace::interrupt(tid);
    }

    /// Takes the image, and answers a freeze, when all stand still or when it takes too long.
    pub(super) fn look_at_stops(&mut self) {
        let limit = Duration::from_millis(FREEZE_MAX_MS);
        if let Some(since) = self.stops.image {
            let all_stand = self.tasks.all_stand();
            if !all_stand && since.elapsed() <= limit {
                return;
            }
            self.policy.on_image(all_stand);
            self.stops.image = None;
        } else if self.stops.freeze.is_none() {
            return;
        }
        match &mut self.stops.freeze {
            None => self.let_go(),
            Some(freeze) => {
                if freeze.done.is_some()
                    && (self.tasks.all_stand() || freeze.since.elapsed() > limit)
                    && let Some(done) = freeze.done.take()
                {
                    // The one who asked may have gone; then nobody waits for it.
                    let _ = done.send(());
                }
            }
        }
    }

    /// Lets those go that stand: first the ones whose call is decided, then the others, until one of them brings the next stop.
    fn let_go(&mut self) {
        if self.stops.is_stopping() {
            return;
        }
        for tid in self.tasks.decided() {
            self.tasks.set(tid, State::Running);
            self.go(tid, 0);
        }
        for tid in self.tasks.held() {
            if self.stops.is_stopping() || self.killing.is_some() {
                // It stays where it is; its turn comes after that stop. A thread that is killed needs no turn.
                return;
            }
            if let Some(State::Held(status)) = self.tasks.state(tid) {
                self.act(tid, status);
            }
        }
    }
}
