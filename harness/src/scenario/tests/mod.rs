//! Tests of the room: broken scenarios as a stranger would see them, whole ones, any text at all, the way there and back.

mod broken;
mod files;
mod outside;
mod whole;

/// The smallest scenario.
const SMALL: &str = "name = \"small\"\n[workflow]\nstart = [\"./pay\"]\n";

/// Most keys at once.
const LARGE: &str = r#"name = "large"
scope = "process-death"

[workflow]
dir = "sub"
dir_copy = true
setup = [["python3", "-m", "venv", "{venv}"], ["make", "DIR={dir}"]]
setup_reads = ["requirements.txt"]
setup_always = false
start = ["{venv}/bin/python", "refund.py", "--mode", "{matrix.mode}", "{{braces}}"]
resume = ["./pay", "--resume"]
env = { BILLING_URL = "{sandbox.url}", PORT = 8080, DEBUG = true, RATIO = 1.0, BATCH = "{matrix.batch}" }
done_exit_codes = [0, 3]
unknown_exit_codes = [75]
declared_unknown = "accept"
ignore = ["*.log", "cache/**"]
life_timeout = "30s"
drain = "250ms"
linger = "0s"
lives_max = 7

[sandbox]
profile = "stripe-v1"

[[promise]]
name = "charge"
effect = "POST /v1/charges"
intent = "$.metadata.invoice"
counts = { inv_9 = 2 }
amount = "$.amount"

[[promise]]
name = "pause"
effect = "POST /v1/subscriptions/{id}/pause"
intent = "header:X-Intent"
at_least = 1
at_most = 2

[matrix]
mode = ["sync", "async"]
batch = [1, 2]

[campaign]
strategy = "sample"
points = "window"
faults = ["kill"]
seed = 42
trials = 100
twice = true
depth = 1
"#;

/// What a stranger sees of a broken scenario.
fn shown(text: &str) -> String {
    match super::parse(text, "pay.toml", std::path::Path::new("/base")) {
        Ok(scenario) => panic!("this was to be broken, but is {scenario:#?}"),
        Err(error) => error.to_string(),
    }
}

/// The large scenario with one part replaced.
fn large_with(part: &str, other: &str) -> String {
    assert!(LARGE.contains(part), "`{part}` is not in the large scenario");
    LARGE.replacen(part, other, 1)
}
