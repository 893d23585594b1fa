//! One run folder: made for a new run or taken up again, and the fixed names of what is in it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::model::event::Event;
use crate::model::life::Trial;
use crate::model::limits::SLUG_MAX_CHARS;
use crate::model::report::Report;

use super::atomic::{self, Durability};
use super::error::StoreError;
use super::events::{self, EventLog};
use super::finding::{self, FindingFile};
use super::lock::Lock;

/// A run folder that this process writes to; nobody else can while it lives.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    events: EventLog,
    _lock: Lock,
}

impl RunFolder {
    /// Makes `<utc>-<slug>/` in `root` (with `-2`, `-3`, ... where that is taken) and lets `latest`, beside `root`, point to it.
    ///
    /// # Errors
    ///
    /// The folder or the link cannot be made.
    pub fn create(root: &Path, scenario_name: &str, now: jiff::Timestamp) -> Result<Self, StoreError> {
        fs::create_dir_all(root).map_err(|source| not_begun(root, source))?;
        let stem = format!("{}-{}", now.strftime("%Y%m%dT%H%M%SZ"), slug(scenario_name));
        let (name, path) = make_unique(root, &stem)?;
        let folder = Self::take(path)?;
        let link = latest_beside(root);
        let target = Path::new(root.file_name().unwrap_or_default()).join(name);
        atomic::relink(&target, &link).map_err(|source| not_begun(&link, source))?;
        Ok(folder)
    }

    /// Makes exactly the folder `dir`, which may be there already if it is empty.
    ///
    /// # Errors
    ///
    /// It cannot be made, or holds something.
    pub fn create_at(dir: &Path) -> Result<Self, StoreError> {
        fs::create_dir_all(dir).map_err(|source| not_begun(dir, source))?;
        let mut entries = fs::read_dir(dir).map_err(|source| StoreError::Read { path: dir.to_owned(), source })?;
        if entries.next().is_some() {
            return Err(StoreError::NotEmpty { path: dir.to_owned(), is_run: is_run(dir) });
        }
        Self::take(dir.to_owned())
    }

    /// Takes up a run that was cut off. A torn last line of its events is cut off as well.
    ///
    /// # Errors
    ///
    /// It is not a run folder, is in use, or its events cannot be read.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        if !is_run(dir) {
            return Err(StoreError::NotARun { path: dir.to_owned() });
        }
        Self::take(dir.to_owned())
    }

    fn take(path: PathBuf) -> Result<Self, StoreError> {
        let lock = Lock::take(&path)?;
        for part in ["trials", "findings"] {
            let part = path.join(part);
            fs::create_dir_all(&part).map_err(|source| not_begun(&part, source))?;
        }
        let events = EventLog::open(&path)?;
        Ok(Self { path, events, _lock: lock })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends one event to `events.jsonl`, by one write. May be called from several threads.
    ///
    /// # Errors
    ///
    /// It cannot be written; nothing of it stays in the file.
    pub fn append(&self, event: &Event) -> Result<(), StoreError> {
        self.events.append(event)
    }

    /// All events so far, in order.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or one of its whole lines is not an event.
    pub fn events(&self) -> Result<Vec<Event>, StoreError> {
        self.events.read_and_cut()
    }

    /// Writes a trial to `trials/c0-t000012.json` (cell 0, trial 12).
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn write_trial(&self, cell: usize, trial: u64, value: &Trial) -> Result<(), StoreError> {
        let name = format!("trials/c{cell}-t{trial:06}.json");
        self.write_json(&name, &format!("trial {trial} of cell {cell}"), value, Durability::Process)
    }

    /// Writes the trial of a state to `trials/c0-s0123456789abcdef.json` (cell 0, the beginning of the state's digest).
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn write_state(&self, cell: usize, state: &str, value: &Trial) -> Result<(), StoreError> {
        let state: String = state.chars().take(STATE_NAME_CHARS).collect();
        check_name(&state)?;
        self.write_json(
            &format!("trials/c{cell}-s{state}.json"),
            &format!("state {state} of cell {cell}"),
            value,
            Durability::Process,
        )
    }

    /// Where the crash images of a run are kept while it goes on.
    #[must_use]
    pub fn images_dir(&self) -> PathBuf {
        self.path.join("images")
    }

    /// Removes the crash images.
    ///
    /// # Errors
    ///
    /// They cannot be removed.
    pub fn remove_images(&self) -> Result<(), StoreError> {
        let dir = self.images_dir();
        match fs::remove_dir_all(&dir) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(self.write_failed(&dir, "nothing; images that are left over", source))
            }
            _ => Ok(()),
        }
    }

    /// Writes `report.json`.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn write_report(&self, report: &Report) -> Result<(), StoreError> {
        self.write_json("report.json", "the report", report, Durability::Disk)
    }

    /// Writes a text to a file of the run folder (`junit.xml`, `scenario.toml`).
    ///
    /// # Errors
    ///
    /// The name is more than a plain file name, or the file cannot be written.
    pub fn write_text(&self, name: &str, text: &str) -> Result<(), StoreError> {
        check_name(name)?;
        self.write(name, name, text.as_bytes(), Durability::Disk)
    }

    /// The folder of a finding, `findings/F1/`; made where it is missing.
    ///
    /// # Errors
    ///
    /// The id is not a plain name, or the folder cannot be made.
    pub fn finding_dir(&self, id: &str) -> Result<PathBuf, StoreError> {
        check_name(id)?;
        let dir = self.path.join("findings").join(id);
        fs::create_dir_all(&dir).map_err(|source| self.write_failed(&dir, &format!("finding {id}"), source))?;
        Ok(dir)
    }

    /// Removes all findings: those of a run that was cut off, before they are made anew.
    ///
    /// # Errors
    ///
    /// They cannot be removed.
    pub fn clear_findings(&self) -> Result<(), StoreError> {
        let dir = self.path.join("findings");
        match fs::remove_dir_all(&dir) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(self.write_failed(&dir, "the old findings", source)),
            _ => Ok(()),
        }
    }

    /// Writes `findings/F1/finding.json`: all that it takes to bring the finding back.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn write_finding(&self, value: &FindingFile) -> Result<(), StoreError> {
        let id = &value.finding.id;
        self.finding_dir(id)?;
        let name = format!("findings/{id}/{}", finding::FILE_NAME);
        self.write_json(&name, &format!("finding {id}"), value, Durability::Disk)
    }

    fn write_json<T: Serialize>(&self, name: &str, what: &str, value: &T, durability: Durability) -> Result<(), StoreError> {
        let encoded = serde_json::to_string_pretty(value);
        let mut text = encoded.map_err(|source| StoreError::Encode { what: what.to_owned(), source })?;
        text.push('\n');
        self.write(name, what, text.as_bytes(), durability)
    }

    fn write(&self, name: &str, what: &str, bytes: &[u8], durability: Durability) -> Result<(), StoreError> {
        let path = self.path.join(name);
        atomic::write(&path, bytes, durability).map_err(|source| self.write_failed(&path, what, source))
    }

    fn write_failed(&self, path: &Path, lost: &str, source: io::Error) -> StoreError {
        StoreError::Write { path: path.to_owned(), lost: lost.to_owned(), run: Some(self.path.clone()), source }
    }
}

/// Reads the report of a finished run, by its folder or by the file.
///
/// # Errors
///
/// There is none, or it is not a report.
pub fn read_report(run: &Path) -> Result<Report, StoreError> {
    let path = if run.is_dir() { run.join("report.json") } else { run.to_owned() };
    let text = fs::read(&path).map_err(|source| StoreError::Read { path: path.clone(), source })?;
    serde_json::from_slice(&text).map_err(|source| StoreError::Decode { path, what: "report", source })
}

/// Characters of a state's digest in the name of its trial's file.
const STATE_NAME_CHARS: usize = 16;

/// The link to the latest run: beside the folder of runs.
pub(super) fn latest_beside(root: &Path) -> PathBuf {
    root.parent().unwrap_or(Path::new("")).join("latest")
}

/// Whether a folder is a run folder.
pub(super) fn is_run(dir: &Path) -> bool {
    dir.join(events::FILE_NAME).exists()
}

/// Makes a folder that was not there before, so that two runs of one second do not share one.
fn make_unique(root: &Path, stem: &str) -> Result<(String, PathBuf), StoreError> {
    for number in 1_u64.. {
        let name = if number == 1 { stem.to_owned() } else { format!("{stem}-{number}") };
        let path = root.join(&name);
        match fs::create_dir(&path) {
            Ok(()) => return Ok((name, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(not_begun(&path, source)),
        }
    }
    unreachable!("a folder cannot hold 2^64 entries")
}

/// A scenario's name as part of a file's name.
fn slug(name: &str) -> String {
    let lower = name.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let slug: String = words.join("-").chars().take(SLUG_MAX_CHARS).collect();
    if slug.is_empty() { "run".to_owned() } else { slug.trim_end_matches('-').to_owned() }
}

/// Refuses a name that would lead out of the run folder.
fn check_name(name: &str) -> Result<(), StoreError> {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if plain && !name.is_empty() && !name.starts_with('.') { Ok(()) } else { Err(StoreError::BadName { name: name.to_owned() }) }
}

fn not_begun(path: &Path, source: io::Error) -> StoreError {
    StoreError::Write { path: path.to_owned(), lost: "nothing; the run did not begin".to_owned(), run: None, source }
}
