//! Who a socket of another process talks to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use libc::{c_int, pid_t};

/// A socket's address, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// IPv4 or IPv6.
    Inet(SocketAddr),
    /// A named UNIX socket; an abstract name starts with `@`.
    Unix(Vec<u8>),
    /// A UNIX socket without a name, as those of a socket pair.
    Unnamed,
    /// Another family (netlink, packet).
    Other,
}

/// What is known of another process' socket.
#[derive(Clone, Debug)]
pub struct Socket {
    /// `SOCK_STREAM`, `SOCK_DGRAM`, ...
    pub kind: c_int,
    /// Its own address.
    pub own: Address,
    /// Its peer's, where it is connected.
    pub peer: Option<Address>,
    /// The process at the other end of a UNIX socket, where it is known.
    pub peer_pid: Option<pid_t>,
}

/// Looks at a file descriptor of another process by taking a copy of it for a moment (pidfd_getfd, Linux 5.6).
#[must_use]
pub fn inspect(pid: pid_t, fd: c_int) -> Option<Socket> {
    // SAFETY: plain integers; the results are checked and owned at once.
    let copy = unsafe {
        let pidfd = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        if pidfd < 0 {
            return None;
        }
        let pidfd = OwnedFd::from_raw_fd(pidfd as c_int);
        let copy = libc::syscall(libc::SYS_pidfd_getfd, pidfd.as_raw_fd(), fd, 0);
        if copy < 0 {
            return None;
        }
        OwnedFd::from_raw_fd(copy as c_int)
    };
    let raw = copy.as_raw_fd();
    let kind = option::<c_int>(raw, libc::SO_TYPE)?;
    let own = name(|address, length| {
        // SAFETY: pointer and length describe a live buffer.
        unsafe { libc::getsockname(raw, address, length) }
    })?;
    let peer = name(|address, length| {
        // SAFETY: as above.
        unsafe { libc::getpeername(raw, address, length) }
    });
    let peer_pid = option::<libc::ucred>(raw, libc::SO_PEERCRED).map(|cred| cred.pid).filter(|pid| *pid > 0);
    Some(Socket { kind, own, peer, peer_pid })
}

fn option<T: Copy>(fd: c_int, name: c_int) -> Option<T> {
    let mut value = std::mem::MaybeUninit::<T>::zeroed();
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the buffer is of that length; the types used here are plain integers, for which zeroes are valid.
    unsafe {
        let result = libc::getsockopt(fd, libc::SOL_SOCKET, name, value.as_mut_ptr().cast(), &raw mut length);
        (result == 0 && length as usize == size_of::<T>()).then(|| value.assume_init())
    }
}

fn name(call: impl Fn(*mut libc::sockaddr, *mut libc::socklen_t) -> c_int) -> Option<Address> {
    let mut bytes = [0u8; size_of::<libc::sockaddr_storage>()];
    let mut length = bytes.len() as libc::socklen_t;
    if call(bytes.as_mut_ptr().cast(), &raw mut length) != 0 {
        return None;
    }
    Some(parse(&bytes[..bytes.len().min(length as usize)]))
}

/// Reads a `sockaddr` from its bytes.
#[must_use]
pub fn parse(bytes: &[u8]) -> Address {
    let Some(family) = bytes.get(..2).map(|b| c_int::from(u16::from_ne_bytes([b[0], b[1]]))) else { return Address::Unnamed };
    let port = |b: &[u8]| u16::from_be_bytes([b[2], b[3]]);
    match family {
        libc::AF_INET if bytes.len() >= 8 => {
            let ip = Ipv4Addr::new(bytes[4], bytes[5], bytes[6], bytes[7]);
            Address::Inet(SocketAddr::new(IpAddr::V4(ip), port(bytes)))
        }
        libc::AF_INET6 if bytes.len() >= 24 => {
            let octets: [u8; 16] = bytes[8..24].try_into().expect("sixteen bytes were taken");
            let ip = Ipv6Addr::from(octets);
            let ip = ip.to_ipv4_mapped().map_or(IpAddr::V6(ip), IpAddr::V4);
            Address::Inet(SocketAddr::new(ip, port(bytes)))
        }
        libc::AF_UNIX => match bytes.get(2..) {
            None | Some([]) => Address::Unnamed,
            Some([0, rest @ ..]) => Address::Unix([b"@", rest].concat()),
            Some(path) => Address::Unix(path.split(|byte| *byte == 0).next().unwrap_or_default().to_vec()),
        },
        _ => Address::Other,
    }
}

/// Bytes that have arrived at a socket of our own and wait to be read (FIONREAD, tcp(7)).
#[must_use]
pub fn queued_bytes(socket: RawFd) -> usize {
    let mut bytes: c_int = 0;
    // SAFETY: the pointer is to a live value of the type that the request writes.
    let result = unsafe { libc::ioctl(socket, libc::FIONREAD, &raw mut bytes) };
    if result == 0 { usize::try_from(bytes).unwrap_or(0) } else { 0 }
}

/// Whether a connection waits at a listener of our own.
#[must_use]
pub fn has_visitor(listener: BorrowedFd<'_>) -> bool {
    let mut door = [nix::poll::PollFd::new(listener, nix::poll::PollFlags::POLLIN)];
    nix::poll::poll(&mut door, nix::poll::PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_process_socket_is_told_by_its_peer() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let server = listener.local_addr().expect("its address");
        let client = std::net::TcpStream::connect(server).expect("a connection");
        let own = std::process::id() as pid_t;
        let seen = inspect(own, client.as_raw_fd()).expect("our own descriptor");
        assert_eq!(seen.peer, Some(Address::Inet(server)));
        let (left, _right) = std::os::unix::net::UnixStream::pair().expect("a pair");
        let seen = inspect(own, left.as_raw_fd()).expect("our own descriptor");
        assert_eq!((seen.own, seen.peer, seen.peer_pid), (Address::Unnamed, Some(Address::Unnamed), Some(own)));
    }
}
