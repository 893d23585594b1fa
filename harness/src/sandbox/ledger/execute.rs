//! Execution under an idempotency key, by the rules of Stripe's v1 API (docs.stripe.com/api/idempotent_requests,
//! docs.stripe.com/error-low-level). The key, the effect and the saved answer are one transaction.
//!
//! Not verified against the real service: `error.type` of a key in use, `error.code` of a mismatch (none is given here).

use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use serde_json::Value;

use super::super::api::{self, Ask, Desk, Refusal, Stop};
use super::super::request::Arrived;
use super::rows;
use crate::model::ledger::Outcome;
use crate::model::limits;

/// What is answered, and what became of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::sandbox) struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The body, JSON.
    pub body: String,
    /// What became of the request.
    pub outcome: Outcome,
    /// The id of the object that its effect made or changed.
    pub object: Option<String>,
    /// The key it was executed under or that was repeated.
    pub key: Option<String>,
    /// The answer as another server gave it, where the sandbox stands in front of one.
    pub foreign: Option<Box<Foreign>>,
}

/// The answer of another server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::sandbox) struct Foreign {
    /// Its headers, without those of the connection.
    pub headers: http::HeaderMap,
    /// Its body.
    pub bytes: bytes::Bytes,
}

/// Executes, replays or refuses a request, and writes down which.
pub(super) fn execute(db: &mut Connection, seq: u64, arrived: &Arrived, now_us: u64) -> Result<Reply, rusqlite::Error> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    match attempt(&transaction, seq, arrived, now_us) {
        Ok(reply) => {
            finish(&transaction, seq, &reply, now_us)?;
            transaction.commit()?;
            Ok(reply)
        }
        Err(Stop::Refused(refusal)) => {
            // Whatever the attempt wrote, its claim on the key included, is undone.
            transaction.rollback()?;
            let reply = refused(&refusal, Outcome::Rejected, arrived.stripe_key());
            finish(db, seq, &reply, now_us)?;
            Ok(reply)
        }
        Err(Stop::Ledger(error)) => Err(error),
    }
}

fn attempt(ledger: &Transaction<'_>, seq: u64, arrived: &Arrived, now_us: u64) -> Result<Reply, Stop> {
    let Some(key) = arrived.stripe_key() else { return run(ledger, seq, arrived, None, now_us) };
    if key.chars().count() > limits::KEY_MAX_CHARS {
        let message = format!("an idempotency key may have {} characters at most", limits::KEY_MAX_CHARS);
        return Err(Refusal::invalid(message).into());
    }
    // Whoever inserts the row has the key; nobody else can.
    let claim = "INSERT INTO idempotency_keys (key, seq, created_us, status, answer, under_way) VALUES (?1, ?2, ?3, 0, '', 1)
                 ON CONFLICT (key) DO NOTHING";
    let claimed = ledger.prepare_cached(claim)?.execute(params![key, rows::int(seq), rows::int(now_us)])? == 1;
    if !claimed {
        return Ok(repeated(ledger, key, arrived)?);
    }
    ledger.execute_batch("SAVEPOINT execution")?;
    let reply = match run(ledger, seq, arrived, Some(key), now_us) {
        // Execution had begun, so that this is the answer for good; what it had done is undone.
        Err(Stop::Refused(refusal)) if refusal.begun => {
            ledger.execute_batch("ROLLBACK TO execution")?;
            refused(&refusal, Outcome::Rejected, Some(key))
        }
        other => other?,
    };
    let save = "UPDATE idempotency_keys SET status = ?2, answer = ?3 WHERE key = ?1";
    ledger.prepare_cached(save)?.execute(params![key, reply.status, reply.body])?;
    Ok(reply)
}

/// A request under a key that is taken: a mismatch, a conflict or a replay.
fn repeated(ledger: &Transaction<'_>, key: &str, arrived: &Arrived) -> Result<Reply, rusqlite::Error> {
    let select =
        "SELECT under_way, idempotency_keys.status, answer, requests.method, requests.path, requests.query, requests.body
                  FROM idempotency_keys JOIN requests USING (seq) WHERE idempotency_keys.key = ?1";
    let (under_way, status, answer, method, path, query, body): (bool, u16, String, String, String, Option<String>, String) =
        ledger.prepare_cached(select)?.query_row(params![key], |row| row.try_into())?;
    let error = |status, code, message| {
        let refusal = Refusal { status, kind: "idempotency_error", code, message, param: None, begun: false };
        let outcome = if status == 409 { Outcome::Conflict } else { Outcome::Mismatch };
        Ok(refused(&refusal, outcome, Some(key)))
    };
    let otherwise = format!("Try using a key other than '{key}' if you meant to execute a different request.");
    if (&method, &path) != (&arrived.method, &arrived.path) {
        let rule = "Keys for idempotent requests can only be used for the same endpoint they were first used for";
        return error(400, None, format!("{rule} ('{}' vs '{path}'). {otherwise}", arrived.path));
    }
    if query != arrived.query || serde_json::from_str::<Value>(&body).ok().as_ref() != Some(&arrived.body) {
        let rule = "Keys for idempotent requests can only be used with the same parameters they were first used with.";
        return error(400, None, format!("{rule} {otherwise}"));
    }
    if under_way {
        let message = format!(
            "There is currently another in-progress request using this Idempotent Key (that probably means you submitted twice, and \
             the other request is still going through): {key}. Please try again later."
        );
        return error(409, Some("idempotency_key_in_use"), message);
    }
    Ok(Reply { status, body: answer, outcome: Outcome::Replayed, object: None, key: Some(key.to_owned()), foreign: None })
}

/// Lets the API do it, and files the effect where there is one.
fn run(ledger: &Transaction<'_>, seq: u64, arrived: &Arrived, key: Option<&str>, now_us: u64) -> Result<Reply, Stop> {
    let ask = Ask { method: &arrived.method, path: &arrived.path, query: arrived.query.as_deref(), body: &arrived.body };
    let answer = api::serve(&Desk::new(ledger), &ask)?;
    let wrote = api::writes(&arrived.method);
    let object = answer["id"].as_str().filter(|_| wrote).map(str::to_owned);
    if let Some(object) = &object {
        let insert = "INSERT INTO effects (seq, effect, key, object, executed_us) SELECT seq, effect, ?2, ?3, ?4 FROM requests WHERE seq = ?1";
        ledger.prepare_cached(insert)?.execute(params![rows::int(seq), key, object, rows::int(now_us)])?;
    }
    let outcome = if wrote { Outcome::Executed } else { Outcome::Read };
    Ok(Reply { status: 200, body: answer.to_string(), outcome, object, key: key.map(str::to_owned), foreign: None })
}

fn finish(db: &Connection, seq: u64, reply: &Reply, now_us: u64) -> Result<(), rusqlite::Error> {
    let update = "UPDATE requests SET outcome = ?2, status = ?3, object = ?4, executed_us = ?5 WHERE seq = ?1";
    let executed = (reply.outcome == Outcome::Executed).then_some(rows::int(now_us));
    let values = params![rows::int(seq), rows::word(reply.outcome), reply.status, reply.object, executed];
    db.prepare_cached(update)?.execute(values)?;
    Ok(())
}

pub(super) fn refused(refusal: &Refusal, outcome: Outcome, key: Option<&str>) -> Reply {
    let body = refusal.body().to_string();
    Reply { status: refusal.status, body, outcome, object: None, key: key.map(str::to_owned), foreign: None }
}
