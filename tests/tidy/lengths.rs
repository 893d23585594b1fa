//! Whether files and functions are short enough to be read at once. Exceptions stand in a list that can only shrink.

use super::tokens::{self, Kind};
use super::tree::{self, File};
use super::{Complaint, accepts, holds, nobody_complains, objects};

const FILE_LINES: usize = 400;
/// A tests.rs and a snapshot are read in pieces.
const TEST_FILE_LINES: usize = 600;
const FUNCTION_LINES: usize = 70;
const ARCHITECTURE_LINES: usize = 150;

/// Files that are longer, with their lines. Nothing is added here.
const LONGER_FILES: &[(&str, usize)] = &[("harness/src/model/point.rs", 427)];
/// Functions that are longer, as `file::function`, with their lines. Nothing is added here.
const LONGER_FUNCTIONS: &[(&str, usize)] = &[];

/// Endings of what people write and read.
const WRITTEN: [&str; 12] = [".rs", ".py", ".js", ".mjs", ".ts", ".c", ".h", ".go", ".java", ".sh", ".md", ".snap"];

/// What is wrong with this length of this thing, where it may have `most` lines or what the list says.
fn judge(name: &str, lines: usize, most: usize, longer: &[(&str, usize)]) -> Option<String> {
    match longer.iter().find(|(listed, _)| *listed == name) {
        None if lines > most => Some(format!("{lines} lines, {most} at most; cut it where the subject changes")),
        Some(_) if lines <= most => Some(format!("{name} is short enough now; take it off the list in tests/tidy/lengths.rs")),
        Some((_, listed)) if lines > *listed => {
            Some(format!("grew from {listed} to {lines} lines, {most} at most; the list only shrinks"))
        }
        Some((_, listed)) if lines < *listed => {
            Some(format!("write down in tests/tidy/lengths.rs that {name} has only {lines} lines now"))
        }
        _ => None,
    }
}

fn file_rule(file: &File, longer: &[(&str, usize)]) -> Vec<Complaint> {
    let most = match file.name() {
        "ARCHITECTURE.md" => ARCHITECTURE_LINES,
        name if name == "tests.rs" || name.ends_with(".snap") => TEST_FILE_LINES,
        _ => FILE_LINES,
    };
    let what = judge(&file.path, file.text.lines().count(), most, longer);
    what.map(|what| Complaint::of(&file.path, what)).into_iter().collect()
}

/// The functions of a file: name, first line, number of lines.
fn functions(file: &File) -> Vec<(String, usize, usize)> {
    let tokens = file.tokens();
    let named = |at: &usize| tokens[*at].is("fn") && tokens.get(at + 1).is_some_and(|next| next.kind == Kind::Word);
    let function = |at: usize| {
        let body = tokens::find_outside(&tokens, at + 1, &["{", ";"]).filter(|body| tokens[*body].is("{"))?;
        let last = tokens.get(tokens::closing(&tokens, body))?;
        Some((tokens[at + 1].text.clone(), tokens[at].line, last.line - tokens[at].line + 1))
    };
    (0..tokens.len()).filter(named).filter_map(function).collect()
}

fn function_rule(file: &File, longer: &[(&str, usize)]) -> Vec<Complaint> {
    let judge = |(name, line, lines): (String, usize, usize)| {
        let what = judge(&format!("{}::{name}", file.path), lines, FUNCTION_LINES, longer)?;
        Some(Complaint::at(file, line, format!("`{name}`: {what}")))
    };
    functions(file).into_iter().filter_map(judge).collect()
}

#[test]
fn no_file_has_more_than_400_lines() {
    let is_written = |file: &File| WRITTEN.iter().any(|ending| file.path.ends_with(ending)) && file.name() != "CHANGELOG.md";
    holds(is_written, |file| file_rule(file, LONGER_FILES));
}

#[test]
fn no_function_has_more_than_70_lines() {
    holds(File::is_rust, |file| function_rule(file, LONGER_FUNCTIONS));
}

#[test]
fn the_lists_of_longer_files_and_functions_name_only_what_is_there() {
    let gone = |name: &str| match name.split_once("::") {
        Some((path, function)) => tree::file(path).is_none_or(|file| functions(file).iter().all(|(name, ..)| name != function)),
        None => tree::file(name).is_none(),
    };
    let names = LONGER_FILES.iter().chain(LONGER_FUNCTIONS).map(|(name, _)| *name);
    nobody_complains(names.filter(|name| gone(name)).map(|name| Complaint::of(name, "is on a list, but not there")).collect());
}

#[test]
fn a_file_that_is_too_long_is_seen_and_the_list_only_shrinks() {
    let of = |lines: usize| "\n".repeat(lines);
    let list = [("old.rs", 500)];
    let rule = |file: &File| file_rule(file, &list);
    accepts(rule, "new.rs", &of(400));
    objects(rule, "new.rs", &of(401), "401 lines, 400 at most");
    accepts(rule, "room/tests.rs", &of(600));
    objects(rule, "room/tests.rs", &of(601), "600 at most");
    objects(rule, "ARCHITECTURE.md", &of(151), "150 at most");
    accepts(rule, "old.rs", &of(500));
    objects(rule, "old.rs", &of(501), "grew from 500 to 501");
    objects(rule, "old.rs", &of(450), "has only 450 lines");
    objects(rule, "old.rs", &of(400), "take it off the list");
}

#[test]
fn a_function_that_is_too_long_is_seen_wherever_it_stands() {
    let rule = |file: &File| function_rule(file, &[]);
    let of = |inner: usize| format!("{{{}}}", "\n".repeat(inner));
    accepts(rule, "a.rs", &format!("fn short() {}", of(69)));
    objects(rule, "a.rs", &format!("fn long() {}", of(70)), "`long`: 71 lines, 70 at most");
    objects(rule, "a.rs", &format!("trait A {{ fn none(); fn long<T>(x: [u8; 3]) -> T where T: B {} }}", of(70)), "`long`: 71");
    objects(rule, "a.rs", &format!("mod a {{ impl A {{ async fn long() {} }} }}", of(90)), "`long`: 91");
    objects(rule, "a.rs", &format!("proptest! {{ fn long(x in 0..3) {} }}", of(90)), "`long`: 91");
    accepts(rule, "a.rs", &format!("type A = fn(u8) -> u8; // fn long()\nmod a {}", of(90)));
}
