//! The unmodified SDKs of Stripe against `killpoint sandbox`, started as a user would: with nothing changed but the address they raise the
//! exceptions that they raise for the real API.

mod node;

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};

use crate::support::{self, python};

/// A sandbox of its own process; it ends with this value.
struct Served {
    child: Child,
    url: String,
}

impl Served {
    fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(support::killpoint());
        command.arg("sandbox").args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("killpoint runs");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("it can be read");
        let url = line.trim().strip_prefix("url ").unwrap_or_else(|| panic!("no address in {line:?}")).to_owned();
        Self { child, url }
    }

    /// Ends it, and gives what it told.
    fn end(mut self) -> String {
        let mut stderr = self.child.stderr.take().expect("a pipe");
        let asked = Command::new("kill").arg(self.child.id().to_string()).status().expect("kill is there");
        assert!(asked.success(), "it had ended before");
        let mut told = String::new();
        stderr.read_to_string(&mut told).expect("a text");
        assert!(self.child.wait().expect("it ends").success(), "{told}");
        told
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Where a test failed it still runs; where it has ended there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a suite to its end and counts the cases that held.
fn suite(command: &mut Command) -> usize {
    let served = Served::start(&[]);
    let output = command.arg(&served.url).env("NO_PROXY", "127.0.0.1").output().expect("the suite runs");
    let (held, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let told = served.end();
    assert!(output.status.success(), "{held}{said}\nthe sandbox told:\n{told}");
    held.lines().filter(|line| line.starts_with("held: ")).count()
}

#[test]
fn stripe_python_meets_what_it_meets_at_the_real_api() {
    let python = python::programs("tests/sdk/requirements.txt").join("python");
    assert_eq!(suite(Command::new(python).arg("-I").arg(support::root().join("tests/sdk/suite.py"))), 14);
}

#[test]
fn stripe_node_meets_what_it_meets_at_the_real_api() {
    assert_eq!(suite(&mut node::suite()), 12);
}

#[test]
fn a_sandbox_that_is_asked_to_end_counts_its_effects() {
    let served = Served::start(&["--port", "0"]);
    for _ in 0..2 {
        let charge = ureq::post(format!("{}/v1/charges", served.url)).header("idempotency-key", "order-17");
        let answer = charge.send_form([("amount", "2900"), ("currency", "usd")]).expect("it is served");
        assert_eq!(answer.status().as_u16(), 200);
    }
    let told = served.end();
    assert!(told.contains("order-17") && told.contains("replayed"), "{told}");
    assert!(told.trim_end().ends_with("2 requests, 1 effect:\n    1  POST /v1/charges"), "{told}");
}
