//! Effects that are no requests, read out of a world when nobody lives in it any more: rows that a query gives, lines of a file.
//!
//! A witness changes nothing: an SQLite database is read as a copy, with the log and the journal that belong to it; a server in a
//! transaction that only reads.

mod lines;
mod rows;
mod server;

use std::fs;
use std::io;
use std::path::Path;

pub use lines::lines;
pub use rows::rows;
pub use server::server_rows;

use crate::model::limits::WITNESS_MAX_BYTES;

/// Why effects could not be read, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// They cannot have happened yet: the file or the table is not there.
    #[error("{0}")]
    Absent(String),
    /// It cannot be said what is there.
    #[error("{0}")]
    Unreadable(String),
}

/// A query on one line.
fn one_line(query: &str) -> String {
    query.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The length of a plain file that is not too large, in bytes. `shown` is its name for people.
fn length(path: &Path, shown: &str) -> Result<u64, Unread> {
    let unreadable = |what: String| Err(Unread::Unreadable(format!("{shown} {what}")));
    match fs::metadata(path) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(Unread::Absent(format!("{shown} is not there")))
        }
        Err(error) => unreadable(format!("cannot be looked at: {error}")),
        Ok(found) if !found.is_file() => unreadable("is not a file".to_owned()),
        Ok(found) if found.len() > WITNESS_MAX_BYTES => unreadable(format!("is larger than {WITNESS_MAX_BYTES} bytes")),
        Ok(found) => Ok(found.len()),
    }
}
