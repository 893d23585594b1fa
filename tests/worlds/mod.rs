//! The same world in every life: addresses and paths that a workflow may store, nothing outside within reach, and trials that do not meet.

use std::path::Path;
use std::process::Command;

use killpoint::model::call::Notice;
use killpoint::model::report::{Mode, Report, RunVerdict};
use killpoint::model::scenario::{Network, Scenario};

use crate::support;

/// A scenario around a Python script, with one promise and helpers: `charge(url)` charges inv_1 under a stable key.
fn script(body: &str) -> Scenario {
    let helpers = r#"
import os, socket, sys, urllib.request
def charge(url):
    body = b"amount=2900&currency=usd&metadata[invoice]=inv_1"
    urllib.request.urlopen(urllib.request.Request(url + "/v1/charges", body, dict([("Idempotency-Key", "inv_1")]))).read()
"#;
    let text = format!(
        "name = \"worlds\"\n[workflow]\ndir = \"/usr\"\nstart = [\"python3\", \"-c\", '''{helpers}{body}''']\n\
         env = {{ BILLING_URL = \"{{sandbox.url}}\", STATE_DIR = \"{{state}}\", PYTHONDONTWRITEBYTECODE = \"1\" }}\n\
         [[promise]]\nname = \"charge\"\neffect = \"POST /v1/charges\"\nintent = \"$.metadata.invoice\"\n"
    );
    killpoint::scenario::parse(&text, "worlds.toml", Path::new("/")).unwrap_or_else(|error| panic!("{error}"))
}

/// Whether this machine gives trials a world of their own; without, there is nothing to show, which is said.
fn is_private(report: &Report) -> bool {
    let isolation = report.isolation.as_ref().expect("a report says whose network it was");
    if isolation.network == Network::Host {
        assert!(isolation.reason.is_some(), "a fallback says why");
        eprintln!("nothing is shown: {isolation:?}");
    }
    isolation.network == Network::Private
}

#[test]
fn an_address_and_a_path_that_were_stored_are_good_after_a_restart() {
    let body = r#"
note = os.environ["STATE_DIR"] + "/note"
if not os.path.exists(note):
    with open(note + ".new", "w") as file:
        file.write(os.environ["BILLING_URL"] + " " + os.environ["STATE_DIR"])
    os.rename(note + ".new", note)
url, state = open(note).read().split()
assert (url, state) == (os.environ["BILLING_URL"], os.environ["STATE_DIR"]), (url, state)
charge(url)
open(state + "/done", "w").close()
"#;
    let first = support::run(&script(body), 2);
    if !is_private(&first.report) {
        return;
    }
    assert_eq!(first.report.verdict, RunVerdict::Clean, "{:?}", first.report.cells);
    assert!(first.report.points.reached > 5);
    assert_eq!(first.report.cells[0].notices, []);
}

/// Counts how often a folder was entered, in a file of that folder, and charges once the file says one.
const COUNTING: &str = r#"
folder = sys.argv[1] if len(sys.argv) > 1 else "."
path = os.path.join(folder, "entered")
before = int(open(path).read()) if os.path.exists(path) else 0
assert os.path.exists(os.path.join(folder, "kept")), os.listdir(folder)
os.remove(os.path.join(folder, "gone")) if os.path.exists(os.path.join(folder, "gone")) else None
with open(path + ".new", "w") as file:
    file.write(str(before + 1))
os.rename(path + ".new", path)
assert before < 5, "an earlier trial was here"
charge(os.environ["BILLING_URL"])
"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["kept", "gone"] {
        std::fs::write(folder.path().join(name), "text").expect("it can be written");
    }
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_folder_elsewhere_that_holds_state_is_each_trials_own_and_is_resumed_from_images() {
    let elsewhere = folder();
    let mut scenario = script(COUNTING);
    let role = &mut scenario.roles[0];
    role.start.push(elsewhere.path().to_string_lossy().into_owned());
    role.resume = role.start.clone();
    let named = support::run(&scenario, 2);
    if !is_private(&named.report) {
        return;
    }
    let cell = &named.report.cells[0];
    assert!(cell.mode == Mode::Kill && cell.mode_reason.as_ref().is_some_and(|why| why.contains("entered")), "{cell:?}");
    std::fs::remove_file(elsewhere.path().join("entered")).expect("it was shared");
    std::fs::write(elsewhere.path().join("gone"), "text").expect("it can be written");

    scenario.roles[0].state_paths = vec![elsewhere.path().to_owned()];
    let own = support::run(&scenario, 2);
    let cell = &own.report.cells[0];
    assert_eq!((own.report.verdict, cell.mode), (RunVerdict::Clean, Mode::Image), "{cell:?}");
    assert!(own.report.states.distinct > 4);
    assert_eq!(names(elsewhere.path()), ["gone", "kept"]);
}

#[test]
fn a_copied_working_directory_is_resumed_as_it_stood_at_the_crash() {
    let dir = folder();
    let mut scenario = script(COUNTING);
    (scenario.roles[0].dir, scenario.roles[0].dir_copy) = (dir.path().to_owned(), true);
    let ran = support::run(&scenario, 2);
    let cell = &ran.report.cells[0];
    assert_eq!((ran.report.verdict, cell.mode), (RunVerdict::Clean, Mode::Image), "{cell:?}");
    assert_eq!(names(dir.path()), ["gone", "kept"]);
}

#[test]
fn what_lies_outside_is_refused_and_named_and_a_clean_run_that_fails_of_it_says_what_helps() {
    let body = r#"
for reach in (lambda: socket.create_connection(("192.0.2.1", 80), 5), lambda: socket.create_connection(("127.0.0.1", 5432), 5),
              lambda: socket.getaddrinfo("killpoint.example", 80)):
    try:
        reach()
        print("reached")
    except OSError:
        pass
charge(os.environ["BILLING_URL"])
"#;
    let ran = support::run(&script(body), 2);
    if !is_private(&ran.report) {
        return;
    }
    assert_eq!(ran.report.verdict, RunVerdict::Clean, "{:?}", ran.report.cells);
    let refused: Vec<_> = ran.report.cells[0]
        .notices
        .iter()
        .filter_map(|notice| if let Notice::Refused { object } = notice { Some(object) } else { None })
        .collect();
    assert!(refused.iter().any(|object| *object == "tcp:192.0.2.1:80"), "{refused:?}");
    assert!(refused.iter().any(|object| *object == "tcp:127.0.0.1:5432"), "{refused:?}");
    assert!(refused.iter().any(|object| object.starts_with("udp:") && object.ends_with(":53")), "{refused:?}");
    assert!(ran.report.outside.iter().any(|told| told.contains("192.0.2.1:80") && told.contains("--network host")));

    let needs = script("socket.create_connection((\"192.0.2.1\", 80), 5)\ncharge(os.environ[\"BILLING_URL\"])");
    let broken = support::run(&needs, 2);
    assert_eq!(broken.report.verdict, RunVerdict::BaselineBroken);
    let reason = broken.report.cells[0].reason.as_deref().unwrap_or_default();
    assert!(reason.contains("tcp:192.0.2.1:80") && reason.contains("--network host"), "{reason}");
}

#[test]
fn trials_side_by_side_listen_on_one_port_undisturbed() {
    let body = r#"
import threading
server = socket.create_server(("127.0.0.1", 8080))
def answer():
    other, _ = server.accept()
    other.sendall(b"own")
    other.close()
threading.Thread(target=answer, daemon=True).start()
client = socket.create_connection(("127.0.0.1", 8080))
assert client.recv(3) == b"own"
charge(os.environ["BILLING_URL"])
open(os.environ["STATE_DIR"] + "/done", "w").close()
"#;
    let ran = support::run(&script(body), 2);
    if !is_private(&ran.report) {
        return;
    }
    assert_eq!(ran.report.verdict, RunVerdict::Clean, "{:?}", (ran.report.cells, ran.report.findings));
    assert_eq!(ran.report.cells[0].notices, [], "its own server is no outside");
}

#[test]
fn what_was_left_in_shared_memory_tmp_and_home_is_there_after_the_kill_and_in_no_other_trial() {
    let body = r#"
places = ["/dev/shm/kp-left", "/tmp/kp-left", os.path.expanduser("~/kp-left")]
note = os.environ["STATE_DIR"] + "/left"
if os.path.exists(note):
    for place in places:
        assert open(place).read() == open(note).read(), place
else:
    mine = os.urandom(8).hex()
    # In the first life nothing of another trial is there; a later one may find what it had begun itself.
    begun = os.environ["STATE_DIR"] + "/begun"
    if not os.path.exists(begun):
        assert not any(os.path.exists(place) for place in places)
        open(begun, "w").close()
    for place in places:
        with open(place, "w") as file:
            file.write(mine)
    with open(note + ".new", "w") as file:
        file.write(mine)
    os.rename(note + ".new", note)
charge(os.environ["BILLING_URL"])
"#;
    let ran = support::run(&script(body), 2);
    if !is_private(&ran.report) {
        return;
    }
    assert_eq!(ran.report.verdict, RunVerdict::Clean, "{:?}", (ran.report.cells, ran.report.findings));
    let names: Vec<_> = ran.report.cells[0].notices.iter().collect();
    assert_eq!(names, Vec::<&Notice>::new(), "all of it is the trial's own");
    for place in ["/dev/shm/kp-left", "/tmp/kp-left"] {
        assert!(!Path::new(place).exists(), "{place} is seen outside");
    }
}

#[test]
fn where_namespaces_are_refused_trials_do_without_and_the_report_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = env!("CARGO_BIN_EXE_charge_with_key");
    // A user namespace of the test's own, in which no network namespace may be made.
    let limited = "echo 0 > /proc/sys/user/max_net_namespaces && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c", limited, "sh"]).arg(support::killpoint());
    command.args(["run", "--format", "json", "--out"]).arg(folder.path().join("run")).args(["--", target, "inv_1:2900"]);
    let output = command.current_dir(folder.path()).output().expect("unshare is there");
    let told = String::from_utf8_lossy(&output.stderr);
    let Ok(report) = serde_json::from_slice::<Report>(&output.stdout) else {
        assert!(told.contains("unshare"), "{told}");
        eprintln!("nothing is shown: this machine makes no user namespace: {told}");
        return;
    };
    assert_eq!(report.verdict, RunVerdict::Clean);
    let isolation = report.isolation.expect("it is said");
    assert_eq!(isolation.network, Network::Host);
    assert!(isolation.reason.is_some_and(|reason| reason.contains("max_*_namespaces")));
}

#[test]
fn with_the_machines_network_trials_have_ports_and_folders_of_their_own_and_the_report_says_so() {
    let body = r#"
assert os.environ["TMPDIR"] != "/tmp" and os.environ["STATE_DIR"] != "/tmp/kp/state"
assert not os.environ["BILLING_URL"].endswith(":26926")
charge(os.environ["BILLING_URL"])
"#;
    let mut scenario = script(body);
    scenario.roles[0].network = Network::Host;
    let ran = support::run(&scenario, 2);
    assert_eq!(ran.report.verdict, RunVerdict::Clean, "{:?}", ran.report.cells);
    let isolation = ran.report.isolation.expect("it is said");
    assert_eq!((isolation.network, isolation.reason.as_deref()), (Network::Host, Some("it was asked for")));
    // An address or a path that was stored would not be good after a restore, so each trial is a kill, and it is said.
    let cell = &ran.report.cells[0];
    assert!(cell.mode == Mode::Kill && cell.mode_reason.as_ref().is_some_and(|why| why.contains("a path")), "{cell:?}");
}
