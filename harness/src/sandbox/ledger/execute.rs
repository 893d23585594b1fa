//! Execution under an idempotency key, by the rules of a profile. The key, the effect and the saved answer are one transaction.

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::super::api::{self, Ask, Desk, Refusal, Stop};
use super::super::profile::{First, Rules};
use super::super::request::Arrived;
use super::rows;
use crate::model::ledger::Outcome;

/// What is answered, and what became of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::sandbox) struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The body, JSON.
    pub body: String,
    /// Its media type.
    pub media: &'static str,
    /// Headers that the profile adds.
    pub headers: Vec<(&'static str, String)>,
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

/// When it is, in microseconds from the start of the trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// As the trial's clock has it.
    pub now_us: u64,
    /// As the clock has it by which keys grow old.
    pub key_us: u64,
}

/// Executes, replays or refuses a request, and writes down which.
pub(super) fn execute(
    db: &mut Connection,
    seq: u64,
    arrived: &Arrived,
    clock: Clock,
    rules: &Rules,
) -> Result<Reply, rusqlite::Error> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    match attempt(&transaction, seq, arrived, clock, rules) {
        Ok(reply) => {
            finish(&transaction, seq, &reply, clock)?;
            transaction.commit()?;
            Ok(reply)
        }
        Err(Stop::Refused(refusal)) => {
            // Whatever the attempt wrote, its claim on the key included, is undone.
            transaction.rollback()?;
            let key = rules.key_of(arrived).ok().flatten();
            let reply = refused(&refusal, Outcome::Rejected, key.as_deref(), rules);
            finish(db, seq, &reply, clock)?;
            Ok(reply)
        }
        Err(Stop::Ledger(error)) => Err(error),
    }
}

fn attempt(ledger: &Transaction<'_>, seq: u64, arrived: &Arrived, clock: Clock, rules: &Rules) -> Result<Reply, Stop> {
    let Some(key) = rules.key_of(arrived).map_err(Stop::Refused)? else {
        return run(ledger, seq, arrived, None, clock, rules);
    };
    let slot = rules.slot(&key, &arrived.path);
    forget_old(ledger, &slot, clock, rules)?;
    // Whoever inserts the row has the key; nobody else can.
    let claim = "INSERT INTO idempotency_keys (key, seq, created_us, status, answer, under_way) VALUES (?1, ?2, ?3, 0, '', 1)
                 ON CONFLICT (key) DO NOTHING";
    let claimed = ledger.prepare_cached(claim)?.execute(params![slot, rows::int(seq), rows::int(clock.key_us)])? == 1;
    if !claimed {
        return Ok(repeated(ledger, &slot, &key, arrived, rules)?);
    }
    ledger.execute_batch("SAVEPOINT execution")?;
    let reply = match run(ledger, seq, arrived, Some((&key, &slot)), clock, rules) {
        // Execution had begun, so that this is the answer for good; what it had done is undone.
        Err(Stop::Refused(refusal)) if refusal.begun && rules.keeps_refusals => {
            ledger.execute_batch("ROLLBACK TO execution")?;
            refused(&refusal, Outcome::Rejected, Some(&key), rules)
        }
        other => other?,
    };
    let save = "UPDATE idempotency_keys SET status = ?2, answer = ?3 WHERE key = ?1";
    ledger.prepare_cached(save)?.execute(params![slot, reply.status, reply.body])?;
    Ok(reply)
}

/// Forgets a key that has grown too old: what comes under it now is a new request.
fn forget_old(ledger: &Transaction<'_>, slot: &str, clock: Clock, rules: &Rules) -> Result<(), rusqlite::Error> {
    let retention_us = rules.retention_s.and_then(|seconds| seconds.checked_mul(1_000_000));
    let Some(latest) = retention_us.and_then(|retention| clock.key_us.checked_sub(retention)) else { return Ok(()) };
    let select = "SELECT seq FROM idempotency_keys WHERE key = ?1 AND created_us <= ?2 AND NOT under_way";
    let old: Option<i64> =
        ledger.prepare_cached(select)?.query_row(params![slot, rows::int(latest)], |row| row.get(0)).optional()?;
    old.map_or(Ok(()), |seq| forget(ledger, seq))
}

/// Forgets the key of a request.
pub(super) fn forget(db: &Connection, seq: i64) -> Result<(), rusqlite::Error> {
    db.execute("UPDATE effects SET key = NULL WHERE seq = ?1", params![seq])?;
    db.execute("DELETE FROM idempotency_keys WHERE seq = ?1", params![seq])?;
    Ok(())
}

/// A request under a key that is taken: a mismatch, a conflict or a replay.
fn repeated(ledger: &Transaction<'_>, slot: &str, key: &str, arrived: &Arrived, rules: &Rules) -> Result<Reply, rusqlite::Error> {
    let select =
        "SELECT under_way, idempotency_keys.status, answer, requests.method, requests.path, requests.query, requests.body
                  FROM idempotency_keys JOIN requests USING (seq) WHERE idempotency_keys.key = ?1";
    let (under_way, status, answer, method, path, query, body): (bool, u16, String, String, String, Option<String>, String) =
        ledger.prepare_cached(select)?.query_row(params![slot], |row| row.try_into())?;
    let refuse = |refusal: &Refusal, outcome| Ok(refused(refusal, outcome, Some(key), rules));
    if (&method, &path) != (&arrived.method, &arrived.path) {
        return refuse(&(rules.other_path)(key, &arrived.path, &path), Outcome::Mismatch);
    }
    let first = First { query, body: serde_json::from_str(&body).unwrap_or_default() };
    if !(rules.is_same)(&first, arrived) {
        return refuse(&(rules.mismatch)(key), Outcome::Mismatch);
    }
    if under_way {
        return refuse(&(rules.in_use)(key), Outcome::Conflict);
    }
    let mut headers = echo(Some(key), rules);
    headers.extend(rules.replay_header.map(|name| (name, "true".to_owned())));
    let media = if status < 400 { JSON } else { (rules.form)(&Refusal::invalid("")).0 };
    let (outcome, key) = (Outcome::Replayed, Some(key.to_owned()));
    Ok(Reply { status, body: answer, media, headers, outcome, object: None, key, foreign: None })
}

const JSON: &str = "application/json";

/// The header in which a key comes back.
fn echo(key: Option<&str>, rules: &Rules) -> Vec<(&'static str, String)> {
    key.filter(|_| rules.echoes_key).map(|key| ("idempotency-key", key.to_owned())).into_iter().collect()
}

/// Lets the API do it, and files the effect where there is one. `key`: as it stands in the request, and as the ledger knows it.
fn run(
    ledger: &Transaction<'_>,
    seq: u64,
    arrived: &Arrived,
    key: Option<(&str, &str)>,
    clock: Clock,
    rules: &Rules,
) -> Result<Reply, Stop> {
    let ask = Ask { method: &arrived.method, path: &arrived.path, query: arrived.query.as_deref(), body: &arrived.body };
    let answer = api::serve(&Desk::new(ledger), &ask)?;
    let wrote = api::writes(&arrived.method);
    let object = answer["id"].as_str().filter(|_| wrote).map(str::to_owned);
    let (key, slot) = key.unzip();
    if let Some(object) = &object {
        let insert = "INSERT INTO effects (seq, effect, key, object, executed_us) SELECT seq, effect, ?2, ?3, ?4 FROM requests WHERE seq = ?1";
        ledger.prepare_cached(insert)?.execute(params![rows::int(seq), slot, object, rows::int(clock.now_us)])?;
    }
    let outcome = if wrote { Outcome::Executed } else { Outcome::Read };
    let (headers, key) = (echo(key, rules), key.map(str::to_owned));
    Ok(Reply { status: 200, body: answer.to_string(), media: JSON, headers, outcome, object, key, foreign: None })
}

fn finish(db: &Connection, seq: u64, reply: &Reply, clock: Clock) -> Result<(), rusqlite::Error> {
    let update = "UPDATE requests SET outcome = ?2, status = ?3, object = ?4, executed_us = ?5 WHERE seq = ?1";
    let executed = (reply.outcome == Outcome::Executed).then_some(rows::int(clock.now_us));
    let values = params![rows::int(seq), rows::word(reply.outcome), reply.status, reply.object, executed];
    db.prepare_cached(update)?.execute(values)?;
    Ok(())
}

/// The answer that a refusal is.
pub(super) fn refused(refusal: &Refusal, outcome: Outcome, key: Option<&str>, rules: &Rules) -> Reply {
    let (media, body) = (rules.form)(refusal);
    let mut headers = echo(key, rules);
    if outcome == Outcome::Conflict {
        headers.push(("retry-after", "1".to_owned()));
    }
    let key = key.map(str::to_owned);
    Reply { status: refusal.status, body: body.to_string(), media, headers, outcome, object: None, key, foreign: None }
}
