//! Writes down what it is about to charge, charges, and records it. A restart that finds the intent without the record asks the
//! API, and charges again only what is not there. One crash, anywhere, is survived.
//!
//! The mistake is in the recovery: it closes the failed attempt by removing the intent, and only then charges, under a key of
//! its own. Killed after that charge and before its record, the third run finds no trace of an attempt, does not ask, and
//! charges under the first key: two charges. That takes a crash before the first charge and another in the recovery.

#[path = "common/mod.rs"]
mod common;

use std::fs::{self, File};

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
        return job.api.charge(invoice, Some(&format!("charge-{}", invoice.id)));
    }
    if job.api.is_charged(invoice)? {
        return Ok(());
    }
    fs::remove_file(&intent)?;
    job.api.charge(invoice, Some(&format!("recovery-{}", invoice.id)))
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
