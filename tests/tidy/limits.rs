//! Whether every limit stands in `harness/src/model/limits.rs`, with its unit last in the name.

use super::tokens::{self, Kind, Token};
use super::tree::File;
use super::{Complaint, accepts, holds, objects};

const LIMITS: &str = "harness/src/model/limits.rs";
/// Words in the name of a constant that make it a limit.
const LIMIT_WORDS: [&str; 3] = ["MAX", "TIMEOUT", "LIMIT"];
const TIME_UNITS: [&str; 5] = ["NS", "US", "MS", "SECONDS", "HOURS"];
const SIZE_UNITS: [&str; 4] = ["BYTES", "KIB", "MIB", "CHARS"];

/// A constant: where its name stands, and the tokens of its value.
struct Constant<'a> {
    at: usize,
    name: &'a str,
    line: usize,
    value: &'a [Token],
}

fn constants(tokens: &[Token]) -> Vec<Constant<'_>> {
    let constant = |at: usize| {
        let name = tokens.get(at + 1).filter(|name| name.kind == Kind::Word)?;
        if !(tokens[at].is("const") || tokens[at].is("static")) || !tokens.get(at + 2)?.is(":") {
            return None;
        }
        let from = tokens::find_outside(tokens, at + 2, &["="])?;
        let to = tokens::find_outside(tokens, from, &[";"])?;
        Some(Constant { at: at + 1, name: &name.text, line: name.line, value: &tokens[from..to] })
    };
    (0..tokens.len()).filter_map(constant).collect()
}

fn place_rule(file: &File) -> Vec<Complaint> {
    let tokens = file.tokens();
    let tests = tokens::test_ranges(&tokens);
    let is_limit = |constant: &Constant| {
        constant.name.split('_').any(|word| LIMIT_WORDS.contains(&word))
            && constant.value.iter().any(Token::is_number)
            && !tests.iter().any(|range| range.contains(&constant.at))
    };
    let found = constants(&tokens).into_iter().filter(is_limit);
    found.map(|limit| Complaint::at(file, limit.line, format!("the limit `{}` belongs into {LIMITS}", limit.name))).collect()
}

/// The doc comment right before the constant at `at`.
fn doc_of(tokens: &[Token], at: usize) -> String {
    let mut from = at;
    while from > 0 && !(tokens[from - 1].is(";") || tokens[from - 1].is("}")) {
        from -= 1;
    }
    let docs = (from..at).filter(|at| tokens::stand_at(tokens, *at, &["doc", "="])).filter_map(|at| tokens.get(at + 2));
    docs.map(|doc| doc.text.trim_matches('"').trim()).collect::<Vec<_>>().join(" ")
}

fn unit_rule(file: &File) -> Vec<Complaint> {
    let tokens = file.tokens();
    let mut complaints = Vec::new();
    for constant in constants(&tokens) {
        let words: Vec<&str> = constant.name.split('_').collect();
        let (last, others) = words.split_last().expect("a name has at least one word");
        let doc = doc_of(&tokens, constant.at).to_lowercase();
        let is_time =
            words.contains(&"TIMEOUT") || ["time ", "how long", "longest time"].iter().any(|start| doc.starts_with(start));
        let is_size = ["bytes ", "longest ", "characters "].iter().any(|start| doc.starts_with(start)) && !is_time;
        let mut complain = |what: String| complaints.push(Complaint::at(file, constant.line, what));
        if others.iter().any(|word| TIME_UNITS.contains(word) || SIZE_UNITS.contains(word)) {
            complain(format!("the unit stands last in a name, not inside of `{}`", constant.name));
        } else if is_time && !TIME_UNITS.contains(last) {
            complain(format!("`{}` is a time; its unit stands last ({})", constant.name, TIME_UNITS.join(", ")));
        } else if is_size && !SIZE_UNITS.contains(last) {
            complain(format!("`{}` is a size; its unit stands last ({})", constant.name, SIZE_UNITS.join(", ")));
        }
        if doc.is_empty() {
            complain(format!("`{}` does not say what it limits", constant.name));
        }
    }
    complaints
}

#[test]
fn every_limit_stands_in_the_one_file_of_limits() {
    // The cellar has no limits of ours, and how much of a report is shown limits nothing that is done.
    let is_free = |file: &File| file.is_below("harness/src/sys/") || file.is_below("harness/src/report/") || file.is_test();
    let is_concerned = |file: &File| file.is_rust() && file.is_below("harness/src/") && file.path != LIMITS && !is_free(file);
    holds(is_concerned, place_rule);
}

#[test]
fn units_stand_last_in_the_names_of_limits() {
    holds(|file| file.path == LIMITS, unit_rule);
    let there = super::tree::file(LIMITS).map(|file| constants(&file.tokens()).len());
    assert!(there.is_some_and(|constants| constants > 10), "the constants are not found: {there:?}");
}

#[test]
fn a_limit_elsewhere_is_seen_but_not_a_use_of_one() {
    for limit in [
        "pub const FREEZE_MAX: Duration = Duration::from_secs(5);",
        "const TIMEOUT_MS: u64 = 2 * 1000;",
        "impl A { const LINES_MAX: usize = 5; }",
        "static LIMIT: AtomicU64 = AtomicU64::new(7);",
        "fn a() { const MAX_ROWS: [u8; 3] = B; const MAX: u8 = 3; }",
    ] {
        objects(place_rule, "harness/src/trial/mod.rs", limit, "belongs into");
    }
    for other in [
        "const READ_MAX: usize = limits::BODY_MAX_BYTES;",
        "const WORDS: usize = 5;",
        "const MAXIMS: [&str; 2] = [\"1\", \"2\"];",
        "use limits::LIVES_MAX; fn max(a: u8) -> u8 { a.max(3) }",
        "#[cfg(test)] mod tests { const ROWS_MAX: u8 = 3; }",
        "fn a<const MAX: usize>() {}",
        "const fn max() -> u8 { 3 }",
        "impl A for B { const MAX: u8; }",
    ] {
        accepts(place_rule, "harness/src/trial/mod.rs", other);
    }
}

#[test]
fn a_limit_whose_unit_is_missing_or_not_last_is_seen() {
    for (limit, why) in [
        ("/// Time a life may take.\npub const LIFE_MAX: u64 = 1;", "is a time"),
        ("/// How long it listens.\npub const DRAIN_DEFAULT: u64 = 1;", "is a time"),
        ("/// Set-up.\npub const SETUP_TIMEOUT: u64 = 1;", "is a time"),
        ("/// Bytes of a body.\npub const BODY_MAX: usize = 1;", "is a size"),
        ("/// Longest key.\npub const KEY_MAX: usize = 1;", "is a size"),
        ("/// Bytes of a body.\npub const BODY_BYTES_MAX: usize = 1;", "stands last in a name"),
        ("/// Lives.\npub const LIVES: u32 = 1;\npub const TRIALS_MAX: u64 = 1;", "does not say what"),
    ] {
        objects(unit_rule, LIMITS, limit, why);
    }
    accepts(
        unit_rule,
        LIMITS,
        "//! Limits.\n/// Time it takes.\npub const A_MS: u64 = 1;\n/// Lives.\npub const LIVES_MAX: u32 = 1;",
    );
}
