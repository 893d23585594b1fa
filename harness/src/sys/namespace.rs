//! A network and a mount namespace of their own, made by a process that is gone when they are there: they live on by descriptors alone.
//!
//! That process (the holder) is forked from a threaded program and makes only async-signal-safe calls. It hands over what can only be
//! made inside: the namespaces, their root folder, listeners, and a socket that answers questions about connections.

use std::ffi::{CStr, CString};
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use nix::fcntl::{OFlag, OpenHow, ResolveFlag};

use super::diag::Connections;

/// What is to be seen where inside: the first path at the second. Both are there, the second as it is seen once the binds before it
/// are made.
pub type Bind = (CString, CString);

/// How many ports there are listeners on.
pub const PORTS: usize = 2;

/// Namespaces that exist for as long as this value, or a process in them, does.
#[derive(Debug)]
pub struct Namespaces {
    /// In the order in which they are joined: that of users, where there is one, then network and mounts.
    joins: Vec<OwnedFd>,
    root: OwnedFd,
}

/// What was made inside.
#[derive(Debug)]
pub struct Made {
    /// The namespaces.
    pub namespaces: Namespaces,
    /// Listeners on the ports that were asked for, on 127.0.0.1, in their order.
    pub listeners: [TcpListener; PORTS],
    /// Answers questions about the connections inside.
    pub connections: Connections,
}

/// The step at which it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Making the holder, or hearing from it.
    Fork,
    /// A user namespace, needed for want of the right to make the others.
    User,
    /// The network and mount namespaces.
    Spaces,
    /// Keeping the mounts from being seen outside.
    Mounts,
    /// Binding one path to another.
    Bind,
    /// Bringing the loopback interface up.
    Loopback,
    /// Listening.
    Listen,
    /// Asking about connections.
    Diag,
    /// Joining what was made.
    Join,
}

const STEPS: [Step; 9] =
    [Step::Fork, Step::User, Step::Spaces, Step::Mounts, Step::Bind, Step::Loopback, Step::Listen, Step::Diag, Step::Join];

impl Namespaces {
    /// The namespaces in the order in which a process joins them.
    pub fn joins(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.joins.iter().map(AsFd::as_fd)
    }

    fn find(&self, path: &Path, follows: bool) -> Option<OwnedFd> {
        let last = if follows { OFlag::empty() } else { OFlag::O_NOFOLLOW };
        let how = OpenHow::new().flags(OFlag::O_PATH | OFlag::O_CLOEXEC | last).resolve(ResolveFlag::RESOLVE_IN_ROOT);
        nix::fcntl::openat2(&self.root, path, how).ok()
    }

    /// A path as it is inside, with all links resolved there; of the last part only where `follows`. `None`: nothing is there.
    #[must_use]
    pub fn resolve(&self, path: &Path, follows: bool) -> Option<PathBuf> {
        let found = self.find(path, follows)?;
        std::fs::read_link(format!("/proc/self/fd/{}", found.as_raw_fd())).ok()
    }

    /// Whether a path leads to a regular file inside.
    #[must_use]
    pub fn is_file(&self, path: &Path) -> bool {
        self.find(path, true).is_some_and(|found| std::fs::File::from(found).metadata().is_ok_and(|meta| meta.is_file()))
    }

    /// Whether a process can join: one does, and ends.
    ///
    /// # Errors
    /// Why not.
    pub fn try_join(&self) -> Result<(), (Step, io::Error)> {
        let joins: Vec<RawFd> = self.joins.iter().map(AsRawFd::as_raw_fd).collect();
        // SAFETY: the child makes system calls on numbers and ends.
        let pid = unsafe {
            match libc::fork() {
                -1 => return Err((Step::Fork, io::Error::last_os_error())),
                0 => {
                    let joined = joins.iter().all(|fd| libc::setns(*fd, 0) == 0);
                    libc::_exit(if joined { 0 } else { *libc::__errno_location() })
                }
                pid => pid,
            }
        };
        match reap(pid) {
            Some(0) => Ok(()),
            Some(errno) => Err((Step::Join, io::Error::from_raw_os_error(errno))),
            None => Err((Step::Join, io::Error::other("the process that tried it was killed"))),
        }
    }
}

/// Makes the namespaces, with what is inside. A user namespace of their own only where the right to make the others is missing;
/// its user and group have the same numbers as outside.
///
/// # Errors
/// The step and the system's error.
pub fn create(binds: &[Bind], ports: [u16; PORTS]) -> Result<Made, (Step, io::Error)> {
    let at = |step| move |error: io::Error| (step, error);
    let mut pair = [0; 2];
    // SAFETY: the array takes the two descriptors, which are owned at once.
    let (ours, theirs) = unsafe {
        if libc::socketpair(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0, pair.as_mut_ptr()) != 0 {
            return Err((Step::Fork, io::Error::last_os_error()));
        }
        (OwnedFd::from_raw_fd(pair[0]), OwnedFd::from_raw_fd(pair[1]))
    };
    // SAFETY: reads numbers.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    let mut work = Work {
        binds,
        trees: vec![-1; binds.len()],
        ports,
        user_map: CString::new(format!("{user} {user} 1")).expect("digits"),
        group_map: CString::new(format!("{group} {group} 1")).expect("digits"),
        out: theirs.as_raw_fd(),
    };
    // SAFETY: the child makes only async-signal-safe calls on what was built above, allocates nothing, and ends.
    let pid = unsafe {
        match libc::fork() {
            -1 => return Err((Step::Fork, io::Error::last_os_error())),
            0 => hold(&mut work),
            pid => pid,
        }
    };
    drop(theirs);
    let heard = hear(&ours);
    reap(pid);
    let (report, mut fds) = heard.map_err(at(Step::Fork))?;
    if report[0] != 0 || fds.len() < HANDED - 1 {
        let step = STEPS.get(usize::from(report[0])).copied().unwrap_or(Step::Fork);
        return Err((step, io::Error::from_raw_os_error(i32::from(report[1]))));
    }
    let connections = Connections::of(fds.remove(0));
    let listeners = [TcpListener::from(fds.remove(0)), TcpListener::from(fds.remove(0))];
    let root = fds.remove(0);
    let own = listeners[0].local_addr().map_err(at(Step::Listen))?;
    if connections.has_listener(own) != Some(true) {
        return Err((Step::Diag, io::Error::other("the kernel does not look up connections (sock_diag)")));
    }
    Ok(Made { namespaces: Namespaces { joins: fds, root }, listeners, connections })
}

/// The exit code of a child; `None` where it was killed.
fn reap(pid: libc::pid_t) -> Option<i32> {
    let mut status = 0;
    loop {
        // SAFETY: the pointer is valid, and nobody else waits for this child: other threads wait for their own alone.
        match unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) } {
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            _ => return libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        }
    }
}

/// What the holder is to do, built before it is forked.
struct Work<'a> {
    binds: &'a [Bind],
    /// Room for the mounts under way.
    trees: Vec<RawFd>,
    ports: [u16; PORTS],
    user_map: CString,
    group_map: CString,
    out: RawFd,
}

/// The most descriptors that are handed over: connections, listeners, root, user, network, mounts.
const HANDED: usize = 7;
/// Room for their control message, aligned as one.
#[repr(C, align(8))]
struct Control([u8; 64]);

/// The holder's whole life.
///
/// # Safety
/// Only in a child that was just forked.
unsafe fn hold(work: &mut Work<'_>) -> ! {
    // SAFETY: async-signal-safe system calls on values built before the fork.
    unsafe {
        // Whoever made it waits for it, so that thread only goes when the whole program does.
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        let (report, fds, count) = match make(work) {
            Ok((fds, count)) => ([0, 0], fds, count),
            Err(step) => ([step as u8, *libc::__errno_location() as u8], [-1; HANDED], 0),
        };
        let mut control = Control([0; 64]);
        let mut text = libc::iovec { iov_base: report.as_ptr().cast_mut().cast(), iov_len: report.len() };
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut text;
        message.msg_iovlen = 1;
        if count > 0 {
            let bytes = (count * size_of::<RawFd>()) as u32;
            message.msg_control = control.0.as_mut_ptr().cast();
            message.msg_controllen = libc::CMSG_SPACE(bytes) as usize;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(bytes) as usize;
            std::ptr::copy_nonoverlapping(fds.as_ptr().cast(), libc::CMSG_DATA(header), bytes as usize);
        }
        libc::sendmsg(work.out, &raw const message, libc::MSG_NOSIGNAL);
        libc::_exit(0)
    }
}

/// Makes everything; the descriptors in the order in which they are handed over, and how many.
///
/// # Safety
/// Only in the holder.
unsafe fn make(work: &mut Work<'_>) -> Result<([RawFd; HANDED], usize), Step> {
    let spaces = libc::CLONE_NEWNET | libc::CLONE_NEWNS;
    let open = |path: &CStr, flags| {
        // SAFETY: the path ends in a zero byte.
        unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC) }
    };
    let ok = |is_so: bool, step| if is_so { Ok(()) } else { Err(step) };
    // SAFETY: async-signal-safe system calls on live values.
    unsafe {
        let is_alone = libc::unshare(spaces) != 0;
        if is_alone {
            ok(*libc::__errno_location() == libc::EPERM, Step::Spaces)?;
            ok(libc::unshare(libc::CLONE_NEWUSER) == 0, Step::User)?;
            for (file, text) in [
                (c"/proc/self/setgroups", c"deny"),
                (c"/proc/self/uid_map", &work.user_map),
                (c"/proc/self/gid_map", &work.group_map),
            ] {
                let length = text.count_bytes();
                let fd = open(file, libc::O_WRONLY);
                ok(fd >= 0 && libc::write(fd, text.as_ptr().cast(), length) == length as isize, Step::User)?;
            }
            ok(libc::unshare(spaces) == 0, Step::Spaces)?;
        }
        let none = std::ptr::null();
        ok(libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, none.cast()) == 0, Step::Mounts)?;
        bind_all(work)?;
        ok(loopback(), Step::Loopback)?;
        let (first, second) = (listen(work.ports[0]), listen(work.ports[1]));
        ok(first >= 0 && second >= 0, Step::Listen)?;
        let diag = libc::socket(libc::AF_NETLINK, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, libc::NETLINK_SOCK_DIAG);
        ok(diag >= 0, Step::Diag)?;
        let root = open(c"/", libc::O_PATH | libc::O_DIRECTORY);
        let (net, mounts) = (open(c"/proc/self/ns/net", libc::O_RDONLY), open(c"/proc/self/ns/mnt", libc::O_RDONLY));
        ok(root >= 0 && net >= 0 && mounts >= 0, Step::Spaces)?;
        if !is_alone {
            return Ok(([diag, first, second, root, net, mounts, -1], HANDED - 1));
        }
        let user = open(c"/proc/self/ns/user", libc::O_RDONLY);
        ok(user >= 0, Step::User)?;
        Ok(([diag, first, second, root, user, net, mounts], HANDED))
    }
}

/// Binds: first all sources are taken hold of, because a bind may hide those of later ones.
///
/// # Safety
/// Only in the holder.
unsafe fn bind_all(work: &mut Work<'_>) -> Result<(), Step> {
    /// `linux/mount.h`.
    const OPEN_TREE_CLONE: libc::c_int = 1;
    const MOVE_MOUNT_F_EMPTY_PATH: libc::c_int = 4;
    // SAFETY: system calls on paths that end in a zero byte and on descriptors.
    unsafe {
        for (tree, (from, _)) in work.trees.iter_mut().zip(work.binds) {
            let flags = OPEN_TREE_CLONE | libc::O_CLOEXEC | libc::AT_RECURSIVE;
            *tree = libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, from.as_ptr(), flags) as RawFd;
            if *tree < 0 {
                return Err(Step::Bind);
            }
        }
        for (tree, (_, to)) in work.trees.iter().zip(work.binds) {
            let flags = MOVE_MOUNT_F_EMPTY_PATH;
            if libc::syscall(libc::SYS_move_mount, *tree, c"".as_ptr(), libc::AT_FDCWD, to.as_ptr(), flags) != 0 {
                return Err(Step::Bind);
            }
        }
    }
    Ok(())
}

/// Brings the loopback interface up.
///
/// # Safety
/// Only in the holder.
unsafe fn loopback() -> bool {
    // SAFETY: the request is a live value of the size that the kernel expects, for which zeroes are valid.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        socket >= 0 && libc::ioctl(socket, libc::SIOCSIFFLAGS as _, &raw mut request) == 0
    }
}

/// A listener on 127.0.0.1; negative where there is none.
///
/// # Safety
/// Only in the holder.
unsafe fn listen(port: u16) -> RawFd {
    /// As the standard library has it.
    const BACKLOG: libc::c_int = 128;
    // SAFETY: the address is a live value of its own size; zeroes are valid for the rest of it.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        let mut address: libc::sockaddr_in = std::mem::zeroed();
        address.sin_family = libc::AF_INET as libc::sa_family_t;
        address.sin_port = port.to_be();
        address.sin_addr.s_addr = u32::from_ne_bytes([127, 0, 0, 1]);
        let length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        let is_bound = socket >= 0 && libc::bind(socket, (&raw const address).cast(), length) == 0;
        if is_bound && libc::listen(socket, BACKLOG) == 0 { socket } else { -1 }
    }
}

/// What the holder says, with the descriptors that it hands over.
fn hear(socket: &OwnedFd) -> io::Result<([u8; 2], Vec<OwnedFd>)> {
    let (mut report, mut control, mut fds) = ([0u8; 2], Control([0; 64]), Vec::new());
    let mut text = libc::iovec { iov_base: report.as_mut_ptr().cast(), iov_len: report.len() };
    // SAFETY: all pointers are to live buffers of the lengths given; descriptors that come are owned at once.
    let length = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut text;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = control.0.len();
        let length = loop {
            let length = libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC);
            if length >= 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                break length;
            }
        };
        let header = if length > 0 { libc::CMSG_FIRSTHDR(&raw const message) } else { std::ptr::null_mut() };
        if !header.is_null() && (*header).cmsg_type == libc::SCM_RIGHTS {
            let bytes = (*header).cmsg_len - libc::CMSG_LEN(0) as usize;
            let data: *const RawFd = libc::CMSG_DATA(header).cast();
            fds.extend((0..bytes / size_of::<RawFd>()).map(|index| OwnedFd::from_raw_fd(data.add(index).read_unaligned())));
        }
        length
    };
    match length {
        2 => Ok((report, fds)),
        -1 => Err(io::Error::last_os_error()),
        _ => Err(io::Error::other("the process that makes them ended without a word")),
    }
}

#[cfg(test)]
mod tests;
