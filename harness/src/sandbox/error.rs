//! What can go wrong in the sandbox itself.

use std::path::PathBuf;

/// Why the sandbox cannot play the outside world, or why its ledger is no evidence.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// No port of the loopback interface could be had.
    #[error("cannot listen on {addr}")]
    Listen {
        /// The address asked for.
        addr: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The ledger could not be opened.
    #[error("cannot open the ledger {path}", path = path.display())]
    Open {
        /// The ledger's file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// The ledger could not be read or written.
    #[error("cannot {doing} the ledger {path}", path = path.display())]
    Ledger {
        /// `read` or `write`.
        doing: &'static str,
        /// The ledger's file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// A row of the ledger does not say what a ledger says: something else has written to it.
    #[error("request {seq} of the ledger {path} cannot be read: its {column} is not valid", path = path.display())]
    Row {
        /// The request's number.
        seq: u64,
        /// The ledger's file.
        path: PathBuf,
        /// The column.
        column: &'static str,
    },
    /// A write had failed or a limit been hit before: the ledger is not the whole truth.
    #[error("the ledger is not complete: {reason}")]
    Incomplete {
        /// What happened first.
        reason: String,
    },
}
