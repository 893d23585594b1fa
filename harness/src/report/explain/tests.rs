//! Tests that no word of a report is left unexplained, and that the texts are of a readable size.

use std::collections::BTreeSet;

use crate::model::call::Notice;
use crate::model::verdict::{Cause, Verdict};

use super::*;

/// The words of an enum as its own JSON Schema lists them, so that a new variant cannot be forgotten here.
fn words_of<T: schemars::JsonSchema>() -> BTreeSet<String> {
    let schema = schemars::schema_for!(T).to_value();
    let variants = schema["oneOf"].as_array().expect("an enum").iter();
    let words = variants.flat_map(|variant| {
        let tag = &variant["properties"]["kind"];
        let plain = variant["enum"].as_array().cloned().unwrap_or_default().into_iter();
        plain.chain([variant["const"].clone(), tag["const"].clone()])
    });
    words.filter_map(|word| word.as_str().map(str::to_owned)).collect()
}

fn words_of_kind(kind: &str) -> BTreeSet<String> {
    explain_all().into_iter().filter(|known| known.kind == kind).map(|known| known.word).collect()
}

#[test]
fn every_variant_has_an_explanation_under_its_word_in_the_report() {
    assert_eq!(words_of_kind("verdict"), words_of::<Verdict>());
    assert_eq!(words_of_kind("cause"), words_of::<Cause>());
    assert_eq!(words_of_kind("notice"), words_of::<Notice>());
    assert_eq!(words_of_kind("verdict of a run"), words_of::<crate::model::report::RunVerdict>());
    assert_eq!(words_of::<Cause>().len(), 14, "the schema was read");
    let moments = crate::model::point::Moment::ALL.map(|moment| moment.word().to_owned());
    assert_eq!(words_of_kind("moment of a request"), BTreeSet::from(moments));
    let faults = crate::model::fault::WORDS.map(|word| word.split('(').next().unwrap_or(word).replace('-', "_"));
    assert_eq!(words_of_kind("fault"), BTreeSet::from(faults));
    assert_eq!(words_of_kind("exit code"), ["0", "1", "2", "3", "4", "5", "70"].map(str::to_owned).into());
}

#[test]
fn a_word_is_explained_however_it_is_written_and_no_word_twice() {
    for asked in ["no_key", "no-key", "No Key", " NO_KEY "] {
        assert_eq!(explain(asked).expect(asked).word, "no_key");
    }
    for asked in ["3", "exit 3", "exit-code 3"] {
        assert_eq!(explain(asked).expect(asked).word, "3");
    }
    assert_eq!(explain("liar"), None);
    assert_eq!(explain(""), None);
    let words = words();
    assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len(), "{words:?}");
}

#[test]
fn each_explanation_fits_a_screen_and_no_line_is_wider_than_it() {
    for known in explain_all() {
        let text = known.to_string();
        let lines = text.lines().filter(|line| !line.is_empty()).count();
        assert!((5..=20).contains(&lines), "{} has {lines} lines\n{text}", known.word);
        for line in text.lines() {
            assert!(line.chars().count() <= 90, "{}: {line}", known.word);
        }
    }
}

#[test]
fn a_word_that_an_explanation_refers_to_is_explained() {
    let reference = regex::Regex::new("killpoint explain ([a-z_0-9]+)").expect("a pattern");
    let mut found = 0;
    for known in explain_all() {
        for word in reference.captures_iter(&known.to_string().replace('\n', " ")).map(|captures| captures[1].to_owned()) {
            assert!(explain(&word).is_some(), "{} refers to {word}", known.word);
            found += 1;
        }
    }
    assert!(found > 5, "only {found} references were seen");
}

#[test]
fn the_explanation_of_a_missing_key() {
    insta::assert_snapshot!("explain-no_key", explain("no_key").expect("a cause"));
}
