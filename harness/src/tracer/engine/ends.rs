//! The ends of a life: who died of what, and what that makes of the life.

use std::os::fd::OwnedFd;

use libc::pid_t;

use super::start::start_trouble;
use super::{Death, Engine, Killing};
use crate::sys::launch;
use crate::sys::ptrace::{Status, Wait};

impl Engine<'_> {
    /// A thread has ended.
    pub(super) fn ended(&mut self, wait: &Wait) {
        let process = self.tasks.process(wait.tid);
        self.tasks.forget(wait.tid);
        self.forget(wait.tid);
        if wait.tid == process {
            self.cpu_us += wait.cpu_us;
            if wait.status == Status::Signalled(libc::SIGKILL) {
                if self.killing.is_some() {
                    self.killed.insert(process);
                } else {
                    self.killed_from_outside |= !self.tree_killed(process);
                }
            }
        }
        if wait.tid == self.root && self.root_end.is_none() {
            self.root_end = Some(wait.status);
            self.root_cpu_us = wait.cpu_us;
            if self.killing.is_none() {
                self.policy.on_first_exit();
            }
        }
        self.look();
    }

    /// Nothing that was known of a thread holds any more.
    pub(super) fn forget(&mut self, tid: pid_t) {
        self.waits.forget(tid);
        self.repeats.forget(tid);
        if let Some(turns) = &mut self.turns {
            turns.forget(tid);
        }
        if let Some(sleepers) = &mut self.sleepers {
            sleepers.forget(tid);
        }
    }

    /// How the life ended, once nobody is left.
    pub(super) fn death(&mut self, errors: &OwnedFd) -> Death {
        if !self.root_ran && self.killing.is_none() {
            let reason = match launch::exec_error(errors) {
                Some((step, error)) => start_trouble(self.spec, step, &error),
                None => format!("{} ended before it ran", self.spec.program.display()),
            };
            return Death::NotStarted(reason);
        }
        match (self.killing.take(), self.root_end) {
            (Some(Killing::AtCall(process)), _) if self.killed.contains(&process) => Death::KilledAtCall,
            (Some(Killing::AtCall(process)), _) => {
                Death::KillDidNotLand(format!("no wait status of SIGKILL came for process {process}, which stood at the point"))
            }
            (Some(Killing::Command(reason)), end) => {
                let first_exit = if let Some(Status::Exited(code)) = end { Some(code) } else { None };
                Death::KilledOnCommand { reason, killed: self.killed.len(), first_exit }
            }
            (Some(Killing::Limit(limit)), _) => Death::Limit(limit),
            (None, Some(Status::Exited(code))) => Death::Exited(code),
            (None, Some(Status::Signalled(signal))) => Death::Signalled(signal),
            (None, _) => Death::NotStarted("the first process was lost".to_owned()),
        }
    }

    /// Whether a SIGKILL to this process may have come from the tree, or from the kernel on its behalf.
    fn tree_killed(&self, process: pid_t) -> bool {
        self.tasks.is_nested(process) || self.own_kills.iter().any(|target| target.is_none_or(|target| target == process))
    }
}
