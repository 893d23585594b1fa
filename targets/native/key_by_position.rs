//! Charges each invoice with a key that holds its place among the invoices still to be paid, then records it in `done.log`.
//!
//! The mistake: the key is too coarse. After a crash the places move up, and the next invoice comes with the key of the one before it.

#[path = "common/mod.rs"]
mod common;

use common::{Job, Result};

fn work(job: &Job) -> Result<()> {
    let done = job.done_log();
    let mut place = 0;
    for invoice in &job.invoices {
        if !done.has(&invoice.id)? {
            place += 1;
            job.api.charge(invoice, Some(&format!("batch-{place}")))?;
            done.add(&invoice.id)?;
        }
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
