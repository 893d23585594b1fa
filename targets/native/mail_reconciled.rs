//! Mails a receipt to a service that knows no keys, and writes down each attempt before it. Whoever is killed in between cannot know
//! whether the mail went out, so it is sent again: at least once.
//!
//! A job that runs afterwards, `--reconcile`, settles each invoice of which there was an attempt: once, however many there were.

#[path = "common/mod.rs"]
mod common;

use common::{DoneLog, Job, Result};
use rusqlite::Connection;

fn work(job: &Job) -> Result<()> {
    let attempts = DoneLog::new(job.state.join("attempts.log"));
    if job.reconciles {
        return reconcile(job, &attempts);
    }
    let done = job.done_log();
    for invoice in &job.invoices {
        if !done.has(&invoice.id)? {
            attempts.add(&invoice.id)?;
            job.api.send_receipt(invoice, None)?;
            done.add(&invoice.id)?;
        }
    }
    Ok(())
}

fn reconcile(job: &Job, attempts: &DoneLog) -> Result<()> {
    let db = Connection::open(job.state.join("settled.db"))?;
    db.execute("CREATE TABLE IF NOT EXISTS settled (invoice TEXT NOT NULL UNIQUE)", [])?;
    for invoice in &job.invoices {
        if attempts.has(&invoice.id)? {
            db.execute("INSERT INTO settled (invoice) VALUES (?1) ON CONFLICT DO NOTHING", [&invoice.id])?;
        }
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
