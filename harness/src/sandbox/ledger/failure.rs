//! What is not the request's own doing: a server that fails before it has done anything, or after, or says that it is not done yet.

use rusqlite::{Connection, params};
use serde_json::Value;

use super::super::api::Refusal;
use super::super::error::SandboxError;
use super::super::profile::Saved;
use super::execute::{Reply, forget, refused};
use super::{Ledger, rows};
use crate::model::ledger::Outcome;

impl Ledger {
    /// The server fails before it does anything: an answer of that status, and nothing done or saved.
    pub fn fail_before(&self, seq: u64, status: u16) -> Result<Reply, SandboxError> {
        let reply = refused(&failure(status), Outcome::Rejected, None, self.rules);
        self.lock().pending.remove(&seq);
        let update = "UPDATE requests SET outcome = ?2, status = ?3 WHERE seq = ?1";
        self.update(update, params![rows::int(seq), rows::word(reply.outcome), status])?;
        Ok(reply)
    }

    /// The server fails after it has done what was asked: the effect stays, the answer says that something failed. What is saved under the
    /// key from then on is what the profile says.
    pub fn fail_after(&self, seq: u64, done: &Reply, status: u16) -> Result<Reply, SandboxError> {
        let failed = refused(&failure(status), done.outcome, done.key.as_deref(), self.rules);
        let reply = Reply { object: done.object.clone(), ..failed };
        let write = |db: &mut Connection| -> Result<(), rusqlite::Error> {
            let transaction = db.transaction()?;
            transaction.execute("UPDATE requests SET status = ?2 WHERE seq = ?1", params![rows::int(seq), status])?;
            match (self.rules.after_failure)(status) {
                Saved::Work => {}
                Saved::Failure => {
                    let save = "UPDATE idempotency_keys SET status = ?2, answer = ?3 WHERE seq = ?1";
                    transaction.execute(save, params![rows::int(seq), status, reply.body])?;
                }
                Saved::Nothing => forget(&transaction, rows::int(seq))?,
            }
            transaction.commit()
        };
        write(&mut self.lock().db).map_err(|source| self.failed("write", source))?;
        Ok(reply)
    }
}

impl Ledger {
    /// The effect stays, and the answer says that it is under way still: a charge is `pending`, a payment intent `processing`, any other object
    /// `pending`. A repetition under the key gets the same answer; whoever looks the object up sees that it has succeeded.
    pub fn answer_pending(&self, seq: u64, done: Reply) -> Result<Reply, SandboxError> {
        let Ok(mut object) = serde_json::from_str::<Value>(&done.body) else { return Ok(done) };
        if !object.is_object() {
            return Ok(done);
        }
        object["status"] = if object["object"] == "payment_intent" { "processing" } else { "pending" }.into();
        if object["object"] == "charge" {
            object["paid"] = false.into();
        }
        let reply = Reply { body: object.to_string(), foreign: None, ..done };
        let save = "UPDATE idempotency_keys SET answer = ?2 WHERE seq = ?1";
        self.update(save, params![rows::int(seq), reply.body])?;
        Ok(reply)
    }
}

fn failure(status: u16) -> Refusal {
    let (kind, message) = match status {
        409 => ("invalid_request_error", "the object is being accessed by another request; try again later"),
        429 => ("rate_limit_error", "too many requests; try again later"),
        _ => ("api_error", "something went wrong on the server's side"),
    };
    Refusal { kind, ..Refusal::limit(status, message) }
}
