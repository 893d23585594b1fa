//! Whole scenarios: what they mean, and that they survive being written and read back; and that no text at all is a panic.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::{LARGE, SMALL};
use crate::model::fault::Fault;
use crate::model::interleaving::Interleaving;
use crate::model::limits::{DEPTH_MAX, LIFE_TIMEOUT_MAX_MS, LIVES_MAX, TRIALS_MAX};
use crate::model::promise::{Count, Endpoint, IntentSource, Promise, Source};
use crate::model::scenario::{
    CampaignSpec, Dedup, ModeChoice, Network, PointRange, Role, SandboxSpec, Scenario, Scope, Strategy as Sweep,
};
use crate::scenario::{from_command, parse, to_toml};

fn read(text: &str) -> Scenario {
    parse(text, "pay.toml", Path::new("/base")).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_smallest_scenario_gets_the_defaults() {
    let mut expected = from_command(&["./pay".to_owned()], Path::new("/base"));
    expected.name = "small".to_owned();
    expected.roles[0].env.clear();
    assert_eq!(read(SMALL), expected);
    assert_eq!(expected.workflow().life_timeout_ms, 60_000);
    assert_eq!(expected.workflow().resume, ["./pay"]);
}

#[test]
fn every_key_arrives_in_the_model() {
    insta::assert_snapshot!(serde_json::to_string_pretty(&read(LARGE)).expect("a scenario is JSON"));
}

#[test]
fn the_scenario_of_the_manual_is_read() {
    let scenario = read(
        r#"
name = "langgraph: charge without a key"
scope = "process-death"

[workflow]
dir = "../../targets/langgraph"                 # working directory
setup = ["python3", "-m", "venv", "{venv}"]     # run once, cached by the content of what it reads
start = ["{venv}/bin/python", "refund.py", "--thread", "t1", "--cents", "2900", "--durability", "{matrix.durability}"]
resume = ["{venv}/bin/python", "refund.py", "--thread", "t1", "--resume"]
env = { BILLING_URL = "{sandbox.url}", STATE_DIR = "{state}" }
life_timeout = "30s"
lives_max = 5

[sandbox]
profile = "stripe-v1"

[[promise]]
name = "charge"
effect = "POST /v1/charges"
intent = "$.metadata.invoice"
exactly = 1

[matrix]
durability = ["sync", "async", "exit"]

[campaign]
strategy = "sweep"
points = "all"
depth = 1
faults = ["kill"]
"#,
    );
    assert_eq!(scenario.workflow().dir, Path::new("/targets/langgraph"));
    assert_eq!(scenario.workflow().setup, [["python3", "-m", "venv", "{venv}"]]);
    assert_eq!(scenario.cells().len(), 3);
    assert_eq!(scenario.promises[0].intent, IntentSource::Body("$.metadata.invoice".to_owned()));
}

#[test]
fn a_command_line_becomes_a_scenario_with_the_sandbox_in_its_environment() {
    let argv = ["/usr/bin/python3", "refund.py", "{}", "{state}/x"].map(str::to_owned);
    let scenario = from_command(&argv, Path::new("/my dir"));
    assert_eq!(scenario.name, "python3");
    assert_eq!(scenario.workflow().start, ["/usr/bin/python3", "refund.py", "{{}}", "{state}/x"]);
    let names: Vec<&str> = scenario.workflow().env.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["BILLING_URL", "STRIPE_API_BASE", "MCP_URL", "SMTP_URL", "STATE_DIR"]);
    assert_eq!(read(&to_toml(&scenario)), scenario);
    assert_eq!(from_command(&[], Path::new("/")).name, "command");
}

#[test]
fn a_written_scenario_is_one_a_person_can_read() {
    insta::assert_snapshot!(to_toml(&read(LARGE)));
    insta::assert_snapshot!(to_toml(&from_command(&["./pay".to_owned()], Path::new("/base"))));
}

/// A text for a process: anything without NUL, its braces doubled.
fn word() -> impl Strategy<Value = String> {
    any::<String>().prop_map(|text| text.replace('\0', "0").replace('{', "{{").replace('}', "}}"))
}

fn command() -> impl Strategy<Value = Vec<String>> {
    ("[^\0{}]{1,9}", prop::collection::vec(word(), 0..4)).prop_map(|(program, mut words)| {
        words.insert(0, program);
        words
    })
}

fn env() -> impl Strategy<Value = Vec<(String, String)>> {
    prop::collection::btree_map("[^\0=]{1,9}", word(), 0..4).prop_map(|env| env.into_iter().rev().collect())
}

fn role() -> impl Strategy<Value = Role> {
    let commands = (prop::collection::vec(command(), 0..3), command(), command(), env());
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let codes = (prop::collection::vec(0..100_i32, 1..3), prop::collection::vec(100..256_i32, 0..3));
    let texts = ("(/[a-zü ]{1,5}){1,3}", prop::collection::vec("[^\0]{1,9}", 0..3), prop::collection::vec("[a-z*/]{1,9}", 0..3));
    let times = (1..=LIFE_TIMEOUT_MAX_MS, 0..=LIFE_TIMEOUT_MAX_MS, 0..=LIFE_TIMEOUT_MAX_MS, 2..=LIVES_MAX);
    (commands, flags, codes, texts, times).prop_map(|(commands, flags, codes, texts, times)| Role {
        reset: Vec::new(),
        reconcile: Vec::new(),
        state_paths: if flags.0 { vec![PathBuf::from("/var/lib/app")] } else { Vec::new() },
        name: "workflow".to_owned(),
        dir: PathBuf::from(texts.0),
        dir_copy: flags.0,
        setup: commands.0,
        setup_reads: texts.1,
        setup_always: flags.1,
        start: commands.1,
        resume: commands.2,
        env: commands.3,
        network: if flags.2 { Network::Host } else { Network::Private },
        done_exit_codes: codes.0,
        unknown_exit_codes: codes.1,
        accept_declared_unknown: flags.2,
        ignore: texts.2,
        life_timeout_ms: times.0,
        drain_ms: times.1,
        linger_ms: times.2,
        lives_max: times.3,
    })
}

/// A kind of effect.
#[derive(Clone, Debug)]
enum Kind {
    Requests(String, Option<Endpoint>),
    Tool(String),
    Rows(String),
    Lines(String),
}

impl Kind {
    fn of(self, index: usize, name: &str) -> (Endpoint, Option<Source>, Option<Endpoint>) {
        match self {
            Self::Requests(path, net_of) => (Endpoint::new("POST", format!("/{index}{path}")), None, net_of),
            Self::Tool(tool) => (Endpoint::new("MCP", format!("/{tool}{index}")), None, None),
            Self::Rows(query) => {
                let source = Source::Rows { database: "{state}/app.db".to_owned(), query: format!("SELECT {query}") };
                (Endpoint::new("ROWS", format!("/{name}")), Some(source), None)
            }
            Self::Lines(file) => (Endpoint::new("LINES", format!("/{name}")), Some(Source::Lines { file }), None),
        }
    }
}

fn kind() -> impl Strategy<Value = Kind> {
    let back = prop_oneof![
        Just(None),
        Just(Some(Endpoint::new("POST", "/v1/refunds"))),
        Just(Some(Endpoint::new("MCP", "/create_refund")))
    ];
    prop_oneof![
        ("(/([a-z]{1,5}|\\*|\\{[a-z]{1,3}\\})){1,3}", back).prop_map(|(path, back)| Kind::Requests(path, back)),
        "[a-z_.-]{1,9}".prop_map(Kind::Tool),
        "[a-z'\"]{1,9}".prop_map(Kind::Rows),
        "[a-z'\"./]{1,9}".prop_map(Kind::Lines),
    ]
}

fn promises() -> impl Strategy<Value = Vec<Promise>> {
    let intent = prop_oneof![
        "\\$(\\.[a-z]{1,5}){0,3}".prop_map(IntentSource::Body),
        "[a-z][a-z-]{0,8}".prop_map(IntentSource::Header),
        "[^\0]{1,9}".prop_map(IntentSource::Query),
        Just(IntentSource::Auto),
    ];
    let bounds = (0..9_u32, prop::option::of(9..99_u32))
        .prop_map(|(low, at_most)| Count { at_least: low.max(u32::from(at_most.is_none())), at_most });
    let count = prop_oneof![any::<u32>().prop_map(Count::exactly), bounds];
    let counts = prop::collection::btree_map(any::<String>(), any::<u32>().prop_map(Count::exactly), 0..3);
    let one = (intent, count, counts, prop::option::of("\\$\\.[a-z]{1,5}"), kind());
    prop::collection::btree_map("[a-z_.-]{1,9}", one, 0..3).prop_map(|named| {
        let named = named.into_iter().filter(|(name, _)| name != "start").enumerate();
        let promise =
            |(index, (name, (intent, count, counts, amount, kind))): (usize, (String, (IntentSource, Count, _, _, Kind)))| {
                let (endpoint, source, net_of) = kind.of(index, &name);
                let is_fit = endpoint.method == "POST" || matches!(intent, IntentSource::Body(_));
                let intent = if is_fit { intent } else { IntentSource::Auto };
                let counts = if intent == IntentSource::Auto { BTreeMap::new() } else { counts };
                Promise { intent, count, counts, amount, source, net_of, ..Promise::once(name, endpoint) }
            };
        named.map(promise).collect()
    })
}

fn campaign() -> impl Strategy<Value = CampaignSpec> {
    let modes = prop::sample::select(vec![ModeChoice::Auto, ModeChoice::Image, ModeChoice::Kill]);
    let dedups = prop::sample::select(vec![Dedup::None, Dedup::Raw, Dedup::Logical]);
    let orders = prop::collection::btree_set(0_u64..9, 1..4).prop_map(|seeds| {
        seeds.into_iter().map(|seed| if seed == 0 { Interleaving::FlushLate } else { Interleaving::Seed(seed) }).collect()
    });
    (any::<bool>(), any::<bool>(), any::<u64>(), 1..=TRIALS_MAX, any::<bool>(), modes, dedups, 1..=DEPTH_MAX, orders).prop_map(
        |(sample, window, seed, trials, twice, mode, dedup, depth, interleavings)| CampaignSpec {
            mode,
            dedup,
            depth: if mode == ModeChoice::Kill { 1 } else { depth },
            interleavings,
            strategy: if sample { Sweep::Sample } else { Sweep::Sweep },
            points: if window { PointRange::Window } else { PointRange::All },
            faults: vec![Fault::Kill],
            fail: Vec::new(),
            seed,
            trials: if sample { trials } else { 0 },
            twice,
        },
    )
}

fn scenario() -> impl Strategy<Value = Scenario> {
    let matrix = prop::collection::btree_map("[A-Za-z0-9_.-]{1,6}", prop::collection::btree_set("[^\0]{0,6}", 1..4), 0..3);
    ("[^\0]{0,9}[a-z]", role(), promises(), matrix, campaign()).prop_map(|(name, mut role, promises, matrix, mut campaign)| {
        if promises.iter().all(|promise| !promise.endpoint.is_request()) {
            campaign.points = PointRange::All;
        }
        role.start.extend(matrix.keys().map(|name| format!("{{matrix.{name}}}")));
        let matrix = matrix.into_iter().rev().map(|(name, values)| (name, values.into_iter().collect())).collect();
        let sandbox = SandboxSpec::default();
        Scenario { name, scope: Scope::ProcessDeath, roles: vec![role], sandbox, promises, matrix, campaign }
    })
}

/// Whether an error names the place and holds nothing a terminal would obey.
fn is_plain(shown: &str) -> bool {
    shown.contains("any.toml:") && !shown.chars().any(|c| c.is_control() && c != '\n')
}

#[test]
fn nothing_in_a_file_is_obeyed_by_the_terminal() {
    let in_a_scope = "name = \"x\"\nscope = \"\\u009b2J\\u001b[2J\\n\"\nworkflow.start = [\"x\"]";
    for text in ["name = \"\"#\u{9b}2J\n", "\"\\u001b[2J\" = 1\n", in_a_scope] {
        let shown = parse(text, "any.toml", Path::new("/base")).expect_err("a broken scenario").to_string();
        assert!(is_plain(&shown), "{shown:?}");
    }
}

#[test]
fn depth_and_length_are_an_error_and_not_a_crash() {
    let deep = format!("{SMALL}a = {}", "[".repeat(500_000));
    let wide = format!("{SMALL}env = {{ A = \"{}\" }}", "{x}".repeat(50_000));
    let many = "[[promise]]\n".repeat(80_000);
    for text in [deep, wide, many] {
        assert!(parse(&text, "any.toml", Path::new("/base")).is_err_and(|error| is_plain(&error.to_string())));
    }
}

proptest! {
    #[test]
    fn a_scenario_survives_being_written_and_read_back(scenario in scenario()) {
        let text = to_toml(&scenario);
        match parse(&text, "written.toml", Path::new("/elsewhere")) {
            Ok(read) => prop_assert_eq!(read, scenario),
            Err(error) => prop_assert!(false, "{}\n{}", text, error),
        }
    }

    #[test]
    fn any_text_is_a_scenario_or_an_error_and_never_a_panic(text in any::<String>()) {
        if let Err(error) = parse(&text, "any.toml", Path::new("/base")) {
            prop_assert!(is_plain(&error.to_string()) && !error.render(true).is_empty(), "{}", error);
        }
    }

    #[test]
    fn a_scenario_with_a_part_replaced_is_read_or_an_error_and_never_a_panic(
        cut in any::<prop::sample::Index>(), length in 0..40_usize, other in "[\\x00-\\x7Fäß日👩\u{FEFF}\r\n\t{}\"\\[\\]=#'.-]{0,8}", small in any::<bool>(),
    ) {
        let whole: Vec<char> = if small { SMALL } else { LARGE }.chars().collect();
        let from = cut.index(whole.len());
        let to = (from + length).min(whole.len());
        let text: String = whole[..from].iter().copied().chain(other.chars()).chain(whole[to..].iter().copied()).collect();
        if let Err(error) = parse(&text, "any.toml", Path::new("/base")) {
            prop_assert!(is_plain(&error.to_string()) && !error.render(true).is_empty(), "{}", error);
        }
    }

    #[test]
    fn one_key_with_any_value_is_read_or_an_error_and_never_a_panic(
        key in prop::sample::select(vec!["dir", "setup", "start", "resume", "env", "ignore", "drain", "lives_max", "done_exit_codes"]),
        value in prop_oneof![
            any::<String>().prop_map(|text| toml::Value::String(text).to_string()), any::<i64>().prop_map(|n| n.to_string()),
            any::<f64>().prop_map(|n| toml::Value::Float(n).to_string()), Just("1979-05-27T07:32:00Z".to_owned()),
            Just("[[1], \"a\", {}]".to_owned()), Just("{ a.b = 1 }".to_owned()), Just("99999999999999999999999999999999999999999".to_owned()),
        ],
    ) {
        let text = format!("{SMALL}{key} = {value}\n");
        if let Err(error) = parse(&text, "any.toml", Path::new("/base")) {
            prop_assert!(is_plain(&error.to_string()), "{}", error);
        }
    }
}
