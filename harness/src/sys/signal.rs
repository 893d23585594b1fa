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

/// Rings at the thread that started it, again and again, until it is dropped.
#[derive(Debug)]
pub struct Ticker(libc::timer_t);

// SAFETY: a timer's id is a number of the kernel's and belongs to the process, not to a thread.
unsafe impl Send for Ticker {}

impl Ticker {
    /// Starts to ring at the calling thread.
    ///
    /// # Errors
    /// The system has no timer left.
    pub fn start(every: std::time::Duration) -> std::io::Result<Self> {
        Self::set(every, every)
    }

    /// Rings once, after a time.
    ///
    /// # Errors
    /// The system has no timer left.
    pub fn once(after: std::time::Duration) -> std::io::Result<Self> {
        Self::set(after, std::time::Duration::ZERO)
    }

    fn set(first: std::time::Duration, every: std::time::Duration) -> std::io::Result<Self> {
        install_bell();
        // SAFETY: both structs are plain data, zeroed but for what is set; the pointers are to live values.
        unsafe {
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = bell();
            event.sigev_notify_thread_id = thread_id();
            let mut timer: libc::timer_t = std::ptr::null_mut();
            if libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) != 0 {
                return Err(std::io::Error::last_os_error());
            }
            let ticker = Self(timer);
            let spec = |time: std::time::Duration| libc::timespec {
                tv_sec: time.as_secs() as libc::time_t,
                tv_nsec: time.subsec_nanos().into(),
            };
            let times = libc::itimerspec { it_interval: spec(every), it_value: spec(first) };
            if libc::timer_settime(timer, 0, &raw const times, std::ptr::null_mut()) != 0 {
                return Err(std::io::Error::last_os_error());
            }
            Ok(ticker)
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        // SAFETY: the timer is ours and is deleted once.
        unsafe {
            libc::timer_delete(self.0);
        }
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
