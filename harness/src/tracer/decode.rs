//! What a call acts on: paths made absolute, sockets named by their peer, and everything left out that dies with the process.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use libc::pid_t;

use super::calls::{Calls, PathAt, Shape};
use super::view::View;
use crate::model::call::{Object, is_loopback};
use crate::model::limits::{OUTPUT_LINE_MAX_BYTES, PATH_MAX_BYTES};
use crate::sys::memory;
use crate::sys::namespace::Namespaces;
use crate::sys::ptrace::Syscall;
use crate::sys::seccomp::ARCH_NATIVE;
use crate::sys::socket::{self, Address};

/// What a stopped call is to killpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// It can change something.
    Call {
        /// Its name.
        syscall: &'static str,
        /// What it acts on.
        object: Object,
        /// Bytes it writes to the life's own output.
        output_bytes: u64,
    },
    /// io_uring is being set up.
    IoUring,
    /// A file is being mapped shared and writable.
    SharedMapping(Object),
    /// A SIGKILL is being sent to this process; `None`: to several, or to one that cannot be told.
    KillSignal(Option<pid_t>),
    /// It changes nothing that outlives the process.
    Nothing,
}

/// Decodes calls of one life.
#[derive(Debug)]
pub struct Decoder {
    calls: Calls,
    output: PathBuf,
    view: View,
    sockets: HashMap<OsString, Option<Object>>,
}

impl Decoder {
    /// A decoder for a life whose output goes to this file, and which may be inside of namespaces of its own.
    #[must_use]
    pub fn new(calls: Calls, output: PathBuf, inside: Option<Arc<Namespaces>>) -> Self {
        Self { calls, output, view: View(inside), sockets: HashMap::new() }
    }

    /// Decodes the call a thread stands at. `is_ours` says whether a process belongs to the life.
    pub fn decode(&mut self, tid: pid_t, call: &Syscall, is_ours: &dyn Fn(pid_t) -> bool) -> Decoded {
        let Some(entry) = self.calls.find(call.arch, call.number) else { return Decoded::Nothing };
        let (name, shape) = (entry.name, entry.shape);
        let mut site = Site { decoder: self, tid, call, is_ours };
        let found = |object: Option<Object>| match object {
            Some(object) => Decoded::Call { syscall: name, object, output_bytes: 0 },
            None => Decoded::Nothing,
        };
        match shape {
            Shape::Fd(fd) => found(site.fd(fd)),
            Shape::Write(fd, address, length) => site.write(name, fd, address, length),
            Shape::WriteV(fd, vector, count) => site.write_v(name, fd, vector, count),
            Shape::Existing(path) => {
                found(site.path(path).filter(|path| site.there(path) || is_too_deep(path)).and_then(durable))
            }
            Shape::Missing(path) => found(site.path(path).filter(|path| !site.there(path)).and_then(durable)),
            Shape::Creat(path) => found(site.path(path).and_then(durable)),
            Shape::Move(from, to) => found(site.rename(from, to)),
            Shape::Open(path, flags) => found(site.open(path, site.call.args[flags])),
            Shape::Open2(path, how) => {
                let flags = memory::read_u64(tid, call.args[how]).unwrap_or(0);
                found(site.open(path, flags))
            }
            Shape::Connect(fd, address, length) => found(site.connect(fd, address, length)),
            Shape::SendTo => found(site.send_to()),
            Shape::SendMsg => found(site.send_msg()),
            Shape::SocketCall => found(site.socket_call()),
            Shape::Map(fd) => match site.fd(fd) {
                Some(object @ Object::Path(_)) => Decoded::SharedMapping(object),
                _ => Decoded::Nothing,
            },
            Shape::IoUring => Decoded::IoUring,
            Shape::KillSignal(target) => {
                let target = call.args[target] as pid_t;
                Decoded::KillSignal((target > 0 && name != "pidfd_send_signal").then_some(target))
            }
            // The kernel sends it on behalf of the one who asked.
            Shape::ParentDeath(signal) if call.args[signal] as i32 == libc::SIGKILL => Decoded::KillSignal(Some(tid)),
            Shape::ParentDeath(_) => Decoded::Nothing,
            Shape::Exit => found(
                std::fs::read_to_string(format!("/proc/{tid}/comm")).ok().map(|name| Object::Process(name.trim_end().to_owned())),
            ),
            Shape::System => found(Some(Object::System)),
        }
    }
}

/// What stands for a file whose path is longer than the kernel can say (4095 bytes).
const TOO_DEEP: &str = "/a-path-too-long-to-say";

/// One call of one thread.
struct Site<'a> {
    decoder: &'a mut Decoder,
    tid: pid_t,
    call: &'a Syscall,
    is_ours: &'a dyn Fn(pid_t) -> bool,
}

impl Site<'_> {
    fn link(&self, fd: i32) -> Option<PathBuf> {
        self.proc_link(&format!("fd/{fd}"))
    }

    fn proc_link(&self, name: &str) -> Option<PathBuf> {
        match std::fs::read_link(format!("/proc/{}/{name}", self.tid)) {
            Ok(link) => Some(link),
            // The kernel cannot say where it is, but it is a file, and it must not be missed.
            Err(error) if error.raw_os_error() == Some(libc::ENAMETOOLONG) => Some(PathBuf::from(TOO_DEEP)),
            Err(_) => None,
        }
    }

    /// What a file descriptor stands for, if that outlives the process.
    fn fd(&mut self, argument: usize) -> Option<Object> {
        let fd = self.call.args[argument] as i32;
        let link = self.link(fd)?;
        let text = link.as_os_str().as_bytes();
        if text.starts_with(b"socket:") {
            return self.socket(fd, link.as_os_str());
        }
        if !text.starts_with(b"/") || text.starts_with(b"/memfd:") || (text.ends_with(b" (deleted)") && !self.there(&link)) {
            return None;
        }
        if link == self.decoder.output {
            return Some(Object::Output(Vec::new()));
        }
        let is_pipe = std::fs::metadata(format!("/proc/{}/fd/{fd}", self.tid)).is_ok_and(|meta| meta.file_type().is_fifo());
        if is_pipe { None } else { durable(link) }
    }

    fn write(&mut self, syscall: &'static str, fd: usize, address: usize, length: usize) -> Decoded {
        let length = self.call.args[length];
        if length == 0 {
            return Decoded::Nothing;
        }
        match self.fd(fd) {
            Some(Object::Output(_)) => {
                let wanted = usize::try_from(length).unwrap_or(usize::MAX).min(OUTPUT_LINE_MAX_BYTES);
                let bytes = memory::read(self.tid, self.call.args[address], wanted).unwrap_or_default();
                Decoded::Call { syscall, object: Object::Output(bytes), output_bytes: length }
            }
            Some(object) => Decoded::Call { syscall, object, output_bytes: 0 },
            None => Decoded::Nothing,
        }
    }

    fn write_v(&mut self, syscall: &'static str, fd: usize, vector: usize, count: usize) -> Decoded {
        match self.fd(fd) {
            Some(Object::Output(_)) => {
                let (mut bytes, mut total) = (Vec::new(), 0u64);
                for index in 0..self.call.args[count].min(1024) {
                    let at = self.call.args[vector] + 16 * index;
                    let (Some(base), Some(length)) = (memory::read_u64(self.tid, at), memory::read_u64(self.tid, at + 8)) else {
                        break;
                    };
                    total = total.saturating_add(length);
                    let room = OUTPUT_LINE_MAX_BYTES - bytes.len();
                    let wanted = usize::try_from(length).unwrap_or(usize::MAX).min(room);
                    bytes.extend(memory::read(self.tid, base, wanted).unwrap_or_default());
                }
                Decoded::Call { syscall, object: Object::Output(bytes), output_bytes: total }
            }
            Some(object) => Decoded::Call { syscall, object, output_bytes: 0 },
            None => Decoded::Nothing,
        }
    }

    /// A path argument, absolute and without `.`, `..` and links in its folder.
    fn path(&self, at: PathAt) -> Option<PathBuf> {
        let raw = memory::read_path(self.tid, self.call.args[at.path], PATH_MAX_BYTES)?;
        let base = match at.dir.map(|argument| self.call.args[argument] as i32) {
            _ if raw.as_bytes().starts_with(b"/") => PathBuf::new(),
            None | Some(libc::AT_FDCWD) => self.proc_link("cwd")?,
            // An empty path means the descriptor itself (AT_EMPTY_PATH, utimensat with no path).
            Some(fd) => self.link(fd)?,
        };
        Some(self.decoder.view.plain(&if raw.is_empty() { base } else { base.join(raw) }))
    }

    /// An open changes something if it empties a file or makes one.
    fn open(&self, at: PathAt, flags: u64) -> Option<Object> {
        let flags = flags as i32;
        if flags & libc::O_TMPFILE == libc::O_TMPFILE {
            return None;
        }
        let path = self.path(at)?;
        // O_CREAT on a name that is a link makes the link's target.
        let found = self.decoder.view.real(&path);
        let is_there = found.is_some();
        let path = found.unwrap_or(path);
        let empties = flags & libc::O_TRUNC != 0 && is_there && self.decoder.view.is_file(&path);
        let changes = (flags & libc::O_CREAT != 0 && !is_there) || empties;
        if changes { durable(path) } else { None }
    }

    fn rename(&self, from: PathAt, to: PathAt) -> Option<Object> {
        let (from, to) = (self.path(from)?, self.path(to)?);
        if !self.there(&from) && !is_too_deep(&from) {
            return None;
        }
        match (durable(from.clone()), durable(to.clone())) {
            (None, None) => None,
            _ => Some(Object::Paths(from, to)),
        }
    }

    fn address(&self, at: u64, length: u64) -> Option<Address> {
        let length = usize::try_from(length).unwrap_or(usize::MAX).min(size_of::<libc::sockaddr_storage>());
        if at == 0 || length < 2 {
            return None;
        }
        memory::read(self.tid, at, length).map(|bytes| socket::parse(&bytes))
    }

    fn connect(&mut self, fd: usize, address: usize, length: usize) -> Option<Object> {
        let fd = self.call.args[fd] as i32;
        let address = self.address(self.call.args[address], self.call.args[length])?;
        // A connect of a datagram socket sends nothing; but one that fails keeps its program from sending.
        let kind = socket::inspect(self.process(), fd)?.kind;
        let object = named(&address, kind)?;
        if kind != libc::SOCK_STREAM && !self.is_unreachable(&object) {
            return None;
        }
        match &object {
            Object::Unix(path) if !path.as_os_str().as_bytes().starts_with(b"@") && self.decoder.view.real(path).is_none() => {
                None
            }
            _ => Some(object),
        }
    }

    /// Whether a peer is beyond the only interface that there is inside.
    fn is_unreachable(&self, object: &Object) -> bool {
        self.decoder.view.0.is_some() && object.peer().is_some_and(|peer| !is_loopback(peer))
    }

    fn there(&self, path: &Path) -> bool {
        self.decoder.view.there(path)
    }

    fn process(&self) -> pid_t {
        // pidfd_open takes a process; a thread's descriptors are its process'.
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.tid)).unwrap_or_default();
        let tgid = status.lines().find_map(|line| line.strip_prefix("Tgid:")).and_then(|text| text.trim().parse().ok());
        tgid.unwrap_or(self.tid)
    }

    /// What a connected socket talks to, if that is outside the life.
    fn socket(&mut self, fd: i32, link: &OsStr) -> Option<Object> {
        if let Some(known) = self.decoder.sockets.get(link) {
            return known.clone();
        }
        let seen = socket::inspect(self.process(), fd)?;
        let peer = seen.peer?;
        let object = match &peer {
            Address::Unnamed => match &seen.own {
                Address::Unix(own) => Some(Object::Unix(PathBuf::from(OsStr::from_bytes(own)))),
                _ => None,
            },
            peer => named(peer, seen.kind),
        };
        let is_inside = matches!(object, Some(Object::Unix(_))) && seen.peer_pid.is_some_and(self.is_ours);
        let object = object.filter(|_| !is_inside);
        self.decoder.sockets.insert(link.to_owned(), object.clone());
        object
    }

    fn send_to(&mut self) -> Option<Object> {
        if let Some(address) = self.address(self.call.args[4], self.call.args[5]) {
            return named(&address, libc::SOCK_DGRAM);
        }
        self.fd(0)
    }

    fn send_msg(&mut self) -> Option<Object> {
        if self.call.arch == ARCH_NATIVE {
            let header = self.call.args[1];
            let name = memory::read_u64(self.tid, header).unwrap_or(0);
            let length = memory::read_u32(self.tid, header + 8).unwrap_or(0);
            if let Some(address) = self.address(name, length.into()) {
                return named(&address, libc::SOCK_DGRAM);
            }
        }
        self.fd(0)
    }

    /// 32-bit x86's one call for all of sockets: 3 connect, 9 send, 11 sendto, 16 sendmsg, 20 sendmmsg (linux/net.h).
    fn socket_call(&mut self) -> Option<Object> {
        let arguments = self.call.args[1];
        let word = |index: u64| memory::read_u32(self.tid, arguments + 4 * index).map(u64::from);
        let fd = word(0)?;
        match self.call.args[0] {
            3 => named(&self.address(word(1)?, word(2)?)?, libc::SOCK_STREAM),
            9 | 11 | 16 | 20 => {
                let link = self.link(fd as i32)?;
                self.socket(fd as i32, link.as_os_str())
            }
            _ => None,
        }
    }
}

/// The object at an address.
fn named(address: &Address, kind: i32) -> Option<Object> {
    match address {
        Address::Inet(peer) if kind == libc::SOCK_STREAM => Some(Object::Tcp(*peer)),
        Address::Inet(peer) => Some(Object::Udp(*peer)),
        Address::Unix(path) => Some(Object::Unix(PathBuf::from(OsStr::from_bytes(path)))),
        Address::Unnamed | Address::Other => None,
    }
}

/// Whether nothing can be looked up about a path.
fn is_too_deep(path: &Path) -> bool {
    path.starts_with(TOO_DEEP)
}

/// A path that outlives the process: not a device, not the kernel's own files. Shared memory is one: it outlives a process.
fn durable(path: PathBuf) -> Option<Object> {
    let volatile =
        (path.starts_with("/dev") && !path.starts_with("/dev/shm")) || path.starts_with("/proc") || path.starts_with("/sys");
    (!volatile).then_some(Object::Path(path))
}
