//! Looks an invoice up in a table of dedup keys, charges it when it is not there, and inserts its row afterwards.
//!
//! The mistake: check and act are two steps, and the act is outside the database. The primary key guards the row, not the
//! charge: killed before the insert is committed, the restarted run finds no row and charges again.

#[path = "common/mod.rs"]
mod common;

use common::{Job, Result};
use rusqlite::Connection;

fn work(job: &Job) -> Result<()> {
    let db = Connection::open(job.state.join("dedup.db"))?;
    db.execute("CREATE TABLE IF NOT EXISTS charged (dedup_key TEXT PRIMARY KEY, cents INTEGER NOT NULL)", [])?;
    for invoice in &job.invoices {
        let dedup_key = format!("charge:{}", invoice.id);
        let seen: i64 = db.query_row("SELECT count(*) FROM charged WHERE dedup_key = ?1", [&dedup_key], |row| row.get(0))?;
        if seen == 0 {
            job.api.charge(invoice, None)?;
            db.execute("INSERT INTO charged (dedup_key, cents) VALUES (?1, ?2)", (dedup_key, i64::try_from(invoice.cents)?))?;
        }
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
