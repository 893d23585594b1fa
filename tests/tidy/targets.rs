//! Whether targets, scenarios and the table in `targets/README.md` know of each other, and whether targets cannot see the house.

use super::tokens;
use super::tree::{self, File};
use super::{Complaint, accepts, nobody_complains, objects};

const README: &str = "targets/README.md";
const MANIFEST: &str = "Cargo.toml";

/// What the rule looks at.
#[derive(Clone, Default)]
struct Garden {
    /// Name and source of each `[[bin]]`.
    bins: Vec<(String, String)>,
    scenarios: Vec<File>,
    /// The files below `targets/`.
    targets: Vec<File>,
    /// The text of the table.
    readme: Option<String>,
}

impl Garden {
    fn of(files: &[File]) -> Self {
        let of = |folder| files.iter().filter(move |file| file.is_below(folder)).cloned();
        let text = |path: &str| files.iter().find(|file| file.path == path).map(|file| file.text.clone());
        let scenarios = of("scenarios/").filter(|file| file.path.ends_with(".toml")).collect();
        Self {
            bins: bins(&text(MANIFEST).unwrap_or_default()),
            scenarios,
            targets: of("targets/").collect(),
            readme: text(README),
        }
    }
}

fn table(manifest: &str) -> toml::Table {
    manifest.parse().unwrap_or_else(|error| panic!("{MANIFEST}: {error}"))
}

fn bins(manifest: &str) -> Vec<(String, String)> {
    let table = table(manifest);
    let text = |bin: &toml::Value, key: &str| bin.get(key).and_then(toml::Value::as_str).unwrap_or_default().to_owned();
    let bins = table.get("bin").and_then(toml::Value::as_array).into_iter().flatten();
    bins.map(|bin| (text(bin, "name"), text(bin, "path"))).collect()
}

/// Whether a text has this name in it, not as a part of a longer one.
fn names(text: &str, name: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-');
    text.match_indices(name)
        .any(|(at, _)| !is_part(text[..at].chars().next_back()) && !is_part(text[at + name.len()..].chars().next()))
}

fn has_main(file: &File) -> bool {
    let tokens = file.tokens();
    (0..tokens.len()).any(|at| tokens::stand_at(&tokens, at, &["fn", "main", "("]))
}

fn rule(garden: &Garden) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let mut complain = |path: &str, what: &str| complaints.push(Complaint::of(path, what));
    let Some(readme) = &garden.readme else { return vec![Complaint::of(README, "is not there")] };
    if garden.scenarios.is_empty() {
        complain("scenarios", "there is no scenario");
    }
    for scenario in &garden.scenarios {
        if !names(readme, scenario.name()) && !names(readme, scenario.name().trim_end_matches(".toml")) {
            complain(&scenario.path, "targets/README.md does not name this scenario");
        }
    }
    for (name, path) in &garden.bins {
        if !readme.lines().any(|line| line.trim_start().starts_with('|') && names(line, name)) {
            complain(path, &format!("`{name}` has no row in the table of targets/README.md"));
        }
        if !garden.scenarios.iter().any(|scenario| names(&scenario.text, name)) {
            complain(path, &format!("no scenario runs `{name}`"));
        }
    }
    for file in &garden.targets {
        let is_bin = garden.bins.iter().any(|(_, path)| *path == file.path);
        if file.is_rust() && has_main(file) != is_bin {
            complain(&file.path, "a Rust target has a `main` and its `[[bin]]` in Cargo.toml, or neither");
        }
        let folder = file.path.split('/').nth(1).filter(|_| file.path.matches('/').count() > 1);
        if folder.is_some_and(|folder| !names(readme, folder)) {
            complain(&file.path, "targets/README.md does not name the folder this target stands in");
        }
    }
    complaints
}

/// Targets are built from `[dependencies]` of the root; what is not there they cannot import.
fn wall_rule(file: &File) -> Vec<Complaint> {
    let table = table(&file.text);
    let sections = ["dependencies", "build-dependencies"].iter().filter_map(|name| table.get(*name)?.as_table());
    let is_house = |(name, value): &(&String, &toml::Value)| {
        let is = |key: &str, text: &str| {
            value.get(key).and_then(toml::Value::as_str).is_some_and(|found| found.trim_matches(['.', '/']) == text)
        };
        name.as_str() == "killpoint" || is("package", "killpoint") || is("path", "harness")
    };
    let found = sections.flat_map(toml::Table::iter).filter(is_house);
    found
        .map(|(name, _)| {
            Complaint::of(&file.path, format!("`{name}` lets targets see the house; tests take it as dev-dependency"))
        })
        .collect()
}

#[test]
fn every_scenario_and_every_target_is_named_in_the_table() {
    nobody_complains(rule(&Garden::of(tree::files())));
}

#[test]
fn a_target_cannot_see_the_house() {
    nobody_complains(wall_rule(tree::file(MANIFEST).expect("the workspace has a manifest")));
}

#[test]
fn a_target_that_sees_the_house_is_seen() {
    objects(wall_rule, MANIFEST, "[dependencies]\nkillpoint = { path = \"harness\" }\n", "see the house");
    objects(wall_rule, MANIFEST, "[dependencies]\nhouse = { path = \"./harness\" }\n", "see the house");
    objects(wall_rule, MANIFEST, "[dependencies]\nhouse = { package = \"killpoint\", version = \"1\" }\n", "see the house");
    accepts(wall_rule, MANIFEST, "[dependencies]\nlibc = \"1\"\n[dev-dependencies]\nkillpoint = { path = \"harness\" }\n");
}

#[test]
fn a_scenario_or_a_target_that_is_named_nowhere_is_seen() {
    let manifest = "[[bin]]\nname = \"pay\"\npath = \"targets/native/pay.rs\"\n";
    let scenario = File::new("scenarios/native/pay-once.toml", "start = [\"target/debug/pay\"]");
    let readme = "In `native`.\n| `pay` | `scenarios/native/pay-once.toml` | once |\n";
    let good = [
        File::new(MANIFEST, manifest),
        File::new("targets/native/pay.rs", "mod common; fn main() {}"),
        File::new("targets/native/common/mod.rs", "pub fn charge() {}"),
        File::new(README, readme),
        scenario,
    ];
    assert_eq!(rule(&Garden::of(&good)), []);
    let with = |path: &str, text: Option<&str>| {
        let kept = good.iter().filter(|file| file.path != path).cloned();
        rule(&Garden::of(&kept.chain(text.map(|text| File::new(path, text))).collect::<Vec<_>>()))
    };
    for (path, text, why) in [
        (README, None, "is not there"),
        (README, Some(""), "does not name this scenario"),
        (README, Some("`native` `pay` `pay-once.toml`"), "no row"),
        (README, Some("`native`\n| `pays` | `pay-once` |"), "no row"),
        (README, Some("| pay | `pay-once.toml` |"), "the folder"),
        ("scenarios/native/pay-once.toml", None, "no scenario"),
        ("scenarios/native/pay-once.toml", Some("start = [\"repay\"]"), "no scenario runs `pay`"),
        ("scenarios/pay-twice.toml", Some(""), "does not name this scenario"),
        ("targets/native/other.rs", Some("fn main() {}"), "or neither"),
        ("targets/native/pay.rs", Some("fn pay() {}"), "or neither"),
        ("targets/node/pay.js", Some(""), "the folder"),
    ] {
        let complaints = with(path, text);
        assert!(complaints.iter().any(|complaint| complaint.what.contains(why)), "{path}: no `{why}` in {complaints:?}");
    }
}
