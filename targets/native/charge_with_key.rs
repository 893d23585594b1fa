//! The right way: charge and receipt carry a key that is made of the invoice alone, so that a repeated request is the same
//! request; and the journal is replaced as a whole, so that it is never seen half written.

#[path = "common/mod.rs"]
mod common;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

use common::{Job, Result};

fn work(job: &Job) -> Result<()> {
    let mut done = read_journal(&job.state)?;
    for invoice in &job.invoices {
        let charge = format!("charge-{}", invoice.id);
        if !done.contains(&charge) {
            job.api.charge(invoice, Some(&charge))?;
            done.insert(charge);
            replace_journal(&job.state, &done)?;
        }
        let receipt = format!("receipt-{}", invoice.id);
        if !done.contains(&receipt) {
            job.api.send_receipt(invoice, Some(&receipt))?;
            done.insert(receipt);
            replace_journal(&job.state, &done)?;
        }
    }
    Ok(())
}

fn read_journal(state: &Path) -> Result<BTreeSet<String>> {
    match fs::read_to_string(state.join("journal")) {
        Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(BTreeSet::new()),
        Err(error) => Err(error.into()),
    }
}

/// Writes a new journal beside the old one and puts it in its place: the rename is all or nothing.
fn replace_journal(state: &Path, done: &BTreeSet<String>) -> Result<()> {
    let text: String = done.iter().map(|step| format!("{step}\n")).collect();
    let new = state.join("journal.new");
    let mut file = File::create(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(new, state.join("journal"))?;
    File::open(state)?.sync_all()?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
