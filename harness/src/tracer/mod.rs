//! The tracer: starts a life under seccomp-filtered ptrace and follows its whole tree: threads, forks, vforks, execs, daemons.
//!
//! It says "a thread is about to do X" and obeys: go on, or kill. It knows nothing of ledgers, points or promises. A life has its
//! own OS thread, because ptrace requests must come from the thread that attached; [`Control`] reaches it from elsewhere.
//!
//! * `calls`: which system calls can change something, and how their arguments are laid out.
//! * `decode`: what a call acts on; `view`: the files as the life sees them.
//! * `tasks`: who is alive.
//! * `engine`: the loop.

mod calls;
mod control;
mod decode;
mod engine;
mod probe;
mod tasks;
#[cfg(test)]
mod tests;
mod view;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

pub use control::{Control, ControlError};
pub use engine::{Death, Outcome, run_life};
pub use probe::{Ability, probe};

use crate::model::call::{Notice, Object};
use crate::sys::namespace::Namespaces;

/// How a life is to be started.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program, an absolute path, and its arguments after the first, which is the name it is told.
    pub program: PathBuf,
    /// All arguments, the program's name first.
    pub argv: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory.
    pub dir: PathBuf,
    /// The file that takes its output; it is appended to.
    pub output: PathBuf,
    /// The namespaces it lives in, whose paths all but `output` are; `None`: ours.
    pub inside: Option<Arc<Namespaces>>,
    /// Whether state-changing calls stop. Without it the tree is only followed, so that nothing of it survives.
    pub stop_at_calls: bool,
    /// Whether threads are stopped when they are born and when they wake from a wait for another thread, so that the policy can hold
    /// them there.
    pub stop_at_wakes: bool,
    /// The seed of the turns that threads are given; `None`: they go as they like.
    pub pauses: Option<u64>,
}

/// A state-changing call that a thread is about to make.
#[derive(Clone, Debug)]
pub struct Call {
    /// The system call's name.
    pub syscall: &'static str,
    /// What it acts on.
    pub object: Object,
    /// The process, by its order of birth in the life, from 1.
    pub process: u32,
    /// The process' id.
    pub pid: i32,
    /// The thread's id.
    pub tid: i32,
}

/// Threads that were made to wait in one life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holds {
    /// How often one was.
    pub made: u32,
    /// How often the limit ended it.
    pub timed_out: u32,
}

/// What is to be done with a thread that stands at a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It goes on.
    Continue,
    /// The whole tree is killed while it stands there.
    Kill,
    /// The whole tree is stopped, the policy looks at it, and all go on.
    Image,
}

/// The one who decides. Called on the tracer's thread.
pub trait Policy: Send {
    /// A thread is about to make a state-changing call.
    fn on_call(&mut self, call: &Call) -> Action;

    /// Every thread stands still, the one that asked for it before its call; `all_stand` is false where one could not be stopped within
    /// the limit. Called once after [`Policy::on_call`] has said [`Action::Image`].
    fn on_image(&mut self, _all_stand: bool) {}

    /// Asked before [`Policy::on_call`]: whether the thread is to wait here until the rest of the tree stands still, or a limit passes.
    /// [`Policy::on_call`] comes when it is let go.
    fn holds(&mut self, _call: &Call) -> bool {
        false
    }

    /// Asked when a thread is born or wakes, where the launch asks for that: whether it is to wait in the same way.
    fn holds_at_wake(&mut self, _tid: i32) -> bool {
        false
    }

    /// Whether a seed gives turns from here on; before that threads go as they like.
    fn gives_turns(&self) -> bool {
        true
    }

    /// Whether nothing outside of the tree is about to move it, such as an answer on its way. Asked when all others stand still.
    fn is_quiet_outside(&self) -> bool {
        true
    }

    /// A stepped thread has come out of a system call. Only called after [`Control::thaw`] with `step`.
    fn on_step(&mut self) -> Action {
        Action::Continue
    }

    /// Something was seen that is no call.
    fn on_notice(&mut self, notice: Notice, object: Option<&Object>);

    /// The first process has ended; others may still be there, even such as have not been seen yet.
    fn on_first_exit(&mut self);
}
