//! The sandbox and its OpenAPI description: what is described is served, and answers are as described.

use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use killpoint::model::scenario::SandboxSpec;
use killpoint::sandbox::{self, NoWatch, Sandbox, SandboxConfig};
use serde_json::Value;

use crate::support::{self, python};

/// Examples that schemathesis draws for each operation.
const EXAMPLES_MAX: &str = "10";

/// What the examples are drawn from: a failure comes back.
const SEED: &str = "20260";

/// What schemathesis looks at. Whether a wrong value is refused is not among it: the API takes more than its description promises.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance";

/// A sandbox of its own, as long as `with` runs, which gets its URL.
fn sandboxed<T>(with: impl FnOnce(&str) -> T) -> T {
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = support::runtime();
    let config = SandboxConfig {
        spec: SandboxSpec::default(),
        rules: Vec::new(),
        ledger_path: folder.path().join("ledger.db"),
        epoch: Instant::now(),
    };
    let sandbox = runtime.block_on(Sandbox::start(config, Arc::new(NoWatch))).expect("a free port");
    let done = with(&sandbox.url());
    runtime.block_on(sandbox.stop());
    done
}

/// The status and the body of an answer.
fn ask(method: &str, url: &str) -> (u16, Value) {
    let request = ureq::http::Request::builder().method(method).uri(url).body(()).expect("a request");
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().into();
    let mut answer = agent.run(request).unwrap_or_else(|error| panic!("{method} {url}: {error}"));
    let text = answer.body_mut().read_to_string().expect("a text");
    (answer.status().as_u16(), serde_json::from_str(&text).expect("JSON"))
}

#[test]
fn the_description_is_served_where_the_sandbox_is() {
    let (status, served) = sandboxed(|url| ask("GET", &format!("{url}/_killpoint/openapi.json")));
    assert_eq!((status, served), (200, sandbox::openapi()));
}

#[test]
fn every_path_of_the_description_is_one_that_the_sandbox_knows() {
    let description = sandbox::openapi();
    let paths = description["paths"].as_object().expect("paths");
    let operations =
        paths.iter().flat_map(|(path, item)| item.as_object().expect("operations").keys().map(move |method| (path, method)));
    sandboxed(|url| {
        let mut asked = 0;
        for (path, method) in operations {
            let (_, answer) = ask(&method.to_uppercase(), &format!("{url}{}", path.replace("{id}", "none")));
            // A path that is not known is refused as such when it is read, and is an effect of no shape when it is written to.
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(!message.starts_with("nothing is served"), "{method} {path}: {message}");
            assert_ne!(answer["object"], "effect", "{method} {path}");
            asked += 1;
        }
        assert!(asked > 20, "only {asked} operations are described");
    });
}

#[test]
fn schemathesis_finds_no_failure_of_the_server_and_no_breach_of_its_description() {
    let programs = python::programs("tests/openapi/requirements.txt");
    let folder = tempfile::tempdir().expect("a folder");
    sandboxed(|url| {
        let mut schemathesis = Command::new(programs.join("python"));
        schemathesis.args(["-m", "schemathesis.cli", "run", "--no-color", "--checks", CHECKS, "--max-examples", EXAMPLES_MAX]);
        schemathesis.args(["--seed", SEED, "--generation-database", "none", "--workers", "1"]);
        schemathesis.arg(format!("{url}/_killpoint/openapi.json"));
        // It keeps notes in the folder it runs in.
        let output = schemathesis.current_dir(folder.path()).env("NO_PROXY", "127.0.0.1").output().expect("schemathesis runs");
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{said}");
        let (_, made) = ask("GET", &format!("{url}/v1/charges"));
        assert!(made["data"].as_array().is_some_and(|charges| !charges.is_empty()), "no charge was made at all\n{said}");
    });
}
