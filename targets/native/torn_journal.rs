//! Keeps a file of the steps still to do: charge, then receipt. Without the file all of them are to do.
//!
//! The mistake: the file is rewritten in place, and that is two calls: the open empties it, the write fills it. Killed
//! between them it is empty, which a restart reads as *nothing left to do*: the receipt is lost. The requests themselves
//! carry stable keys and are right.

#[path = "common/mod.rs"]
mod common;

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use common::{Invoice, Job, Result};

fn work(job: &Job) -> Result<()> {
    let file = job.state.join("pending.txt");
    let mut pending = read_pending(&file, &job.invoices)?;
    while let Some(step) = pending.first().cloned() {
        carry_out(job, &step)?;
        pending.remove(0);
        fs::write(&file, pending.iter().map(|step| format!("{step}\n")).collect::<String>())?;
    }
    Ok(())
}

fn read_pending(file: &Path, invoices: &[Invoice]) -> Result<Vec<String>> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Ok(invoices.iter().flat_map(|invoice| ["charge", "receipt"].map(|step| format!("{step} {}", invoice.id))).collect())
        }
        Err(error) => Err(error.into()),
    }
}

fn carry_out(job: &Job, step: &str) -> Result<()> {
    let (verb, id) = step.split_once(' ').ok_or_else(|| format!("no such step: {step}"))?;
    let invoice = job.invoices.iter().find(|invoice| invoice.id == id).ok_or_else(|| format!("no such invoice: {id}"))?;
    let key = format!("{verb}-{id}");
    match verb {
        "charge" => job.api.charge(invoice, Some(&key)),
        "receipt" => job.api.send_receipt(invoice, Some(&key)),
        _ => Err(format!("no such step: {step}").into()),
    }
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
