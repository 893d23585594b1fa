//! The right form of `rows_twice`: the table refuses a second row for an invoice, and whoever finds it there goes on.

#[path = "common/mod.rs"]
mod common;

use common::{Job, Result};
use rusqlite::{Connection, params};

fn work(job: &Job) -> Result<()> {
    let done = job.done_log();
    let db = Connection::open(job.state.join("books.db"))?;
    db.execute("CREATE TABLE IF NOT EXISTS payout (invoice TEXT PRIMARY KEY, cents INTEGER NOT NULL)", [])?;
    for invoice in &job.invoices {
        if !done.has(&invoice.id)? {
            let sql = "INSERT INTO payout (invoice, cents) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
            db.execute(sql, params![invoice.id, invoice.cents as i64])?;
            done.add(&invoice.id)?;
        }
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
