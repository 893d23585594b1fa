//! The files of the repository: those that git knows or would take, read once. Without git, all but what is made by building.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use super::tokens::{self, Token};

/// Folders that are passed over where git cannot be asked.
const MADE_BY_BUILDING: [&str; 7] = [".git", "target", "runs", "latest", "__pycache__", ".venv", "node_modules"];

/// A text file.
#[derive(Clone, Debug)]
pub struct File {
    /// Its path from the root of the repository, with `/`.
    pub path: String,
    /// What is in it.
    pub text: String,
}

impl File {
    /// A file that need not be on any disk.
    pub fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    /// Whether it is Rust.
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether it stands below this folder (`harness/src/`).
    pub fn is_below(&self, folder: &str) -> bool {
        self.path.starts_with(folder)
    }

    /// Whether a tool wrote it to pin versions; such files name registries.
    pub fn is_lock_file(&self) -> bool {
        let name = self.name();
        name.ends_with(".lock") || matches!(name, "package-lock.json" | "pnpm-lock.yaml" | "go.sum")
    }

    /// Whether all of it is test code: the tests of the gate, and what a room names tests.
    pub fn is_test(&self) -> bool {
        self.is_rust() && self.path.split('/').any(|part| part == "tests" || part == "tests.rs")
    }

    /// The last part of its path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// The folder it stands in, with a `/` at the end, or nothing at the root.
    pub fn folder(&self) -> &str {
        self.path.rfind('/').map_or("", |at| &self.path[..=at])
    }

    /// Its text in tokens, without comments.
    pub fn tokens(&self) -> Vec<Token> {
        tokens::read(&self.path, &self.text)
    }
}

/// All paths of the repository, and the text files among them.
struct Tree {
    paths: BTreeSet<String>,
    files: Vec<File>,
}

static TREE: LazyLock<Tree> = LazyLock::new(|| {
    let paths = ask_git().unwrap_or_else(walk);
    let read = |path: &String| fs::read(root().join(path)).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let files = paths.iter().filter_map(|path| read(path).map(|text| File { path: path.clone(), text })).collect();
    Tree { paths, files }
});

/// The text files of the repository.
pub fn files() -> &'static [File] {
    &TREE.files
}

/// One of them.
pub fn file(path: &str) -> Option<&'static File> {
    files().iter().find(|file| file.path == path)
}

/// The paths of all files of the repository, those that are no text included.
pub fn paths() -> &'static BTreeSet<String> {
    &TREE.paths
}

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn ask_git() -> Option<BTreeSet<String>> {
    let mut git = Command::new("git");
    // A hook's environment would point git at something else than what is on the disk.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        git.env_remove(name);
    }
    let output =
        git.arg("-C").arg(root()).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let paths: BTreeSet<String> = text.split('\0').filter(|path| root().join(path).is_file()).map(str::to_owned).collect();
    // A copy inside another repository, which ignores it, has no files for git.
    (output.status.success() && paths.contains("Cargo.toml")).then_some(paths)
}

fn walk() -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let path = folder.join(&name);
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !MADE_BY_BUILDING.iter().any(|made| name == *made) => folders.push(path),
                Ok(kind) if kind.is_file() => {
                    paths.insert(path.to_string_lossy().into_owned());
                }
                _ => {}
            }
        }
    }
    paths
}

#[test]
fn the_files_are_found_with_and_without_git() {
    for (how, paths) in [("git, where it is there", paths().clone()), ("a walk", walk())] {
        for path in ["Cargo.toml", "harness/src/lib.rs", "tests/main.rs", ".gitignore"] {
            assert!(paths.contains(path), "{path} is not found by {how}");
        }
        assert!(!paths.iter().any(|path| path.starts_with("target/")), "{how} finds what is made by building");
    }
}
