//! The TOML reader's own errors (syntax, unknown keys, wrong shapes) in this room's words.

use std::ops::Range;

use super::diagnostics::{Problem, did_you_mean};

/// Keys a stranger may look for that are called otherwise here, or come with a later version.
const ELSEWHERE: [(&str, &str); 10] = [
    ("command", "the command is `start`, in `[workflow]`"),
    ("cmd", "the command is `start`, in `[workflow]`"),
    ("cwd", "the working directory is `dir`, in `[workflow]`"),
    ("timeout", "the time one life may take is `life_timeout`, in `[workflow]`"),
    ("promises", "promises are written as `[[promise]]`, one table each"),
    ("url", "the sandbox chooses its own address; hand it over by `env = { BILLING_URL = \"{sandbox.url}\" }`"),
    ("role", "one process per scenario is possible now: `[workflow]`"),
    ("roles", "one process per scenario is possible now: `[workflow]`"),
    ("expect", "how many effects an intent must have is `exactly`, or `at_least` and `at_most`"),
    ("count", "how many effects an intent must have is `exactly`, or `at_least` and `at_most`"),
];

/// Turns an error of the TOML reader into a problem.
pub(super) fn problem(error: &toml::de::Error, text: &str) -> Problem {
    let at = error.span().unwrap_or(0..0);
    let mut lines = error.message().lines();
    let message = lines.next().unwrap_or("not TOML");
    let found = text.get(at.clone()).unwrap_or("");
    if let Some(rest) = message.strip_prefix("unknown field ") {
        return unknown_key(at, rest);
    }
    if let Some(key) = message.strip_prefix("missing field ") {
        return missing_key(at, key.trim_matches('`'), found);
    }
    if let Some((found, expected)) = message.strip_prefix("invalid type: ").and_then(|rest| rest.rsplit_once(", expected ")) {
        return wrong_shape(at, found, expected, text);
    }
    let hints = lines.filter_map(|line| line.strip_prefix("hint: "));
    let (title, expected) = message.split_once(", expected ").unwrap_or((message, ""));
    hints.fold(syntax(at, title, expected, found), Problem::hint)
}

/// What is no TOML.
fn syntax(at: Range<usize>, title: &str, expected: &str, found: &str) -> Problem {
    match (title, expected) {
        ("duplicate key", _) => Problem::at(at, format!("the key `{found}` stands twice"))
            .label("this is the second one")
            .hint("write each key once; several promises are written as `[[promise]]`, one table each"),
        ("string values must be quoted", _) => Problem::at(at, "a text without quotes").hint(format!("write `\"{found}\"`")),
        ("unclosed table", _) => Problem::at(at, "a section's name is not closed").label(format!("expected {expected}")),
        (_, "`\"`" | "`'`" | "`\"\"\"`" | "`'''`") => {
            Problem::at(at, "a text is not closed").label(format!("expected {expected}"))
        }
        (_, expected) if expected.starts_with("non-double-quote") || expected.starts_with("non-single-quote") => {
            let problem = Problem::at(at, "a control character in a text").label("this cannot be seen");
            problem.hint("write it as an escape in double quotes: `\\t`, `\\u0007`")
        }
        (title, "") => Problem::at(at, title),
        (title, expected) => Problem::at(at, title).label(format!("expected {expected}")),
    }
}

/// From "`strat`, expected one of `a`, `b`".
fn unknown_key(at: Range<usize>, rest: &str) -> Problem {
    let (key, expected) = rest.split_once(", expected ").unwrap_or((rest, ""));
    let key = key.trim_matches('`');
    let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    let elsewhere = ELSEWHERE.iter().find(|(wrong, _)| *wrong == key).map(|(_, hint)| (*hint).to_owned());
    let section = section_of(key);
    // A key that is right in another section is no typo.
    let close = if section.is_none() { did_you_mean(key, known.iter().copied()) } else { None };
    Problem::at(at, format!("unknown key `{key}`"))
        .label("there is no such key here")
        .maybe_hint(close)
        .maybe_hint(section)
        .maybe_hint(elsewhere)
        .hint(format!("known here: {}", known.join(", ")))
}

/// The section a known key belongs to, for a key that stands in the wrong one.
fn section_of(key: &str) -> Option<String> {
    let schema = super::json_schema();
    if schema["properties"].get(key).is_some() {
        return Some(format!("`{key}` belongs to the top of the file, before the first section"));
    }
    let sections = [("Workflow", "[workflow]"), ("Sandbox", "[sandbox]"), ("Promise", "[[promise]]"), ("Campaign", "[campaign]")];
    let (_, section) = sections.into_iter().find(|(name, _)| schema["$defs"][name]["properties"].get(key).is_some())?;
    Some(format!("`{key}` belongs to `{section}`"))
}

/// From "integer `12`" and "a string".
fn wrong_shape(at: Range<usize>, found: &str, expected: &str, text: &str) -> Problem {
    let written = text.get(at.clone()).unwrap_or("");
    let hint = match expected {
        "a string" if !written.contains(['\n', '[', '{', '"']) => Some(format!("write `\"{written}\"`")),
        "a sequence" if !written.contains(['\n', '[', '{']) => Some(format!("a list of one is written `[{written}]`")),
        _ => expected.split('`').nth(1).map(|section| format!("write `{section}` on a line of its own, and its keys below it")),
    };
    Problem::at(at, format!("expected {}", in_our_words(expected))).label(format!("this is {}", article(found))).maybe_hint(hint)
}

fn missing_key(at: Range<usize>, key: &str, found: &str) -> Problem {
    let (label, hint) = match key {
        "workflow" => ("", "say how it is started: `[workflow]` and below it `start = [\"python\", \"refund.py\"]`"),
        "start" => ("this needs `start`", "say how the workflow is started: `start = [\"python\", \"refund.py\"]`"),
        "effect" if found.contains('{') => {
            ("this needs `effect`", "say which step it is, by its promise's name: `effect = \"email\"`")
        }
        "effect" => ("this needs `effect`", "say which requests it is about: `effect = \"POST /v1/charges\"`"),
        "name" if found.starts_with("[[") => ("this needs `name`", "give it a short name for reports: `name = \"charge\"`"),
        "name" => ("", "say what is tried, in a first line: `name = \"refund: charge with a key\"`"),
        _ => ("", ""),
    };
    let problem = Problem::at(at, format!("`{key}` is missing")).label(label);
    if hint.is_empty() { problem } else { problem.hint(hint) }
}

/// A shape's name in the words of the documentation.
fn in_our_words(expected: &str) -> &str {
    match expected {
        "a string" => "a text in quotes",
        "a sequence" => "a list: `[...]`",
        "a map" => "a table",
        "a boolean" => "true or false",
        "i128" => "a whole number",
        other => other,
    }
}

/// From "string \"x\"", "map" and the like.
fn article(found: &str) -> String {
    let (kind, value) = found.split_once(' ').map_or((found, ""), |(kind, value)| (kind, value));
    match (kind, value) {
        ("map", _) => "a table".to_owned(),
        ("sequence", _) => "a list".to_owned(),
        ("string", _) => "a text".to_owned(),
        ("integer", value) => format!("the number {}", value.trim_matches('`')),
        ("boolean", value) => value.trim_matches('`').to_owned(),
        ("floating", value) => format!("the number {}", value.trim_start_matches("point ").trim_matches('`')),
        _ => format!("a {found}"),
    }
}
