//! Charges each invoice with an idempotency key, then records it in `done.log`.
//!
//! The mistake: the key holds the time it was made at, so a restarted run comes with another key, and the API takes the
//! repeated charge for a new one.

#[path = "common/mod.rs"]
mod common;

use std::time::{SystemTime, UNIX_EPOCH};

use common::{Job, Result};

fn work(job: &Job) -> Result<()> {
    let done = job.done_log();
    for invoice in &job.invoices {
        if !done.has(&invoice.id)? {
            let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros();
            job.api.charge(invoice, Some(&format!("charge-{}-{now}", invoice.id)))?;
            done.add(&invoice.id)?;
        }
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
