//! Books a payout as a row of its own database, then records in a file that it is booked.
//!
//! The mistake: nothing in the table refuses a second row, and the record is not in the transaction of the row. Killed between the two,
//! it books the payout again.

#[path = "common/mod.rs"]
mod common;

use common::{Job, Result};
use rusqlite::{Connection, params};

fn work(job: &Job) -> Result<()> {
    let done = job.done_log();
    let db = Connection::open(job.state.join("books.db"))?;
    db.execute("CREATE TABLE IF NOT EXISTS payout (invoice TEXT NOT NULL, cents INTEGER NOT NULL)", [])?;
    for invoice in &job.invoices {
        if !done.has(&invoice.id)? {
            db.execute("INSERT INTO payout (invoice, cents) VALUES (?1, ?2)", params![invoice.id, invoice.cents as i64])?;
            done.add(&invoice.id)?;
        }
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
