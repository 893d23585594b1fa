//! Retelling: what a life would have been told by another ledger. A life knows the ledger by its answers alone; where another one would
//! have given it the same answers, it would have been the same life, and what it would have left there can be told without living it.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;
use rusqlite::{Connection, params};
use serde_json::Value;

use super::super::error::SandboxError;
use super::super::key;
use super::super::profile::{self, Rules};
use super::super::request::Arrived;
use super::execute::{self, Clock, Reply};
use super::{picture, rows};
use crate::model::ledger::{Outcome, Request};
use crate::model::scenario::SandboxSpec;

/// The ids that the API gives out (`ch_000001q2w3e4r5t6`), wherever they stand.
static ID: LazyLock<Regex> = LazyLock::new(|| Regex::new("[a-z]+_[0-9]{6}[0-9a-z]{10}").expect("a constant pattern"));

/// A ledger in memory, with the ids by which objects of the real one are known in it.
struct Told {
    db: Connection,
    ids: HashMap<String, String>,
    /// All ids that its answers have shown, in the order in which they came.
    shown: Vec<String>,
}

/// The rows of the other ledger after the same life; `None`: it may have told the life something else. `begun` is the ledger as it stood
/// when the life began, `other` the one that it did not have, `asked` what it asked for, in order.
///
/// # Errors
/// One of the ledgers cannot be read or written.
pub fn retell(spec: &SandboxSpec, begun: &[u8], other: &[u8], asked: &[Request]) -> Result<Option<Vec<Request>>, SandboxError> {
    let failed = |source| SandboxError::Ledger { doing: "read", path: "a crash image".into(), source };
    // One after the other, each answered before the next: else who was first is a matter of chance.
    let in_turn = asked.windows(2).all(|pair| pair[0].answered_us.is_some_and(|at| at <= pair[1].received_us));
    let plain = asked.iter().all(|one| one.fault.is_none() && one.answered_us.is_some() && one.outcome != Outcome::Received);
    if spec.upstream.is_some() || !in_turn || !plain {
        return Ok(None);
    }
    let rules = profile::rules(spec.profile);
    let age_us = spec.key_age_ms.saturating_mul(1_000);
    let (mut real, mut told) = (Told::open(begun).map_err(failed)?, Told::open(other).map_err(failed)?);
    for request in asked {
        let is_alike = tell(&mut real, &mut told, request, rules, age_us).map_err(failed)?;
        if !is_alike {
            return Ok(None);
        }
    }
    match rows::all(&told.db) {
        Ok(rows) => Ok(Some(rows)),
        Err(rows::Fault::Db(source)) => Err(failed(source)),
        Err(rows::Fault::Column { .. }) => Ok(None),
    }
}

/// Has both ledgers answer a request; whether the real one says what it said then, and the other one the same.
fn tell(real: &mut Told, told: &mut Told, request: &Request, rules: &Rules, age_us: u64) -> Result<bool, rusqlite::Error> {
    let (again, other) = (real.answer(request, rules, age_us)?, told.answer(request, rules, age_us)?);
    let outcome = (again.outcome, again.status, again.object.is_some());
    if outcome != (request.outcome, request.status, request.object.is_some()) {
        return Ok(false);
    }
    Ok(real.seen(&again) == told.seen(&other))
}

impl Told {
    fn open(bytes: &[u8]) -> Result<Self, rusqlite::Error> {
        Ok(Self { db: picture::in_memory(bytes)?, ids: HashMap::new(), shown: Vec::new() })
    }

    /// A text of the real ledger as it reads in this one.
    fn own(&self, text: &str) -> String {
        ID.replace_all(text, |found: &regex::Captures<'_>| {
            self.ids.get(&found[0]).cloned().unwrap_or_else(|| found[0].to_owned())
        })
        .into_owned()
    }

    /// Enters a request of the real ledger in this one, and executes it at the time at which it was executed then.
    fn answer(&mut self, request: &Request, rules: &Rules, age_us: u64) -> Result<Reply, rusqlite::Error> {
        let body = self.own(&request.body.to_string());
        let arrived = Arrived {
            method: request.method.clone(),
            path: self.own(&request.path),
            query: request.query.as_deref().map(|query| self.own(query)),
            headers: request.headers.clone(),
            body: serde_json::from_str(&body).unwrap_or(Value::Null),
            body_sha256: request.body_sha256.clone(),
            key: request.key.clone(),
            key_at: request.key_at.clone(),
            key_is_plain: request.key_at.as_deref().is_some_and(|at| at != key::STANDARD),
            raw: None,
        };
        let at_us = request.executed_us.unwrap_or(request.received_us);
        let slept_us = age_us.saturating_mul(u64::from(request.life.saturating_sub(1)));
        let clock = Clock { now_us: at_us, key_us: at_us.saturating_add(slept_us) };
        let seq = rows::insert(&self.db, &arrived, &request.effect, request.life, request.ordinal, request.received_us)?;
        let reply = execute::execute(&mut self.db, seq, &arrived, clock, rules)?;
        self.db.execute("UPDATE idempotency_keys SET under_way = 0 WHERE seq = ?1", params![rows::int(seq)])?;
        let answered = request.answered_us.map(rows::int);
        self.db.execute("UPDATE requests SET answered_us = ?2 WHERE seq = ?1", params![rows::int(seq), answered])?;
        if let (Some(theirs), Some(own)) = (&request.object, &reply.object) {
            self.ids.insert(theirs.clone(), own.clone());
        }
        Ok(reply)
    }

    /// All that a client sees of an answer, with ids by the order in which they came and without the time of day.
    fn seen(&mut self, reply: &Reply) -> (u16, &'static str, Vec<(&'static str, String)>, String, Outcome) {
        let mut body: Value = serde_json::from_str(&reply.body).unwrap_or_else(|_| Value::String(reply.body.clone()));
        without_time(&mut body);
        let headers = reply.headers.iter().map(|(name, value)| (*name, self.numbered(value))).collect();
        (reply.status, reply.media, headers, self.numbered(&body.to_string()), reply.outcome)
    }

    fn numbered(&mut self, text: &str) -> String {
        let shown = &mut self.shown;
        let number = |found: &regex::Captures<'_>| {
            let known = shown.iter().position(|id| *id == found[0]).unwrap_or_else(|| {
                shown.push(found[0].to_owned());
                shown.len() - 1
            });
            format!("id {known}")
        };
        ID.replace_all(text, number).into_owned()
    }
}

/// Takes away what the clock alone decides (Stripe's `created`).
fn without_time(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("created");
            fields.values_mut().for_each(without_time);
        }
        Value::Array(items) => items.iter_mut().for_each(without_time),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::MAIN_DB;

    use super::*;

    /// A ledger in which these requests were made, one after the other, each answered.
    fn ledger(before: Option<&[u8]>, life: u32, asks: &[(&str, &str, Option<&str>, &str)]) -> (Vec<u8>, Vec<Request>) {
        let db = match before {
            Some(bytes) => picture::in_memory(bytes).unwrap(),
            None => {
                let db = Connection::open_in_memory().unwrap();
                db.execute_batch(include_str!("schema.sql")).unwrap();
                db
            }
        };
        let old = rows::all(&db).ok().unwrap().len();
        let mut told = Told { db, ids: HashMap::new(), shown: Vec::new() };
        let rules = profile::rules(SandboxSpec::default().profile);
        for (number, (method, path, key, body)) in (1_u64..).zip(asks) {
            let request = Request {
                seq: 0,
                life,
                effect: "e".to_owned(),
                ordinal: 1,
                method: (*method).to_owned(),
                path: (*path).to_owned(),
                query: None,
                headers: std::collections::BTreeMap::new(),
                body: serde_json::from_str(body).unwrap_or(Value::Null),
                body_sha256: String::new(),
                key: key.map(str::to_owned),
                key_at: key.map(|_| key::STANDARD.to_owned()),
                fault: None,
                outcome: Outcome::Received,
                status: 0,
                object: None,
                received_us: number * 10,
                executed_us: None,
                answered_us: Some(number * 10 + 5),
            };
            told.answer(&request, rules, 0).unwrap();
        }
        let rows = rows::all(&told.db).ok().unwrap();
        (told.db.serialize(MAIN_DB).unwrap().to_vec(), rows[old..].to_vec())
    }

    const CHARGE: &str = r#"{"amount": 2900, "currency": "usd", "metadata": {"invoice": "inv_9"}}"#;

    fn retold(begun: &[u8], other: &[u8], asked: &[Request]) -> Option<Vec<Request>> {
        retell(&SandboxSpec::default(), begun, other, asked).unwrap()
    }

    #[test]
    fn a_life_without_a_key_is_told_the_same_by_a_ledger_that_has_its_charge_already() {
        let (empty, _) = ledger(None, 1, &[]);
        let (charged, _) = ledger(None, 1, &[("POST", "/v1/charges", None, CHARGE)]);
        let (_, asked) = ledger(Some(&empty), 2, &[("POST", "/v1/charges", None, CHARGE), ("POST", "/email", None, "{}")]);
        let rows = retold(&empty, &charged, &asked).expect("the same answers");
        assert_eq!(rows.iter().filter(|row| row.had_effect()).count(), 3);
        assert_eq!(rows.iter().map(|row| row.life).collect::<Vec<_>>(), [1, 2, 2]);
        assert_ne!(rows[0].object, rows[1].object);
    }

    #[test]
    fn a_key_that_is_known_to_one_ledger_alone_is_another_answer() {
        let (empty, _) = ledger(None, 1, &[]);
        let (charged, _) = ledger(None, 1, &[("POST", "/v1/charges", Some("k"), CHARGE)]);
        let (_, asked) = ledger(Some(&empty), 2, &[("POST", "/v1/charges", Some("k"), CHARGE)]);
        assert_eq!(retold(&empty, &charged, &asked), None);
        let (_, same) = ledger(Some(&charged), 2, &[("POST", "/v1/charges", Some("k"), CHARGE)]);
        assert!(retold(&charged, &charged, &same).is_some(), "a replay that both give");
    }

    #[test]
    fn a_life_that_looks_sees_the_difference() {
        let (empty, _) = ledger(None, 1, &[]);
        let (charged, _) = ledger(None, 1, &[("POST", "/v1/charges", None, CHARGE)]);
        let (_, asked) = ledger(Some(&empty), 2, &[("GET", "/v1/charges", None, "")]);
        assert_eq!(retold(&empty, &charged, &asked), None);
    }

    #[test]
    fn an_object_that_the_life_made_is_the_same_one_in_its_later_requests() {
        let (empty, _) = ledger(None, 1, &[]);
        let (charged, _) = ledger(None, 1, &[("POST", "/v1/charges", None, CHARGE)]);
        let (begun, first) = ledger(Some(&empty), 2, &[("POST", "/v1/charges", None, CHARGE)]);
        let made = first[0].object.clone().unwrap();
        let body = format!("{{\"charge\": \"{made}\"}}");
        let (_, second) =
            ledger(Some(&begun), 2, &[("POST", "/v1/refunds", None, &body), ("GET", &format!("/v1/charges/{made}"), None, "")]);
        let mut asked: Vec<Request> = first.into_iter().chain(second).collect();
        for (number, request) in (1_u64..).zip(&mut asked) {
            (request.received_us, request.answered_us) = (number * 10, Some(number * 10 + 5));
        }
        let rows = retold(&empty, &charged, &asked).expect("the same answers");
        let (own, refund) = (rows[1].object.clone().unwrap(), &rows[2]);
        assert_ne!(own, made);
        assert_eq!((refund.outcome, refund.body["charge"].as_str()), (Outcome::Executed, Some(own.as_str())));
        assert_eq!(rows[3].path, format!("/v1/charges/{own}"));
    }

    #[test]
    fn requests_that_met_or_went_wrong_are_told_to_nobody() {
        let (empty, _) = ledger(None, 1, &[]);
        let (_, asked) = ledger(Some(&empty), 2, &[("POST", "/a", None, "{}"), ("POST", "/b", None, "{}")]);
        assert!(retold(&empty, &empty, &asked).is_some());
        let but = |change: fn(&mut Request)| {
            let mut asked = asked.clone();
            change(&mut asked[0]);
            retold(&empty, &empty, &asked)
        };
        assert_eq!(but(|request| request.answered_us = Some(1_000)), None);
        assert_eq!(but(|request| request.answered_us = None), None);
        assert_eq!(but(|request| request.fault = Some("duplicate".to_owned())), None);
        assert_eq!(but(|request| request.status = 500), None, "not what the ledger says");
    }
}
