//! Starts a program beside a trial, not traced, in its namespaces and on our terminal: a shell or a debugger.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use super::namespace::Namespaces;

/// Starts a program in a working directory that is looked up inside the namespaces, where there are some. It dies with the thread that
/// calls this, which should therefore wait for it.
///
/// # Errors
/// It cannot be started, or the namespaces cannot be joined.
pub fn spawn(mut command: Command, dir: CString, inside: Option<&Namespaces>) -> io::Result<Child> {
    let joins: Vec<RawFd> = inside.iter().flat_map(|inside| inside.joins()).map(|fd| fd.as_raw_fd()).collect();
    let enter = move || {
        // SAFETY: async-signal-safe system calls on values built before the fork.
        let done = unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) == 0
                && joins.iter().all(|fd| libc::setns(*fd, 0) == 0)
                && libc::chdir(dir.as_ptr()) == 0
        };
        if done { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    // SAFETY: `enter` allocates nothing and makes only async-signal-safe calls.
    unsafe { command.pre_exec(enter) };
    command.spawn()
}
