//! One connection as its server and the sandbox's lens share it: what was read of it, what waits for an answer, and the socket itself.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::watch::{Seen, Watch, Written};
use crate::sys::socket::queued_bytes;

/// An answer that is about to be written.
pub(super) struct Answer {
    /// The request, where the keeper wants to write its answer.
    pub seen: Option<Arc<Seen>>,
    /// Bytes of its body on the wire.
    pub body_bytes: usize,
    /// Whether only half of it is written before the connection is closed.
    pub half: bool,
    /// Told when the last byte was written; dropped where that never happens.
    pub done: oneshot::Sender<Instant>,
}

/// What is known of one connection.
#[derive(Default)]
pub(super) struct Line(Mutex<State>);

#[derive(Default)]
pub(super) struct State {
    /// Answers that are on their way, in order.
    pub answers: VecDeque<Answer>,
    /// When the request that is being read began: its first byte.
    pub began: Option<Instant>,
    /// Requests that have arrived and whose answer is not written to its end. More than one where the client does not wait.
    pub serving: usize,
    /// Whether the client may still be sending what nobody will read.
    pub linger: bool,
    /// Whether the client is to see a reset when the connection is closed.
    reset: bool,
    /// Bytes were read of which it is not known yet whether they are the whole head of a request.
    pub is_reading: bool,
    /// The socket, while it is open.
    socket: Option<RawFd>,
}

impl Line {
    /// Whether everything that the client has sent was taken in, up to a head that is not whole.
    pub fn is_quiet(&self) -> bool {
        let state = self.lock();
        !state.is_reading && state.socket.is_none_or(|socket| queued_bytes(socket) == 0)
    }

    /// Whether a request waits for its answer.
    pub fn is_serving(&self) -> bool {
        self.lock().serving > 0
    }

    /// A request is there, or its head; when its first byte came.
    pub fn request_arrived(&self) -> Instant {
        let mut state = self.lock();
        state.is_reading = false;
        state.serving += 1;
        state.began.take().unwrap_or_else(Instant::now)
    }

    /// The next thing that is written is this answer.
    pub fn expect(&self, answer: Answer, linger: bool) {
        let mut state = self.lock();
        state.answers.push_back(answer);
        state.linger |= linger;
    }

    /// The connection is to end by a reset.
    pub fn reset(&self) {
        self.lock().reset = true;
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The socket of a connection. Dropping it closes it, by a reset where that was asked for.
pub(super) struct Socket {
    pub stream: TcpStream,
    pub line: Arc<Line>,
}

impl Socket {
    pub fn new(stream: TcpStream, line: Arc<Line>) -> Self {
        line.lock().socket = Some(stream.as_raw_fd());
        Self { stream, line }
    }

    /// One non-blocking write of a piece that belongs together, of which `left` bytes are to be written in all; `None` where the socket
    /// takes nothing now. Where there is a request, the keeper does the writing.
    pub fn write_piece(&self, piece: &[u8], left: usize, seen: Option<&Seen>, watch: &dyn Watch) -> io::Result<Option<usize>> {
        let mut outcome = None;
        let mut write = || {
            let result = if outcome.is_some() { Err(io::Error::other("written twice")) } else { self.stream.try_write(piece) };
            let word = match &result {
                Ok(n) if *n == left => Written::Last,
                Ok(n) if *n > 0 => Written::Part,
                _ => Written::Pending,
            };
            outcome.get_or_insert(result);
            word
        };
        match seen {
            Some(seen) => watch.answer(seen, &mut write),
            None => drop(write()),
        }
        match outcome {
            Some(Ok(n)) => Ok(Some(n)),
            Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Some(Err(error)) => Err(error),
            None => Err(io::Error::other("the answer was withheld")),
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Under the lock, before the descriptor is closed: its number may soon be another's.
        let mut state = self.line.lock();
        state.socket = None;
        if state.reset {
            // A client that is gone needs no reset.
            let _ = self.stream.set_zero_linger();
        }
    }
}
