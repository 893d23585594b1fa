//! Scenario files on disk: found, not found, not readable as one.

use std::path::{Path, PathBuf};

use super::SMALL;
use crate::scenario::load;

fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder for the test");
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).expect("a file for the test");
    }
    folder
}

/// The message, with the folder's own name taken out.
fn shown(folder: &Path, name: &str) -> String {
    let error = load(&folder.join(name)).expect_err("a broken file");
    error.to_string().replace(&folder.display().to_string(), "FOLDER")
}

#[test]
fn a_file_that_is_not_there_names_those_that_are() {
    let folder = folder(&[("refund.toml", b""), ("charge.toml", b""), ("notes.md", b"")]);
    insta::assert_snapshot!(shown(folder.path(), "refnd.toml"));
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let folder = folder(&[]);
    insta::assert_snapshot!(shown(folder.path(), "cases/refund.toml"));
}

#[test]
fn a_folder_is_not_a_scenario_and_names_those_in_it() {
    let folder = folder(&[("refund.toml", b"")]);
    insta::assert_snapshot!(shown(folder.path(), ""));
}

#[test]
fn a_file_that_is_not_utf8_names_line_and_column() {
    let folder = folder(&[("latin1.toml", b"name = \"large\"\n# gr\xFC\xDFe\n")]);
    insta::assert_snapshot!(shown(folder.path(), "latin1.toml"));
}

#[test]
fn a_file_that_is_too_large_is_refused_and_the_largest_possible_is_read() {
    let most = usize::try_from(crate::model::limits::SCENARIO_MAX_BYTES).expect("it fits into memory");
    let padded = |bytes: usize| format!("{SMALL}#{}", "x".repeat(bytes - SMALL.len() - 1));
    let folder = folder(&[("most.toml", padded(most).as_bytes()), ("more.toml", padded(most + 1).as_bytes())]);
    assert_eq!(load(&folder.path().join("most.toml")).map(|scenario| scenario.name).ok(), Some("small".to_owned()));
    insta::assert_snapshot!(shown(folder.path(), "more.toml"));
    assert!(crate::scenario::parse(&padded(most + 1), "more.toml", folder.path()).is_err());
}

#[test]
fn a_workflow_s_folder_that_is_not_there_is_shown_at_its_place() {
    let folder = folder(&[("a.toml", SMALL.replace("start", "dir = \"targts\"\nstart").as_bytes())]);
    let real = folder.path().canonicalize().expect("the folder is there");
    insta::assert_snapshot!(shown(&real, "a.toml"));
}

#[test]
fn the_folder_is_resolved_against_the_file_s_own() {
    let folder = folder(&[("a.toml", SMALL.replace("start", "dir = \"./x/../sub\"\nstart").as_bytes())]);
    let real = folder.path().canonicalize().expect("the folder is there");
    std::fs::create_dir(real.join("sub")).expect("a folder for the test");
    assert_eq!(load(&real.join("a.toml")).map(|s| s.workflow().dir.clone()).ok(), Some(real.join("sub")));
    std::os::unix::fs::symlink(&real, real.join("link")).expect("a link for the test");
    assert_eq!(load(&real.join("link/a.toml")).map(|s| s.workflow().dir.clone()).ok(), Some(real.join("sub")));
    let bare: PathBuf = super::super::absolute(Path::new("/a/./b/../c/"));
    assert_eq!(bare, Path::new("/a/c"));
}
