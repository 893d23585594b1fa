//! Charges each invoice in a thread of its own, all at once; each thread then leaves a file `INVOICE.done`.
//!
//! The mistake: no key, and between charge and file nothing remembers the charge. There are as many windows as invoices,
//! and they overlap: one kill can double several charges.

#[path = "common/mod.rs"]
mod common;

use std::fs::File;
use std::thread;

use common::{Invoice, Job, Result};

fn work(job: &Job) -> Result<()> {
    thread::scope(|scope| {
        let workers: Vec<_> = job.invoices.iter().map(|invoice| scope.spawn(move || pay(job, invoice))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(|_| Err("a worker panicked".into())))
    })
}

fn pay(job: &Job, invoice: &Invoice) -> Result<()> {
    let done = job.state.join(format!("{}.done", invoice.id));
    if !done.exists() {
        job.api.charge(invoice, None)?;
        File::create(done)?;
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
