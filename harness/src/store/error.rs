//! What can go wrong with a run folder, said so that a person can go on: which file, what was lost, and the way back.

use std::io;
use std::path::{Path, PathBuf};

use super::lock::Holder;

/// Why the run folder could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Writing failed (a full disk, a missing permission).
    #[error("cannot write {}; lost: {lost}", path.display())]
    Write {
        /// The file that is not written.
        path: PathBuf,
        /// What is not on record because of it.
        lost: String,
        /// The run folder, where one is open: the run can be taken up again from it.
        run: Option<PathBuf>,
        /// What the system says.
        source: io::Error,
    },
    /// Reading failed.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A value cannot be written as JSON.
    #[error("cannot write {what} as JSON")]
    Encode {
        /// What it is.
        what: String,
        /// Why.
        source: serde_json::Error,
    },
    /// A file is not what killpoint writes.
    #[error("{} is not a {what} of killpoint", path.display())]
    Decode {
        /// The file.
        path: PathBuf,
        /// What it should be.
        what: &'static str,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A line of `events.jsonl`, not the torn last one, cannot be read.
    #[error("{}, line {line}: not an event of killpoint", path.display())]
    Event {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The folder for a new run holds something already.
    #[error("{} is not empty", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
        /// Whether it is a run folder.
        is_run: bool,
    },
    /// The folder is not a run folder.
    #[error("{} is not a run folder: it has no events.jsonl", path.display())]
    NotARun {
        /// The folder.
        path: PathBuf,
    },
    /// Another killpoint is at work in the folder.
    #[error("{} is in use by {holder}", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
        /// Who holds it.
        holder: Holder,
    },
    /// A name that is to become a file's holds something else than letters, digits, `-`, `_` and `.`.
    #[error("`{name}` cannot be the name of a file in a run folder")]
    BadName {
        /// The name.
        name: String,
    },
    /// There is no such finding.
    #[error("no finding `{asked}`: {looked}")]
    NoFinding {
        /// What was asked for.
        asked: String,
        /// Where it was looked for and what is there instead.
        looked: String,
    },
}

impl StoreError {
    /// What a person can do about it, for a line that starts with `hint:`.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let resume = |dir: &Path| format!("`killpoint run --resume {}`", dir.display());
        match self {
            Self::Write { run: Some(run), source, .. } if is_full(source) => {
                Some(format!("make room on that disk, then go on with {}; all before it is kept", resume(run)))
            }
            Self::Write { run: Some(run), .. } => {
                Some(format!("see to that file, then go on with {}; all before it is kept", resume(run)))
            }
            Self::Write { run: None, .. } => Some("choose another folder with `--out DIR`".to_owned()),
            Self::Event { .. } => Some("the file was changed by something else; begin a new run".to_owned()),
            Self::NotEmpty { path, is_run: true } => {
                Some(format!("it is a run folder: go on with {}, or give another folder to `--out`", resume(path)))
            }
            Self::NotEmpty { is_run: false, .. } => Some("give a new or an empty folder to `--out`".to_owned()),
            Self::NotARun { .. } => Some("give the folder that `killpoint run` named when it started".to_owned()),
            Self::Locked { .. } => Some("wait for it to end, or give another folder to `--out`".to_owned()),
            Self::NoFinding { .. } => Some("give `F1`, `RUN/F1`, or the folder of a finding".to_owned()),
            Self::Read { .. } | Self::Encode { .. } | Self::Decode { .. } | Self::BadName { .. } => None,
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
