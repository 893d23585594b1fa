//! Makes commands ready: placeholders filled, the program found, the environment set.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::model::scenario::Role;
use crate::scenario::{PlaceholderError, Placeholders};

/// A command that is ready to run.
#[derive(Clone, Debug)]
pub struct Command {
    /// The program, an absolute path.
    pub program: PathBuf,
    /// All arguments, the program's name first.
    pub argv: Vec<OsString>,
}

/// Why a command cannot be made ready.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// A placeholder is not known.
    #[error("a placeholder cannot be filled")]
    Placeholder(#[source] PlaceholderError),
    /// The program is not there.
    #[error("the program `{program}` was not found")]
    NotFound {
        /// The program, as it was written.
        program: String,
    },
}

impl CommandError {
    /// How to get what is missing, for programs that people often lack.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let Self::NotFound { program } = self else { return None };
        let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy().into_owned();
        Some(match name.as_str() {
            "python3" | "python" | "pip" | "pip3" => "on Debian: apt-get install python3 python3-venv".to_owned(),
            "node" | "npm" | "npx" => "on Debian: apt-get install nodejs npm".to_owned(),
            "cargo" | "rustc" => {
                "Rust's installer is described at https://rustup.rs; on Debian: apt-get install cargo".to_owned()
            }
            "uv" => "on any machine with Python: pip install uv".to_owned(),
            _ if program.contains('/') => "a path is taken relative to `dir`; is it built?".to_owned(),
            _ => "it is looked for in PATH; write its path, or set PATH in `env`".to_owned(),
        })
    }
}

/// The environment of a life: killpoint's own, the trial's folders (`TMPDIR`, `HOME`), what killpoint gives to programs of
/// its own, then what the scenario sets.
///
/// # Errors
/// A placeholder is not known.
pub fn environment(
    role: &Role,
    places: &Placeholders,
    folders: &[(&str, &Path)],
    given: &[(&str, &str)],
) -> Result<Vec<(OsString, OsString)>, CommandError> {
    let own = |name: &OsStr| name.to_string_lossy().starts_with("KILLPOINT_");
    let mut env: Vec<(OsString, OsString)> = std::env::vars_os().filter(|(name, _)| !own(name)).collect();
    let mut set = |name: &str, value: OsString| {
        env.retain(|(other, _)| other != name);
        env.push((name.into(), value));
    };
    for (name, folder) in folders {
        set(name, (*folder).into());
    }
    for (name, value) in given {
        set(name, (*value).into());
    }
    for (name, value) in &role.env {
        set(name, places.fill(value).map_err(CommandError::Placeholder)?.into());
    }
    Ok(env)
}

/// Fills a command's placeholders and finds its program. `outside` says where a path of a life is for us.
///
/// # Errors
/// A placeholder is not known, or the program is not there.
pub fn ready(
    argv: &[String],
    dir: &Path,
    env: &[(OsString, OsString)],
    places: &Placeholders,
    outside: &dyn Fn(&Path) -> PathBuf,
) -> Result<Command, CommandError> {
    let filled: Result<Vec<String>, _> = argv.iter().map(|argument| places.fill(argument)).collect();
    let filled = filled.map_err(CommandError::Placeholder)?;
    let name = filled.first().cloned().unwrap_or_default();
    let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone()).unwrap_or_default();
    let program = find(&name, dir, &path, outside).ok_or(CommandError::NotFound { program: name })?;
    Ok(Command { program, argv: filled.into_iter().map(Into::into).collect() })
}

fn find(name: &str, dir: &Path, path: &OsStr, outside: &dyn Fn(&Path) -> PathBuf) -> Option<PathBuf> {
    let runs = |file: &Path| outside(file).metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
    if name.contains('/') {
        return Some(dir.join(name)).filter(|file| runs(file));
    }
    if name.is_empty() {
        return None;
    }
    std::env::split_paths(path).map(|folder| dir.join(folder).join(name)).find(|file| runs(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_as_a_shell_would_find_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("tool");
        std::fs::write(&file, "").unwrap();
        assert_eq!(find("./tool", dir.path(), "".as_ref(), &Path::to_owned), None, "it may not be run");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(
            find("./tool", dir.path(), "".as_ref(), &Path::to_owned).map(|found| found.canonicalize().unwrap()),
            file.canonicalize().ok()
        );
        assert_eq!(find("tool", Path::new("/"), dir.path().as_os_str(), &Path::to_owned), Some(file));
        assert_eq!(find("tool", Path::new("/"), "/nowhere".as_ref(), &Path::to_owned), None);
    }

    #[test]
    fn a_missing_program_says_how_to_get_it() {
        let error = CommandError::NotFound { program: "python3".to_owned() };
        assert!(error.hint().unwrap().contains("apt-get install python3"));
    }
}
