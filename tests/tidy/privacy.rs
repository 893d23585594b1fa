//! Whether the project speaks of itself alone: no path of anybody's machine, no address of a registry.

use super::tree::File;
use super::{Complaint, accepts, holds, objects};

/// Beginnings of absolute paths, put together so that the rule does not find itself.
const FOLDERS: [&str; 4] = [concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/"), concat!("/wo", "rk/")];
/// Hosts of registries. Which one is asked is a matter of whoever builds.
const REGISTRIES: [&str; 8] = [
    concat!("://", "crates.io"),
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("pypi", ".org"),
    concat!("files.python", "hosted.org"),
    concat!("registry.", "npmjs.org"),
    concat!("proxy.", "golang.org"),
    concat!("registry-1.", "docker.io"),
];

fn rule(file: &File) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let folder = FOLDERS.iter().find(|folder| line.match_indices(**folder).any(|(at, found)| is_absolute(line, at, found)));
        complaints
            .extend(folder.map(|folder| Complaint::at(file, index + 1, format!("a path of somebody's machine: {folder}..."))));
        let registry = REGISTRIES.iter().find(|host| line.contains(**host));
        complaints.extend(registry.map(|host| Complaint::at(file, index + 1, format!("the address of a registry: {host}"))));
    }
    complaints
}

/// Whether a path begins here, and goes on, rather than being the rest of a longer one (behind a placeholder, in a URL).
fn is_absolute(line: &str, at: usize, found: &str) -> bool {
    let before = line[..at].chars().next_back();
    let after = line[at + found.len()..].chars().next();
    !before.is_some_and(|c| c.is_alphanumeric() || "}>)._-~*$".contains(c))
        && after.is_some_and(|c| c.is_alphanumeric() || c == '.')
}

#[test]
fn the_project_speaks_of_itself_alone() {
    holds(|file| !file.is_lock_file(), rule);
}

#[test]
fn a_path_of_a_machine_and_a_registry_are_seen() {
    for folder in FOLDERS {
        objects(rule, "a.md", &format!("see `{folder}a/b`"), "somebody's machine");
        objects(rule, "a.toml", &format!("dir = \"{folder}a\""), "somebody's machine");
        accepts(rule, "a.toml", &format!("dir = \"{{state}}{folder}a\" # see example.org{folder}a; {folder}"));
    }
    for host in REGISTRIES {
        objects(rule, "a.md", &format!("from https{host}/simple"), "a registry");
    }
    accepts(rule, "a.md", "Published on crates.io; docs.rs has its pages; state goes to /tmp/a and /dev/shm.");
}
