//! Records each invoice in `done.log`, then charges it; a restart skips what is recorded.
//!
//! The mistake: the record says *done* before it is. Killed between the two, the invoice is never charged.

#[path = "common/mod.rs"]
mod common;

use common::{Job, Result};

fn work(job: &Job) -> Result<()> {
    let done = job.done_log();
    for invoice in &job.invoices {
        if !done.has(&invoice.id)? {
            done.add(&invoice.id)?;
            job.api.charge(invoice, None)?;
        }
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
