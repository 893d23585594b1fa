//! The right form of `lines_twice`: looks for the message before it appends one.

#[path = "common/mod.rs"]
mod common;

use common::{Job, Result};

fn work(job: &Job) -> Result<()> {
    let done = job.done_log();
    for invoice in &job.invoices {
        if !done.has(&invoice.id)? {
            if !job.messages().has(invoice)? {
                job.messages().append(invoice)?;
            }
            done.add(&invoice.id)?;
        }
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
