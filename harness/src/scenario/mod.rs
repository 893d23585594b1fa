//! Room scenario: reads a scenario's TOML into [`Scenario`] and writes one, with errors that point at file, line and column.
//! It looks at the scenario's own file and folder; it starts nothing.
//!
//! A new key: its field in `file.rs`, its check in `check/`, its line in `write.rs`, a broken example in `tests/broken.rs`.

mod check;
mod command;
mod diagnostics;
mod duration;
mod file;
mod placeholder;
mod schema;
mod syntax;
mod value;
mod write;

#[cfg(test)]
mod tests;

use std::io::Read;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

pub use command::from_command;
pub use diagnostics::ScenarioError;
pub use placeholder::{PlaceholderError, Placeholders};
pub use schema::json_schema;
pub use write::to_toml;

use crate::model::limits::SCENARIO_MAX_BYTES;
use crate::model::scenario::Scenario;
use diagnostics::Problem;
use file::ScenarioFile;

/// Reads a scenario file. Its `dir` is resolved against the file's folder and must be there.
///
/// # Errors
/// The file cannot be read, is too large or not UTF-8, or the scenario in it is wrong.
pub fn load(path: &Path) -> Result<Scenario, ScenarioError> {
    let name = path.display().to_string();
    let text = read(path, &name)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // A symbolic link in the folder's own path must not change where `..` leads.
    let base = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    let (file, scenario) = read_text(&text, &name, &base)?;
    let dir = &scenario.workflow().dir;
    if !dir.is_dir() {
        let at = file.workflow.get_ref().dir.as_ref().map_or(0..0, toml::Spanned::span);
        let problem = Problem::at(at, "the workflow's folder is not there")
            .label(format!("no folder {}", dir.display()))
            .hint("`dir` is relative to the folder of the scenario file");
        return Err(ScenarioError::new(&name, &text, vec![problem]));
    }
    Ok(scenario)
}

/// Reads a scenario's text. `file` is its name for messages; `dir` is resolved against `base`, without looking whether it is there.
///
/// # Errors
/// Everything that is wrong with it, in one error.
pub fn parse(text: &str, file: &str, base: &Path) -> Result<Scenario, ScenarioError> {
    read_text(text, file, base).map(|(_, scenario)| scenario)
}

fn read_text(text: &str, file: &str, base: &Path) -> Result<(ScenarioFile, Scenario), ScenarioError> {
    let fail = |problems| ScenarioError::new(file, text, problems);
    if text.len() as u64 > SCENARIO_MAX_BYTES {
        return Err(ScenarioError::of_file(file, too_large(), None));
    }
    let table = toml::de::Deserializer::parse(text).map_err(|error| fail(vec![syntax::problem(&error, text)]))?;
    let read = ScenarioFile::deserialize(table).map_err(|error| fail(vec![syntax::problem(&error, text)]))?;
    let scenario = check::check(&read, text, base).map_err(fail)?;
    Ok((read, scenario))
}

fn read(path: &Path, name: &str) -> Result<String, ScenarioError> {
    let fail = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => ScenarioError::of_file(name, not_there(path), None),
        _ => ScenarioError::of_file(name, Problem::of_file("the scenario file cannot be read"), Some(error)),
    };
    if path.is_dir() {
        let problem = Problem::of_file("this is a folder, not a scenario file").maybe_hint(files_in(path));
        return Err(ScenarioError::of_file(name, problem, None));
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(fail)?;
    file.take(SCENARIO_MAX_BYTES + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > SCENARIO_MAX_BYTES {
        return Err(ScenarioError::of_file(name, too_large(), None));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let byte = error.as_bytes().get(at).copied().unwrap_or_default();
        let shown = String::from_utf8_lossy(error.as_bytes()).into_owned();
        let problem = Problem::at(at..at + '\u{FFFD}'.len_utf8(), "the scenario file is not UTF-8")
            .label(format!("the byte 0x{byte:02X} cannot stand here"))
            .hint("save the file with the encoding UTF-8");
        ScenarioError::new(name, &shown, vec![problem])
    })
}

fn too_large() -> Problem {
    Problem::of_file(format!("the scenario file is larger than {SCENARIO_MAX_BYTES} bytes")).hint("is this the right file?")
}

fn not_there(path: &Path) -> Problem {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let problem = Problem::of_file("no such file");
    if folder.is_dir() {
        problem.maybe_hint(files_in(folder))
    } else {
        problem.hint(format!("there is no folder {} either", folder.display()))
    }
}

/// The scenario files of a folder, as a hint; at most eight of them.
fn files_in(folder: &Path) -> Option<String> {
    let entries = std::fs::read_dir(folder).ok()?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .filter_map(|path| path.file_name().map(|name| name.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    let left = names.len().saturating_sub(8);
    names.truncate(8);
    let more = if left > 0 { format!(" and {left} more") } else { String::new() };
    (!names.is_empty()).then(|| format!("in {} there are {}{more}", folder.display(), names.join(", ")))
}

/// An absolute path without `.` and `..`.
fn absolute(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}
