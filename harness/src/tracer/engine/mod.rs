//! The loop of one life: wait for a stop, decide, let go. It ends when nobody of the tree is left.
//!
//! * `start`: the first process.
//! * `stops`: freezes, and images for which all stand still.
//! * `waits`: threads that wait for their turn, and when the tree stands still.
//! * `turns`: the turns that a seed gives.
//! * `repeats`: calls that the kernel makes a second time.
//! * `sleepers`: who sleeps until another thread wakes it.
//! * `ends`: who died of what.

mod ends;
mod repeats;
mod sleepers;
mod start;
mod stops;
mod turns;
mod waits;

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;

use libc::{c_int, pid_t};

use super::calls::Calls;
use super::control::{Command, Control};
use super::decode::{Decoded, Decoder};
use super::tasks::{State, Tasks};
use super::{Action, Call, Holds, Launch, Policy};
use crate::model::call::{Notice, Object};
use crate::model::limits::{CALLS_PER_LIFE_MAX, OUTPUT_PER_LIFE_MAX_BYTES, TASKS_PER_LIFE_MAX};
use crate::sys::ptrace::{self, Status, SyscallStop, Wait};
use crate::sys::seccomp;
use repeats::Repeats;
use sleepers::Sleepers;
use start::start;
use stops::Stops;
use turns::Turns;
use waits::{Turn, Waits};

/// How a life ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Death {
    /// The first process exited by itself, and nobody is left.
    Exited(c_int),
    /// The first process died of a signal; of a SIGKILL from elsewhere where the outcome says so.
    Signalled(c_int),
    /// The tracer killed the tree while a thread stood at the stop that the policy chose; that process' wait status says SIGKILL.
    KilledAtCall,
    /// The tracer killed the tree because it was told to.
    KilledOnCommand {
        /// Why.
        reason: String,
        /// Of how many processes a wait status says SIGKILL.
        killed: usize,
        /// What the first process had ended with before, if it had.
        first_exit: Option<c_int>,
    },
    /// The kill at a stop did not end the process that stood there: a bug, or a kernel that does not keep its word.
    KillDidNotLand(String),
    /// A limit was reached and the tree was killed.
    Limit(String),
    /// The program could not be started.
    NotStarted(String),
}

/// What is known of a life when it is over.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub death: Death,
    /// CPU time of its processes, in microseconds, as far as the kernel accounts it to us.
    pub cpu_us: u64,
    /// How many processes it had.
    pub processes: u32,
    /// Whether one of them, any, died of a SIGKILL that came from neither the tracer nor the tree: an out-of-memory kill mostly
    /// takes the largest process, which need not be the first.
    pub killed_from_outside: bool,
    /// Threads that were made to wait.
    pub holds: Holds,
}

impl Outcome {
    /// A life that did not come to be.
    #[must_use]
    pub fn not_started(reason: String) -> Self {
        let (death, holds) = (Death::NotStarted(reason), Holds::default());
        Self { death, cpu_us: 0, processes: 0, killed_from_outside: false, holds }
    }
}

/// Runs one life on the calling thread, from its start to the end of its last process.
pub fn run_life(spec: &Launch, policy: &mut dyn Policy, control: &Control) -> Outcome {
    control.attach();
    let outcome = match start(spec) {
        Ok((root, errors)) => Engine::new(spec, policy, control, root).run(&errors),
        Err(reason) => Outcome::not_started(reason),
    };
    control.close();
    outcome
}

/// Why the tree is being killed.
#[derive(Clone, Debug)]
enum Killing {
    /// The policy chose the stop at which this process stands.
    AtCall(pid_t),
    Command(String),
    Limit(String),
}

struct Engine<'a> {
    spec: &'a Launch,
    policy: &'a mut dyn Policy,
    control: &'a Control,
    decoder: Decoder,
    tasks: Tasks,
    root: pid_t,
    root_ran: bool,
    root_end: Option<Status>,
    killing: Option<Killing>,
    killed: BTreeSet<pid_t>,
    /// Processes to which the tree itself sent SIGKILL; `None`: to any.
    own_kills: Vec<Option<pid_t>>,
    killed_from_outside: bool,
    stops: Stops,
    waits: Waits,
    turns: Option<Turns>,
    /// Where threads are stopped when they wake.
    sleepers: Option<Sleepers>,
    repeats: Repeats,
    stepping: bool,
    calls: u64,
    output_bytes: u64,
    cpu_us: u64,
    root_cpu_us: u64,
}

/// What is to be done with a thread that stands before a call.
enum Step {
    Go,
    Kill,
    Image,
    Wait(Call),
}

impl<'a> Engine<'a> {
    fn new(spec: &'a Launch, policy: &'a mut dyn Policy, control: &'a Control, root: pid_t) -> Self {
        let mut tasks = Tasks::default();
        tasks.meet(root);
        Self {
            spec,
            policy,
            control,
            decoder: Decoder::new(Calls::new(), spec.output.clone(), spec.inside.clone()),
            tasks,
            root,
            root_ran: false,
            root_end: None,
            killing: None,
            killed: BTreeSet::new(),
            own_kills: Vec::new(),
            killed_from_outside: false,
            stops: Stops::default(),
            waits: Waits::default(),
            turns: spec.pauses.map(Turns::new),
            sleepers: (spec.stop_at_wakes || spec.pauses.is_some()).then(Sleepers::default),
            repeats: Repeats::default(),
            stepping: false,
            calls: 0,
            output_bytes: 0,
            cpu_us: 0,
            root_cpu_us: 0,
        }
    }

    fn run(mut self, errors: &OwnedFd) -> Outcome {
        loop {
            while let Some(command) = self.control.take() {
                self.obey(command);
            }
            match ptrace::wait() {
                Ok(Some(wait)) => self.dispatch(wait),
                Ok(None) => self.look(),
                // ECHILD: nobody is left.
                Err(_) => break,
            }
        }
        // A process' time holds that of the children it waited for. Where the first one ended by itself its time is the tree's;
        // where all were killed, nobody waited for anybody.
        let cpu_us = if self.killing.is_none() { self.root_cpu_us } else { self.cpu_us };
        let death = self.death(errors);
        let killed_from_outside = self.killed_from_outside;
        let holds = self.waits.told();
        Outcome { death, cpu_us, processes: self.tasks.processes_born(), killed_from_outside, holds }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Freeze(done) => self.freeze(done),
            Command::Thaw { step } => self.thaw(step),
            Command::Still { limit, done } => self.ask_for_stillness(limit, done),
            Command::Kill(reason) => self.kill_all(Killing::Command(reason)),
        }
    }

    fn dispatch(&mut self, wait: Wait) {
        let tid = wait.tid;
        match wait.status {
            Status::Exited(_) | Status::Signalled(_) => return self.ended(&wait),
            Status::Exec => self.has_run(self.tasks.process(tid)),
            Status::Born | Status::VforkBegun => {
                if let Some(child) = ptrace::newborn(tid) {
                    self.tasks.expect(child);
                }
            }
            _ => {}
        }
        self.tasks.meet(tid);
        if self.tasks.len() > TASKS_PER_LIFE_MAX {
            self.kill_all(Killing::Limit(format!("{TASKS_PER_LIFE_MAX} processes and threads alive at once")));
        }
        if self.killing.is_some() {
            // A task that was born while the others were killed.
            ptrace::kill(self.tasks.process(tid));
        } else if self.stops.is_stopping() {
            self.tasks.set(tid, State::Held(wait.status));
            self.look();
        } else {
            self.act(tid, wait.status);
        }
    }

    /// Deals with a stop and lets the thread go.
    fn act(&mut self, tid: pid_t, status: Status) {
        self.tasks.set(tid, State::Running);
        match status {
            Status::Seccomp => {
                let step = self.at_call(tid);
                self.take(tid, step);
            }
            Status::Syscall => self.after_call(tid),
            Status::Signal(signal) => {
                self.repeats.stopped(tid);
                self.go(tid, signal);
            }
            Status::GroupStop => {
                self.tasks.set(tid, State::Stopped);
                // Gone: it will be reaped.
                let _ = ptrace::listen(tid);
            }
            Status::VforkBegun => {
                self.tasks.set(tid, State::InVfork);
                self.go(tid, 0);
            }
            Status::Exec => {
                self.root_ran |= tid == self.root;
                self.go(tid, 0);
            }
            Status::EventStop => self.at_event(tid),
            Status::Born | Status::VforkDone => self.go(tid, 0),
            Status::Exited(_) | Status::Signalled(_) => {}
        }
    }

    fn go(&self, tid: pid_t, signal: c_int) {
        // Gone: a SIGKILL from elsewhere ended the stop; it will be reaped.
        let is_stepped = self.stepping
            || self.repeats.is_watched(tid)
            || self.sleepers.as_ref().is_some_and(|sleepers| sleepers.is_asleep(tid));
        let _ = if is_stepped { ptrace::step(tid, signal) } else { ptrace::resume(tid, signal) };
    }

    /// A thread stands where it was asked to stop, or at its birth.
    fn at_event(&mut self, tid: pid_t) {
        self.repeats.stopped(tid);
        if self.has_fallen(tid) {
            return;
        }
        if self.is_birth(tid) { self.take_turn(tid) } else { self.go(tid, 0) }
    }

    /// A process has run a program: of its threads one is left, under the process' id.
    fn has_run(&mut self, process: pid_t) {
        for tid in self.tasks.exec(process) {
            self.forget(tid);
        }
        if let Some(sleepers) = &mut self.sleepers {
            sleepers.is_new(process);
        }
    }

    /// A thread has come out of a call: one that is stepped, or a wait of which it has woken.
    fn after_call(&mut self, tid: pid_t) {
        let Ok(SyscallStop::After { value, next }) = ptrace::syscall(tid) else { return self.go(tid, 0) };
        self.repeats.came_out(tid, value, next);
        if self.stepping && self.policy.on_step() == Action::Kill {
            return self.kill_all(Killing::AtCall(self.tasks.process(tid)));
        }
        // One that is stopped in its sleep goes to sleep again.
        if !ptrace::is_restart(value) && self.sleepers.as_mut().is_some_and(|sleepers| sleepers.has_woken(tid)) {
            return self.take_turn(tid);
        }
        self.go(tid, 0);
    }

    /// Does what was decided about a thread that stands before a call.
    fn take(&mut self, tid: pid_t, step: Step) {
        match step {
            Step::Go => self.go(tid, 0),
            Step::Kill => self.kill_all(Killing::AtCall(self.tasks.process(tid))),
            Step::Image => self.stop_for_image(tid),
            Step::Wait(call) => self.wait(tid, Turn::Call(call)),
        }
    }

    /// A thread stands before a call of the filter.
    fn at_call(&mut self, tid: pid_t) -> Step {
        let Ok(SyscallStop::Before(call)) = ptrace::syscall(tid) else { return Step::Go };
        if !self.root_ran {
            return Step::Go;
        }
        if let Some(sleepers) = &mut self.sleepers
            && Sleepers::is_sleep(&call)
        {
            sleepers.sleeps(tid);
            return Step::Go;
        }
        if self.repeats.is_repeat(tid, &call) {
            return Step::Go;
        }
        self.calls += 1;
        if self.calls > CALLS_PER_LIFE_MAX {
            self.kill_all(Killing::Limit(format!("{CALLS_PER_LIFE_MAX} state-changing calls in one life")));
            return Step::Go;
        }
        if call.arch != seccomp::ARCH_NATIVE {
            self.policy.on_notice(Notice::Compat32, None);
        }
        let tasks = &self.tasks;
        match self.decoder.decode(tid, &call, &|pid| tasks.is_ours(pid)) {
            Decoded::Call { syscall, object, output_bytes } => {
                self.output_bytes += output_bytes;
                if self.output_bytes > OUTPUT_PER_LIFE_MAX_BYTES {
                    self.kill_all(Killing::Limit(format!("{OUTPUT_PER_LIFE_MAX_BYTES} bytes of output in one life")));
                    return Step::Go;
                }
                let pid = self.tasks.process(tid);
                let call = Call { syscall, object, process: self.tasks.birth(pid), pid, tid };
                if self.must_wait(&call) { Step::Wait(call) } else { self.decide(&call) }
            }
            Decoded::SharedMapping(object) => {
                let name = if let Object::Path(path) = &object { path.to_string_lossy().into_owned() } else { String::new() };
                self.policy.on_notice(Notice::SharedMapping { object: name }, Some(&object));
                Step::Go
            }
            Decoded::IoUring => {
                self.policy.on_notice(Notice::IoUring, None);
                Step::Go
            }
            Decoded::KillSignal(target) => {
                // A thread stands for its process.
                self.own_kills.push(target.map(|target| self.tasks.process(target)));
                Step::Go
            }
            Decoded::Nothing => Step::Go,
        }
    }

    /// Asks the policy about a call whose time has come.
    fn decide(&mut self, call: &Call) -> Step {
        match self.policy.on_call(call) {
            Action::Continue => Step::Go,
            Action::Kill => Step::Kill,
            Action::Image => Step::Image,
        }
    }

    fn kill_all(&mut self, why: Killing) {
        if self.killing.is_some() {
            return;
        }
        self.killing = Some(why);
        // A tree that is stopped need not be let go: SIGKILL ends every stop.
        self.stops.give_up();
        self.waits.give_up();
        for process in self.tasks.processes() {
            ptrace::kill(process);
        }
    }
}
