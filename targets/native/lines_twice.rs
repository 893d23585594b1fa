//! Appends a message to an outbox file, one line of JSON, then records that it did.
//!
//! The mistake: after a crash between the two it appends the line again without looking.

#[path = "common/mod.rs"]
mod common;

use common::{Job, Result};

fn work(job: &Job) -> Result<()> {
    let done = job.done_log();
    for invoice in &job.invoices {
        if !done.has(&invoice.id)? {
            job.messages().append(invoice)?;
            done.add(&invoice.id)?;
        }
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
