//! Charges each invoice, then records it in `done.log`; a restart skips what is recorded.
//!
//! The mistake: between the charge and its record nothing remembers the charge, and it carries no key. Killed there, it
//! charges again.

#[path = "common/mod.rs"]
mod common;

use common::{Job, Result};

fn work(job: &Job) -> Result<()> {
    let done = job.done_log();
    for invoice in &job.invoices {
        if !done.has(&invoice.id)? {
            job.api.charge(invoice, None)?;
            done.add(&invoice.id)?;
        }
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
