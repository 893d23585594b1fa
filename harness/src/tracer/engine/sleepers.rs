//! Threads that sleep until another one wakes them, and threads that have just been born.

use std::collections::HashSet;

use libc::pid_t;

use crate::sys::ptrace::Syscall;
use crate::sys::seccomp;

/// Who sleeps, and who is known.
#[derive(Debug, Default)]
pub(super) struct Sleepers {
    asleep: HashSet<pid_t>,
    known: HashSet<pid_t>,
}

impl Sleepers {
    /// Whether a call is a sleep from which a thread is woken by another one.
    pub(super) fn is_sleep(call: &Syscall) -> bool {
        call.arch == seccomp::ARCH_NATIVE && call.number == libc::SYS_futex as u64
    }

    /// A thread goes to sleep.
    pub(super) fn sleeps(&mut self, tid: pid_t) {
        self.asleep.insert(tid);
    }

    /// Whether a thread sleeps, so that it must be stopped on its way out.
    pub(super) fn is_asleep(&self, tid: pid_t) -> bool {
        self.asleep.contains(&tid)
    }

    /// A thread has come out of a call; whether it was a sleep.
    pub(super) fn has_woken(&mut self, tid: pid_t) -> bool {
        self.asleep.remove(&tid)
    }

    /// Whether a thread is seen for the first time.
    pub(super) fn is_new(&mut self, tid: pid_t) -> bool {
        self.known.insert(tid)
    }

    /// A thread has ended.
    pub(super) fn forget(&mut self, tid: pid_t) {
        self.asleep.remove(&tid);
        self.known.remove(&tid);
    }
}
