//! Threads that are held until the rest stands still: in which order they go, and that nothing waits for ever.

use std::sync::mpsc;
use std::time::Duration;

use super::hands::{Hands, ends_well, file, python, read};
use super::*;
use crate::tracer::Holds;

/// One that holds every thread before it writes to this file.
fn holding(name: &'static str) -> Hands<'static> {
    Hands { holds: Box::new(move |call| call.syscall == "write" && file(call) == name), ..Hands::default() }
}

/// One that holds threads other than their process' first, and makes `held1`, `held2` and so on in that folder when it does.
fn holding_helpers(dir: &Path) -> Hands<'_> {
    let mut held = 0;
    let holds = move |call: &Call| {
        let is_helper = call.tid != call.pid && call.syscall == "write";
        if is_helper {
            held += 1;
            std::fs::write(dir.join(format!("held{held}")), "").expect("the folder is there");
        }
        is_helper
    };
    Hands { holds: Box::new(holds), ..Hands::default() }
}

#[test]
fn a_flush_that_is_held_comes_after_the_step() {
    // The main thread goes on only when the flusher has written, or stands before it.
    let script = "t = start(lambda: out('log', 'flush '))\n\
        while t.is_alive() and not os.path.exists('held1'): pass\nout('log', 'step ')\nt.join()\n";
    let (_keep, dir) = scratch();
    ends_well(&python(&dir, script), &mut Hands::default());
    assert_eq!(read(&dir, "log").split_whitespace().count(), 2);
    let (_keep, dir) = scratch();
    let outcome = ends_well(&python(&dir, script), &mut holding_helpers(&dir));
    assert_eq!(read(&dir, "log"), "step flush ");
    assert_eq!(outcome.holds.made, 1);
}

#[test]
fn of_two_that_are_held_the_last_goes_first() {
    let script = "def held(n):\n    t = start(lambda: out('log', n))\n    while not os.path.exists('held' + n): pass\n    return t\n\
        for t in [held('1'), held('2'), held('3')]: t.join()\n";
    // A machine that is slow lets the first go by the limit, which is told.
    for _ in 0..10 {
        let (_keep, dir) = scratch();
        let outcome = ends_well(&python(&dir, script), &mut holding_helpers(&dir));
        if outcome.holds.timed_out == 0 {
            assert_eq!(read(&dir, "log"), "321");
            return;
        }
    }
    panic!("the limit passed each time");
}

#[test]
fn a_tree_that_never_stands_still_is_waited_for_up_to_the_limit() {
    let script = "t = start(lambda: out('log', 'x'))\nwhile t.is_alive(): time.sleep(0.0001)\n";
    // A machine that is slow may leave such a thread asleep for longer than it asked.
    let is_waited_for = (0..10).any(|_| {
        let (_keep, dir) = scratch();
        let outcome = ends_well(&python(&dir, script), &mut holding_helpers(&dir));
        assert_eq!(outcome.holds.made, 1);
        outcome.holds.timed_out == 1
    });
    assert!(is_waited_for, "it was taken to stand still each time");
}

#[test]
fn a_thread_is_held_while_something_outside_is_about_to_move_the_others() {
    let (_keep, dir) = scratch();
    let quiet = std::sync::atomic::AtomicU32::new(0);
    let count = &quiet;
    let mut hands = Hands { quiet: Box::new(|| count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= 5), ..holding("log") };
    let outcome = ends_well(&python(&dir, "out('log', 'x')\n"), &mut hands);
    drop(hands);
    assert_eq!(outcome.holds, Holds { made: 1, timed_out: 0 });
    assert_eq!(quiet.into_inner(), 6);
}

#[test]
fn where_all_are_held_or_dead_nobody_waits_for_the_limit() {
    let (_keep, dir) = scratch();
    let alone = ends_well(&python(&dir, "for i in range(50): out('log', 'x')\n"), &mut holding("log"));
    assert_eq!(alone.holds, Holds { made: 50, timed_out: 0 });
    // The first thread has ended, which is told only when its process does.
    let script = "import ctypes, platform\n\
        start(lambda: [out('log', 'x') for i in range(50)])\n\
        ctypes.CDLL(None).syscall(60 if platform.machine() == 'x86_64' else 93, 0)\n";
    let mut hands = holding("log");
    let outcome = run_life(&python(&dir, script), &mut hands, &Control::default());
    assert_eq!(outcome.holds, Holds { made: 50, timed_out: 0 });
}

#[test]
fn a_process_that_is_stopped_stands_still() {
    let (_keep, dir) = scratch();
    let script = "import signal\nchild = os.fork()\n\
        if child == 0:\n    os.kill(os.getpid(), signal.SIGSTOP)\n    os._exit(0)\n\
        os.waitpid(child, os.WUNTRACED)\nout('log', 'x')\nos.kill(child, signal.SIGCONT)\nos.waitpid(child, 0)\n";
    let outcome = ends_well(&python(&dir, script), &mut holding("log"));
    assert_eq!(outcome.holds, Holds { made: 1, timed_out: 0 });
}

#[test]
fn a_thread_whose_process_runs_another_program_is_held_no_more() {
    let (_keep, dir) = scratch();
    // The first thread is held before its write; another one runs a program in its place.
    let script = "\
        def work():\n    while not os.path.exists('held'): pass\n    os.execv('/bin/sh', ['sh', '-c', 'echo y >> other; sleep 0.3'])\n\
        start(work)\nout('log', 'x')\n";
    let mut hands = Hands {
        holds: Box::new(|call| {
            let is_it = call.syscall == "write" && file(call) == "log";
            if is_it {
                std::fs::write(dir.join("held"), "").expect("the folder is there");
            }
            is_it
        }),
        ..Hands::default()
    };
    ends_well(&python(&dir, script), &mut hands);
    assert_eq!((hands.asked("write", "log"), read(&dir, "log").as_str()), (0, ""));
    assert_eq!((hands.asked("write", "other"), read(&dir, "other").as_str()), (1, "y\n"));
}

#[test]
fn a_kill_lands_while_threads_are_held() {
    let (_keep, dir) = scratch();
    let control = Control::default();
    let (held, is_held) = mpsc::channel();
    let launch = python(&dir, "start(lambda: out('log', 'x'))\nwhile True: pass\n");
    let life = {
        let control = control.clone();
        std::thread::spawn(move || {
            let mut hands = Hands {
                holds: Box::new(move |call| {
                    let is_it = call.syscall == "write" && file(call) == "log";
                    // Only the first is waited for.
                    let _ = is_it.then(|| held.send(()));
                    is_it
                }),
                ..Hands::default()
            };
            run_life(&launch, &mut hands, &control)
        })
    };
    is_held.recv().expect("it comes to its write");
    control.kill("enough");
    let outcome = life.join().expect("the tracer's thread does not panic");
    assert!(matches!(&outcome.death, Death::KilledOnCommand { killed: 1, .. }), "{outcome:?}");
    assert_eq!(read(&dir, "log"), "");
}

#[test]
fn a_tree_that_waits_stands_still_and_one_that_counts_does_not() {
    let (_keep, dir) = scratch();
    let control = Control::default();
    let script = "import signal\nbusy = [True]\n\
        def on(*_): busy[0] = False\n\
        signal.signal(signal.SIGUSR1, on)\nout('pid', f'{os.getpid()}\\n')\n\
        while busy[0]: pass\nos.read(os.pipe()[0], 1)\n";
    let launch = python(&dir, script);
    let life = {
        let control = control.clone();
        std::thread::spawn(move || run_life(&launch, &mut Hands::default(), &control))
    };
    while !read(&dir, "pid").ends_with('\n') {
        assert!(!life.is_finished(), "it ended by itself");
        std::thread::yield_now();
    }
    let still = |limit| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(control.still(Duration::from_millis(limit)))
    };
    assert_eq!(still(30), Ok(false));
    let pid = read(&dir, "pid").trim().to_owned();
    assert!(std::process::Command::new("kill").args(["-USR1", &pid]).status().expect("kill runs").success());
    assert_eq!(still(10_000), Ok(true));
    control.kill("enough");
    life.join().expect("the tracer's thread does not panic");
    assert_eq!(still(10), Err(ControlError));
}
