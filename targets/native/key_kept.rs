//! The right way for keys that cannot be made again: a random key is stored before the call, and whoever sends the charge again, in this
//! life or a later one, sends the stored key. Between attempts it waits, longer each time and with a random part.

#[path = "common/mod.rs"]
mod common;

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;
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
    let key = kept_key(&job.state, &invoice.id)?;
    let api = job.api.impatient(PATIENCE);
    let mut attempt = 1;
    loop {
        match api.charge(invoice, Some(&key)) {
            Err(_) if attempt < ATTEMPTS_MAX => chance::pause(attempt)?,
            answer => return answer,
        }
        attempt += 1;
    }
}

/// The key of an invoice: the stored one, or a new one that is stored first.
fn kept_key(state: &Path, invoice: &str) -> Result<String> {
    let path = state.join(format!("{invoice}.key"));
    match fs::read_to_string(&path) {
        Ok(key) => return Ok(key),
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
        Err(_) => {}
    }
    let key = chance::uuid()?;
    let new = state.join(format!("{invoice}.key.new"));
    let mut file = File::create(&new)?;
    file.write_all(key.as_bytes())?;
    file.sync_all()?;
    fs::rename(new, path)?;
    File::open(state)?.sync_all()?;
    Ok(key)
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
