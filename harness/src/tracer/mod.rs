//! The tracer: starts a life under seccomp-filtered ptrace and follows its whole tree: threads, forks, vforks, execs, daemons.
//!
//! It says "a thread is about to do X" and obeys: go on, or kill. It knows nothing of ledgers, points or promises. A life has its
//! own OS thread, because ptrace requests must come from the thread that attached; [`Control`] reaches it from elsewhere.
//!
//! * `calls`: which system calls can change something, and how their arguments are laid out.
//! * `decode`: what a call acts on.
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

use std::ffi::OsString;
use std::path::PathBuf;

pub use control::{Control, ControlError};
pub use engine::{Death, Outcome, run_life};
pub use probe::{Ability, probe};

use crate::model::call::{Notice, Object};

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
    /// Whether state-changing calls stop. Without it the tree is only followed, so that nothing of it survives.
    pub stop_at_calls: bool,
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
}

/// What is to be done with a thread that stands at a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It goes on.
    Continue,
    /// The whole tree is killed while it stands there.
    Kill,
}

/// The one who decides. Called on the tracer's thread.
pub trait Policy: Send {
    /// A thread is about to make a state-changing call.
    fn on_call(&mut self, call: &Call) -> Action;

    /// A stepped thread has come out of a system call. Only called after [`Control::thaw`] with `step`.
    fn on_step(&mut self) -> Action {
        Action::Continue
    }

    /// Something was seen that is no call.
    fn on_notice(&mut self, notice: Notice, object: Option<&Object>);

    /// The first process has ended; others may still be there, even such as have not been seen yet.
    fn on_first_exit(&mut self);
}
