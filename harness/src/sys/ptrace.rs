//! ptrace(2) and wait4(2) on raw statuses. `nix::waitpid` cannot decode a stop by a real-time signal, so statuses are decoded here.
//!
//! Everything here must be called on the thread that launched the tracee. "Gone" (ESRCH) is a normal answer: a SIGKILL ends any stop.

use std::io;

use libc::{c_int, c_long, c_void, pid_t};

/// What a tracee did, with the CPU time of the process where it ended.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// The thread.
    pub tid: pid_t,
    /// What it did.
    pub status: Status,
    /// User and system time in microseconds, of the process and the children it waited for.
    pub cpu_us: u64,
}

/// A wait status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The thread exited.
    Exited(c_int),
    /// The thread died of a signal.
    Signalled(c_int),
    /// It stands at a seccomp stop: before a call of the filter.
    Seccomp,
    /// It stands at the entry or the exit of a system call (only while it is stepped).
    Syscall,
    /// It has made a process or thread.
    Born,
    /// It has made a process and waits for it to exec or exit.
    VforkBegun,
    /// The process it waited for has run a program or ended.
    VforkDone,
    /// It has run a new program.
    Exec,
    /// The first stop of a new task, or a stop we asked for.
    EventStop,
    /// The whole process was stopped by a job-control signal.
    GroupStop,
    /// A signal is about to be delivered.
    Signal(c_int),
}

/// The call a tracee stands at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Syscall {
    /// The `AUDIT_ARCH_*` value of its calling convention.
    pub arch: u32,
    /// Its number in that convention.
    pub number: u64,
    /// Its arguments.
    pub args: [u64; 6],
    /// Where the program goes on after it.
    pub next: u64,
}

/// Whether a stop is an entry or an exit.
#[derive(Clone, Copy, Debug)]
pub enum SyscallStop {
    /// Before the call.
    Before(Syscall),
    /// After it.
    After {
        /// What it returned.
        value: i64,
        /// Where the program goes on.
        next: u64,
    },
    /// Neither.
    None,
}

fn request(request: libc::c_uint, tid: pid_t, addr: usize, data: usize) -> io::Result<c_long> {
    // SAFETY: the requests used here take integers, except those that say so at their call.
    let result = unsafe { libc::ptrace(request, tid, addr as *mut c_void, data as *mut c_void) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Attaches to a child. Every descendant is attached to as well, and all die with the tracer.
pub fn seize(pid: pid_t) -> io::Result<()> {
    let options = libc::PTRACE_O_TRACESECCOMP
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACEVFORKDONE
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_EXITKILL;
    request(libc::PTRACE_SEIZE, pid, 0, options as usize).map(drop)
}

/// Lets a stopped tracee run, delivering a signal (0: none).
pub fn resume(tid: pid_t, signal: c_int) -> io::Result<()> {
    request(libc::PTRACE_CONT, tid, 0, signal as usize).map(drop)
}

/// Lets a stopped tracee run to the next entry or exit of a system call.
pub fn step(tid: pid_t, signal: c_int) -> io::Result<()> {
    request(libc::PTRACE_SYSCALL, tid, 0, signal as usize).map(drop)
}

/// Leaves a tracee in its group stop, listening for the end of it.
pub fn listen(tid: pid_t) -> io::Result<()> {
    request(libc::PTRACE_LISTEN, tid, 0, 0).map(drop)
}

/// Asks a running tracee to stop.
pub fn interrupt(tid: pid_t) -> io::Result<()> {
    request(libc::PTRACE_INTERRUPT, tid, 0, 0).map(drop)
}

/// The task that a tracee which stands at a birth has made, if it is still there.
pub fn newborn(tid: pid_t) -> Option<pid_t> {
    let mut child: libc::c_ulong = 0;
    request(libc::PTRACE_GETEVENTMSG, tid, 0, (&raw mut child) as usize).ok()?;
    pid_t::try_from(child).ok().filter(|child| *child > 0)
}

/// The call a stopped tracee stands at, by PTRACE_GET_SYSCALL_INFO (Linux 5.3), which is the same on every architecture.
pub fn syscall(tid: pid_t) -> io::Result<SyscallStop> {
    // SAFETY: an all-zero ptrace_syscall_info is valid: it is made of integers.
    let mut info: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
    request(libc::PTRACE_GET_SYSCALL_INFO, tid, std::mem::size_of_val(&info), (&raw mut info) as usize)?;
    let (arch, next) = (info.arch, info.instruction_pointer);
    Ok(match info.op {
        libc::PTRACE_SYSCALL_INFO_SECCOMP => {
            // SAFETY: the kernel filled this member, as `op` says.
            let call = unsafe { info.u.seccomp };
            SyscallStop::Before(Syscall { arch, number: call.nr, args: call.args, next })
        }
        libc::PTRACE_SYSCALL_INFO_ENTRY => {
            // SAFETY: as above.
            let call = unsafe { info.u.entry };
            SyscallStop::Before(Syscall { arch, number: call.nr, args: call.args, next })
        }
        libc::PTRACE_SYSCALL_INFO_EXIT => {
            // SAFETY: as above.
            SyscallStop::After { value: unsafe { info.u.exit }.sval, next }
        }
        _ => SyscallStop::None,
    })
}

/// Whether a value that a call returned says that it has done nothing and is to be made again (ERESTARTSYS, ERESTARTNOINTR,
/// ERESTARTNOHAND, ERESTART_RESTARTBLOCK of linux/errno.h); a program never sees it.
#[must_use]
pub fn is_restart(value: i64) -> bool {
    matches!(value, -514..=-512 | -516)
}

/// Whether a tracee that stands at a stop which is no system call's comes out of this call and will make it again.
#[must_use]
pub fn is_restarting(tid: pid_t, call: &Syscall) -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        // The kernel sets the program back to the call only after this stop, so the value is still there.
        // SAFETY: an all-zero user_regs_struct is valid: it is made of integers.
        let mut regs: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        let got = request(libc::PTRACE_GETREGS, tid, 0, (&raw mut regs) as usize);
        got.is_ok() && regs.orig_rax == call.number && regs.rip == call.next && is_restart(regs.rax as i64)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        // The kernel has set the program back to the call, whose instruction is four bytes long.
        // SAFETY: an all-zero ptrace_syscall_info is valid: it is made of integers.
        let mut info: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
        let got = request(libc::PTRACE_GET_SYSCALL_INFO, tid, std::mem::size_of_val(&info), (&raw mut info) as usize);
        got.is_ok() && info.instruction_pointer.wrapping_add(4) == call.next
    }
}

/// Waits for any tracee or child of this thread, and for no other thread's (`__WNOTHREAD`), so that a runtime's own children are
/// left alone. `Ok(None)`: a signal interrupted the wait. `ECHILD`: there is none left.
pub fn wait() -> io::Result<Option<Wait>> {
    let mut status: c_int = 0;
    // SAFETY: an all-zero rusage is valid: it is made of integers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live values.
    let tid = unsafe { libc::wait4(-1, &raw mut status, libc::__WALL | libc::__WNOTHREAD, &raw mut usage) };
    if tid == -1 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::Interrupted { Ok(None) } else { Err(error) };
    }
    let micros = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    Ok(Some(Wait { tid, status: decode(status), cpu_us: micros(usage.ru_utime) + micros(usage.ru_stime) }))
}

fn decode(status: c_int) -> Status {
    if libc::WIFEXITED(status) {
        return Status::Exited(libc::WEXITSTATUS(status));
    }
    if libc::WIFSIGNALED(status) {
        return Status::Signalled(libc::WTERMSIG(status));
    }
    let signal = libc::WSTOPSIG(status);
    match status >> 16 {
        libc::PTRACE_EVENT_SECCOMP => Status::Seccomp,
        libc::PTRACE_EVENT_VFORK => Status::VforkBegun,
        libc::PTRACE_EVENT_VFORK_DONE => Status::VforkDone,
        libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_CLONE => Status::Born,
        libc::PTRACE_EVENT_EXEC => Status::Exec,
        libc::PTRACE_EVENT_STOP if signal == libc::SIGTRAP => Status::EventStop,
        libc::PTRACE_EVENT_STOP => Status::GroupStop,
        _ if signal == libc::SIGTRAP | 0x80 => Status::Syscall,
        _ => Status::Signal(signal),
    }
}

/// Sends SIGKILL to a whole process; one that is gone is fine.
pub fn kill(pid: pid_t) {
    // SAFETY: kill(2) on a process that is ours to end.
    unsafe {
        libc::kill(pid, libc::SIGKILL);
    }
}

/// Ends a child that was just made and takes its status.
pub fn kill_and_reap(pid: pid_t) {
    kill(pid);
    let mut status: c_int = 0;
    // SAFETY: the pointer is to a live value; only this process is waited for.
    unsafe {
        libc::waitpid(pid, &raw mut status, libc::__WALL);
    }
}
