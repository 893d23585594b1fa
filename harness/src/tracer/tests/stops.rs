//! Stops for images: nobody moves, nothing is asked twice, and the life goes on as if nothing had been.

use std::io::Read;
use std::sync::mpsc;

use super::hands::{Hands, ends_well, file, python, read};
use super::*;

/// Gives others many chances to run.
fn let_others_run() {
    for _ in 0..2_000 {
        std::thread::yield_now();
    }
}

#[test]
fn at_an_image_all_others_stand() {
    let (_keep, dir) = scratch();
    // The child counts in memory that it shares with a file, so that no call of it stops.
    let script = "import mmap\n\
        f = open('counter', 'w+b'); f.truncate(4096)\nm = mmap.mmap(f.fileno(), 8)\n\
        if os.fork() == 0:\n    n = 0\n    while m[7] == 0:\n        n += 1\n        m[0:4] = n.to_bytes(4, 'little')\n    os._exit(0)\n\
        while m[0] == 0: pass\n\
        for i in range(30): out('a', 'x')\n\
        m[7] = 1\nos.wait()\n";
    let counter = dir.join("counter");
    let look = || {
        let mut bytes = [0u8; 4];
        std::fs::File::open(&counter).and_then(|mut file| file.read_exact(&mut bytes)).expect("the counter is there");
        u32::from_le_bytes(bytes)
    };
    let mut seen = Vec::new();
    let mut hands = Hands {
        on_call: Box::new(|call| if file(call) == "a" { Action::Image } else { Action::Continue }),
        on_image: Box::new(|_| {
            let before = look();
            let_others_run();
            assert_eq!(look(), before, "the child moved while an image was taken");
            seen.push(before);
        }),
        ..Hands::default()
    };
    ends_well(&python(&dir, script), &mut hands);
    assert_eq!(hands.images, [true; 31]);
    drop(hands);
    assert!(seen.windows(2).any(|two| two[0] < two[1]), "the child never went on: {seen:?}");
    assert_eq!(read(&dir, "a").len(), 30);
}

/// Four threads that write, wait for each other, run a program, and are woken.
const FOUR: &str = "lock = threading.Lock()\nr, w = os.pipe()\n\
    def writer(name):\n    for i in range(25):\n        with lock: out(name, 'x' * 10)\n\
    def reader():\n    for i in range(20):\n        os.read(r, 1); out('c', 'y')\n\
    def runner():\n    for i in range(3): subprocess.run(['/bin/sh', '-c', 'echo z >> d'], check=True)\n\
    all = [start(w) for w in (lambda: writer('a'), lambda: writer('b'), reader, runner)]\n\
    for i in range(20): os.write(w, b'g')\n\
    for t in all: t.join()\n";

#[test]
fn with_an_image_at_each_call_a_life_comes_to_the_same_end() {
    let calls = |hands: &mut Hands<'_>| {
        let (_keep, dir) = scratch();
        ends_well(&python(&dir, FOUR), hands);
        assert_eq!(["a", "b", "c", "d"].map(|name| read(&dir, name).len()), [250, 250, 20, 6]);
        let mut asked: Vec<_> = hands.asked.iter().map(|(call, count)| (call.clone(), *count)).collect();
        asked.sort();
        asked
    };
    let as_ever = calls(&mut Hands::default());
    for _ in 0..5 {
        let mut hands = Hands::at_every_call();
        assert_eq!(calls(&mut hands), as_ever);
        let asked: u32 = hands.asked.values().sum();
        assert_eq!(hands.images.len(), asked as usize);
        assert!(hands.images.iter().all(|all_stand| *all_stand));
    }
}

#[test]
fn a_write_that_was_let_go_is_whole_before_the_image() {
    const BIG: u64 = 4 * 1024 * 1024;
    let (_keep, dir) = scratch();
    let script = format!(
        "data = b'x' * {BIG}\nfd = os.open('big', os.O_WRONLY | os.O_CREAT, 0o600)\n\
         def work():\n    for i in range(8): os.write(fd, data); os.fsync(fd)\n\
         t = start(work)\nwhile t.is_alive(): out('a', 'x')\n"
    );
    let big = dir.join("big");
    let mut sizes = std::collections::BTreeSet::new();
    let mut hands = Hands {
        on_call: Box::new(|call| if file(call) == "a" { Action::Image } else { Action::Continue }),
        on_image: Box::new(|_| {
            sizes.insert(std::fs::metadata(&big).map_or(0, |meta| meta.len()));
        }),
        ..Hands::default()
    };
    ends_well(&python(&dir, &script), &mut hands);
    assert_eq!((hands.asked("write", "big"), hands.asked("fsync", "big")), (8, 8));
    drop(hands);
    assert!(sizes.len() > 1 && sizes.iter().all(|size| size % BIG == 0), "{sizes:?}");
}

#[test]
fn a_call_that_an_image_interrupts_is_asked_about_once() {
    let (_keep, dir) = scratch();
    // sendfile and copy_file_range look for signals first, and are made again if there was one.
    let script = "open('from', 'wb').write(b'x' * 100000)\n\
        def copy(name):\n    r, w = os.open('from', os.O_RDONLY), os.open(name, os.O_WRONLY | os.O_CREAT)\n\
        \x20   for i in range(60): os.sendfile(w, r, 0, 1000)\n\
        all = [start(lambda n=n: copy(n)) for n in ('a', 'b', 'c', 'd')]\n\
        for t in all: t.join()\n";
    for _ in 0..5 {
        let mut hands = Hands::at_every_call();
        ends_well(&python(&dir, script), &mut hands);
        assert_eq!(["a", "b", "c", "d"].map(|name| hands.asked("sendfile", name)), [60; 4]);
    }
}

#[test]
fn a_thread_that_waits_in_a_call_is_asked_about_it_once() {
    let (_keep, dir) = scratch();
    // A socket whose queue of one is full lets the next ones wait in connect.
    let script = "s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(0); at = s.getsockname()\n\
         def ask():\n    socket.socket().connect(at); threading.Event().wait()\n\
         all = [threading.Thread(target=ask, daemon=True) for i in range(4)]\n\
         for t in all: t.start()\n\
         while any(state(t.native_id) != 'S' for t in all): pass\n\
         for i in range(20): out('a', 'x')\n\
         os._exit(0)\n";
    let mut asked = 0;
    let mut hands = Hands {
        on_call: Box::new(|call| {
            asked += u32::from(call.syscall == "connect");
            Action::Image
        }),
        ..Hands::default()
    };
    ends_well(&python(&dir, script), &mut hands);
    drop(hands);
    assert_eq!(asked, 4);
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

#[test]
fn a_freeze_that_comes_during_an_image_is_answered_while_all_stand() {
    let (_keep, dir) = scratch();
    let control = Control::default();
    let (begun, is_begun) = mpsc::channel();
    let (posted, is_posted) = mpsc::channel::<()>();
    let launch = python(&dir, FOUR);
    let life = {
        let control = control.clone();
        std::thread::spawn(move || {
            let mut images = 0;
            let mut hands = Hands {
                on_image: Box::new(move |_| {
                    images += 1;
                    if images == 40 {
                        begun.send(()).expect("somebody waits for it");
                        is_posted.recv().expect("the command comes");
                    }
                }),
                ..Hands::at_every_call()
            };
            run_life(&launch, &mut hands, &control)
        })
    };
    is_begun.recv().expect("there are 40 images");
    let tell = async { posted.send(()).expect("the image waits for it") };
    let (frozen, ()) = runtime().block_on(async { tokio::join!(control.freeze(), tell) });
    frozen.expect("the life is not over");
    let sizes = || ["a", "b", "c", "d"].map(|name| read(&dir, name).len());
    let before = sizes();
    let_others_run();
    assert_eq!(sizes(), before);
    control.thaw(false);
    assert_eq!(life.join().expect("the tracer's thread does not panic").death, Death::Exited(0));
    assert_eq!(sizes(), [250, 250, 20, 6]);
}

#[test]
fn a_kill_that_comes_during_an_image_lands() {
    let (_keep, dir) = scratch();
    let control = Control::default();
    let killer = control.clone();
    let mut hands = Hands {
        on_image: Box::new(move |_| killer.kill("enough")),
        on_call: Box::new(|call| if file(call) == "c" { Action::Image } else { Action::Continue }),
        ..Hands::default()
    };
    let outcome = run_life(&python(&dir, FOUR), &mut hands, &control);
    assert!(matches!(&outcome.death, Death::KilledOnCommand { reason, .. } if reason == "enough"), "{outcome:?}");
}
