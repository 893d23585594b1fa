//! The rows of `requests`: written when a request arrives, read back when the trial is judged.

use rusqlite::{Connection, Row, params};
use serde::de::DeserializeOwned;

use super::super::request::Arrived;
use crate::model::ledger::{Outcome, Request};

/// Why the rows cannot be read.
pub(super) enum Fault {
    Db(rusqlite::Error),
    Column { seq: u64, column: &'static str },
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Db(error)
    }
}

/// The word for an outcome in the ledger.
pub(super) fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Received => "received",
        Outcome::Executed => "executed",
        Outcome::Replayed => "replayed",
        Outcome::Conflict => "conflict",
        Outcome::Mismatch => "mismatch",
        Outcome::Rejected => "rejected",
        Outcome::Read => "read",
    }
}

/// A count as SQLite keeps it; no trial comes near the end of the range.
pub(super) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// Writes the row of a request that has arrived; its number.
pub(super) fn insert(
    db: &Connection,
    arrived: &Arrived,
    effect: &str,
    life: u32,
    ordinal: u32,
    now_us: u64,
) -> Result<u64, rusqlite::Error> {
    let mut insert = db.prepare_cached(
        "INSERT INTO requests (life, effect, ordinal, method, path, query, headers, body, body_sha256, key, key_at, outcome, status, received_us)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 'received', 0, ?12)",
    )?;
    let headers = serde_json::Value::from_iter(arrived.headers.clone()).to_string();
    insert.execute(params![
        life,
        effect,
        ordinal,
        arrived.method,
        arrived.path,
        arrived.query,
        headers,
        arrived.body.to_string(),
        arrived.body_sha256,
        arrived.key,
        arrived.key_at,
        int(now_us)
    ])?;
    Ok(unsigned(db.last_insert_rowid()))
}

/// All rows, in order of arrival.
pub(super) fn all(db: &Connection) -> Result<Vec<Request>, Fault> {
    let mut select = db.prepare_cached("SELECT * FROM requests ORDER BY seq")?;
    let mut rows = select.query([])?;
    let mut requests = Vec::new();
    while let Some(row) = rows.next()? {
        requests.push(request(row)?);
    }
    Ok(requests)
}

/// The row with a number.
pub(super) fn one(db: &Connection, seq: u64) -> Result<Option<Request>, Fault> {
    let mut select = db.prepare_cached("SELECT * FROM requests WHERE seq = ?1")?;
    let mut rows = select.query([int(seq)])?;
    rows.next()?.map(request).transpose()
}

fn request(row: &Row<'_>) -> Result<Request, Fault> {
    let seq = unsigned(row.get("seq")?);
    let outcome: String = row.get("outcome")?;
    Ok(Request {
        seq,
        life: row.get("life")?,
        effect: row.get("effect")?,
        ordinal: row.get("ordinal")?,
        method: row.get("method")?,
        path: row.get("path")?,
        query: row.get("query")?,
        headers: json(row, seq, "headers")?,
        body: json(row, seq, "body")?,
        body_sha256: row.get("body_sha256")?,
        key: row.get("key")?,
        key_at: row.get("key_at")?,
        fault: row.get("fault")?,
        outcome: serde_json::from_value(outcome.into()).map_err(|_| Fault::Column { seq, column: "outcome" })?,
        status: row.get("status")?,
        object: row.get("object")?,
        received_us: unsigned(row.get("received_us")?),
        executed_us: row.get::<_, Option<i64>>("executed_us")?.map(unsigned),
        answered_us: row.get::<_, Option<i64>>("answered_us")?.map(unsigned),
    })
}

fn json<T: DeserializeOwned>(row: &Row<'_>, seq: u64, column: &'static str) -> Result<T, Fault> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|_| Fault::Column { seq, column })
}
