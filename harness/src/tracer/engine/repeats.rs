//! Calls that the kernel makes a second time. A stop of ours, or a signal, ends some calls before they have done anything; they are made
//! again when the thread goes on, through the filter. Nothing has changed in between, so it is one call and one point.

use std::collections::{HashMap, HashSet};

use libc::pid_t;

use crate::sys::ptrace::{self, Syscall};

/// The latest call of each thread, and whether it is about to be made again.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    latest: HashMap<pid_t, (Syscall, bool)>,
    /// Threads that were asked to stop and have not been seen to do so. One that stopped before a call by itself forgets that it was
    /// asked, and its call may be ended all the same, without another stop: so it is looked at when it comes out.
    watched: HashSet<pid_t>,
}

impl Repeats {
    /// Whether the call at which a thread stands is its latest one, made again; else it is its latest from now on.
    pub(super) fn is_repeat(&mut self, tid: pid_t, call: &Syscall) -> bool {
        match self.latest.get_mut(&tid) {
            Some((made, again)) if *again && made == call => {
                *again = false;
                true
            }
            // A signal's handler makes other calls first.
            Some((_, true)) => false,
            _ => {
                self.latest.insert(tid, (*call, false));
                false
            }
        }
    }

    /// A thread is asked to stop.
    pub(super) fn interrupted(&mut self, tid: pid_t) {
        self.watched.insert(tid);
    }

    /// Whether a thread is to be looked at when it comes out of a call.
    pub(super) fn is_watched(&self, tid: pid_t) -> bool {
        self.watched.contains(&tid)
    }

    /// A thread has stopped because it was asked to, or for a signal.
    pub(super) fn stopped(&mut self, tid: pid_t) {
        self.watched.remove(&tid);
        if let Some((made, again)) = self.latest.get_mut(&tid) {
            // A second stop on the way back to the call changes nothing.
            *again |= ptrace::is_restarting(tid, made);
        }
    }

    /// A thread comes out of a call with this value, and goes on there.
    pub(super) fn came_out(&mut self, tid: pid_t, value: i64, next: u64) {
        self.watched.remove(&tid);
        if let Some((made, again)) = self.latest.get_mut(&tid) {
            *again |= ptrace::is_restart(value) && made.next == next;
        }
    }

    /// A thread has ended, or runs another program.
    pub(super) fn forget(&mut self, tid: pid_t) {
        self.latest.remove(&tid);
        self.watched.remove(&tid);
    }
}
