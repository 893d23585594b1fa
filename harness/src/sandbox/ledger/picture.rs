//! Pictures of the ledger: its bytes as they stand at an instant, and as they would stand if what is pending had been executed.

use std::sync::Arc;

use rusqlite::{Connection, MAIN_DB};

use super::super::error::SandboxError;
use super::super::profile::Rules;
use super::super::request::Arrived;
use super::execute::Clock;
use super::{Ledger, execute};

/// The ledger at an instant, as the bytes of a database file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// As it stands.
    pub as_is: Vec<u8>,
    /// As it stands once the requests that had arrived by then are executed; `None` where there was none.
    pub settled: Option<Vec<u8>>,
}

impl Ledger {
    /// Takes a picture. `but` is a request that is at the moment of its arrival: the picture is of the time before it is executed.
    pub fn picture(&self, but: Option<u64>) -> Result<Picture, SandboxError> {
        let failed = |source| SandboxError::Ledger { doing: "copy", path: self.path.clone(), source };
        let (as_is, pending, life) = {
            let mut desk = self.lock();
            let pending: Vec<(u64, Arc<Arrived>)> = desk
                .pending
                .iter()
                .filter(|(seq, _)| Some(**seq) != but)
                .map(|(seq, arrived)| (*seq, Arc::clone(arrived)))
                .collect();
            (desk.db.serialize(MAIN_DB).map_err(failed)?.to_vec(), pending, desk.life)
        };
        let settled = if pending.is_empty() {
            None
        } else {
            Some(settle(&as_is, &pending, self.clock(self.now_us(), life), self.rules).map_err(failed)?)
        };
        Ok(Picture { as_is, settled })
    }
}

/// Executes what is pending in a copy that lives in memory.
fn settle(bytes: &[u8], pending: &[(u64, Arc<Arrived>)], clock: Clock, rules: &Rules) -> Result<Vec<u8>, rusqlite::Error> {
    let mut db = in_memory(bytes)?;
    for (seq, arrived) in pending {
        execute::execute(&mut db, *seq, arrived, clock, rules)?;
    }
    Ok(db.serialize(MAIN_DB)?.to_vec())
}

/// A copy of a database that lives in memory.
pub(super) fn in_memory(bytes: &[u8]) -> Result<Connection, rusqlite::Error> {
    let mut bytes = bytes.to_vec();
    // A database in memory has no write-ahead log: bytes 18 and 19 of the header say which versions of the format read and write it
    // (sqlite.org/fileformat2.html, section 1.3), and 1 is the one without. The next one who opens the file sets its mode anew.
    if let Some(versions) = bytes.get_mut(18..20) {
        versions.fill(1);
    }
    let mut db = Connection::open_in_memory()?;
    db.deserialize_read_exact(MAIN_DB, bytes.as_slice(), bytes.len(), false)?;
    Ok(db)
}
