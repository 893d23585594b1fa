//! The plainest journal: a file with a line for each invoice that is done. A line is appended by one write.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use super::Result;

/// A file with a line for each invoice that is done.
pub struct DoneLog {
    path: PathBuf,
}

impl DoneLog {
    /// The journal at a path; the file need not be there yet.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Whether it names an invoice.
    pub fn has(&self, invoice: &str) -> Result<bool> {
        match std::fs::read_to_string(&self.path) {
            Ok(text) => Ok(text.lines().any(|line| line == invoice)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(format!("{}: {error}", self.path.display()).into()),
        }
    }

    /// Adds an invoice, and waits until the line is on the disk.
    pub fn add(&self, invoice: &str) -> Result<()> {
        let append = || {
            let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
            file.write_all(format!("{invoice}\n").as_bytes())?;
            file.sync_all()
        };
        append().map_err(|error| format!("{}: {error}", self.path.display()).into())
    }
}
