//! The tracer on real programs: shells, threads, daemons, and what it must never let through.

mod hands;
mod stops;
mod turns;
mod waits;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::*;

/// Records every call, and kills at the n-th that matches.
#[derive(Default)]
struct Recorder {
    calls: Vec<(String, String)>,
    notices: Vec<Notice>,
    kill_at: Option<(&'static str, String)>,
    first_exit: bool,
}

impl Policy for Recorder {
    fn on_call(&mut self, call: &Call) -> Action {
        let object = match &call.object {
            Object::Path(path) => path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default(),
            other => format!("{other:?}"),
        };
        let hit = self.kill_at.as_ref().is_some_and(|(name, on)| *name == call.syscall && *on == object);
        self.calls.push((call.syscall.to_owned(), object));
        if hit { Action::Kill } else { Action::Continue }
    }
    fn on_notice(&mut self, notice: Notice, _: Option<&Object>) {
        self.notices.push(notice);
    }
    fn on_first_exit(&mut self) {
        self.first_exit = true;
    }
}

fn scratch() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().canonicalize().expect("it is there");
    (dir, path)
}

fn shell(dir: &Path, script: &str) -> Launch {
    Launch {
        program: "/bin/sh".into(),
        argv: ["sh", "-c", script].map(Into::into).to_vec(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        dir: dir.to_owned(),
        output: dir.join("output.log"),
        inside: None,
        stop_at_calls: true,
        stop_at_wakes: false,
        pauses: None,
    }
}

fn run(launch: &Launch, recorder: &mut Recorder) -> Outcome {
    run_life(launch, recorder, &Control::default())
}

fn names(recorder: &Recorder) -> Vec<String> {
    recorder.calls.iter().map(|(call, object)| format!("{call}({object})")).collect()
}

#[test]
fn a_run_is_the_list_of_its_state_changing_calls_and_nothing_else() {
    let (_keep, dir) = scratch();
    let mut recorder = Recorder::default();
    let script =
        "echo one > a; echo two >> a; echo shown; mkdir d; mkdir -p d; mv a d/b; rm -f nothing d/b; rmdir d; true | cat; exit 7";
    let outcome = run(&shell(&dir, script), &mut recorder);
    assert_eq!(outcome.death, Death::Exited(7));
    let calls: Vec<_> = names(&recorder).into_iter().filter(|call| !call.starts_with("exit_group")).collect();
    let moved = format!("renameat2({:?})", Object::Paths(dir.join("a"), dir.join("d/b")));
    let expected = [
        "openat(a)",
        "write(a)",
        "write(a)",
        "write(Output([115, 104, 111, 119, 110, 10]))",
        "mkdir(d)",
        &moved,
        "unlinkat(b)",
        "rmdir(d)",
    ];
    let spelt: Vec<_> = calls.iter().map(|call| call.replace("rename(", "renameat2(")).collect();
    assert_eq!(spelt, expected);
    assert!(recorder.first_exit);
}

#[test]
fn a_kill_lands_before_the_call_at_which_it_was_sent() {
    for (call, left) in [("openat", None), ("write", Some(""))] {
        let (_keep, dir) = scratch();
        let mut recorder = Recorder { kill_at: Some((call, "a".to_owned())), ..Recorder::default() };
        let outcome = run(&shell(&dir, "echo one > a"), &mut recorder);
        assert_eq!(outcome.death, Death::KilledAtCall);
        assert_eq!(std::fs::read_to_string(dir.join("a")).ok().as_deref(), left);
    }
}

#[test]
fn a_daemon_in_a_session_of_its_own_dies_with_the_tree() {
    let (_keep, dir) = scratch();
    let script = "(setsid sh -c '(sleep 1000 & echo $! > pid; echo x > a; sleep 1000) &' &) ; sleep 1000";
    let mut recorder = Recorder { kill_at: Some(("write", "a".to_owned())), ..Recorder::default() };
    let outcome = run(&shell(&dir, script), &mut recorder);
    assert_eq!(outcome.death, Death::KilledAtCall);
    let pid = std::fs::read_to_string(dir.join("pid")).expect("the daemon wrote its child's id");
    // Its parent is gone, so it may still be waiting for init to take its status.
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "the sleeper is still there: {stat}");
    assert!(outcome.processes >= 4, "{outcome:?}");
}

#[test]
fn the_first_process_may_end_before_the_others_and_the_life_goes_on() {
    let (_keep, dir) = scratch();
    let mut recorder = Recorder::default();
    let outcome = run(
        &shell(&dir, "mkfifo fifo; (setsid sh -c 'read _ < fifo; echo late > a' &) ; (echo go > fifo) & exit 0"),
        &mut recorder,
    );
    assert_eq!(outcome.death, Death::Exited(0));
    assert_eq!(std::fs::read_to_string(dir.join("a")).ok().as_deref(), Some("late\n"));
}

#[test]
fn a_life_killed_from_outside_is_told_apart_from_one_that_kills_itself() {
    let (_keep, dir) = scratch();
    let own = run(&shell(&dir, "kill -9 $$"), &mut Recorder::default());
    assert_eq!(own.death, Death::Signalled(libc::SIGKILL));

    /// Kills the process that makes the first call, and no other.
    #[derive(Default)]
    struct KillIt(bool);
    impl Policy for KillIt {
        fn on_call(&mut self, call: &Call) -> Action {
            if !std::mem::replace(&mut self.0, true) {
                crate::sys::ptrace::kill(call.pid);
            }
            Action::Continue
        }
        fn on_notice(&mut self, _: Notice, _: Option<&Object>) {}
        fn on_first_exit(&mut self) {}
    }
    assert!(!own.killed_from_outside);
    let outside = run_life(&shell(&dir, "echo one > a; sleep 1000"), &mut KillIt::default(), &Control::default());
    assert_eq!((outside.death, outside.killed_from_outside), (Death::Signalled(libc::SIGKILL), true));
    // The child alone dies, as it does when memory runs out; the first process goes on and knows nothing of it.
    let child = run_life(&shell(&dir, "(echo one > a; sleep 1000); :"), &mut KillIt::default(), &Control::default());
    assert_eq!((child.death, child.killed_from_outside), (Death::Exited(0), true));
    // One that the tree kills itself, or has killed by the kernel when its parent dies, is the tree's own affair.
    let tidy = run(&shell(&dir, "sleep 1000 & kill -9 $!; wait $!; :"), &mut Recorder::default());
    assert_eq!((tidy.death, tidy.killed_from_outside), (Death::Exited(0), false));
    let bound = "import ctypes, os, time\nr, w = os.pipe()\nif os.fork() == 0:\n    ctypes.CDLL(None).prctl(1, 9)\n    os.write(w, b'x')\n    time.sleep(1000)\nos.read(r, 1)";
    let bound = format!("python3 -c \"{bound}\"");
    let bound = run(&shell(&dir, &bound), &mut Recorder::default());
    assert_eq!((bound.death, bound.killed_from_outside), (Death::Exited(0), false));
}

#[test]
fn a_program_that_cannot_be_run_is_said_so() {
    let (_keep, dir) = scratch();
    let missing = Launch { program: dir.join("no-such-program"), ..shell(&dir, "") };
    let Death::NotStarted(reason) = run(&missing, &mut Recorder::default()).death else { panic!("it ran") };
    assert!(reason.contains("cannot run") && reason.contains("No such file"), "{reason}");
    let nowhere = Launch { dir: dir.join("no-such-folder"), ..shell(&dir, "true") };
    let Death::NotStarted(reason) = run(&nowhere, &mut Recorder::default()).death else { panic!("it ran") };
    assert!(reason.contains("cannot enter"), "{reason}");
}

#[test]
fn a_command_from_elsewhere_kills_a_tree_that_makes_no_call() {
    let (_keep, dir) = scratch();
    let control = Control::default();
    let launch = shell(&dir, "sleep 1000 & sleep 1000");
    let life = {
        let control = control.clone();
        std::thread::spawn(move || run_life(&launch, &mut Recorder::default(), &control))
    };
    control.kill("enough");
    let outcome = life.join().expect("the tracer's thread does not panic");
    assert!(
        matches!(&outcome.death, Death::KilledOnCommand { reason, first_exit: None, .. } if reason == "enough"),
        "{outcome:?}"
    );
}

#[test]
fn a_frozen_tree_does_nothing_until_it_is_thawed() {
    let (_keep, dir) = scratch();
    let control = Control::default();
    // Two writers that never rest; each write is a call of the policy.
    let script = "(while :; do echo x >> a; done) & while :; do echo y >> b; done";
    let seen = Arc::new(Mutex::new(0u64));
    struct Count(Arc<Mutex<u64>>);
    impl Policy for Count {
        fn on_call(&mut self, _: &Call) -> Action {
            *self.0.lock().expect("no panic while it is held") += 1;
            Action::Continue
        }
        fn on_notice(&mut self, _: Notice, _: Option<&Object>) {}
        fn on_first_exit(&mut self) {}
    }
    let launch = shell(&dir, script);
    let life = {
        let (control, seen) = (control.clone(), seen.clone());
        std::thread::spawn(move || run_life(&launch, &mut Count(seen), &control))
    };
    let size = |name: &str| std::fs::metadata(dir.join(name)).map_or(0, |meta| meta.len());
    let wait_until = |test: &dyn Fn() -> bool| {
        while !test() {
            std::thread::yield_now();
        }
    };
    wait_until(&|| size("a") > 10 && size("b") > 10);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(control.freeze()).expect("the life is not over");
    let frozen = (size("a"), size("b"));
    let calls = *seen.lock().expect("not poisoned");
    // Nothing can be waited for in a tree that stands still, so the other side is given many chances to run.
    for _ in 0..20_000 {
        std::thread::yield_now();
    }
    assert_eq!((size("a"), size("b")), frozen);
    assert_eq!(*seen.lock().expect("not poisoned"), calls);
    control.thaw(false);
    wait_until(&|| size("a") > frozen.0 && size("b") > frozen.1);
    control.kill("done");
    life.join().expect("the tracer's thread does not panic");
}

#[test]
fn this_machine_can_trace() {
    let (_keep, dir) = scratch();
    assert_eq!(probe(&dir), Ability::Full);
}

/// A process whose first thread ends at once and whose second writes until it is killed.
fn headless(dir: &Path) -> Launch {
    let script = "import ctypes, platform, threading\n\
        def work():\n    while True: open('a', 'ab', 0).write(b'x')\n\
        threading.Thread(target=work).start()\n\
        ctypes.CDLL(None).syscall(60 if platform.machine() == 'x86_64' else 93, 0)\n";
    let argv = ["python3", "-c", script].map(Into::into).to_vec();
    let path = std::env::var_os("PATH").unwrap_or_default();
    Launch {
        program: "/usr/bin/env".into(),
        argv: [vec!["env".into()], argv].concat(),
        env: vec![("PATH".into(), path)],
        ..shell(dir, "")
    }
}

#[test]
fn a_tree_whose_first_thread_has_ended_is_frozen_and_killed_as_any_other() {
    let (_keep, dir) = scratch();
    let control = Control::default();
    let launch = headless(&dir);
    let life = {
        let control = control.clone();
        std::thread::spawn(move || run_life(&launch, &mut Recorder::default(), &control))
    };
    let size = || std::fs::metadata(dir.join("a")).map_or(0, |meta| meta.len());
    while size() < 200 {
        assert!(!life.is_finished(), "it ended by itself: {:?}", std::fs::read_to_string(dir.join("output.log")));
        std::thread::yield_now();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let asked = std::time::Instant::now();
    runtime.block_on(control.freeze()).expect("the life is not over");
    assert!(
        asked.elapsed().as_millis() < u128::from(crate::model::limits::FREEZE_MAX_MS / 2),
        "the freeze was given up, not reached"
    );
    control.kill("enough");
    let outcome = life.join().expect("the tracer's thread does not panic");
    assert!(matches!(outcome.death, Death::KilledOnCommand { killed: 1, .. }), "{outcome:?}");
}

#[test]
fn a_file_so_deep_that_the_kernel_cannot_say_its_path_is_not_missed() {
    let (_keep, dir) = scratch();
    let part = "y".repeat(200);
    let script = format!(
        "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22; do mkdir {part}; cd -P {part} || exit 9; done; echo x > deep; mv deep moved; rm moved"
    );
    let mut recorder = Recorder::default();
    let outcome = run(&shell(&dir, &script), &mut recorder);
    assert_eq!(outcome.death, Death::Exited(0), "{:?}", std::fs::read_to_string(dir.join("output.log")));
    let calls = names(&recorder);
    assert_eq!(calls.iter().filter(|call| call.starts_with("mkdir")).count(), 22);
    for wanted in ["openat(deep)", "write(a-path-too-long-to-say)", "unlinkat(moved)"] {
        assert!(calls.iter().any(|call| call == wanted), "{wanted}: {:?}", &calls[22..]);
    }
    assert!(calls.iter().any(|call| call.starts_with("rename")), "{:?}", &calls[22..]);
}
