//! Forks a child that charges the invoice and exits; the parent waits for it and records the invoice in `done.log`.
//!
//! The mistake: the one who charges and the one who remembers are two processes, and the charge carries no key. Killed
//! after the child's charge and before the parent's record, it charges again.

#[path = "common/mod.rs"]
mod common;

use common::{Invoice, Job, Result};

fn work(job: &Job) -> Result<()> {
    let done = job.done_log();
    for invoice in &job.invoices {
        if !done.has(&invoice.id)? {
            charge_in_child(job, invoice)?;
            done.add(&invoice.id)?;
        }
    }
    Ok(())
}

fn charge_in_child(job: &Job, invoice: &Invoice) -> Result<()> {
    // SAFETY: this process has one thread, so the child is a whole copy of it and may go on as usual.
    let child = unsafe { libc::fork() };
    match child {
        -1 => Err(format!("fork: {}", std::io::Error::last_os_error()).into()),
        0 => match job.api.charge(invoice, None) {
            Ok(()) => std::process::exit(0),
            Err(error) => {
                eprintln!("error: {error}");
                std::process::exit(1)
            }
        },
        child => {
            let mut status = 0;
            // SAFETY: `status` outlives the call; `child` is ours and has not been waited for.
            if unsafe { libc::waitpid(child, &raw mut status, 0) } == -1 {
                return Err(format!("waitpid: {}", std::io::Error::last_os_error()).into());
            }
            if status == 0 { Ok(()) } else { Err(format!("the child that charges {} failed", invoice.id).into()) }
        }
    }
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
