//! Whether `unsafe` stays in the cellar. Targets may have their own; they are victims, not the house.

use super::tree::File;
use super::{Complaint, accepts, holds, objects};

fn rule(file: &File) -> Vec<Complaint> {
    let tokens = file.tokens();
    let found = tokens.iter().filter(|token| token.is("unsafe"));
    found.map(|token| Complaint::at(file, token.line, "`unsafe` outside of the cellar, harness/src/sys/")).collect()
}

fn is_above_the_cellar(file: &File) -> bool {
    file.is_rust() && (file.is_below("harness/") || file.is_below("tests/")) && !file.is_below("harness/src/sys/")
}

#[test]
fn unsafe_code_stays_in_the_cellar() {
    holds(is_above_the_cellar, rule);
}

#[test]
fn unsafe_code_above_the_cellar_is_seen_but_not_the_mere_word() {
    for text in ["fn a() { unsafe { b() } }", "unsafe fn a() {}", "#[unsafe(no_mangle)] fn a() {}", "m!(x, unsafe { y });"] {
        objects(rule, "harness/src/tracer/a.rs", text, "outside of the cellar");
    }
    accepts(rule, "harness/src/tracer/a.rs", "// unsafe\n/// unsafe\nfn a() { \"unsafe\"; unsafe_window(); }");
    assert!(is_above_the_cellar(&File::new("harness/src/tracer/a.rs", "")));
    assert!(!is_above_the_cellar(&File::new("harness/src/sys/a.rs", "")));
}
