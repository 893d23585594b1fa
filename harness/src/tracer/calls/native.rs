//! The calls of the machine's own convention; their numbers come from libc.

use super::{Entry, Shape, at, here};
use crate::sys::seccomp::When;

/// The flags of an open that changes something by itself.
pub const CREATES: u32 = (libc::O_CREAT | libc::O_TRUNC) as u32;
/// FICLONE and FICLONERANGE (linux/fs.h): a file's blocks are shared with another's, which is a write.
const FICLONE: u32 = 0x4004_9409;
const FICLONERANGE: u32 = 0x4020_940d;

/// Calls that always change something where their object says so.
const ALWAYS: [(libc::c_long, &str, Shape); 42] = [
    (libc::SYS_write, "write", Shape::Write(0, 1, 2)),
    (libc::SYS_pwrite64, "pwrite64", Shape::Write(0, 1, 2)),
    (libc::SYS_writev, "writev", Shape::WriteV(0, 1, 2)),
    (libc::SYS_pwritev, "pwritev", Shape::WriteV(0, 1, 2)),
    (libc::SYS_pwritev2, "pwritev2", Shape::WriteV(0, 1, 2)),
    (libc::SYS_sendfile, "sendfile", Shape::Fd(0)),
    (libc::SYS_splice, "splice", Shape::Fd(2)),
    (libc::SYS_vmsplice, "vmsplice", Shape::Fd(0)),
    (libc::SYS_copy_file_range, "copy_file_range", Shape::Fd(2)),
    (libc::SYS_fsync, "fsync", Shape::Fd(0)),
    (libc::SYS_fdatasync, "fdatasync", Shape::Fd(0)),
    (libc::SYS_sync, "sync", Shape::System),
    (libc::SYS_syncfs, "syncfs", Shape::System),
    (libc::SYS_sync_file_range, "sync_file_range", Shape::Fd(0)),
    (libc::SYS_msync, "msync", Shape::System),
    (libc::SYS_truncate, "truncate", Shape::Existing(here(0))),
    (libc::SYS_ftruncate, "ftruncate", Shape::Fd(0)),
    (libc::SYS_fallocate, "fallocate", Shape::Fd(0)),
    (libc::SYS_mkdirat, "mkdirat", Shape::Missing(at(0, 1))),
    (libc::SYS_mknodat, "mknodat", Shape::Missing(at(0, 1))),
    (libc::SYS_unlinkat, "unlinkat", Shape::Existing(at(0, 1))),
    (libc::SYS_symlinkat, "symlinkat", Shape::Missing(at(1, 2))),
    (libc::SYS_linkat, "linkat", Shape::Missing(at(2, 3))),
    (libc::SYS_renameat2, "renameat2", Shape::Move(at(0, 1), at(2, 3))),
    (libc::SYS_fchmod, "fchmod", Shape::Fd(0)),
    (libc::SYS_fchmodat, "fchmodat", Shape::Existing(at(0, 1))),
    (libc::SYS_fchown, "fchown", Shape::Fd(0)),
    (libc::SYS_fchownat, "fchownat", Shape::Existing(at(0, 1))),
    (libc::SYS_utimensat, "utimensat", Shape::Existing(at(0, 1))),
    (libc::SYS_setxattr, "setxattr", Shape::Existing(here(0))),
    (libc::SYS_lsetxattr, "lsetxattr", Shape::Existing(here(0))),
    (libc::SYS_fsetxattr, "fsetxattr", Shape::Fd(0)),
    (libc::SYS_removexattr, "removexattr", Shape::Existing(here(0))),
    (libc::SYS_lremovexattr, "lremovexattr", Shape::Existing(here(0))),
    (libc::SYS_fremovexattr, "fremovexattr", Shape::Fd(0)),
    (libc::SYS_openat2, "openat2", Shape::Open2(at(0, 1), 2)),
    (libc::SYS_connect, "connect", Shape::Connect(0, 1, 2)),
    (libc::SYS_sendto, "sendto", Shape::SendTo),
    (libc::SYS_sendmsg, "sendmsg", Shape::SendMsg),
    (libc::SYS_sendmmsg, "sendmmsg", Shape::SendMsg),
    (libc::SYS_io_uring_setup, "io_uring_setup", Shape::IoUring),
    (libc::SYS_exit_group, "exit_group", Shape::Exit),
];

/// The calls of the machine's own convention.
pub fn native() -> Vec<Entry> {
    let always = When::Always;
    let entry = |(number, name, shape): (libc::c_long, _, _)| Entry { number: number as u32, name, shape, when: always };
    let mut list: Vec<Entry> = ALWAYS.into_iter().map(entry).collect();
    let mut add = |number: libc::c_long, name, shape, when| list.push(Entry { number: number as u32, name, shape, when });
    // fchmodat2 (Linux 6.6) has one number everywhere.
    add(452, "fchmodat2", Shape::Existing(at(0, 1)), always);
    add(libc::SYS_openat, "openat", Shape::Open(at(0, 1), 2), When::AnyBit(2, CREATES));
    add(libc::SYS_ioctl, "ioctl", Shape::Fd(0), When::Equals(1, FICLONE));
    add(libc::SYS_ioctl, "ioctl", Shape::Fd(0), When::Equals(1, FICLONERANGE));
    let shared = When::BothBits((3, libc::MAP_SHARED as u32), (2, libc::PROT_WRITE as u32));
    add(libc::SYS_mmap, "mmap", Shape::Map(4), shared);
    #[cfg(not(target_arch = "riscv64"))]
    add(libc::SYS_renameat, "renameat", Shape::Move(at(0, 1), at(2, 3)), always);
    kills(&mut add);
    #[cfg(target_arch = "x86_64")]
    elders(&mut add);
    list
}

/// Calls by which a process has another one killed.
fn kills(add: &mut dyn FnMut(libc::c_long, &'static str, Shape, When)) {
    add(libc::SYS_kill, "kill", Shape::KillSignal(0), When::Equals(1, libc::SIGKILL as u32));
    add(libc::SYS_tkill, "tkill", Shape::KillSignal(0), When::Equals(1, libc::SIGKILL as u32));
    add(libc::SYS_tgkill, "tgkill", Shape::KillSignal(0), When::Equals(2, libc::SIGKILL as u32));
    add(libc::SYS_rt_sigqueueinfo, "rt_sigqueueinfo", Shape::KillSignal(0), When::Equals(1, libc::SIGKILL as u32));
    add(libc::SYS_rt_tgsigqueueinfo, "rt_tgsigqueueinfo", Shape::KillSignal(0), When::Equals(2, libc::SIGKILL as u32));
    add(libc::SYS_prctl, "prctl", Shape::ParentDeath(1), When::Equals(0, libc::PR_SET_PDEATHSIG as u32));
    add(libc::SYS_pidfd_send_signal, "pidfd_send_signal", Shape::KillSignal(0), When::Equals(1, libc::SIGKILL as u32));
}

/// Calls that the newer machines do without: their successors take a folder's descriptor as well.
#[cfg(target_arch = "x86_64")]
fn elders(add: &mut dyn FnMut(libc::c_long, &'static str, Shape, When)) {
    let always = When::Always;
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
