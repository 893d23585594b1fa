//! The recorder as the tracer sees it: which call is a point, where a thread waits, when the world is kept.

use std::ops::Range;
use std::sync::Arc;

use super::Recorder;
use crate::model::call::{Notice, Object};
use crate::model::interleaving::Interleaving;
use crate::tracer::{Action, Call, Policy};

/// The policy of one life.
#[derive(Debug)]
pub struct Eye {
    recorder: Arc<Recorder>,
    /// Points that have just come and whose world is to be kept.
    due: Range<usize>,
}

impl Eye {
    /// The eye of a life.
    #[must_use]
    pub fn new(recorder: Arc<Recorder>) -> Self {
        Self { recorder, due: 0..0 }
    }
}

impl Policy for Eye {
    fn on_call(&mut self, call: &Call) -> Action {
        let Some(album) = &self.recorder.album else { return self.recorder.lock().call(call).0 };
        album.touch(&call.object);
        let (action, due) = self.recorder.lock().call(call);
        if action == Action::Continue && !due.is_empty() {
            self.due = due;
            return Action::Image;
        }
        action
    }

    fn on_image(&mut self, all_stand: bool) {
        let due = std::mem::take(&mut self.due);
        // Points of a tree that does not stand still have no picture; they are tried by a SIGKILL.
        if let Some(album) = self.recorder.album.as_ref().filter(|_| all_stand) {
            album.wait_until_quiet();
            album.shoot(due, None);
        }
    }

    fn holds(&mut self, call: &Call) -> bool {
        self.recorder.interleaving == Interleaving::FlushLate && self.recorder.lock().is_flush(call)
    }

    fn holds_at_wake(&mut self, tid: i32) -> bool {
        self.recorder.interleaving == Interleaving::FlushLate && self.recorder.lock().is_helper(tid)
    }

    fn gives_turns(&self) -> bool {
        self.recorder.lock().has_window()
    }

    fn is_quiet_outside(&self) -> bool {
        self.recorder.lens.as_ref().is_none_or(|lens| lens.is_idle())
    }

    fn on_step(&mut self) -> Action {
        if self.recorder.lock().has_been_read() { Action::Kill } else { Action::Continue }
    }

    fn on_notice(&mut self, notice: Notice, object: Option<&Object>) {
        if let Some(album) = &self.recorder.album {
            match (&notice, object) {
                (Notice::SharedMapping { .. }, Some(object)) => album.touch_mapped(object),
                (Notice::IoUring, _) => album.touch_all(),
                _ => {}
            }
        }
        self.recorder.lock().notice(notice, object);
    }

    fn on_first_exit(&mut self) {
        self.recorder.lock().first_exit();
    }
}
