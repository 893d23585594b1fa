//! Counts its attempts in `attempts.log`, charges each invoice with a key that holds the number of the attempt, then records it in `done.log`.
//!
//! The mistake: the attempt that follows a crash has another number, so its charge has another key.

#[path = "common/mod.rs"]
mod common;

use common::{DoneLog, Job, Result};

fn work(job: &Job) -> Result<()> {
    let attempts = DoneLog::new(job.state.join("attempts.log"));
    let mut attempt = 1;
    while attempts.has(&format!("attempt {attempt}"))? {
        attempt += 1;
    }
    attempts.add(&format!("attempt {attempt}"))?;
    let done = job.done_log();
    for invoice in &job.invoices {
        if !done.has(&invoice.id)? {
            job.api.charge(invoice, Some(&format!("charge-{}-{attempt}", invoice.id)))?;
            done.add(&invoice.id)?;
        }
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
