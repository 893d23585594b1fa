//! The bell: a signal that does nothing but end a wait of one thread.

use std::sync::Once;

use libc::{c_int, pid_t};

static INSTALLED: Once = Once::new();

fn bell() -> c_int {
    libc::SIGRTMIN() + 5
}

extern "C" fn ignore(_: c_int) {}

/// Makes the bell harmless for this process. Without SA_RESTART, so that wait4 returns.
pub fn install_bell() {
    INSTALLED.call_once(|| {
        // SAFETY: a handler that does nothing is async-signal-safe; the struct is zeroed but for what is set.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = ignore as extern "C" fn(c_int) as usize;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(bell(), &raw const action, std::ptr::null_mut());
        }
    });
}

/// The calling thread's id.
#[must_use]
pub fn thread_id() -> pid_t {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::gettid() }
}

/// Rings at a thread of this process; one that is gone is fine.
pub fn ring(tid: pid_t) {
    // SAFETY: tgkill to a thread of our own process with a signal that has a harmless handler.
    unsafe {
        libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, bell());
    }
}

/// CPU time of this process so far, user and system, in microseconds.
#[must_use]
pub fn own_cpu_us() -> u64 {
    // SAFETY: an all-zero rusage is valid and the pointer is to a live value.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let micros = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    micros(usage.ru_utime) + micros(usage.ru_stime)
}
