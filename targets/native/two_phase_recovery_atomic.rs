//! The right form of `two_phase_recovery`: the intent stays until the charge is recorded, and recovery charges under its key.
//!
//! A crash in the recovery leaves the intent in doubt as the first one did, so the next run asks again: any number of crashes,
//! at any points, ends in one charge.

#[path = "common/mod.rs"]
mod common;

use std::fs::File;

use common::{Invoice, Job, Result};

fn work(job: &Job) -> Result<()> {
    let done = job.done_log();
    for invoice in &job.invoices {
        if !done.has(&invoice.id)? {
            settle(job, invoice)?;
            done.add(&invoice.id)?;
        }
    }
    Ok(())
}

fn settle(job: &Job, invoice: &Invoice) -> Result<()> {
    let intent = job.state.join(format!("{}.intent", invoice.id));
    if !intent.exists() {
        File::create(&intent)?;
    } else if job.api.is_charged(invoice)? {
        return Ok(());
    }
    job.api.charge(invoice, Some(&format!("charge-{}", invoice.id)))
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
