//! `run.json` in a run folder: what the run was asked to do, so that a run that was cut off is taken up as the same one.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use killpoint::campaign::Source;
use killpoint::model::exit::Exit;
use killpoint::model::scenario::Scenario;
use killpoint::model::schedule::Schedule;
use killpoint::store::RunFolder;

use super::failure::Failure;

/// The file's name.
const FILE_NAME: &str = "run.json";
/// The name and version of its form.
const SCHEMA: &str = "killpoint.run/1";

/// What a run was asked to do, with all flags applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    schema: String,
    /// The scenario, with what the flags changed.
    pub scenario: Scenario,
    /// Its file, as it was given.
    pub scenario_file: Option<PathBuf>,
    /// The text of that file.
    pub scenario_text: String,
    /// Only this schedule.
    pub at: Option<Schedule>,
    /// Only the cells that have these values.
    pub only: Vec<(String, String)>,
}

impl Record {
    /// Takes down what a new run is asked to do.
    pub fn new(scenario: Scenario, source: Source, at: Option<Schedule>, only: Vec<(String, String)>) -> Self {
        Self { schema: SCHEMA.to_owned(), scenario, scenario_file: source.file, scenario_text: source.text, at, only }
    }

    /// Where the scenario came from.
    pub fn source(&self) -> Source {
        Source { file: self.scenario_file.clone(), text: self.scenario_text.clone() }
    }

    /// Writes it to the folder of a new run, with the scenario's text beside it for people.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn write(&self, folder: &RunFolder) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| Failure::new(Exit::Bug, format!("{FILE_NAME} cannot be made")).cause(error))?;
        folder.write_text(FILE_NAME, &format!("{text}\n"))?;
        Ok(folder.write_text("scenario.toml", &self.scenario_text)?)
    }

    /// Reads it from the folder of a run that was cut off.
    ///
    /// # Errors
    /// It is not there, or not what killpoint writes.
    pub fn read(run: &Path) -> Result<Self, Failure> {
        let path = run.join(FILE_NAME);
        let text = std::fs::read(&path).map_err(|error| {
            Failure::usage(format!("{} cannot be taken up: cannot read {}", run.display(), path.display()))
                .cause(error)
                .hint("give the folder that `killpoint run` named when it started")
        })?;
        let wrong = |error: &dyn std::fmt::Display| {
            let told = format!("{} cannot be taken up: {} is not a {SCHEMA} of killpoint", run.display(), path.display());
            Failure::usage(told).cause(error).hint("begin a new run")
        };
        let record: Self = serde_json::from_slice(&text).map_err(|error| wrong(&error))?;
        if record.schema != SCHEMA {
            return Err(wrong(&format!("its schema is `{}`", super::terminal::washed(&record.schema))));
        }
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_was_asked_to_do_is_read_back_from_its_folder() {
        let base = tempfile::tempdir().unwrap();
        let folder = RunFolder::create_at(&base.path().join("run")).unwrap();
        let scenario = killpoint::scenario::from_command(&["true".to_owned()], Path::new("/"));
        let source = Source { file: None, text: killpoint::scenario::to_toml(&scenario) };
        let at = Some("charge#1:answered kill".parse().unwrap());
        let record = Record::new(scenario, source, at, vec![("durability".to_owned(), "sync".to_owned())]);
        record.write(&folder).unwrap();
        assert_eq!(Record::read(folder.path()).unwrap(), record);
        assert_eq!(std::fs::read_to_string(folder.path().join("scenario.toml")).unwrap(), record.scenario_text);
    }

    #[test]
    fn a_folder_without_it_or_with_a_newer_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Record::read(folder.path()).expect_err("there is none").exit, Exit::Usage);
        let scenario = killpoint::scenario::from_command(&["true".to_owned()], Path::new("/"));
        let mut record = Record::new(scenario, Source { file: None, text: String::new() }, None, Vec::new());
        record.schema = "killpoint.run/2".to_owned();
        std::fs::write(folder.path().join(FILE_NAME), serde_json::to_string(&record).unwrap()).unwrap();
        let told = Record::read(folder.path()).expect_err("a newer one").render(false);
        assert!(told.contains("its schema is `killpoint.run/2`"), "{told}");
    }
}
