//! One charge, guarded by one of the patterns that are recommended against doubled charges, or by none; `PATTERN` says which.
//!
//! Each has the same impatient client, which tries again on a broken connection, a late answer and a server's failure. What a pattern
//! guards is in its own function; what it does not guard is for killpoint to find.

#[path = "common/mod.rs"]
mod common;

use std::time::Duration;

use common::{Invoice, Job, Result, chance};
use rusqlite::{Connection, OptionalExtension, params};

/// How long the client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often it tries in one life.
const TRIES: usize = 3;

fn work(job: &Job) -> Result<()> {
    let pattern = std::env::var("PATTERN").unwrap_or_default();
    let settle: fn(&Job, &Invoice) -> Result<()> = match pattern.as_str() {
        "none" => none,
        "dedup_table" => dedup_table,
        "upsert" => upsert,
        "unique_constraint" => unique_constraint,
        "key" => key,
        "persisted_intent" => persisted_intent,
        "key_then_ask" => key_then_ask,
        other => return Err(format!("PATTERN: no such pattern: {other:?}").into()),
    };
    job.invoices.iter().try_for_each(|invoice| settle(job, invoice))
}

/// Charges, and tries again where it did not work out.
fn charge(job: &Job, invoice: &Invoice, key: Option<&str>) -> Result<()> {
    let api = job.api.impatient(PATIENCE);
    let mut tried = api.charge(invoice, key);
    for _ in 1..TRIES {
        if tried.is_ok() {
            break;
        }
        tried = api.charge(invoice, key);
    }
    tried
}

/// No pattern: charges, then writes down that it did.
fn none(job: &Job, invoice: &Invoice) -> Result<()> {
    let done = job.done_log();
    if !done.has(&invoice.id)? {
        charge(job, invoice, None)?;
        done.add(&invoice.id)?;
    }
    Ok(())
}

/// A table of what was charged: looked at before the call, written after it.
fn dedup_table(job: &Job, invoice: &Invoice) -> Result<()> {
    let db = Connection::open(job.state.join("dedup.db"))?;
    db.execute("CREATE TABLE IF NOT EXISTS charged (invoice TEXT PRIMARY KEY)", [])?;
    let known = db.query_row("SELECT 1 FROM charged WHERE invoice = ?1", [&invoice.id], |_| Ok(())).optional()?;
    if known.is_none() {
        charge(job, invoice, None)?;
        db.execute("INSERT INTO charged (invoice) VALUES (?1)", [&invoice.id])?;
    }
    Ok(())
}

/// An upsert: there is one row for the invoice, however often it is written.
fn upsert(job: &Job, invoice: &Invoice) -> Result<()> {
    let db = Connection::open(job.state.join("payments.db"))?;
    db.execute("CREATE TABLE IF NOT EXISTS payment (invoice TEXT PRIMARY KEY, state TEXT NOT NULL)", [])?;
    let state: Option<String> =
        db.query_row("SELECT state FROM payment WHERE invoice = ?1", [&invoice.id], |row| row.get(0)).optional()?;
    if state.as_deref() != Some("paid") {
        charge(job, invoice, None)?;
        let upsert =
            "INSERT INTO payment (invoice, state) VALUES (?1, 'paid') ON CONFLICT (invoice) DO UPDATE SET state = 'paid'";
        db.execute(upsert, [&invoice.id])?;
    }
    Ok(())
}

/// A claim under a unique constraint before the call; whoever finds it there asks what became of the charge before sending another.
fn unique_constraint(job: &Job, invoice: &Invoice) -> Result<()> {
    let db = Connection::open(job.state.join("claims.db"))?;
    db.execute("CREATE TABLE IF NOT EXISTS claim (invoice TEXT NOT NULL UNIQUE)", [])?;
    let is_first = db.execute("INSERT INTO claim (invoice) VALUES (?1) ON CONFLICT DO NOTHING", [&invoice.id])? == 1;
    let api = job.api.impatient(PATIENCE);
    let mut tried: Result<()> = Ok(());
    for attempt in 0..TRIES {
        if (attempt > 0 || !is_first) && job.api.is_charged(invoice)? {
            return Ok(());
        }
        tried = api.charge(invoice, None);
        if tried.is_ok() {
            break;
        }
    }
    tried
}

/// An idempotency key that is made of what is to be paid.
fn key(job: &Job, invoice: &Invoice) -> Result<()> {
    let done = job.done_log();
    if !done.has(&invoice.id)? {
        charge(job, invoice, Some(&format!("charge-{}", invoice.id)))?;
        done.add(&invoice.id)?;
    }
    Ok(())
}

/// The intent is stored with a random key before the call, and whoever takes it up sends the stored key.
fn persisted_intent(job: &Job, invoice: &Invoice) -> Result<()> {
    let db = Connection::open(job.state.join("intents.db"))?;
    db.execute(
        "CREATE TABLE IF NOT EXISTS intent (invoice TEXT PRIMARY KEY, key TEXT NOT NULL, done INTEGER NOT NULL DEFAULT 0)",
        [],
    )?;
    let sql = "INSERT INTO intent (invoice, key) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    db.execute(sql, params![invoice.id, chance::uuid()?])?;
    let (key, done): (String, bool) =
        db.query_row("SELECT key, done FROM intent WHERE invoice = ?1", [&invoice.id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if !done {
        charge(job, invoice, Some(&key))?;
        db.execute("UPDATE intent SET done = 1 WHERE invoice = ?1", [&invoice.id])?;
    }
    Ok(())
}

/// A key that is made of what is to be paid; and where no try works out, a question whether it was paid all the same.
fn key_then_ask(job: &Job, invoice: &Invoice) -> Result<()> {
    let done = job.done_log();
    if !done.has(&invoice.id)? {
        let charged = charge(job, invoice, Some(&format!("charge-{}", invoice.id)));
        if let Err(error) = charged
            && !job.api.is_charged(invoice)?
        {
            return Err(error);
        }
        done.add(&invoice.id)?;
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
