//! Charges, hands the record of the charge to a flusher thread, draws and mails the receipt, and then marks the step as over.
//!
//! The mistake: nothing orders record and marker, two durable writes of two threads. The charge's key holds the number of
//! steps that are over, so a restart that finds neither repeats the same request; but one that finds the marker and not the
//! record charges under another key. The flusher practically always wins, so only a late flush shows it.

#[path = "common/mod.rs"]
mod common;

use std::sync::mpsc::{self, Sender};
use std::thread;

use common::{DoneLog, Invoice, Job, Result};

fn work(job: &Job) -> Result<()> {
    let results = DoneLog::new(job.state.join("results.log"));
    let (records, to_flush) = mpsc::channel::<String>();
    thread::scope(|scope| {
        let flusher = scope.spawn(|| to_flush.into_iter().try_for_each(|record| results.add(&record)));
        let paid = job.invoices.iter().try_for_each(|invoice| pay(job, invoice, &records));
        drop(records);
        paid.and(flusher.join().unwrap_or_else(|_| Err("the flusher panicked".into())))
    })
}

fn pay(job: &Job, invoice: &Invoice, records: &Sender<String>) -> Result<()> {
    let results = DoneLog::new(job.state.join("results.log"));
    let steps = DoneLog::new(job.state.join("steps.log"));
    if !results.has(&invoice.id)? {
        let key = format!("charge-{}-{}", invoice.id, u8::from(steps.has(&invoice.id)?));
        job.api.charge(invoice, Some(&key))?;
        records.send(invoice.id.clone())?;
    }
    if !steps.has(&invoice.id)? {
        let key = format!("receipt-{}-{:x}", invoice.id, invoice.draw_receipt());
        job.api.send_receipt(invoice, Some(&key))?;
        steps.add(&invoice.id)?;
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
