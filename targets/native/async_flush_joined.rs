//! The right form of `async_flush`: the flusher says when the record is durable, and the step is marked as over only then.
//!
//! Mail and flush still run side by side. There is no instant at which the marker is there and the record is not, whichever
//! thread is held.

#[path = "common/mod.rs"]
mod common;

use std::sync::mpsc::{self, Sender};
use std::thread;

use common::{DoneLog, Invoice, Job, Result};

/// A record, and where to say that it is durable.
type Flush = (String, Sender<()>);

fn work(job: &Job) -> Result<()> {
    let results = DoneLog::new(job.state.join("results.log"));
    let (records, to_flush) = mpsc::channel::<Flush>();
    thread::scope(|scope| {
        let flusher = scope.spawn(|| {
            to_flush.into_iter().try_for_each(|(record, flushed)| {
                results.add(&record)?;
                Ok(flushed.send(())?)
            })
        });
        let paid = job.invoices.iter().try_for_each(|invoice| pay(job, invoice, &records));
        drop(records);
        paid.and(flusher.join().unwrap_or_else(|_| Err("the flusher panicked".into())))
    })
}

fn pay(job: &Job, invoice: &Invoice, records: &Sender<Flush>) -> Result<()> {
    let results = DoneLog::new(job.state.join("results.log"));
    let steps = DoneLog::new(job.state.join("steps.log"));
    let (flushed, is_durable) = mpsc::channel();
    if results.has(&invoice.id)? {
        flushed.send(())?;
    } else {
        let key = format!("charge-{}-{}", invoice.id, u8::from(steps.has(&invoice.id)?));
        job.api.charge(invoice, Some(&key))?;
        records.send((invoice.id.clone(), flushed))?;
    }
    if !steps.has(&invoice.id)? {
        let key = format!("receipt-{}-{:x}", invoice.id, invoice.draw_receipt());
        job.api.send_receipt(invoice, Some(&key))?;
        is_durable.recv()?;
        steps.add(&invoice.id)?;
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
