//! What is left behind while working: debug output, holes, notes to oneself, tests that are skipped or that sleep.

use super::tokens::{self, Token};
use super::tree::File;
use super::{Complaint, accepts, holds, objects};

const HOLES: [&str; 3] = ["dbg", "todo", "unimplemented"];
/// Put together, so that the rule does not find itself.
const NOTES: [&str; 2] = [concat!("FIX", "ME"), concat!("XX", "X")];
const SLEEPS: [&str; 4] = ["sleep", "sleep_ms", "sleep_until", "usleep"];

fn hole_rule(file: &File) -> Vec<Complaint> {
    let tokens = file.tokens();
    let mut complaints = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if HOLES.iter().any(|hole| tokens::stand_at(&tokens, at, &[hole, "!"])) {
            complaints.push(Complaint::at(file, token.line, format!("`{}!` is left over", token.text)));
        }
        if is_skipped_without_reason(&tokens, at) {
            complaints.push(Complaint::at(file, token.line, "a test is ignored and nobody says why: `#[ignore = \"why\"]`"));
        }
    }
    complaints
}

/// Whether `ignore` stands here as an attribute, by itself or under a condition, and no text behind it.
fn is_skipped_without_reason(tokens: &[Token], at: usize) -> bool {
    let plain = at > 1 && tokens::stand_at(tokens, at - 2, &["#", "[", "ignore"]);
    let conditional =
        || (0..at).any(|from| tokens::stand_at(tokens, from, &["cfg_attr", "("]) && at < tokens::closing(tokens, from + 1));
    let has_reason = tokens::stand_at(tokens, at + 1, &["="]) && tokens.get(at + 2).is_some_and(|text| text.text.len() > 2);
    tokens[at].is("ignore") && !has_reason && (plain || conditional())
}

fn note_rule(file: &File) -> Vec<Complaint> {
    let is_part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut complaints = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let found = line.split(|c| !is_part_of_word(c)).find(|word| NOTES.contains(word));
        complaints.extend(found.map(|note| Complaint::at(file, index + 1, format!("a note to oneself: {note}"))));
    }
    complaints
}

fn sleep_rule(file: &File) -> Vec<Complaint> {
    let tokens = file.tokens();
    let ranges = tokens::test_ranges(&tokens);
    let is_test = |at| file.is_test() || ranges.iter().any(|range| range.contains(&at));
    let sleeps = |at: &usize| is_test(*at) && SLEEPS.iter().any(|word| tokens[*at].is(word));
    let why = "a test waits for the event, not for a time";
    (0..tokens.len()).filter(sleeps).map(|at| Complaint::at(file, tokens[at].line, why)).collect()
}

#[test]
fn nothing_is_left_over_in_the_code() {
    holds(File::is_rust, hole_rule);
}

#[test]
fn no_note_to_oneself_is_left_in_any_file() {
    holds(|file| !file.is_lock_file(), note_rule);
}

#[test]
fn no_test_sleeps_to_wait() {
    holds(|file| file.is_rust() && (file.is_below("harness/") || file.is_below("tests/")), sleep_rule);
}

#[test]
fn what_is_left_over_is_seen_but_not_its_mention() {
    for hole in HOLES {
        objects(hole_rule, "a.rs", &format!("fn a() {{ {hole}!() }}"), "is left over");
        accepts(hole_rule, "a.rs", &format!("// {hole}!()\nfn a() {{ \"{hole}!\"; {hole}() }}"));
    }
    for ignored in ["#[ignore] fn a() {}", "#[ignore = \"\"] fn a() {}", "#[cfg_attr(unix, ignore)] fn a() {}"] {
        objects(hole_rule, "a.rs", ignored, "nobody says why");
    }
    accepts(hole_rule, "a.rs", "#[ignore = \"needs a network\"] fn a() { b(c, ignore); ignore(d); [ignore, e]; }");
    for note in NOTES {
        objects(note_rule, "a.py", &format!("a()\n# {note}: later"), note);
        accepts(note_rule, "a.py", &format!("mktemp {note}{note}; {note}_A"));
    }
}

#[test]
fn a_sleeping_test_is_seen_but_not_a_sleeping_program() {
    let call = "std::thread::sleep(ONE)";
    objects(sleep_rule, "tests/a.rs", &format!("fn a() {{ {call} }}"), "waits for the event");
    objects(sleep_rule, "harness/src/trial/tests.rs", "use tokio::time::{self, sleep};", "waits for the event");
    objects(sleep_rule, "harness/src/trial/mod.rs", &format!("#[cfg(test)] mod tests {{ fn a() {{ {call} }} }}"), "waits for");
    accepts(
        sleep_rule,
        "harness/src/trial/mod.rs",
        &format!("fn a() {{ {call} }} #[cfg(test)] mod tests {{ fn a() {{ \"sleep 1\" }} }}"),
    );
}
