//! Charges under a lock file, so that no two runs work at once; the charge carries a stable key and is right.
//!
//! The mistake: the lock file outlives its owner. Killed while it is there, every restart waits for it for ever.

#[path = "common/mod.rs"]
mod common;

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

use common::{Job, Result};

fn work(job: &Job) -> Result<()> {
    let lock = job.state.join("run.lock");
    take(&lock)?;
    let outcome = pay(job);
    fs::remove_file(&lock)?;
    outcome
}

/// Waits until the lock file is gone, and makes it.
fn take(lock: &Path) -> Result<()> {
    loop {
        match File::create_new(lock) {
            Ok(mut file) => return Ok(file.write_all(format!("{}\n", std::process::id()).as_bytes())?),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => thread::sleep(Duration::from_millis(50)),
            Err(error) => return Err(format!("{}: {error}", lock.display()).into()),
        }
    }
}

fn pay(job: &Job) -> Result<()> {
    let done = job.done_log();
    for invoice in &job.invoices {
        if !done.has(&invoice.id)? {
            job.api.charge(invoice, Some(&format!("charge-{}", invoice.id)))?;
            done.add(&invoice.id)?;
        }
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
