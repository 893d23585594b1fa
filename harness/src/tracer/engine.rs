//! The loop of one life: wait for a stop, decide, let go. It ends when nobody of the tree is left.

use std::collections::BTreeSet;
use std::ffi::{CString, OsStr};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use libc::{c_int, pid_t};
use tokio::sync::oneshot;

use super::calls::Calls;
use super::control::{Command, Control};
use super::decode::{Decoded, Decoder};
use super::tasks::{State, Tasks};
use super::{Action, Call, Launch, Policy};
use crate::model::call::{Notice, Object};
use crate::model::limits::{CALLS_PER_LIFE_MAX, FREEZE_MAX_MS, OUTPUT_PER_LIFE_MAX_BYTES, TASKS_PER_LIFE_MAX};
use crate::sys::launch::{self, Step};
use crate::sys::ptrace::{self, Status, SyscallStop, Wait};
use crate::sys::seccomp;

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
}

/// Runs one life on the calling thread, from its start to the end of its last process.
pub fn run_life(spec: &Launch, policy: &mut dyn Policy, control: &Control) -> Outcome {
    control.attach();
    let outcome = match start(spec) {
        Ok((root, errors)) => Engine::new(spec, policy, control, root).run(&errors),
        Err(reason) => Outcome { death: Death::NotStarted(reason), cpu_us: 0, processes: 0, killed_from_outside: false },
    };
    control.close();
    outcome
}

fn start(spec: &Launch) -> Result<(pid_t, OwnedFd), String> {
    let text =
        |value: &OsStr| CString::new(value.as_bytes()).map_err(|_| format!("`{}` holds a zero byte", value.to_string_lossy()));
    let open = |file: io::Result<File>, name: &str| file.map_err(|error| format!("cannot open {name}: {error}"));
    let stdin = open(File::open("/dev/null"), "/dev/null")?;
    let output = open(OpenOptions::new().append(true).create(true).open(&spec.output), &spec.output.to_string_lossy())?;
    let env = spec.env.iter().map(|(name, value)| {
        let mut pair = name.clone();
        pair.push("=");
        pair.push(value);
        text(&pair)
    });
    let filter = if spec.stop_at_calls { seccomp::compile(&Calls::new().rules()) } else { Vec::new() };
    let launch = launch::Launch {
        program: text(spec.program.as_os_str())?,
        argv: spec.argv.iter().map(|argument| text(argument)).collect::<Result<_, _>>()?,
        env: env.collect::<Result<_, _>>()?,
        dir: text(spec.dir.as_os_str())?,
        stdin: stdin.as_fd(),
        output: output.as_fd(),
        filter: &filter,
    };
    launch::launch(&launch).map_err(|(step, error)| start_trouble(spec, step, &error))
}

fn start_trouble(spec: &Launch, step: Step, error: &io::Error) -> String {
    match step {
        Step::Fork => format!("cannot make a process: {error}"),
        Step::Trace => format!("cannot trace (ptrace): {error}; `killpoint doctor` says what to change"),
        Step::Chdir => format!("cannot enter {}: {error}", spec.dir.display()),
        Step::Filter => format!("cannot install the seccomp filter: {error}; `killpoint doctor` says what to change"),
        Step::Exec => format!("cannot run {}: {error}", spec.program.display()),
    }
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
    freeze: Option<Freeze>,
    stepping: bool,
    calls: u64,
    output_bytes: u64,
    cpu_us: u64,
    root_cpu_us: u64,
}

/// A freeze under way or done.
struct Freeze {
    done: Option<oneshot::Sender<()>>,
    since: Instant,
}

impl<'a> Engine<'a> {
    fn new(spec: &'a Launch, policy: &'a mut dyn Policy, control: &'a Control, root: pid_t) -> Self {
        let mut tasks = Tasks::default();
        tasks.meet(root);
        Self {
            spec,
            policy,
            control,
            decoder: Decoder::new(Calls::new(), spec.output.clone()),
            tasks,
            root,
            root_ran: false,
            root_end: None,
            killing: None,
            killed: BTreeSet::new(),
            own_kills: Vec::new(),
            killed_from_outside: false,
            freeze: None,
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
                Ok(None) => self.look_at_freeze(),
                // ECHILD: nobody is left.
                Err(_) => break,
            }
        }
        // A process' time holds that of the children it waited for. Where the first one ended by itself its time is the tree's;
        // where all were killed, nobody waited for anybody.
        let cpu_us = if self.killing.is_none() { self.root_cpu_us } else { self.cpu_us };
        let death = self.death(errors);
        let killed_from_outside = self.killed_from_outside;
        Outcome { death, cpu_us, processes: self.tasks.processes_born(), killed_from_outside }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Freeze(done) => {
                for tid in self.tasks.running() {
                    // One that is gone will be reaped.
                    let _ = ptrace::interrupt(tid);
                }
                self.freeze = Some(Freeze { done: Some(done), since: Instant::now() });
                self.look_at_freeze();
            }
            Command::Thaw { step } => {
                self.stepping = step;
                self.freeze = None;
                for tid in self.tasks.held() {
                    if let Some(State::Held(status)) = self.tasks.state(tid) {
                        self.act(tid, status);
                    }
                }
            }
            Command::Kill(reason) => self.kill_all(Killing::Command(reason)),
        }
    }

    /// Answers a freeze when all stand still, or when it takes too long.
    fn look_at_freeze(&mut self) {
        if let Some(freeze) = &mut self.freeze
            && freeze.done.is_some()
            && (self.tasks.all_stand() || freeze.since.elapsed() > Duration::from_millis(FREEZE_MAX_MS))
            && let Some(done) = freeze.done.take()
        {
            // The one who asked may have gone; then nobody waits for it.
            let _ = done.send(());
        }
    }

    fn dispatch(&mut self, wait: Wait) {
        let tid = wait.tid;
        match wait.status {
            Status::Exited(_) | Status::Signalled(_) => return self.ended(&wait),
            _ => {
                if self.tasks.meet(tid) && self.tasks.len() > TASKS_PER_LIFE_MAX {
                    self.kill_all(Killing::Limit(format!("{TASKS_PER_LIFE_MAX} processes and threads alive at once")));
                }
            }
        }
        if self.killing.is_some() {
            // A task that was born while the others were killed.
            ptrace::kill(self.tasks.process(tid));
        } else if self.freeze.is_some() {
            self.tasks.set(tid, State::Held(wait.status));
            self.look_at_freeze();
        } else {
            self.act(tid, wait.status);
        }
    }

    fn ended(&mut self, wait: &Wait) {
        let process = self.tasks.process(wait.tid);
        self.tasks.forget(wait.tid);
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
        self.look_at_freeze();
    }

    /// Deals with a stop and lets the thread go.
    fn act(&mut self, tid: pid_t, status: Status) {
        self.tasks.set(tid, State::Running);
        match status {
            Status::Seccomp => {
                if self.at_call(tid) == Action::Kill {
                    return self.kill_all(Killing::AtCall(self.tasks.process(tid)));
                }
                self.go(tid, 0);
            }
            Status::Syscall => {
                let is_exit = matches!(ptrace::syscall(tid), Ok(SyscallStop::After));
                if self.stepping && is_exit && self.policy.on_step() == Action::Kill {
                    return self.kill_all(Killing::AtCall(self.tasks.process(tid)));
                }
                self.go(tid, 0);
            }
            Status::Signal(signal) => self.go(tid, signal),
            Status::GroupStop => {
                // Gone: it will be reaped.
                let _ = ptrace::listen(tid);
            }
            Status::VforkBegun => {
                self.tasks.set(tid, State::InVfork);
                self.go(tid, 0);
            }
            Status::Exec => {
                let process = self.tasks.process(tid);
                self.tasks.exec(process);
                self.root_ran |= process == self.root;
                self.go(tid, 0);
            }
            Status::Born | Status::VforkDone | Status::EventStop => self.go(tid, 0),
            Status::Exited(_) | Status::Signalled(_) => {}
        }
    }

    fn go(&self, tid: pid_t, signal: c_int) {
        // Gone: a SIGKILL from elsewhere ended the stop; it will be reaped.
        let _ = if self.stepping { ptrace::step(tid, signal) } else { ptrace::resume(tid, signal) };
    }

    /// A thread stands before a call of the filter.
    fn at_call(&mut self, tid: pid_t) -> Action {
        let Ok(SyscallStop::Before(call)) = ptrace::syscall(tid) else { return Action::Continue };
        if !self.root_ran {
            return Action::Continue;
        }
        self.calls += 1;
        if self.calls > CALLS_PER_LIFE_MAX {
            self.kill_all(Killing::Limit(format!("{CALLS_PER_LIFE_MAX} state-changing calls in one life")));
            return Action::Continue;
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
                    return Action::Continue;
                }
                let pid = self.tasks.process(tid);
                self.policy.on_call(&Call { syscall, object, process: self.tasks.birth(pid), pid })
            }
            Decoded::SharedMapping(object) => {
                let name = if let Object::Path(path) = &object { path.to_string_lossy().into_owned() } else { String::new() };
                self.policy.on_notice(Notice::SharedMapping { object: name }, Some(&object));
                Action::Continue
            }
            Decoded::IoUring => {
                self.policy.on_notice(Notice::IoUring, None);
                Action::Continue
            }
            Decoded::KillSignal(target) => {
                // A thread stands for its process.
                self.own_kills.push(target.map(|target| self.tasks.process(target)));
                Action::Continue
            }
            Decoded::Nothing => Action::Continue,
        }
    }

    fn kill_all(&mut self, why: Killing) {
        if self.killing.is_some() {
            return;
        }
        self.killing = Some(why);
        // A frozen tree need not be thawed: SIGKILL ends every stop.
        self.freeze = None;
        for process in self.tasks.processes() {
            ptrace::kill(process);
        }
    }

    fn death(&mut self, errors: &OwnedFd) -> Death {
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
