//! Failures that are not the request's own doing: a server that fails before it has done anything, or after.

use rusqlite::{Connection, params};

use super::super::api::Refusal;
use super::super::error::SandboxError;
use super::execute::{Reply, refused};
use super::{Ledger, rows};
use crate::model::ledger::Outcome;

impl Ledger {
    /// The server fails before it does anything: an answer of that status, and nothing done or saved.
    pub fn fail_before(&self, seq: u64, key: Option<&str>, status: u16) -> Result<Reply, SandboxError> {
        let reply = refused(&failure(status), Outcome::Rejected, key);
        self.lock().pending.remove(&seq);
        let update = "UPDATE requests SET outcome = ?2, status = ?3 WHERE seq = ?1";
        self.update(update, params![rows::int(seq), rows::word(reply.outcome), status])?;
        Ok(reply)
    }

    /// The server fails after it has done what was asked: the effect stays, the answer says that something failed. What is saved under
    /// the key is what Stripe's v1 API would save: a 500 is the endpoint's own answer and is given again; any other status comes from
    /// in front of it, and the endpoint's answer stays (docs.stripe.com/error-low-level).
    pub fn fail_after(&self, seq: u64, done: &Reply, status: u16) -> Result<Reply, SandboxError> {
        let failed = refused(&failure(status), done.outcome, done.key.as_deref());
        let reply = Reply { object: done.object.clone(), ..failed };
        let write = |db: &mut Connection| -> Result<(), rusqlite::Error> {
            let transaction = db.transaction()?;
            transaction.execute("UPDATE requests SET status = ?2 WHERE seq = ?1", params![rows::int(seq), status])?;
            if status == 500 {
                let save = "UPDATE idempotency_keys SET status = ?2, answer = ?3 WHERE seq = ?1";
                transaction.execute(save, params![rows::int(seq), status, reply.body])?;
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
    Refusal { status, kind, code: None, message: message.to_owned(), param: None, begun: false }
}
