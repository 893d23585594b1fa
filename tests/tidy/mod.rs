//! The house rules as tests. A rule is a pure function from a file (or all files) to complaints; it never looks at the disk itself.
//!
//! **To add a rule**, write one small file with that function, a test named as the rule's sentence that calls [`holds`], and a
//! test that feeds the rule a bad example with [`objects`] and a good one with [`accepts`]: a rule that cannot complain is none.

mod cellar;
mod documents;
mod gates;
mod headers;
mod imports;
mod leftovers;
mod lengths;
mod limits;
mod privacy;
mod targets;
mod tokens;
mod tree;

use tree::File;

/// One breach of a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Complaint {
    path: String,
    line: usize,
    what: String,
}

impl Complaint {
    /// Of a line of a file, from 1.
    fn at(file: &File, line: usize, what: impl Into<String>) -> Self {
        Self { path: file.path.clone(), line, what: what.into() }
    }

    /// Of a file as a whole.
    fn of(path: &str, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: 1, what: what.into() }
    }
}

/// Fails with all complaints, one a line, in a form that editors jump to.
#[track_caller]
fn nobody_complains(mut complaints: Vec<Complaint>) {
    complaints.sort();
    let lines: Vec<String> = complaints.iter().map(|c| format!("{}:{}: {}", c.path, c.line, c.what)).collect();
    assert!(lines.is_empty(), "{} breaches of a house rule:\n{}\n", lines.len(), lines.join("\n"));
}

/// Applies a rule to those files of the repository that `concerns` picks; a rule that concerns no file has lost its subject.
#[track_caller]
fn holds(concerns: impl Fn(&File) -> bool, rule: impl Fn(&File) -> Vec<Complaint>) {
    let files: Vec<&File> = tree::files().iter().filter(|file| concerns(file)).collect();
    assert!(!files.is_empty(), "the rule concerns no file at all");
    nobody_complains(files.into_iter().flat_map(rule).collect());
}

/// The rule complains of this text, and `why` stands in a complaint.
#[track_caller]
fn objects(rule: impl Fn(&File) -> Vec<Complaint>, path: &str, text: &str, why: &str) {
    let complaints = rule(&File::new(path, text));
    assert!(complaints.iter().any(|c| c.what.contains(why)), "no complaint says `{why}` of {path}:\n{text}\nbut: {complaints:?}");
}

/// The rule does not complain of this text.
#[track_caller]
fn accepts(rule: impl Fn(&File) -> Vec<Complaint>, path: &str, text: &str) {
    let complaints = rule(&File::new(path, text));
    assert!(complaints.is_empty(), "complaints of {path}:\n{text}\n{complaints:?}");
}
