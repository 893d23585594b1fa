//! The lock of a run folder: one killpoint at a time, and whoever is turned away is told who is in.
//!
//! The lock is the kernel's (`flock`), so it ends with the process that holds it, however that ends; the file's text only says who it is.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::StoreError;

/// Who holds a run folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// Since when, in UTC, RFC 3339.
    pub since: String,
    /// Its version of killpoint.
    pub version: String,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.pid == 0 {
            return f.write_str("another killpoint");
        }
        write!(f, "killpoint {}, process {}, since {}", self.version, self.pid, self.since)
    }
}

/// A lock that is held; it is given back when this is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of a run folder.
    pub(super) fn take(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join("run.lock");
        let failed = |source| StoreError::Write {
            path: path.clone(),
            lost: "nothing; the run did not begin".to_owned(),
            run: None,
            source,
        };
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Locked { path: folder.to_owned(), holder: holder_of(&mut file) });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let own = Holder {
            pid: std::process::id(),
            since: jiff::Timestamp::now().to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        sign(&mut file, &own).map_err(failed)?;
        Ok(Self { _file: file })
    }
}

fn sign(file: &mut File, own: &Holder) -> io::Result<()> {
    let mut text = serde_json::to_string(own)?;
    text.push('\n');
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(text.as_bytes())
}

/// Reads who holds the lock. Between taking the lock and signing it the file may still be empty; then nothing is known of the holder.
fn holder_of(file: &mut File) -> Holder {
    let mut text = String::new();
    let read = file.read_to_string(&mut text).ok().and_then(|_| serde_json::from_str(&text).ok());
    read.unwrap_or(Holder { pid: 0, since: String::new(), version: String::new() })
}
