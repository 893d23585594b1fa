//! A transactional outbox: what is to be asked for is written in the transaction that decides it, and a relay asks for it afterwards.

use std::path::Path;

use rusqlite::{Connection, params};

use super::{Invoice, Result};

/// Decisions and what is to be asked for because of them, in one database.
pub struct Outbox {
    db: Connection,
}

impl Outbox {
    /// The outbox in a state folder.
    pub fn open(state: &Path) -> Result<Self> {
        let db = Connection::open(state.join("app.db"))?;
        db.execute_batch(
            "CREATE TABLE IF NOT EXISTS payment (invoice TEXT PRIMARY KEY, cents INTEGER NOT NULL);
             CREATE TABLE IF NOT EXISTS outbox (invoice TEXT NOT NULL, cents INTEGER NOT NULL, key TEXT NOT NULL, sent INTEGER NOT NULL DEFAULT 0);",
        )?;
        Ok(Self { db })
    }

    /// Decides that an invoice is to be paid, once: the decision and the message in one transaction.
    pub fn decide(&mut self, invoice: &Invoice) -> Result<()> {
        let both = self.db.transaction()?;
        let sql = "INSERT INTO payment (invoice, cents) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        if both.execute(sql, params![invoice.id, invoice.cents as i64])? == 1 {
            let sql = "INSERT INTO outbox (invoice, cents, key) VALUES (?1, ?2, ?3)";
            both.execute(sql, params![invoice.id, invoice.cents as i64, format!("charge-{}", invoice.id)])?;
        }
        Ok(both.commit()?)
    }

    /// What has not been sent yet, each with its key.
    pub fn unsent(&self) -> Result<Vec<(Invoice, String)>> {
        let mut select = self.db.prepare("SELECT invoice, cents, key FROM outbox WHERE NOT sent ORDER BY rowid")?;
        let rows = select.query_map([], |row| {
            let cents: i64 = row.get(1)?;
            Ok((Invoice { id: row.get(0)?, cents: cents.unsigned_abs() }, row.get(2)?))
        })?;
        Ok(rows.collect::<std::result::Result<_, _>>()?)
    }

    /// Records that a message was sent.
    pub fn is_sent(&self, invoice: &Invoice) -> Result<()> {
        self.db.execute("UPDATE outbox SET sent = 1 WHERE invoice = ?1", [&invoice.id])?;
        Ok(())
    }
}
