//! The notices explained: what a life did that killpoint can see but not stop at, or that widens its world.

use super::{Explanation, Text};
use crate::model::call::Notice;

/// All notices.
pub(super) fn all() -> Vec<Explanation> {
    let object = String::new;
    let one_of_each = [
        Notice::IoUring,
        Notice::SharedMapping { object: object() },
        Notice::Connect { object: object() },
        Notice::Refused { object: object() },
        Notice::OutsideWrite { object: object() },
        Notice::Lingering { processes: 0 },
        Notice::Compat32,
    ];
    one_of_each.iter().map(explained).collect()
}

fn explained(notice: &Notice) -> Explanation {
    let (word, text) = match notice {
        Notice::IoUring => ("io_uring", IO_URING),
        Notice::SharedMapping { .. } => ("shared_mapping", SHARED_MAPPING),
        Notice::Connect { .. } => ("connect", CONNECT),
        Notice::Refused { .. } => ("refused", REFUSED),
        Notice::OutsideWrite { .. } => ("outside_write", OUTSIDE_WRITE),
        Notice::Lingering { .. } => ("lingering", LINGERING),
        Notice::Compat32 => ("compat32", COMPAT32),
    };
    text.of("notice", word)
}

const IO_URING: Text = Text {
    means: "The workflow set up io_uring. What it writes through it makes no system call of its own, so there is no crash point before it.",
    known: "the call io_uring_setup was seen.",
    mend: "switch io_uring off for the run if the library allows it (in Node.js with the variable below). Otherwise read the report as \
           saying nothing of the instants between those writes.",
    example: "env = { UV_USE_IO_URING = \"0\" }",
};

const SHARED_MAPPING: Text = Text {
    means: "A file was mapped into memory, shared and writable. Its content changes by plain stores, without a call, so not each of its \
            changes is a crash point. The state at each point is still the real one.",
    known: "the call mmap was seen with MAP_SHARED and PROT_WRITE on a file.",
    mend: "for SQLite's `-shm` file nothing: it is an index of the WAL that is rebuilt after a crash. For a store that keeps its data in \
           mapped memory, read a clean report as saying nothing of the instants between its calls.",
    example: "",
};

const CONNECT: Text = Text {
    means: "The workflow talked to something that is not the sandbox: a database server, a broker, a web service. What that keeps is not \
            killed, not reset between trials, and not in the ledger.",
    known: "the call connect was seen with that address.",
    mend: "point the workflow at the sandbox where it is a payment API. Where it is a database, make each trial use a fresh one, or the \
           trials can see each other's rows. Where it should not be there at all, find out who calls.",
    example: "",
};

const REFUSED: Text = Text {
    means: "The workflow asked for an address outside of its trial, or for one at which nobody listened. A trial has a network of its own, \
            with nothing in it but the workflow and the sandbox, so that the kernel refused it. Nothing outside was touched.",
    known: "the call connect, or one that sends, was seen with that address; `udp:...:53` is the look-up of a name.",
    mend: "point the workflow at the sandbox where it is a payment API. Where it is a database that it cannot do without, let it use the \
           machine's network: `--network host`, or the line below under `[workflow]`. Where it should not be there at all, find out who \
           calls.",
    example: "network = \"host\"",
};

const OUTSIDE_WRITE: Text = Text {
    means: "The workflow changed a file outside of the trial's own folders. The change stays from trial to trial, so a later trial may not \
            start from where the first one did.",
    known: "a call that changes a file was seen with a path that is neither in the state folder nor in the trial's temporary folder.",
    mend: "let it write below `{state}`. If it must write beside its own code, set `dir_copy = true`, so that each trial gets a copy. If it \
           is harmless (a cache), list it under `ignore`.",
    example: "env = { STATE_DIR = \"{state}\" }",
};

const LINGERING: Text = Text {
    means: "The first process of a life had exited, and others were still there and did nothing. killpoint ended them, as nobody else would.",
    known: "processes of the tree were alive and idle for `linger` after the first one had gone.",
    mend: "let the workflow end its helpers, or wait for them. If they still have something to do that takes longer, raise `linger`.",
    example: "",
};

const COMPAT32: Text = Text {
    means: "A 32-bit program was run. Its system calls have other numbers than those killpoint stops at, so its work is no crash point.",
    known: "a call was seen that came in by the 32-bit entry of the kernel.",
    mend: "use a 64-bit build of that program. Otherwise read the report as saying nothing of what it wrote.",
    example: "",
};
