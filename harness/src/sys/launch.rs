//! Starts a program under ptrace and a seccomp filter, so that not one of its instructions runs unseen.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use super::namespace::Namespaces;
use super::ptrace;

/// A program, ready to be started: nothing is allocated between fork and exec.
pub struct Launch<'a> {
    /// Its absolute path.
    pub program: CString,
    /// Its arguments, the program's name first.
    pub argv: Vec<CString>,
    /// Its environment, `NAME=value` each.
    pub env: Vec<CString>,
    /// Its working directory.
    pub dir: CString,
    /// Its standard input.
    pub stdin: BorrowedFd<'a>,
    /// Its standard output and error.
    pub output: BorrowedFd<'a>,
    /// The namespaces it is to live in; `None`: ours. Its paths are those in there.
    pub inside: Option<&'a Namespaces>,
    /// The filter; empty: none.
    pub filter: &'a [libc::sock_filter],
}

/// The step at which a start failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Making the process or its pipes.
    Fork,
    /// Attaching the tracer.
    Trace,
    /// Joining the namespaces.
    Join,
    /// Changing to the working directory.
    Chdir,
    /// Installing the filter.
    Filter,
    /// Running the program.
    Exec,
}

/// Starts the program as a traced child of the calling thread, in a session of its own. The thread must stay the one that waits.
///
/// Returns the process id and the pipe that [`exec_error`] reads.
///
/// # Errors
/// The step and the system's error, where fork or attach failed.
pub fn launch(launch: &Launch<'_>) -> Result<(libc::pid_t, OwnedFd), (Step, io::Error)> {
    let at = |step| move |error: nix::errno::Errno| (step, io::Error::from(error));
    let (go_read, go_write) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC).map_err(at(Step::Fork))?;
    let (error_read, error_write) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC).map_err(at(Step::Fork))?;
    let pointers = |list: &[CString]| list.iter().map(|c| c.as_ptr()).chain([std::ptr::null()]).collect::<Vec<_>>();
    let (argv, env) = (pointers(&launch.argv), pointers(&launch.env));
    let joins: Vec<i32> = launch.inside.iter().flat_map(|inside| inside.joins()).map(|fd| fd.as_raw_fd()).collect();
    // SAFETY: the child of a threaded process may only make async-signal-safe calls until exec; `child` makes no other ones and
    // allocates nothing. All that it reads was built above.
    match unsafe { libc::fork() } {
        -1 => Err((Step::Fork, io::Error::last_os_error())),
        0 => {
            // SAFETY: see above; the pointers live in this copy of the address space until exec.
            unsafe { child(launch, &argv, &env, &joins, (go_read.as_raw_fd(), go_write.as_raw_fd()), error_write.as_raw_fd()) }
        }
        pid => {
            if let Err(error) = ptrace::seize(pid) {
                ptrace::kill_and_reap(pid);
                return Err((Step::Trace, error));
            }
            nix::unistd::write(&go_write, b"g").map_err(|error| {
                ptrace::kill_and_reap(pid);
                (Step::Trace, io::Error::from(error))
            })?;
            Ok((pid, error_read))
        }
    }
}

/// The child's side: waits to be attached, installs the filter, runs the program. Never returns.
///
/// # Safety
/// Only in a child that was just forked.
unsafe fn child(
    launch: &Launch<'_>,
    argv: &[*const libc::c_char],
    env: &[*const libc::c_char],
    joins: &[i32],
    (go, go_write): (i32, i32),
    errors: i32,
) -> ! {
    // SAFETY: async-signal-safe system calls on values built before the fork.
    unsafe {
        let fail = |step: Step| -> ! {
            let report = [step as u8, *libc::__errno_location() as u8];
            libc::write(errors, report.as_ptr().cast(), report.len());
            libc::_exit(127)
        };
        libc::setsid();
        // With its own copy of the writing end open, the child would wait for ever for a harness that has died.
        libc::close(go_write);
        libc::dup2(launch.stdin.as_raw_fd(), 0);
        libc::dup2(launch.output.as_raw_fd(), 1);
        libc::dup2(launch.output.as_raw_fd(), 2);
        // Rust programs ignore SIGPIPE, and an ignored signal stays ignored over exec.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        let mut byte = [0u8; 1];
        loop {
            match libc::read(go, byte.as_mut_ptr().cast(), 1) {
                1 => break,
                -1 if *libc::__errno_location() == libc::EINTR => {}
                _ => libc::_exit(127), // The tracer is gone.
            }
        }
        if !joins.iter().all(|fd| libc::setns(*fd, 0) == 0) {
            fail(Step::Join);
        }
        if libc::chdir(launch.dir.as_ptr()) != 0 {
            fail(Step::Chdir);
        }
        if !launch.filter.is_empty() && !install(launch.filter) {
            fail(Step::Filter);
        }
        libc::execve(launch.program.as_ptr(), argv.as_ptr(), env.as_ptr());
        fail(Step::Exec)
    }
}

/// Installs a filter in this process. Without CAP_SYS_ADMIN the kernel asks for no_new_privs first, which turns set-uid
/// programs into ordinary ones; it is set only where it is needed.
///
/// # Safety
/// Only in a child that was just forked.
unsafe fn install(filter: &[libc::sock_filter]) -> bool {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the program points to a live slice; the kernel copies it.
    unsafe {
        let set = || libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program);
        if set() == 0 {
            return true;
        }
        *libc::__errno_location() == libc::EACCES && libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && set() == 0
    }
}

/// Why the program did not run, once its process has ended before it ran; `None` if it gave no reason.
#[must_use]
pub fn exec_error(errors: &OwnedFd) -> Option<(Step, io::Error)> {
    let mut report = [0u8; 2];
    let step = match nix::unistd::read(errors, &mut report) {
        Ok(2) => [Step::Fork, Step::Trace, Step::Join, Step::Chdir, Step::Filter, Step::Exec]
            .into_iter()
            .find(|step| *step as u8 == report[0])?,
        _ => return None,
    };
    Some((step, io::Error::from_raw_os_error(i32::from(report[1]))))
}
