//! Messages for somebody else to pick up: a file with one line of JSON for each. A line is appended by one write.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Invoice, Result};

/// A file of messages.
pub struct Messages {
    path: PathBuf,
}

impl Messages {
    /// The messages at a path; the file need not be there yet.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Whether there is one for an invoice.
    pub fn has(&self, invoice: &Invoice) -> Result<bool> {
        let text = match std::fs::read_to_string(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            other => other.map_err(|error| format!("{}: {error}", self.path.display()))?,
        };
        let own = |line: &str| serde_json::from_str::<Value>(line).is_ok_and(|message| message["invoice"] == invoice.id.as_str());
        Ok(text.lines().any(own))
    }

    /// Adds one, and waits until the line is on the disk.
    pub fn append(&self, invoice: &Invoice) -> Result<()> {
        let line = json!({ "invoice": invoice.id, "cents": invoice.cents });
        let append = || {
            let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
            file.write_all(format!("{line}\n").as_bytes())?;
            file.sync_all()
        };
        append().map_err(|error| format!("{}: {error}", self.path.display()).into())
    }
}
