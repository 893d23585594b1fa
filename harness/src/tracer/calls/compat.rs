//! The calls of 32-bit x86; their numbers are from Linux' `arch/x86/entry/syscalls/syscall_32.tbl`.

use super::native::CREATES;
use super::{Entry, Shape, at, here};
use crate::sys::seccomp::When;

/// The calls of 32-bit x86, for a 32-bit program on a 64-bit machine.
pub fn compat() -> Vec<Entry> {
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
