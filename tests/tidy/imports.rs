//! Imports go down only, and no room has a door to another. The plan of the house below is the rule.

use super::tokens::{self, Kind, Token};
use super::tree::File;
use super::{Complaint, accepts, holds, objects};

/// The floors, the roof first. Rooms of one floor do not know each other.
const FLOORS: [&[&str]; 6] = [
    &["main", "cli"],
    &["campaign"],
    &["trial"],
    &["tracer", "sandbox", "state", "oracle", "plan", "store", "report", "scenario"],
    &["model"],
    &["sys"],
];

/// Words before a `::` that begins a path instead of going on with one.
const BEFORE_A_PATH: [&str; 8] = ["use", "as", "in", "dyn", "impl", "for", "return", "where"];

fn floor(room: &str) -> Option<usize> {
    FLOORS.iter().position(|rooms| rooms.contains(&room))
}

/// Why a room may not import another, or nothing where it may.
fn forbids(from: &str, to: &str) -> Option<String> {
    if from == to || (from == "main" && to == "cli") {
        return None;
    }
    let Some(to_floor) = floor(to) else {
        return Some(format!("`{to}` is no room of the house; a new room gets its floor in tests/tidy/imports.rs"));
    };
    let from_floor = floor(from)?;
    match (from, to_floor) {
        ("model", _) => Some(format!("the model imports nothing of the house, not `{to}` either")),
        (_, to_floor) if to_floor < from_floor => Some(format!("`{from}` climbs a floor to `{to}`")),
        (_, to_floor) if to_floor == from_floor => Some(format!("`{from}` opens a door to `{to}`; they meet as values, above")),
        _ => None,
    }
}

/// The names of modules from the crate's root to this file.
fn modules(path: &str) -> Vec<String> {
    let inner = path.trim_start_matches("harness/src/").trim_end_matches(".rs");
    let inner = inner.strip_suffix("/mod").unwrap_or(inner);
    inner.split('/').filter(|part| *part != "lib" && *part != "main").map(str::to_owned).collect()
}

fn rule(file: &File) -> Vec<Complaint> {
    let own = modules(&file.path);
    let is_main = file.path == "harness/src/main.rs";
    let room = own.first().map_or(if is_main { "main" } else { "lib" }, String::as_str);
    if room == "lib" {
        return Vec::new();
    }
    if floor(room).is_none() {
        return vec![Complaint::of(&file.path, format!("`{room}` has no floor yet; it gets one in tests/tidy/imports.rs"))];
    }
    let tokens = file.tokens();
    let mut reader = Reader { tokens: &tokens, found: Vec::new() };
    let mut complaints = Vec::new();
    let mut inline: Vec<(usize, String)> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        inline.retain(|(end, _)| at < *end);
        if token.is("mod") && tokens.get(at + 2).is_some_and(|next| next.is("{")) {
            inline.push((tokens::closing(&tokens, at + 2), tokens[at + 1].text.clone()));
        }
        if token.is("path") && at > 1 && tokens::stand_at(&tokens, at - 2, &["#", "["]) {
            complaints.push(Complaint::at(file, token.line, "`#[path]` moves a module out of its folder"));
        }
        if !["crate", "self", "super", "killpoint"].iter().any(|word| token.is(word)) || !reader.starts_path(at) {
            continue;
        }
        if token.is("killpoint") && floor(room) != Some(0) {
            complaints.push(Complaint::at(file, token.line, "the library names itself `crate`, not `killpoint`"));
        }
        reader.path(at, own.iter().cloned().chain(inline.iter().map(|(_, name)| name.clone())).collect());
    }
    complaints.extend(reader.found.into_iter().filter_map(|(line, to)| {
        let why = match to {
            Some(to) => forbids(room, &to)?,
            None => "this opens every door at once; name the room".to_owned(),
        };
        Some(Complaint::at(file, line, why))
    }));
    complaints
}

/// Follows paths to the room they lead into.
struct Reader<'a> {
    tokens: &'a [Token],
    /// Lines and rooms; no room where the crate's root itself is meant.
    found: Vec<(usize, Option<String>)>,
}

impl Reader<'_> {
    fn is_joined(&self, at: usize) -> bool {
        tokens::stand_at(self.tokens, at, &[":", ":"])
    }

    /// Whether a path (or a renaming of the root) begins here, rather than goes on.
    fn starts_path(&self, at: usize) -> bool {
        let goes_on = at > 2 && self.is_joined(at - 2) && {
            let before = &self.tokens[at - 3];
            before.kind == Kind::Word && !BEFORE_A_PATH.contains(&before.text.as_str())
        };
        let renames = self.tokens.get(at + 1).is_some_and(|next| next.is("as"));
        !goes_on && (self.is_joined(at + 1) || renames)
    }

    /// Reads the path at `at`, or the group of paths, as it is read in the module `base`.
    fn path(&mut self, mut at: usize, mut base: Vec<String>) {
        while let Some(token) = self.tokens.get(at) {
            match token.text.as_str() {
                "crate" | "killpoint" => base.clear(),
                "super" => {
                    base.pop();
                }
                "self" => {}
                "{" if base.is_empty() => return self.group(at),
                name => {
                    let to = base.first().cloned().or_else(|| (token.kind == Kind::Word).then(|| name.to_owned()));
                    return self.found.push((token.line, to));
                }
            }
            if !self.is_joined(at + 1) {
                return self.found.push((token.line, base.first().cloned()));
            }
            at += 3;
        }
    }

    /// Reads `{a, b::c, self}` behind the crate's root.
    fn group(&mut self, open: usize) {
        let end = tokens::closing(self.tokens, open);
        let mut at = open + 1;
        while at < end {
            self.path(at, Vec::new());
            at = tokens::find_outside(self.tokens, at, &[","]).map_or(end, |comma| comma + 1);
        }
    }
}

#[test]
fn imports_climb_no_floor_and_open_no_door_between_rooms() {
    holds(|file| file.is_rust() && file.is_below("harness/src/"), rule);
}

#[test]
fn an_import_that_climbs_or_opens_a_door_is_seen_in_every_form() {
    let climb = "climbs a floor";
    let door = "opens a door";
    let cases = [
        ("tracer/mod.rs", "use crate::trial::run;", climb),
        ("tracer/mod.rs", "fn a() { crate::campaign::run() }", climb),
        ("tracer/mod.rs", "use crate::{model::point::Point, oracle};", door),
        ("tracer/mod.rs", "use crate::{\n  model::{call, point},\n  sandbox::{self, Watch},\n};", door),
        ("tracer/mod.rs", "use super::store::RunFolder;", door),
        ("tracer/engine.rs", "use super::super::store::RunFolder;", door),
        ("tracer/engine.rs", "pub(in super::super::store) fn a() {}", door),
        ("tracer/engine.rs", "#[cfg(test)] mod tests { use super::super::super::plan::plan; }", door),
        ("tracer/engine.rs", "mod a { mod b {} use super::super::super::{plan}; }", door),
        ("tracer/tests.rs", "fn a() { assert_eq!(1, crate::plan::b(crate::model::c)); }", door),
        ("report/mod.rs", "macro_rules! a { () => { $crate::store::read() } }", door),
        ("report/mod.rs", "use ::killpoint::store::RunFolder;", door),
        ("report/mod.rs", "use killpoint::model::point::Point;", "names itself `crate`"),
        ("store/mod.rs", "use crate::sandbox;", door),
        ("trial/mod.rs", "use crate::campaign::Options;", climb),
        ("campaign/mod.rs", "use crate::cli::Args;", climb),
        ("model/point.rs", "use crate::sys::signal;", "the model imports nothing"),
        ("model/point.rs", "use crate::tracer::Call;", "the model imports nothing"),
        ("sys/ptrace.rs", "use crate::model::call::Object;", climb),
        ("plan/mod.rs", "use crate::Point;", "is no room"),
        ("plan/mod.rs", "use crate::*;", "every door"),
        ("plan/mod.rs", "use super::*;", "every door"),
        ("plan/mod.rs", "use crate as house;", "every door"),
        ("plan/mod.rs", "use crate::{self as house};", "every door"),
        ("plan/mod.rs", "#[path = \"../store/mod.rs\"] mod copy;", "out of its folder"),
        ("attic/mod.rs", "fn a() {}", "has no floor yet"),
    ];
    for (path, text, why) in cases {
        objects(rule, &format!("harness/src/{path}"), text, why);
    }
}

#[test]
fn an_import_that_goes_down_is_let_pass() {
    let cases = [
        ("main.rs", "mod cli; fn main() { crate::cli::run(); killpoint::campaign::run() }"),
        ("cli/run.rs", "use killpoint::campaign::{self, Options}; use super::exit; use crate::cli::args;"),
        ("lib.rs", "pub mod model; pub use model::point::Point;"),
        ("campaign/mod.rs", "use crate::{trial, store::RunFolder, model::*};"),
        ("trial/mod.rs", "use crate::sandbox::Watch; use crate::sys::signal;"),
        ("tracer/engine.rs", "use super::calls; use crate::sys::ptrace; use crate::model::call::Object; use crate::tracer::x;"),
        ("tracer/tests/a.rs", "use super::super::engine; use super::*; mod b { use super::super::super::engine; }"),
        (
            "sandbox/api/desk.rs",
            "pub(in crate::sandbox) struct D; impl D { fn a(self) { self.b; super::c() } pub(crate) fn d() {} }",
        ),
        ("model/schedule.rs", "use super::point::Point; fn a() { crate::model::point::b(); std::mem::take(x); a::crate_name }"),
        ("report/mod.rs", "// crate::store\n/// [`crate::store`]\nfn a() { \"crate::store::x\" }"),
    ];
    for (path, text) in cases {
        accepts(rule, &format!("harness/src/{path}"), text);
    }
}
