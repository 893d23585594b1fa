//! The desk: the objects of the API, inside one transaction of the ledger.

use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{OptionalExtension, Transaction, params};
use serde_json::Value;

use super::refusal::{Refusal, Stop};

/// The objects, as one request sees and changes them.
pub(in crate::sandbox) struct Desk<'a> {
    ledger: &'a Transaction<'a>,
}

impl<'a> Desk<'a> {
    /// A desk whose changes become real with this transaction.
    pub fn new(ledger: &'a Transaction<'a>) -> Self {
        Self { ledger }
    }

    /// A new id: a prefix, a number that counts all objects of the trial, and a random end.
    pub fn new_id(&self, prefix: &str) -> Result<String, Stop> {
        let next = "SELECT COALESCE(MAX(number), 0) + 1 FROM objects";
        let number: i64 = self.ledger.prepare_cached(next)?.query_row([], |row| row.get(0))?;
        let mut id = format!("{prefix}_{number:06}");
        let mut rest: u64 = rand::random();
        for _ in 0..10 {
            let digit = u32::try_from(rest % 36).expect("a remainder of 36");
            id.push(char::from_digit(digit, 36).expect("a digit below 36"));
            rest /= 36;
        }
        Ok(id)
    }

    /// Files a new object; its kind is its `object`, its id its `id`.
    pub fn add(&self, object: &Value) -> Result<(), Stop> {
        let insert = "INSERT INTO objects (id, kind, body) VALUES (?1, ?2, ?3)";
        let (id, kind) = (object["id"].as_str(), object["object"].as_str());
        self.ledger.prepare_cached(insert)?.execute(params![id, kind, object.to_string()])?;
        Ok(())
    }

    /// Files an object anew.
    pub fn replace(&self, object: &Value) -> Result<(), Stop> {
        let update = "UPDATE objects SET body = ?2 WHERE id = ?1";
        self.ledger.prepare_cached(update)?.execute(params![object["id"].as_str(), object.to_string()])?;
        Ok(())
    }

    /// The object of a kind with an id.
    pub fn find(&self, kind: &str, id: &str) -> Result<Option<Value>, Stop> {
        let select = "SELECT body FROM objects WHERE id = ?1 AND kind = ?2";
        let body: Option<String> =
            self.ledger.prepare_cached(select)?.query_row(params![id, kind], |row| row.get(0)).optional()?;
        Ok(body.and_then(|body| serde_json::from_str(&body).ok()))
    }

    /// The same, where the path names it: 404 where there is none.
    pub fn get(&self, kind: &str, id: &str) -> Result<Value, Stop> {
        self.find(kind, id)?.ok_or_else(|| Refusal::no_such(kind, id).into())
    }

    /// Looks at the objects of a kind, newest first, until `each` says `false`.
    pub fn newest_first(&self, kind: &str, mut each: impl FnMut(Value) -> bool) -> Result<(), Stop> {
        let mut select = self.ledger.prepare_cached("SELECT body FROM objects WHERE kind = ?1 ORDER BY number DESC")?;
        let mut rows = select.query(params![kind])?;
        while let Some(row) = rows.next()? {
            let body: String = row.get(0)?;
            if let Ok(object) = serde_json::from_str(&body)
                && !each(object)
            {
                break;
            }
        }
        Ok(())
    }
}

/// The time of day in Unix seconds, as Stripe's `created` has it.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
