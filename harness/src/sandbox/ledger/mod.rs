//! The ledger: one SQLite file per trial, pleasant to open with `sqlite3`. All truth of the sandbox is in it; none is in memory only.
//!
//! It is written on the thread that serves the request: a commit is a few tens of microseconds, less than a change of threads. It is
//! not synced to the disk, because it must outlive the workflow, and even killpoint, but not the machine.

mod execute;
mod failure;
mod picture;
mod retell;
mod rows;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rusqlite::{Connection, params};
use tokio::sync::mpsc;

use self::execute::Clock;
pub(super) use self::execute::{Foreign, Reply};
pub use self::picture::Picture;
pub use self::retell::retell;
use super::error::SandboxError;
use super::profile::Rules;
use super::request::Arrived;
use crate::model::fault::WireFault;
use crate::model::ledger::{Outcome, Request};
use crate::model::limits;

/// The open ledger of one trial.
pub(super) struct Ledger {
    path: PathBuf,
    epoch: Instant,
    pub(super) rules: &'static Rules,
    /// How much older keys grow between two lives than the lives take, in microseconds.
    key_age_us: u64,
    desk: Mutex<Desk>,
    /// The first thing that made the ledger less than the whole truth.
    trouble: Mutex<Option<String>>,
    /// Whoever wants to hear of each request that is over.
    listener: Mutex<Option<mpsc::UnboundedSender<u64>>>,
}

struct Desk {
    db: Connection,
    life: u32,
    ordinals: HashMap<String, u32>,
    /// Requests that have arrived and are not executed, and may still be.
    pending: BTreeMap<u64, Arc<Arrived>>,
}

/// What the ledger says of a request when it has entered it.
pub(super) struct Entry {
    pub seq: u64,
    pub life: u32,
    pub ordinal: u32,
}

impl Ledger {
    /// Opens or makes a ledger. No request of an earlier sandbox is under way any more, so its keys are free for repetition.
    pub fn open(path: &Path, epoch: Instant, rules: &'static Rules, key_age_us: u64) -> Result<Self, SandboxError> {
        let open = || -> Result<Connection, rusqlite::Error> {
            let db = Connection::open(path)?;
            db.set_prepared_statement_cache_capacity(64);
            db.execute_batch("PRAGMA synchronous = OFF; PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON;")?;
            db.execute_batch(&format!(
                "BEGIN; {} UPDATE idempotency_keys SET under_way = 0 WHERE under_way; COMMIT;",
                include_str!("schema.sql")
            ))?;
            Ok(db)
        };
        let db = open().map_err(|source| SandboxError::Open { path: path.to_owned(), source })?;
        let desk = Mutex::new(Desk { db, life: 1, ordinals: HashMap::new(), pending: BTreeMap::new() });
        Ok(Self { path: path.to_owned(), epoch, rules, key_age_us, desk, trouble: Mutex::new(None), listener: Mutex::new(None) })
    }

    /// Microseconds since the start of the trial.
    pub fn now_us(&self) -> u64 {
        self.us_at(Instant::now())
    }

    /// Microseconds from the start of the trial to an instant.
    pub fn us_at(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.epoch).as_micros()).unwrap_or(u64::MAX)
    }

    /// A life begins; its ordinals start at 1.
    pub fn begin_life(&self, life: u32) {
        let mut desk = self.lock();
        desk.life = life;
        desk.ordinals.clear();
    }

    /// Enters a request that has arrived whole.
    pub fn receive(&self, arrived: &Arc<Arrived>, effect: &str) -> Result<Entry, SandboxError> {
        let mut guard = self.lock();
        let desk = &mut *guard;
        let (life, now) = (desk.life, self.now_us());
        let ordinal = desk.ordinals.get(effect).copied().unwrap_or(0) + 1;
        let seq = rows::insert(&desk.db, arrived, effect, life, ordinal, now).map_err(|source| self.failed("write", source))?;
        desk.ordinals.insert(effect.to_owned(), ordinal);
        desk.pending.insert(seq, Arc::clone(arrived));
        drop(guard);
        if seq > limits::REQUESTS_PER_TRIAL_MAX {
            return Err(self.incomplete(format!("more than {} requests in one trial", limits::REQUESTS_PER_TRIAL_MAX)));
        }
        Ok(Entry { seq, life, ordinal })
    }

    /// Does what a request asks, under its key where it has one, and commits what came of it: all of it or nothing.
    pub fn execute(&self, seq: u64, arrived: &Arrived) -> Result<Reply, SandboxError> {
        let now_us = self.now_us();
        let mut desk = self.lock();
        desk.pending.remove(&seq);
        let clock = self.clock(now_us, desk.life);
        execute::execute(&mut desk.db, seq, arrived, clock, self.rules).map_err(|source| self.failed("write", source))
    }

    /// Whether a request has a key that counts.
    pub fn has_key(&self, arrived: &Arrived) -> bool {
        matches!(self.rules.key_of(arrived), Ok(Some(_)))
    }

    /// The clocks in a life. Those of an earlier sandbox of the same trial went on in the same way.
    fn clock(&self, now_us: u64, life: u32) -> Clock {
        let slept_us = self.key_age_us.saturating_mul(u64::from(life.saturating_sub(1)));
        Clock { now_us, key_us: now_us.saturating_add(slept_us) }
    }

    /// Another server has done what a request asks, or has not.
    pub fn carried_out(&self, seq: u64, reply: &Reply) -> Result<(), SandboxError> {
        let executed = (reply.outcome == Outcome::Executed).then(|| rows::int(self.now_us()));
        self.lock().pending.remove(&seq);
        let update = "UPDATE requests SET outcome = ?2, status = ?3, object = ?4, executed_us = ?5 WHERE seq = ?1";
        self.update(update, params![rows::int(seq), rows::word(reply.outcome), reply.status, reply.object, executed])
    }

    /// Notes what is done to a request on purpose.
    pub fn injured(&self, seq: u64, fault: WireFault) -> Result<(), SandboxError> {
        self.update("UPDATE requests SET fault = ?2 WHERE seq = ?1", params![rows::int(seq), fault.to_string()])
    }

    /// Nothing further will be done of a request.
    pub fn is_over(&self, seq: u64) {
        self.lock().pending.remove(&seq);
        if let Some(listener) = &*self.listener.lock().unwrap_or_else(PoisonError::into_inner) {
            // Nobody listens any more: nothing is lost, it is all in the ledger.
            let _ = listener.send(seq);
        }
    }

    /// The numbers of requests as they are over. They are few bytes each, and no more than requests.
    pub fn finished(&self) -> mpsc::UnboundedReceiver<u64> {
        let (listener, finished) = mpsc::unbounded_channel();
        *self.listener.lock().unwrap_or_else(PoisonError::into_inner) = Some(listener);
        finished
    }

    /// One request.
    pub fn request(&self, seq: u64) -> Result<Option<Request>, SandboxError> {
        rows::one(&self.lock().db, seq).map_err(|fault| self.unreadable(fault))
    }

    /// A request is no longer under way: its key is free for repetition.
    pub fn release(&self, seq: u64) -> Result<(), SandboxError> {
        self.update("UPDATE idempotency_keys SET under_way = 0 WHERE seq = ?1", params![rows::int(seq)])
    }

    /// The last byte of an answer was written.
    pub fn answered(&self, seq: u64, at_us: u64) -> Result<(), SandboxError> {
        self.update("UPDATE requests SET answered_us = ?2 WHERE seq = ?1", params![rows::int(seq), rows::int(at_us)])
    }

    /// All requests, in order of arrival; an error where they are not all.
    pub fn requests(&self) -> Result<Vec<Request>, SandboxError> {
        if let Some(reason) = self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            return Err(SandboxError::Incomplete { reason });
        }
        rows::all(&self.lock().db).map_err(|fault| self.unreadable(fault))
    }

    fn unreadable(&self, fault: rows::Fault) -> SandboxError {
        match fault {
            rows::Fault::Db(source) => SandboxError::Ledger { doing: "read", path: self.path.clone(), source },
            rows::Fault::Column { seq, column } => SandboxError::Row { seq, path: self.path.clone(), column },
        }
    }

    /// Notes why the ledger is not the whole truth; the first reason stays.
    pub fn incomplete(&self, reason: String) -> SandboxError {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| reason.clone());
        SandboxError::Incomplete { reason }
    }

    fn update(&self, sql: &str, values: impl rusqlite::Params) -> Result<(), SandboxError> {
        let done = self.lock().db.prepare_cached(sql).and_then(|mut update| update.execute(values));
        done.map(|_| ()).map_err(|source| self.failed("write", source))
    }

    fn failed(&self, doing: &'static str, source: rusqlite::Error) -> SandboxError {
        self.incomplete(format!("a request could not be entered: {source}"));
        SandboxError::Ledger { doing, path: self.path.clone(), source }
    }

    /// A panic elsewhere cannot leave a transaction half done: SQLite rolls it back when it is dropped.
    fn lock(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
