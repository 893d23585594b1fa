//! Which system calls can change something that outlives a process, and where their arguments stand.
//!
//! The numbers of the machine's own convention come from libc; those of 32-bit x86 are from Linux'
//! `arch/x86/entry/syscalls/syscall_32.tbl`.

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

const CREATES: u32 = (libc::O_CREAT | libc::O_TRUNC) as u32;
/// FICLONE and FICLONERANGE (linux/fs.h): a file's blocks are shared with another's, which is a write.
const FICLONE: u32 = 0x4004_9409;
const FICLONERANGE: u32 = 0x4020_940d;

macro_rules! entries {
    ($($name:ident $shape:expr;)*) => {
        vec![$(Entry { number: concat_number!($name), name: stringify!($name), shape: $shape, when: When::Always }),*]
    };
}
macro_rules! concat_number {
    (write) => {
        libc::SYS_write as u32
    };
    (writev) => {
        libc::SYS_writev as u32
    };
    (pwrite64) => {
        libc::SYS_pwrite64 as u32
    };
    (pwritev) => {
        libc::SYS_pwritev as u32
    };
    (pwritev2) => {
        libc::SYS_pwritev2 as u32
    };
    (sendfile) => {
        libc::SYS_sendfile as u32
    };
    (splice) => {
        libc::SYS_splice as u32
    };
    (vmsplice) => {
        libc::SYS_vmsplice as u32
    };
    (copy_file_range) => {
        libc::SYS_copy_file_range as u32
    };
    (fsync) => {
        libc::SYS_fsync as u32
    };
    (fdatasync) => {
        libc::SYS_fdatasync as u32
    };
    (sync) => {
        libc::SYS_sync as u32
    };
    (syncfs) => {
        libc::SYS_syncfs as u32
    };
    (sync_file_range) => {
        libc::SYS_sync_file_range as u32
    };
    (msync) => {
        libc::SYS_msync as u32
    };
    (truncate) => {
        libc::SYS_truncate as u32
    };
    (ftruncate) => {
        libc::SYS_ftruncate as u32
    };
    (fallocate) => {
        libc::SYS_fallocate as u32
    };
    (mkdirat) => {
        libc::SYS_mkdirat as u32
    };
    (mknodat) => {
        libc::SYS_mknodat as u32
    };
    (unlinkat) => {
        libc::SYS_unlinkat as u32
    };
    (symlinkat) => {
        libc::SYS_symlinkat as u32
    };
    (linkat) => {
        libc::SYS_linkat as u32
    };
    (renameat) => {
        38
    };
    (renameat2) => {
        libc::SYS_renameat2 as u32
    };
    (fchmod) => {
        libc::SYS_fchmod as u32
    };
    (fchmodat) => {
        libc::SYS_fchmodat as u32
    };
    (fchown) => {
        libc::SYS_fchown as u32
    };
    (fchownat) => {
        libc::SYS_fchownat as u32
    };
    (utimensat) => {
        libc::SYS_utimensat as u32
    };
    (setxattr) => {
        libc::SYS_setxattr as u32
    };
    (lsetxattr) => {
        libc::SYS_lsetxattr as u32
    };
    (fsetxattr) => {
        libc::SYS_fsetxattr as u32
    };
    (removexattr) => {
        libc::SYS_removexattr as u32
    };
    (lremovexattr) => {
        libc::SYS_lremovexattr as u32
    };
    (fremovexattr) => {
        libc::SYS_fremovexattr as u32
    };
    (openat2) => {
        libc::SYS_openat2 as u32
    };
    (connect) => {
        libc::SYS_connect as u32
    };
    (sendto) => {
        libc::SYS_sendto as u32
    };
    (sendmsg) => {
        libc::SYS_sendmsg as u32
    };
    (sendmmsg) => {
        libc::SYS_sendmmsg as u32
    };
    (io_uring_setup) => {
        libc::SYS_io_uring_setup as u32
    };
    (exit_group) => {
        libc::SYS_exit_group as u32
    };
}

/// The calls of the machine's own convention.
fn native() -> Vec<Entry> {
    let mut list = entries! {
        write Shape::Write(0, 1, 2);
        pwrite64 Shape::Write(0, 1, 2);
        writev Shape::WriteV(0, 1, 2);
        pwritev Shape::WriteV(0, 1, 2);
        pwritev2 Shape::WriteV(0, 1, 2);
        sendfile Shape::Fd(0);
        splice Shape::Fd(2);
        vmsplice Shape::Fd(0);
        copy_file_range Shape::Fd(2);
        fsync Shape::Fd(0);
        fdatasync Shape::Fd(0);
        sync Shape::System;
        syncfs Shape::System;
        sync_file_range Shape::Fd(0);
        msync Shape::System;
        truncate Shape::Existing(here(0));
        ftruncate Shape::Fd(0);
        fallocate Shape::Fd(0);
        mkdirat Shape::Missing(at(0, 1));
        mknodat Shape::Missing(at(0, 1));
        unlinkat Shape::Existing(at(0, 1));
        symlinkat Shape::Missing(at(1, 2));
        linkat Shape::Missing(at(2, 3));
        renameat2 Shape::Move(at(0, 1), at(2, 3));
        fchmod Shape::Fd(0);
        fchmodat Shape::Existing(at(0, 1));
        fchown Shape::Fd(0);
        fchownat Shape::Existing(at(0, 1));
        utimensat Shape::Existing(at(0, 1));
        setxattr Shape::Existing(here(0));
        lsetxattr Shape::Existing(here(0));
        fsetxattr Shape::Fd(0);
        removexattr Shape::Existing(here(0));
        lremovexattr Shape::Existing(here(0));
        fremovexattr Shape::Fd(0);
        openat2 Shape::Open2(at(0, 1), 2);
        connect Shape::Connect(0, 1, 2);
        sendto Shape::SendTo;
        sendmsg Shape::SendMsg;
        sendmmsg Shape::SendMsg;
        io_uring_setup Shape::IoUring;
        exit_group Shape::Exit;
    };
    let mut add = |number: libc::c_long, name, shape, when| list.push(Entry { number: number as u32, name, shape, when });
    let always = When::Always;
    // fchmodat2 (Linux 6.6) has one number everywhere.
    add(452, "fchmodat2", Shape::Existing(at(0, 1)), always);
    add(libc::SYS_openat, "openat", Shape::Open(at(0, 1), 2), When::AnyBit(2, CREATES));
    add(libc::SYS_ioctl, "ioctl", Shape::Fd(0), When::Equals(1, FICLONE));
    add(libc::SYS_ioctl, "ioctl", Shape::Fd(0), When::Equals(1, FICLONERANGE));
    let shared = When::BothBits((3, libc::MAP_SHARED as u32), (2, libc::PROT_WRITE as u32));
    add(libc::SYS_mmap, "mmap", Shape::Map(4), shared);
    add(libc::SYS_kill, "kill", Shape::KillSignal(0), When::Equals(1, libc::SIGKILL as u32));
    add(libc::SYS_tkill, "tkill", Shape::KillSignal(0), When::Equals(1, libc::SIGKILL as u32));
    add(libc::SYS_tgkill, "tgkill", Shape::KillSignal(0), When::Equals(2, libc::SIGKILL as u32));
    add(libc::SYS_pidfd_send_signal, "pidfd_send_signal", Shape::KillSignal(0), When::Equals(1, libc::SIGKILL as u32));
    #[cfg(not(target_arch = "riscv64"))]
    add(libc::SYS_renameat, "renameat", Shape::Move(at(0, 1), at(2, 3)), always);
    #[cfg(target_arch = "x86_64")]
    {
        add(libc::SYS_open, "open", Shape::Open(here(0), 1), When::AnyBit(1, CREATES));
        add(libc::SYS_creat, "creat", Shape::Creat(here(0)), always);
        add(libc::SYS_mkdir, "mkdir", Shape::Missing(here(0)), always);
        add(libc::SYS_rmdir, "rmdir", Shape::Existing(here(0)), always);
        add(libc::SYS_unlink, "unlink", Shape::Existing(here(0)), always);
        add(libc::SYS_rename, "rename", Shape::Move(here(0), here(1)), always);
        add(libc::SYS_link, "link", Shape::Missing(here(1)), always);
        add(libc::SYS_symlink, "symlink", Shape::Missing(here(1)), always);
        add(libc::SYS_mknod, "mknod", Shape::Missing(here(0)), always);
        add(libc::SYS_chmod, "chmod", Shape::Existing(here(0)), always);
        add(libc::SYS_chown, "chown", Shape::Existing(here(0)), always);
        add(libc::SYS_lchown, "lchown", Shape::Existing(here(0)), always);
        add(libc::SYS_utime, "utime", Shape::Existing(here(0)), always);
        add(libc::SYS_utimes, "utimes", Shape::Existing(here(0)), always);
        add(libc::SYS_futimesat, "futimesat", Shape::Existing(at(0, 1)), always);
    }
    list
}

/// The calls of 32-bit x86, for a 32-bit program on a 64-bit machine.
fn compat() -> Vec<Entry> {
    let rows: [(u32, &'static str, Shape); 46] = [
        (4, "write", Shape::Write(0, 1, 2)),
        (8, "creat", Shape::Creat(here(0))),
        (9, "link", Shape::Missing(here(1))),
        (10, "unlink", Shape::Existing(here(0))),
        (14, "mknod", Shape::Missing(here(0))),
        (15, "chmod", Shape::Existing(here(0))),
        (36, "sync", Shape::System),
        (38, "rename", Shape::Move(here(0), here(1))),
        (39, "mkdir", Shape::Missing(here(0))),
        (40, "rmdir", Shape::Existing(here(0))),
        (83, "symlink", Shape::Missing(here(1))),
        (92, "truncate", Shape::Existing(here(0))),
        (93, "ftruncate", Shape::Fd(0)),
        (94, "fchmod", Shape::Fd(0)),
        (102, "socketcall", Shape::SocketCall),
        (118, "fsync", Shape::Fd(0)),
        (144, "msync", Shape::System),
        (146, "writev", Shape::Fd(0)),
        (148, "fdatasync", Shape::Fd(0)),
        (181, "pwrite64", Shape::Write(0, 1, 2)),
        (187, "sendfile", Shape::Fd(0)),
        (193, "truncate64", Shape::Existing(here(0))),
        (194, "ftruncate64", Shape::Fd(0)),
        (207, "fchown32", Shape::Fd(0)),
        (239, "sendfile64", Shape::Fd(0)),
        (252, "exit_group", Shape::Exit),
        (296, "mkdirat", Shape::Missing(at(0, 1))),
        (297, "mknodat", Shape::Missing(at(0, 1))),
        (301, "unlinkat", Shape::Existing(at(0, 1))),
        (302, "renameat", Shape::Move(at(0, 1), at(2, 3))),
        (303, "linkat", Shape::Missing(at(2, 3))),
        (304, "symlinkat", Shape::Missing(at(1, 2))),
        (306, "fchmodat", Shape::Existing(at(0, 1))),
        (313, "splice", Shape::Fd(2)),
        (314, "sync_file_range", Shape::Fd(0)),
        (324, "fallocate", Shape::Fd(0)),
        (334, "pwritev", Shape::Fd(0)),
        (344, "syncfs", Shape::System),
        (353, "renameat2", Shape::Move(at(0, 1), at(2, 3))),
        (362, "connect", Shape::Connect(0, 1, 2)),
        (369, "sendto", Shape::Fd(0)),
        (370, "sendmsg", Shape::Fd(0)),
        (345, "sendmmsg", Shape::Fd(0)),
        (377, "copy_file_range", Shape::Fd(2)),
        (425, "io_uring_setup", Shape::IoUring),
        (437, "openat2", Shape::Open2(at(0, 1), 2)),
    ];
    let mut list: Vec<Entry> =
        rows.into_iter().map(|(number, name, shape)| Entry { number, name, shape, when: When::Always }).collect();
    list.push(Entry { number: 5, name: "open", shape: Shape::Open(here(0), 1), when: When::AnyBit(1, CREATES) });
    list.push(Entry { number: 295, name: "openat", shape: Shape::Open(at(0, 1), 2), when: When::AnyBit(2, CREATES) });
    list
}

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

    /// The filter's rules.
    #[must_use]
    pub fn rules(&self) -> Vec<Table> {
        let table = |(arch, entries): &(u32, Vec<Entry>)| {
            let mut rules: Vec<Rule> =
                entries.iter().map(|e| Rule { number: e.number, when: e.when, action: Verb::Trace }).collect();
            if *arch == ARCH_NATIVE {
                // A task that nobody follows could outlive the tree; no library asks for one.
                let untraced = When::AnyBit(0, libc::CLONE_UNTRACED as u32);
                rules.push(Rule { number: libc::SYS_clone as u32, when: untraced, action: Verb::Refuse });
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
