//! Adds up the lines of an invoice and charges the total. The arguments are its lines: `inv_1:1000 inv_1:1200 inv_1:700`.
//!
//! The mistake: it notes the sum so far in `total.log` after each line, and a restart takes the last note for the total.
//! Killed between two notes, it charges too little, once, with a perfectly stable key.

#[path = "common/mod.rs"]
mod common;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use common::{Invoice, Job, Result};

fn work(job: &Job) -> Result<()> {
    let done = job.done_log();
    let id = &job.invoices[0].id;
    if let Some(other) = job.invoices.iter().find(|line| line.id != *id) {
        return Err(format!("expected lines of {id} only, not of {}", other.id).into());
    }
    if !done.has(id)? {
        let notes = job.state.join("total.log");
        let cents = match last_note(&notes) {
            Some(cents) => cents,
            None => add_up(&notes, &job.invoices)?,
        };
        job.api.charge(&Invoice { id: id.clone(), cents }, Some(&format!("charge-{id}")))?;
        done.add(id)?;
    }
    Ok(())
}

fn last_note(notes: &Path) -> Option<u64> {
    fs::read_to_string(notes).ok()?.lines().last()?.parse().ok()
}

fn add_up(notes: &Path, lines: &[Invoice]) -> Result<u64> {
    let mut notes = OpenOptions::new().create(true).append(true).open(notes)?;
    let mut total = 0;
    for line in lines {
        total += line.cents;
        notes.write_all(format!("{total}\n").as_bytes())?;
    }
    Ok(total)
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
