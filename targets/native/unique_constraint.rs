//! The right way without a key on the API: claims the invoice in SQLite before the call, and asks before it repeats one.
//!
//! The claim is a row under a UNIQUE constraint, `started` before the charge and `done` after it. A restart that finds
//! `started` cannot know whether the charge went through, so it asks the API, and charges only what is not there.

#[path = "common/mod.rs"]
mod common;

use common::{Invoice, Job, Result};
use rusqlite::{Connection, OptionalExtension};

fn work(job: &Job) -> Result<()> {
    let db = Connection::open(job.state.join("claims.db"))?;
    db.execute("CREATE TABLE IF NOT EXISTS claim (invoice TEXT NOT NULL UNIQUE, state TEXT NOT NULL)", [])?;
    for invoice in &job.invoices {
        if settle(job, &db, invoice)? {
            db.execute("UPDATE claim SET state = 'done' WHERE invoice = ?1", [&invoice.id])?;
        }
    }
    Ok(())
}

/// Sees to it that an invoice is charged. Whether that had still to be recorded.
fn settle(job: &Job, db: &Connection, invoice: &Invoice) -> Result<bool> {
    let mut claim = db.prepare("SELECT state FROM claim WHERE invoice = ?1")?;
    let state: Option<String> = claim.query_row([&invoice.id], |row| row.get(0)).optional()?;
    match state.as_deref() {
        Some("done") => return Ok(false),
        Some(_) => {
            if !job.api.is_charged(invoice)? {
                job.api.charge(invoice, None)?;
            }
        }
        None => {
            db.execute("INSERT INTO claim (invoice, state) VALUES (?1, 'started')", [&invoice.id])?;
            job.api.charge(invoice, None)?;
        }
    }
    Ok(true)
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
