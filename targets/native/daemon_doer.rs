//! Hands its job to a daemon (fork, setsid, fork) and exits at once; the daemon charges and records in `done.log`.
//!
//! It is right, for its charges carry stable keys. But the process somebody started is gone before anything has happened: who
//! waits for that one alone sees nothing of the work, and who kills that one alone stops nothing.

#[path = "common/mod.rs"]
mod common;

use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;

use common::{Job, Result};

fn work(job: &Job) -> Result<()> {
    let done = job.done_log();
    for invoice in &job.invoices {
        if !done.has(&invoice.id)? {
            return if become_daemon()? { pay(job) } else { Ok(()) };
        }
    }
    Ok(())
}

fn pay(job: &Job) -> Result<()> {
    let done = job.done_log();
    for invoice in &job.invoices {
        if !done.has(&invoice.id)? {
            job.api.charge(invoice, Some(&format!("charge-{}", invoice.id)))?;
            done.add(&invoice.id)?;
        }
    }
    Ok(())
}

/// Forks twice. Whether the caller is the daemon: in a session it does not lead, with no terminal and no output.
fn become_daemon() -> Result<bool> {
    if !fork()? {
        return Ok(false);
    }
    // SAFETY: it takes nothing and touches no memory of ours.
    if unsafe { libc::setsid() } == -1 {
        return Err(format!("setsid: {}", io::Error::last_os_error()).into());
    }
    if !fork()? {
        std::process::exit(0);
    }
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    for standard in 0..=2 {
        // SAFETY: both are open descriptors; nothing of ours owns the standard ones.
        if unsafe { libc::dup2(null.as_raw_fd(), standard) } == -1 {
            return Err(format!("dup2: {}", io::Error::last_os_error()).into());
        }
    }
    Ok(true)
}

/// Whether the caller is the child.
fn fork() -> Result<bool> {
    // SAFETY: this process has one thread, so the child is a whole copy of it and may go on as usual.
    match unsafe { libc::fork() } {
        -1 => Err(format!("fork: {}", io::Error::last_os_error()).into()),
        child => Ok(child == 0),
    }
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
