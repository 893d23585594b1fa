//! How much of a loopback connection its client has not read, asked of the kernel for that one connection.
//!
//! `/proc/net/tcp` lists every connection of the machine, those that ended in the last minute among them, so that each look at it
//! would cost more the more trials there were. sock_diag(7) looks one up; the table is read only where the kernel has no sock_diag.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Mutex, OnceLock, PoisonError};

/// States of `include/net/tcp_states.h`.
const TIME_WAIT: u8 = 6;
const LISTEN: u8 = 10;

/// One end of a connection as the kernel knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct End {
    state: u8,
    unread: u32,
}

/// The connections of one network namespace.
#[derive(Debug)]
pub struct Connections(Option<Mutex<OwnedFd>>);

impl Connections {
    /// Those of the namespace that this program is in.
    #[must_use]
    pub fn own() -> Self {
        Self(None)
    }

    /// Those of the namespace in which this sock_diag(7) socket was made.
    #[must_use]
    pub fn of(socket: OwnedFd) -> Self {
        Self(Some(Mutex::new(socket)))
    }

    /// As [`unread_bytes`], of a connection here.
    #[must_use]
    pub fn unread_bytes(&self, client: SocketAddr, server: SocketAddr) -> Option<u64> {
        match &self.0 {
            None => unread_bytes(client, server),
            Some(socket) => {
                unread(&|own, peer| find_by(&socket.lock().unwrap_or_else(PoisonError::into_inner), own, peer), client, server)
            }
        }
    }

    /// Whether somebody listens at a TCP address here; `None` where it cannot be told.
    #[must_use]
    pub fn has_listener(&self, address: SocketAddr) -> Option<bool> {
        let nobody = SocketAddr::from(([127, 0, 0, 1], 0));
        let socket = self.0.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        address.is_ipv4().then(|| find_by(&socket, address, nobody).is_some_and(|end| end.state == LISTEN))
    }
}

/// Bytes that have arrived at the client's end of a loopback connection and that it has not read.
///
/// A client that closes with bytes unread resets the connection (RFC 2525, section 2.17, and Linux' `tcp_close`); one that had read
/// all ends it properly, which leaves the server's end in TIME_WAIT where the server closed first. `None`: it cannot be told.
#[must_use]
pub fn unread_bytes(client: SocketAddr, server: SocketAddr) -> Option<u64> {
    static HAS_DIAG: OnceLock<bool> = OnceLock::new();
    if *HAS_DIAG.get_or_init(has_diag) { unread(&find, client, server) } else { unread(&find_in_table, client, server) }
}

fn unread(find: &dyn Fn(SocketAddr, SocketAddr) -> Option<End>, client: SocketAddr, server: SocketAddr) -> Option<u64> {
    if let Some(end) = find(client, server) {
        return Some(end.unread.into());
    }
    find(server, client).filter(|end| end.state == TIME_WAIT).map(|_| 0)
}

/// Whether the kernel looks connections up: it must know a listener that is there. One that has no sock_diag gives the same answer as
/// for a connection that is not there.
fn has_diag() -> bool {
    let Ok(listener) = std::net::TcpListener::bind("127.0.0.1:0") else { return false };
    let Ok(own) = listener.local_addr() else { return false };
    find(own, SocketAddr::from(([127, 0, 0, 1], 0))).is_some_and(|end| end.state == LISTEN)
}

/// The end of a connection of this namespace, asked on a socket of its own.
fn find(own: SocketAddr, peer: SocketAddr) -> Option<End> {
    // SAFETY: the result is checked and owned at once.
    let socket = unsafe {
        let socket = libc::socket(libc::AF_NETLINK, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, libc::NETLINK_SOCK_DIAG);
        if socket < 0 {
            return None;
        }
        OwnedFd::from_raw_fd(socket)
    };
    find_by(&socket, own, peer)
}

/// The end of a connection whose own address is the first one, by sock_diag(7): `nlmsghdr` of 16 bytes, `inet_diag_req_v2` of 56;
/// the answer holds `inet_diag_msg`, of which the state is byte 1 and the receive queue stands at 56. A lookup that finds no
/// connection finds a listener on the first address.
fn find_by(socket: &OwnedFd, own: SocketAddr, peer: SocketAddr) -> Option<End> {
    const SOCK_DIAG_BY_FAMILY: u16 = 20;
    let (IpAddr::V4(own_ip), IpAddr::V4(peer_ip)) = (own.ip(), peer.ip()) else { return None };
    let mut request = [0u8; 72];
    request[..4].copy_from_slice(&72u32.to_ne_bytes());
    request[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request[6..8].copy_from_slice(&(libc::NLM_F_REQUEST as u16).to_ne_bytes());
    request[16] = libc::AF_INET as u8;
    request[17] = libc::IPPROTO_TCP as u8;
    request[20..24].copy_from_slice(&u32::MAX.to_ne_bytes());
    request[24..26].copy_from_slice(&own.port().to_be_bytes());
    request[26..28].copy_from_slice(&peer.port().to_be_bytes());
    request[28..32].copy_from_slice(&own_ip.octets());
    request[44..48].copy_from_slice(&peer_ip.octets());
    // No cookie (INET_DIAG_NOCOOKIE): whichever connection has these addresses.
    request[64..72].fill(0xff);
    let answer = ask(socket, &request)?;
    if answer.get(4..6)? != SOCK_DIAG_BY_FAMILY.to_ne_bytes() {
        return None;
    }
    let message = answer.get(16..)?;
    let unread = message.get(56..60)?.try_into().ok().map(u32::from_ne_bytes)?;
    Some(End { state: *message.get(1)?, unread })
}

/// One question and its one answer over netlink.
fn ask(socket: &OwnedFd, request: &[u8]) -> Option<Vec<u8>> {
    let mut answer = vec![0u8; 1024];
    // SAFETY: the buffers are live and their lengths are theirs. The kernel answers within the send.
    let length = unsafe {
        if libc::send(socket.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) < 0 {
            return None;
        }
        libc::recv(socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), libc::MSG_DONTWAIT)
    };
    answer.truncate(usize::try_from(length).ok()?);
    Some(answer)
}

/// The same from `/proc/net/tcp`.
fn find_in_table(own: SocketAddr, peer: SocketAddr) -> Option<End> {
    let form = |address: SocketAddr| match address.ip() {
        IpAddr::V4(ip) => Some(format!("{:08X}:{:04X}", u32::from_ne_bytes(ip.octets()), address.port())),
        IpAddr::V6(_) => None,
    };
    let (own, peer) = (form(own)?, form(peer)?);
    let table = std::fs::read_to_string("/proc/net/tcp").ok()?;
    table.lines().find_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let is_it = fields.next()? == own && fields.next()? == peer;
        let (state, queues) = (fields.next()?, fields.next()?);
        let state = u8::from_str_radix(state, 16).ok()?;
        let unread = u32::from_str_radix(queues.split_once(':')?.1, 16).ok()?;
        is_it.then_some(End { state, unread })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    type Look = fn(SocketAddr, SocketAddr) -> Option<End>;

    /// The ways to look that this kernel has; the table it always has.
    fn looks() -> Vec<Look> {
        let table: Look = find_in_table;
        if has_diag() { vec![find, table] } else { vec![table] }
    }

    #[test]
    fn unread_bytes_fall_to_zero_when_the_client_has_read() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let server = listener.local_addr().expect("its address");
        let mut client = std::net::TcpStream::connect(server).expect("a connection");
        let (mut accepted, peer) = listener.accept().expect("the other end");
        accepted.write_all(b"hello").expect("loopback takes five bytes");
        for look in looks() {
            assert_eq!(look(peer, server).map(|end| end.unread), Some(5));
        }
        assert_eq!(unread_bytes(peer, server), Some(5));
        client.read_exact(&mut [0; 5]).expect("five bytes");
        assert_eq!(unread_bytes(peer, server), Some(0));
    }

    #[test]
    fn a_client_that_has_read_all_and_closed_is_told_from_one_that_left_something() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let server = listener.local_addr().expect("its address");
        for (reads, expected) in [(5, Some(0)), (4, None)] {
            let mut client = std::net::TcpStream::connect(server).expect("a connection");
            let (mut accepted, peer) = listener.accept().expect("the other end");
            accepted.write_all(b"hello").expect("loopback takes five bytes");
            accepted.shutdown(std::net::Shutdown::Write).expect("it is open");
            client.read_exact(&mut vec![0; reads]).expect("so many bytes");
            drop(client);
            // The end of the connection, or its reset, has come when the other side is told of it.
            let _ = accepted.read(&mut [0; 1]);
            drop(accepted);
            assert_eq!(unread_bytes(peer, server), expected);
            for look in looks() {
                let waits = look(server, peer).is_some_and(|end| end.state == TIME_WAIT);
                assert_eq!(waits, expected.is_some());
            }
        }
    }
}
