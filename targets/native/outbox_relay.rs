//! The right way with an outbox: the decision and the message are one transaction, and the relay sends each message under the key that
//! was written with it. A message may be sent again after a crash; the API sees that it is the same.

#[path = "common/mod.rs"]
mod common;

use common::{Job, Result};

fn work(job: &Job) -> Result<()> {
    let mut outbox = job.outbox()?;
    for invoice in &job.invoices {
        outbox.decide(invoice)?;
    }
    for (invoice, key) in outbox.unsent()? {
        job.api.charge(&invoice, Some(&key))?;
        outbox.is_sent(&invoice)?;
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
