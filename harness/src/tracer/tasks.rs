//! Who is alive in a life: threads by id, the process each belongs to, and whether it stands still.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use libc::pid_t;

use crate::sys::ptrace::Status;

/// What a thread is doing, as far as the tracer knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It runs, or has been let go.
    Running,
    /// It stands at this stop, which has not been dealt with yet.
    Held(Status),
    /// It stands before a call that is decided, and goes on when the tree does.
    Decided,
    /// It waits for its turn.
    Waiting,
    /// A job-control signal has stopped its process. It says so before it goes on.
    Stopped,
    /// It waits in the kernel for a vfork's child and cannot be stopped; it cannot do anything either.
    InVfork,
    /// It has ended while others of its process go on, so that its end is told only with theirs; a process' first thread can do so.
    Over,
}

#[derive(Clone, Copy, Debug)]
struct Task {
    process: pid_t,
    state: State,
}

/// All threads of a life.
#[derive(Debug, Default)]
pub struct Tasks {
    tasks: HashMap<pid_t, Task>,
    births: BTreeMap<pid_t, u32>,
    born: u32,
    /// Processes in a PID namespace of their own, which the kernel kills when the namespace's first process ends.
    nested: BTreeSet<pid_t>,
}

impl Tasks {
    /// Notes a thread, if it is new. Its process is looked up once.
    pub fn meet(&mut self, tid: pid_t) {
        if !self.tasks.contains_key(&tid) {
            self.add(tid, process_of(tid).unwrap_or((tid, false)));
        }
    }

    /// Notes a thread that was just made and has not been seen yet, so that nobody is taken to stand still while it is on its way. It
    /// may have been seen, and have ended, before; then its parent has perhaps not taken its status yet.
    pub fn expect(&mut self, tid: pid_t) {
        if !self.tasks.contains_key(&tid)
            && !has_ended(tid)
            && let Some(found) = process_of(tid)
        {
            self.add(tid, found);
        }
    }

    fn add(&mut self, tid: pid_t, (process, is_nested): (pid_t, bool)) {
        if is_nested {
            self.nested.insert(process);
        }
        if process == tid || !self.births.contains_key(&process) {
            self.born += 1;
            self.births.insert(process, self.born);
        }
        self.tasks.insert(tid, Task { process, state: State::Running });
    }

    /// The process a thread belongs to.
    pub fn process(&self, tid: pid_t) -> pid_t {
        self.tasks.get(&tid).map_or(tid, |task| task.process)
    }

    /// A process' number in the order of birth, from 1.
    pub fn birth(&self, process: pid_t) -> u32 {
        self.births.get(&process).copied().unwrap_or(0)
    }

    /// Whether a process is one of this life.
    pub fn is_ours(&self, process: pid_t) -> bool {
        self.births.contains_key(&process)
    }

    /// Whether a process is in a PID namespace below ours.
    pub fn is_nested(&self, process: pid_t) -> bool {
        self.nested.contains(&process)
    }

    /// How many processes there have been.
    pub fn processes_born(&self) -> u32 {
        self.born
    }

    /// Sets what a thread is doing.
    pub fn set(&mut self, tid: pid_t, state: State) {
        if let Some(task) = self.tasks.get_mut(&tid) {
            task.state = state;
        }
    }

    /// What a thread is doing.
    pub fn state(&self, tid: pid_t) -> Option<State> {
        self.tasks.get(&tid).map(|task| task.state)
    }

    /// A thread has ended.
    pub fn forget(&mut self, tid: pid_t) {
        self.tasks.remove(&tid);
    }

    /// A thread has run a program: it is its process' only thread now, under the process' id. Returns all it had before.
    pub fn exec(&mut self, process: pid_t) -> Vec<pid_t> {
        let before = self.tasks.iter().filter(|(_, task)| task.process == process).map(|(tid, _)| *tid).collect();
        self.tasks.retain(|tid, task| task.process != process || *tid == process);
        self.meet(process);
        before
    }

    /// How many threads are alive.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// The processes that are alive.
    pub fn processes(&self) -> BTreeSet<pid_t> {
        self.tasks.values().map(|task| task.process).collect()
    }

    /// Whether nobody runs. First threads of which the kernel says that they have ended are noted as such; the ends of others are told
    /// at once.
    pub fn all_stand(&mut self) -> bool {
        if self.tasks.iter().any(|(tid, task)| task.state == State::Running && task.process != *tid) {
            return false;
        }
        self.running().into_iter().all(|tid| self.is_over(tid))
    }

    /// Whether a thread that was let go has ended untold.
    pub fn is_over(&mut self, tid: pid_t) -> bool {
        let is_over = self.process(tid) == tid && has_ended(tid);
        if is_over {
            self.set(tid, State::Over);
        }
        is_over
    }

    /// Threads that are let go.
    pub fn running(&self) -> Vec<pid_t> {
        self.in_state(|state| state == State::Running)
    }

    /// Threads that stand before a call that is decided.
    pub fn decided(&self) -> Vec<pid_t> {
        self.in_state(|state| state == State::Decided)
    }

    /// Threads that stand at a stop.
    pub fn held(&self) -> Vec<pid_t> {
        self.in_state(|state| matches!(state, State::Held(_)))
    }

    fn in_state(&self, wanted: impl Fn(State) -> bool) -> Vec<pid_t> {
        let mut list: Vec<_> = self.tasks.iter().filter(|(_, task)| wanted(task.state)).map(|(tid, _)| *tid).collect();
        list.sort_unstable();
        list
    }
}

/// How often a sleeping thread has been given the CPU, from `/proc`; `None`: it does not sleep, or is gone. A thread in the kernel for
/// a disk (state D) does not sleep: it goes on by itself.
pub fn turns_of_sleeper(tid: pid_t) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let number = |name: &str| field(name)?.parse::<u64>().ok();
    let is_asleep = field("State:")?.starts_with('S');
    if !is_asleep {
        return None;
    }
    Some(number("voluntary_ctxt_switches:")? + number("nonvoluntary_ctxt_switches:")?)
}

/// Whether a thread has ended and only waits to be taken note of, from `/proc`. One that is not there has not: its end is on its
/// way to the tracer.
fn has_ended(tid: pid_t) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{tid}/stat")).unwrap_or_default();
    // The name before the state may itself hold brackets.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['Z', 'X']))
}

/// The process a thread belongs to, from `/proc`, and whether it has further ids in PID namespaces below ours.
fn process_of(tid: pid_t) -> Option<(pid_t, bool)> {
    let status = std::fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let process = field("Tgid:")?.trim().parse().ok()?;
    Some((process, field("NSpid:").is_some_and(|ids| ids.split_whitespace().count() > 1)))
}
