//! Failures that are not the request's own doing: a server that fails before it has done anything, or after.

use rusqlite::{Connection, params};

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

fn failure(status: u16) -> Refusal {
    let (kind, message) = match status {
        409 => ("invalid_request_error", "the object is being accessed by another request; try again later"),
        429 => ("rate_limit_error", "too many requests; try again later"),
        _ => ("api_error", "something went wrong on the server's side"),
    };
    Refusal { kind, ..Refusal::limit(status, message) }
}
