//! A virtual environment of Python for a test, with what a file of pinned versions names. It is kept below `target/` under a name made of
//! what the file says, so that it is made once and again only when a version changes.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::root;

/// The folder of programs of the environment that a file of pinned versions describes; the path is relative to the project.
pub fn programs(requirements: &str) -> PathBuf {
    let requirements = root().join(requirements);
    let text = fs::read_to_string(&requirements).unwrap_or_else(|error| panic!("{}: {error}", requirements.display()));
    let mut hash = DefaultHasher::new();
    text.hash(&mut hash);
    let folder = root().join("target/venvs").join(format!("{:016x}", hash.finish()));
    fs::create_dir_all(&folder).expect("a folder below target/");
    // Tests of one build and of others may want it at once: one makes it, the rest wait for the lock.
    let lock = File::create(folder.join("lock")).expect("a lock");
    lock.lock().expect("the lock");
    let (venv, done) = (folder.join("venv"), folder.join("done"));
    if !done.exists() {
        make(&venv, &requirements);
        File::create(done).expect("a mark");
    }
    venv.join("bin")
}

fn make(venv: &Path, requirements: &Path) {
    // What a cut-off attempt has left.
    let _ = fs::remove_dir_all(venv);
    carry_out(
        Command::new("python3").args(["-m", "venv"]).arg(venv),
        "these tests need Python 3 with venv: `apt-get install python3 python3-venv`",
    );
    let mut install = Command::new(venv.join("bin/python"));
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]).arg(requirements);
    carry_out(&mut install, "the packages come from PyPI, which has to be within reach the first time");
}

/// Runs a command that sets something up; where it fails, what it said and what helps.
pub fn carry_out(command: &mut Command, hint: &str) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}\nhint: {hint}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}hint: {hint}", output.status);
}
