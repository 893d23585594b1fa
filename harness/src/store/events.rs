//! `events.jsonl`: one JSON line for each event, appended as it happens, so that the end of killpoint itself loses nothing.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::model::event::Event;

use super::error::StoreError;

/// The file's name in a run folder.
pub(super) const FILE_NAME: &str = "events.jsonl";

/// The events of a run, open to be appended to.
#[derive(Debug)]
pub(super) struct EventLog {
    path: PathBuf,
    run: PathBuf,
    tail: Mutex<Tail>,
}

#[derive(Debug)]
struct Tail {
    file: File,
    /// Length of the whole lines, in bytes.
    whole: u64,
    /// Whether a write failed, so that part of a line may stand behind them.
    torn: bool,
}

impl EventLog {
    /// Opens the file of a run folder, makes it where it is missing, and cuts off a torn last line.
    pub(super) fn open(run: &Path) -> Result<Self, StoreError> {
        let path = run.join(FILE_NAME);
        let opened = OpenOptions::new().append(true).create(true).open(&path);
        let file = opened.map_err(|source| write_failed(&path, "nothing; the run did not begin", run, source))?;
        let log = Self { path, run: run.to_owned(), tail: Mutex::new(Tail { file, whole: 0, torn: true }) };
        if log.is_regular()? {
            log.read_and_cut()?;
        }
        Ok(log)
    }

    /// Appends one event by one write. What has been appended survives the end of this process, not the loss of power.
    pub(super) fn append(&self, event: &Event) -> Result<(), StoreError> {
        let lost = || lost_with(event);
        let mut line = serde_json::to_string(event).map_err(|source| StoreError::Encode { what: lost(), source })?;
        line.push('\n');
        let mut tail = self.tail();
        if let Err(source) = append_line(&mut tail, line.as_bytes()) {
            return Err(write_failed(&self.path, &lost(), &self.run, source));
        }
        Ok(())
    }

    /// All events so far. A torn last line is cut off the file.
    pub(super) fn read_and_cut(&self) -> Result<Vec<Event>, StoreError> {
        let mut tail = self.tail();
        let (events, whole) = read_whole_lines(&self.path)?;
        tail.whole = whole;
        if let Err(source) = mend(&mut tail) {
            return Err(write_failed(&self.path, "nothing; a torn last line is still there", &self.run, source));
        }
        Ok(events)
    }

    fn is_regular(&self) -> Result<bool, StoreError> {
        let metadata = self.tail().file.metadata();
        Ok(metadata.map_err(|source| StoreError::Read { path: self.path.clone(), source })?.is_file())
    }

    /// A thread that died while appending leaves a torn line at worst, and that is mended before the next one.
    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn append_line(tail: &mut Tail, line: &[u8]) -> io::Result<()> {
    if tail.torn && tail.file.metadata()?.is_file() {
        mend(tail)?;
    }
    tail.torn = true;
    tail.file.write_all(line)?;
    tail.torn = false;
    tail.whole += line.len() as u64;
    Ok(())
}

/// Cuts off what stands behind the whole lines.
fn mend(tail: &mut Tail) -> io::Result<()> {
    if tail.file.metadata()?.len() != tail.whole {
        tail.file.set_len(tail.whole)?;
    }
    tail.torn = false;
    Ok(())
}

/// The events of a run folder, which may be in use; nothing in it is changed. A torn last line is left out.
///
/// # Errors
///
/// The file cannot be read, or one of its whole lines is not an event.
pub fn read_events(run: &Path) -> Result<Vec<Event>, StoreError> {
    read_whole_lines(&run.join(FILE_NAME)).map(|(events, _)| events)
}

/// The events of all lines that end with a newline, and the length of those lines in bytes.
fn read_whole_lines(path: &Path) -> Result<(Vec<Event>, u64), StoreError> {
    let bytes = std::fs::read(path).map_err(|source| StoreError::Read { path: path.to_owned(), source })?;
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let mut events = Vec::new();
    for (index, line) in bytes[..whole].split_inclusive(|&byte| byte == b'\n').enumerate() {
        let event = serde_json::from_slice(line);
        events.push(event.map_err(|source| StoreError::Event { path: path.to_owned(), line: index + 1, source })?);
    }
    Ok((events, whole as u64))
}

fn write_failed(path: &Path, lost: &str, run: &Path, source: io::Error) -> StoreError {
    StoreError::Write { path: path.to_owned(), lost: lost.to_owned(), run: Some(run.to_owned()), source }
}

/// What is not on record when this event is not.
fn lost_with(event: &Event) -> String {
    match event {
        Event::RunStarted { .. } => "the start of the run".to_owned(),
        Event::SetupStarted { .. } | Event::SetupFinished => "a note about the setup".to_owned(),
        Event::CellStarted { cell, .. } => format!("the start of cell {cell}"),
        Event::BaselineFinished { cell, .. } => format!("the clean run of cell {cell}"),
        Event::Planned { cell, .. } => format!("the plan of cell {cell}"),
        Event::Recorded { cell, reel } => format!("the recording `{}` of cell {cell}", reel.interleaving),
        Event::StateTried { cell, state } => format!("the result of state {} of cell {cell}", state.state),
        Event::TrialFinished(record) => format!("the result of trial {} of cell {}", record.trial, record.cell),
        Event::FindingMade { finding, .. } => format!("finding {}", finding.id),
        Event::CellFinished { cell, .. } => format!("the summary of cell {cell}"),
        Event::Warning { .. } => "a warning".to_owned(),
        Event::Interrupted => "the note that the run was interrupted".to_owned(),
        Event::RunFinished => "the note that the run is over".to_owned(),
    }
}
