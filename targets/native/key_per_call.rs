//! Charges each invoice and sends a failed charge again, up to three times, then records it in `done.log`.
//!
//! The mistake: the key is a random UUID that is made inside of the loop, so that each attempt is a new charge for the API. A lost answer is
//! enough; nobody has to crash.

#[path = "common/mod.rs"]
mod common;

use std::time::Duration;

use common::{Invoice, Job, Result, chance};

const ATTEMPTS_MAX: u32 = 3;
const PATIENCE: Duration = Duration::from_secs(3);

fn work(job: &Job) -> Result<()> {
    let done = job.done_log();
    for invoice in &job.invoices {
        if !done.has(&invoice.id)? {
            charge(job, invoice)?;
            done.add(&invoice.id)?;
        }
    }
    Ok(())
}

fn charge(job: &Job, invoice: &Invoice) -> Result<()> {
    let api = job.api.impatient(PATIENCE);
    let mut attempt = 1;
    loop {
        match api.charge(invoice, Some(&chance::uuid()?)) {
            Err(_) if attempt < ATTEMPTS_MAX => attempt += 1,
            answer => return answer,
        }
    }
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
