//! Whether every Rust file opens with what it is for.

use super::tree::File;
use super::{Complaint, accepts, holds, objects};

/// Fewer words than that say no more than the file's name.
const WORDS_AT_LEAST: usize = 5;

fn rule(file: &File) -> Vec<Complaint> {
    if !file.text.starts_with("//!") {
        return vec![Complaint::of(
            &file.path,
            "the first line is no `//!` header; say what the file is for and what it must not know",
        )];
    }
    let paragraph = file.text.lines().map_while(|line| line.strip_prefix("//!")).take_while(|line| !line.trim().is_empty());
    let words = paragraph.flat_map(str::split_whitespace).filter(|word| word.contains(char::is_alphabetic)).count();
    if words >= WORDS_AT_LEAST {
        return Vec::new();
    }
    vec![Complaint::of(&file.path, format!("a header of {words} words says nothing; {WORDS_AT_LEAST} at least"))]
}

#[test]
fn every_rust_file_opens_with_a_header_that_says_something() {
    holds(File::is_rust, rule);
}

#[test]
fn a_missing_or_an_empty_header_is_seen() {
    objects(rule, "a.rs", "", "no `//!` header");
    objects(rule, "a.rs", "// What this is for, in words.\n", "no `//!` header");
    objects(rule, "a.rs", "use std::io;\n//! What this is for, in words.\n", "no `//!` header");
    objects(rule, "a.rs", "//! Room oracle.\n", "2 words");
    objects(rule, "a.rs", "//! Room oracle.\n//!\n//! And then much more in another paragraph.\n", "2 words");
    objects(rule, "a.rs", "//! - - - - - - -\n", "0 words");
    accepts(rule, "a.rs", "//! What this is for,\n//! in words.\n\nuse std::io;\n");
}
