//! `finding.json`: all that it takes to bring a finding back, also on another day and after the scenario was changed.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::model::finding::Finding;
use crate::model::life::Life;
use crate::model::scenario::Scenario;
use crate::model::shot::Shot;

use super::error::StoreError;
use super::folder::{is_run, latest_beside};

/// The file's name in the folder of a finding.
pub(super) const FILE_NAME: &str = "finding.json";

/// The name and version of the file's form.
pub const FINDING_SCHEMA: &str = "killpoint.finding/1";

/// A finding with the scenario that showed it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindingFile {
    /// Always [`FINDING_SCHEMA`].
    pub schema: String,
    /// The version of killpoint that wrote it.
    pub killpoint_version: String,
    /// The scenario's file, as it was given; `None` for `killpoint run -- CMD`.
    pub scenario_file: Option<PathBuf>,
    /// The text of that file.
    pub scenario_text: Option<String>,
    /// The folder that the scenario's relative paths start from, absolute.
    pub base_dir: PathBuf,
    /// The seed of the run.
    pub seed: u64,
    /// The names and values of the matrix cell.
    pub cell: Vec<(String, String)>,
    /// The scenario as it was read.
    pub scenario: Scenario,
    /// The finding.
    pub finding: Finding,
    /// Its crash image, where it was shown by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<FindingImage>,
}

/// The crash image that shows a finding; its blobs are in a folder beside the finding's file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindingImage {
    /// Which image.
    pub shot: Shot,
    /// The lives that led to it.
    pub past: Vec<Life>,
}

impl FindingImage {
    /// The folder of its blobs in the folder of a finding.
    #[must_use]
    pub fn store_in(finding: &Path) -> PathBuf {
        finding.join("image")
    }
}

/// Finds a finding and reads it; returns the finding's folder too.
///
/// `asked` is the id of a finding in the latest run (`F1`), a run and an id (`reports/runs/<run>/F1`, or `<run>/F1` for a run in
/// `runs_root`), the folder of a finding or the `finding.json` in it, or a run folder that has just one finding.
///
/// # Errors
///
/// There is no such finding (the error says which there are), or it cannot be read.
pub fn read_finding(asked: &str, runs_root: &Path) -> Result<(PathBuf, FindingFile), StoreError> {
    let path = locate(asked, runs_root)?;
    let text = fs::read(&path).map_err(|source| StoreError::Read { path: path.clone(), source })?;
    let dir = path.parent().unwrap_or(Path::new("")).to_owned();
    let file = serde_json::from_slice(&text).map_err(|source| StoreError::Decode { path, what: "finding", source })?;
    Ok((dir, file))
}

/// The `finding.json` that is meant.
fn locate(asked: &str, runs_root: &Path) -> Result<PathBuf, StoreError> {
    let given = Path::new(asked);
    if given.is_file() {
        return Ok(given.to_owned());
    }
    if given.join(FILE_NAME).is_file() {
        return Ok(given.join(FILE_NAME));
    }
    if is_run(given) {
        return only_one(asked, given);
    }
    let id = given.file_name().map(Path::new).unwrap_or(given);
    let runs = match given.parent().filter(|run| !run.as_os_str().is_empty()) {
        None => vec![latest_beside(runs_root)],
        Some(run) => vec![run.to_owned(), runs_root.join(run)],
    };
    match runs.iter().find(|run| is_run(run)) {
        Some(run) if run.join("findings").join(id).join(FILE_NAME).is_file() => Ok(run.join("findings").join(id).join(FILE_NAME)),
        Some(run) => Err(no_finding(asked, run)),
        None => {
            let looked = format!("there is no run at {}", runs[0].display());
            Err(StoreError::NoFinding { asked: asked.to_owned(), looked })
        }
    }
}

fn only_one(asked: &str, run: &Path) -> Result<PathBuf, StoreError> {
    match ids(run).as_slice() {
        [id] => Ok(run.join("findings").join(id).join(FILE_NAME)),
        _ => Err(no_finding(asked, run)),
    }
}

fn no_finding(asked: &str, run: &Path) -> StoreError {
    let ids = ids(run);
    let there = if ids.is_empty() { "no findings".to_owned() } else { ids.join(", ") };
    StoreError::NoFinding { asked: asked.to_owned(), looked: format!("the run {} has {there}", run.display()) }
}

/// The ids of a run's findings: `F2` before `F10`.
fn ids(run: &Path) -> Vec<String> {
    let entries = fs::read_dir(run.join("findings")).into_iter().flatten().flatten();
    let whole = entries.filter(|entry| entry.path().join(FILE_NAME).is_file());
    let mut ids: Vec<String> = whole.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    ids.sort_by_key(|id| (id.len(), id.clone()));
    ids
}
