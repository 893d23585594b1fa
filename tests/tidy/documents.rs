//! Whether documents, and the doc comments of the code, name only files that are there.
//!
//! What looks like a path: a word with a `/` whose first part is a folder of the root, or a word that ends in `.rs` or `.md`. Names
//! of what killpoint writes when it runs (`report.json`, `reports/runs/`) are no files of the repository.

use std::collections::BTreeSet;

use super::tokens::{self, Kind};
use super::tree::{self, File};
use super::{Complaint, accepts, holds, objects};

/// Folders that runs fill.
const MADE_BY_RUNS: [&str; 2] = ["reports/runs", "reports/latest"];

/// The paths of files and folders, without a `/` at the end.
struct Shelf(BTreeSet<String>);

impl Shelf {
    fn new<'a>(files: impl Iterator<Item = &'a str>) -> Self {
        let mut all = BTreeSet::new();
        for file in files {
            all.extend(file.match_indices('/').map(|(at, _)| file[..at].to_owned()));
            all.insert(file.to_owned());
        }
        Self(all)
    }

    /// Whether `word` is there, read from one of these folders.
    fn has(&self, folders: &[&str], word: &str) -> bool {
        folders
            .iter()
            .any(|folder| plain(&format!("{folder}{word}")).is_some_and(|path| path.is_empty() || self.0.contains(&path)))
    }

    /// Whether a file of this name is there, in whatever folder.
    fn has_name(&self, name: &str) -> bool {
        self.0.iter().any(|path| path.rsplit('/').next() == Some(name))
    }

    /// Whether the word is a path that is not there. `folders` are those it may be read from.
    fn misses(&self, folders: &[&str], word: &str) -> bool {
        let is_path = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
        let word = word.trim_end_matches('.').trim_start_matches("./");
        let Some((first, _)) = word.split_once('/') else {
            let is_source = word.strip_suffix(".rs").or_else(|| word.strip_suffix(".md")).is_some_and(|stem| !stem.is_empty());
            return is_source && word.chars().all(is_path) && !self.has(folders, word);
        };
        let is_foreign = first.is_empty() || !word.chars().all(is_path) || MADE_BY_RUNS.iter().any(|made| word.starts_with(made));
        let is_ours = self.0.contains(first) || first == ".." || word.ends_with(".rs") || word.ends_with(".md");
        !is_foreign && is_ours && !is_host(first) && !self.has(folders, word)
    }
}

/// `example.org/a.md` is no path.
fn is_host(first: &str) -> bool {
    first.trim_matches('.').contains('.')
}

/// A path without `.` and `..`; nothing where it leads out of the repository.
fn plain(path: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn document_rule(shelf: &Shelf, file: &File) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        for word in line.split(|c: char| c.is_whitespace() || "`'\"()[]<>|,;:!?=#*".contains(c)) {
            let is_elsewhere = !word.contains('/') && shelf.has_name(word);
            if !is_elsewhere && shelf.misses(&["", file.folder(), "harness/src/"], word) {
                complaints.push(Complaint::at(file, index + 1, format!("names `{word}`, which is not there")));
            }
        }
    }
    complaints
}

fn comment_rule(shelf: &Shelf, file: &File) -> Vec<Complaint> {
    let tokens = file.tokens();
    let own_module = file.path.trim_end_matches(".rs").to_owned() + "/";
    let folders = ["", file.folder(), &own_module, "harness/src/"];
    let is_doc =
        |at: &usize| tokens::stand_at(&tokens, *at, &["doc", "="]) && tokens.get(at + 2).is_some_and(|t| t.kind == Kind::Literal);
    let mut complaints = Vec::new();
    for doc in (0..tokens.len()).filter(is_doc).map(|at| &tokens[at + 2]) {
        // Every second piece stands between backticks.
        for word in doc.text.split('`').skip(1).step_by(2).filter(|word| shelf.misses(&folders, word)) {
            complaints.push(Complaint::at(file, doc.line, format!("names `{word}`, which is not there")));
        }
    }
    complaints
}

#[test]
fn documents_name_only_files_that_are_there() {
    let shelf = Shelf::new(tree::paths().iter().map(String::as_str));
    holds(|file| file.path.ends_with(".md"), |file| document_rule(&shelf, file));
    for document in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "targets/README.md"] {
        assert!(tree::file(document).is_some(), "{document} is not there");
    }
}

#[test]
fn doc_comments_name_only_files_that_are_there() {
    let shelf = Shelf::new(tree::paths().iter().map(String::as_str));
    holds(File::is_rust, |file| comment_rule(&shelf, file));
}

fn example() -> Shelf {
    let files = [
        "README.md",
        "check",
        "harness/src/model/mod.rs",
        "harness/src/model/limits.rs",
        "targets/native/pay.rs",
        "targets/README.md",
        "reports/schema/a.json",
    ];
    Shelf::new(files.into_iter())
}

#[test]
fn a_document_that_names_a_file_which_is_gone_is_seen() {
    let shelf = example();
    let rule = |file: &File| document_rule(&shelf, file);
    for word in [
        "`harness/src/model/point.rs`",
        "harness/src/oracle/",
        "[text](targets/native/gone.rs)",
        "`gone.rs`",
        "[more](GONE.md#part)",
        "```\nkillpoint run targets/gone.toml\n```",
        "`model/gone.rs`.",
        "`../gone.md`",
        "`reports/schema/b.json`",
    ] {
        objects(rule, "README.md", word, "is not there");
    }
    for word in [
        "`harness/src/model/limits.rs`, harness/src/model/: `model/limits.rs`",
        "[text](README.md#part) ./check `limits.rs` `native/pay.rs` [up](../README.md) [web](https://example.org/a/b.md)",
        "`reports/runs/x/report.json` reports/latest `report.json` `findings/F1/` `targets/native/*.rs` and/or `{state}/a.rs` `mod.rs`",
    ] {
        accepts(rule, "targets/README.md", word);
    }
}

#[test]
fn a_doc_comment_that_names_a_file_which_is_gone_is_seen() {
    let shelf = example();
    let rule = |file: &File| comment_rule(&shelf, file);
    objects(rule, "harness/src/model/mod.rs", "//! See `gone.rs`.\n", "`gone.rs`");
    objects(rule, "harness/src/model/mod.rs", "/// See `model/gone.rs`.\nfn a() {}", "`model/gone.rs`");
    objects(rule, "harness/src/model.rs", "mod a {\n//! See `targets/native/gone.py`.\n}", "gone.py");
    objects(rule, "harness/src/trial/mod.rs", "//! In another room: `limits.rs`.\n", "`limits.rs`");
    accepts(
        rule,
        "harness/src/model/mod.rs",
        "//! `limits.rs`, `model/limits.rs`, `harness/src/model/limits.rs`, gone.rs, `a/b`\n",
    );
    objects(rule, "harness/src/model/mod.rs", "//! Tests in `tests.rs`.\n", "`tests.rs`");
    accepts(rule, "harness/src/model.rs", "//! `limits.rs` and `events.jsonl`.\n");
    accepts(rule, "harness/src/model.rs", "// `gone.rs`\nconst A: &str = \"`gone.rs`\";\n");
}
