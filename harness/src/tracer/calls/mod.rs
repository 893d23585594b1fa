//! Which system calls can change something that outlives a process, and where their arguments stand.

mod compat;
mod native;

use compat::compat;
use native::native;

use crate::sys::seccomp::{ARCH_I386, ARCH_NATIVE, Rule, Table, Verb, When};

/// Where the object of a call stands in its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A write, sync, truncate or change of mode of the file in this argument.
    Fd(usize),
    /// A write whose bytes stand in a buffer: file, address, length.
    Write(usize, usize, usize),
    /// A gathering write: file, `iovec` array, count.
    WriteV(usize, usize, usize),
    /// A path of something that must be there for the call to change anything.
    Existing(PathAt),
    /// A path that must not be there yet.
    Missing(PathAt),
    /// From a path that must be there to another.
    Move(PathAt, PathAt),
    /// An open: path, then the argument that holds the flags.
    Open(PathAt, usize),
    /// `creat`.
    Creat(PathAt),
    /// `openat2`: path, then the address of `open_how`.
    Open2(PathAt, usize),
    /// Socket, address, length.
    Connect(usize, usize, usize),
    /// Socket, buffer, length, flags, address, length of the address.
    SendTo,
    /// Socket, `msghdr` (or an array of `mmsghdr`, of which the first is looked at).
    SendMsg,
    /// A call of 32-bit x86 that holds a socket call: which one, address of its arguments.
    SocketCall,
    /// A shared writable mapping of the file in this argument.
    Map(usize),
    /// The set-up of io_uring.
    IoUring,
    /// A SIGKILL to the process (or thread) in this argument.
    KillSignal(usize),
    /// A signal asked for in case the parent dies (prctl's PR_SET_PDEATHSIG): which one.
    ParentDeath(usize),
    /// The end of a process.
    Exit,
    /// Everything at once.
    System,
}

/// A path argument: relative to a directory's descriptor, or to the working directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathAt {
    /// The argument that holds the directory's descriptor.
    pub dir: Option<usize>,
    /// The argument that holds the path's address.
    pub path: usize,
}

const fn here(path: usize) -> PathAt {
    PathAt { dir: None, path }
}

const fn at(dir: usize, path: usize) -> PathAt {
    PathAt { dir: Some(dir), path }
}

/// One call of the table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its number.
    pub number: u32,
    /// Its name.
    pub name: &'static str,
    /// Where its object stands.
    pub shape: Shape,
    /// When it stops.
    pub when: When,
}

/// The operations by which futex(2) puts a thread to sleep, with and without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME: FUTEX_WAIT,
/// FUTEX_LOCK_PI, FUTEX_WAIT_BITSET, FUTEX_WAIT_REQUEUE_PI, FUTEX_LOCK_PI2.
const FUTEX_SLEEPS: [u32; 16] = [0, 128, 256, 384, 6, 134, 9, 137, 265, 393, 11, 139, 267, 395, 13, 141];

/// The tables of this machine, and the filter's rules made of them.
#[derive(Debug)]
pub struct Calls {
    tables: Vec<(u32, Vec<Entry>)>,
}

impl Calls {
    /// All calls that can change something.
    #[must_use]
    pub fn new() -> Self {
        let mut tables = vec![(ARCH_NATIVE, native())];
        if cfg!(target_arch = "x86_64") {
            tables.push((ARCH_I386, compat()));
        }
        Self { tables }
    }

    /// The filter's rules; with `sleeps`, those by which a thread waits for another one as well.
    #[must_use]
    pub fn rules(&self, sleeps: bool) -> Vec<Table> {
        let table = |(arch, entries): &(u32, Vec<Entry>)| {
            let mut rules: Vec<Rule> =
                entries.iter().map(|e| Rule { number: e.number, when: e.when, action: Verb::Trace }).collect();
            if *arch == ARCH_NATIVE {
                // A task that nobody follows could outlive the tree; no library asks for one.
                let untraced = When::AnyBit(0, libc::CLONE_UNTRACED as u32);
                rules.push(Rule { number: libc::SYS_clone as u32, when: untraced, action: Verb::Refuse });
                if sleeps {
                    let sleep = |op| Rule { number: libc::SYS_futex as u32, when: When::Equals(1, op), action: Verb::Trace };
                    rules.extend(FUTEX_SLEEPS.map(sleep));
                }
            }
            Table { arch: *arch, rules }
        };
        self.tables.iter().map(table).collect()
    }

    /// The entry of a call.
    #[must_use]
    pub fn find(&self, arch: u32, number: u64) -> Option<&Entry> {
        let (_, entries) = self.tables.iter().find(|(own, _)| *own == arch)?;
        entries.iter().find(|entry| u64::from(entry.number) == number)
    }
}
