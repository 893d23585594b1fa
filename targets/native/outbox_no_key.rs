//! An outbox, and it does not help: the relay sends its messages without a key.
//!
//! The outbox sees to it that nothing is lost, not that nothing is sent twice. Killed between the charge and the mark that the message is
//! sent, the relay sends it again, and the API takes it for a new one.

#[path = "common/mod.rs"]
mod common;

use common::{Job, Result};

fn work(job: &Job) -> Result<()> {
    let mut outbox = job.outbox()?;
    for invoice in &job.invoices {
        outbox.decide(invoice)?;
    }
    for (invoice, _) in outbox.unsent()? {
        job.api.charge(&invoice, None)?;
        outbox.is_sent(&invoice)?;
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
