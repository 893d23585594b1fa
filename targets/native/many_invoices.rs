//! A batch run: charges a list of invoices one after the other and ticks each off in `done.log`, which it holds open.
//!
//! The mistake: no key, and a window between charge and tick for every invoice. Whichever charge it is killed at, it
//! repeats that one and no other.

#[path = "common/mod.rs"]
mod common;

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::{Read, Write};

use common::{Job, Result};

fn work(job: &Job) -> Result<()> {
    let path = job.state.join("done.log");
    let mut log = OpenOptions::new().create(true).read(true).append(true).open(&path)?;
    let mut text = String::new();
    log.read_to_string(&mut text)?;
    let done: HashSet<&str> = text.lines().collect();
    for invoice in job.invoices.iter().filter(|invoice| !done.contains(invoice.id.as_str())) {
        job.api.charge(invoice, None)?;
        log.write_all(format!("{}\n", invoice.id).as_bytes())?;
        log.sync_data()?;
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
