//! The wire under hyper: it knows which bytes belong to which answer, and lets the keeper do the writing of them.
//!
//! hyper writes answers in order, each as one head of known length followed by a body of known length; so the last byte of an answer is
//! found by counting. What hyper says of its own accord (its refusals of what is not HTTP) is held back and said in the API's form.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep};

use super::api::Refusal;
use super::watch::{Seen, Watch, Written};
use crate::model::limits;
use crate::sys::socket::queued_bytes;

/// An answer that hyper is about to write.
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

/// What the service and the wire of one connection share.
#[derive(Default)]
pub(super) struct Line(Mutex<State>);

#[derive(Default)]
struct State {
    answers: VecDeque<Answer>,
    /// When the head that is being read began: its first byte.
    began: Option<Instant>,
    /// Requests whose head is there and whose answer is not written to its end. More than one where the client does not wait.
    serving: usize,
    /// Whether the client may still be sending what nobody will read.
    linger: bool,
    /// Whether the client is to see a reset when the connection is closed.
    reset: bool,
    /// Bytes were read of which it is not known yet whether they are the whole head of a request.
    is_reading: bool,
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

    /// The head of a request is there; when its first byte came.
    pub fn head_arrived(&self) -> Instant {
        let mut state = self.lock();
        state.is_reading = false;
        state.serving += 1;
        state.began.take().unwrap_or_else(Instant::now)
    }

    /// The next thing hyper writes is this answer.
    pub fn expect(&self, answer: Answer, linger: bool) {
        let mut state = self.lock();
        state.answers.push_back(answer);
        state.linger |= linger;
    }

    /// The connection is to end by a reset.
    pub fn reset(&self) {
        self.lock().reset = true;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stretch of bytes that hyper is writing.
struct Stretch {
    left: usize,
    /// Of these, the bytes that are kept back for good.
    withheld: usize,
    answer: Option<Answer>,
}

/// The stream of one connection.
pub(super) struct Wire {
    stream: TcpStream,
    line: Arc<Line>,
    watch: Arc<dyn Watch>,
    stretch: Option<Stretch>,
    read_timeout: Duration,
    head_timeout: Option<Pin<Box<Sleep>>>,
    refused: Option<u16>,
}

impl Wire {
    pub fn new(stream: TcpStream, line: Arc<Line>, watch: Arc<dyn Watch>, read_timeout: Duration) -> Self {
        line.lock().socket = Some(stream.as_raw_fd());
        Self { stream, line, watch, stretch: None, read_timeout, head_timeout: None, refused: None }
    }

    /// Says what is left to say after hyper has let go of the connection, and closes it.
    pub async fn finish(mut self, rubbish: bool) {
        if rubbish {
            self.refused.get_or_insert(400);
        }
        if let Some(status) = self.refused {
            // The client may be gone; there is nobody else to tell.
            let _ = self.stream.write_all(refusal_text(status, self.read_timeout).as_bytes()).await;
        }
        if self.refused.is_some() || self.line.lock().linger {
            // Closing a socket with unread bytes resets it, and a reset can destroy the answer before the client has read it.
            let _ = self.stream.shutdown().await;
            let mut rest = (&mut self.stream).take(limits::REFUSED_READ_MAX_BYTES);
            let mut nowhere = tokio::io::sink();
            let drained = tokio::io::copy(&mut rest, &mut nowhere);
            let _ = tokio::time::timeout(Duration::from_millis(limits::REFUSED_READ_TIMEOUT_MS), drained).await;
        }
    }

    /// What the bytes at the front of `bytes` are; `None` where hyper speaks of its own accord.
    fn next_stretch(&self, bytes: &[u8]) -> io::Result<Option<Stretch>> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let head = end.map(|at| at + 4).ok_or_else(|| io::Error::other("an answer's head is not written as one piece"))?;
        if bytes.starts_with(b"HTTP/1.1 1") {
            return Ok(Some(Stretch { left: head, withheld: 0, answer: None }));
        }
        let answer = self.line.lock().answers.pop_front();
        Ok(answer.map(|answer| {
            let left = head + answer.body_bytes;
            Stretch { left, withheld: if answer.half { left / 2 } else { 0 }, answer: Some(answer) }
        }))
    }

    /// One non-blocking write of a piece that belongs together; `None` where the socket takes nothing now.
    fn write_piece(&mut self, piece: &[u8], stretch: &Stretch) -> io::Result<Option<usize>> {
        let stream = &self.stream;
        let mut outcome = None;
        let mut write = || {
            let result = if outcome.is_some() { Err(io::Error::other("written twice")) } else { stream.try_write(piece) };
            let word = match &result {
                Ok(n) if *n == stretch.left => Written::Last,
                Ok(n) if *n > 0 => Written::Part,
                _ => Written::Pending,
            };
            outcome.get_or_insert(result);
            word
        };
        match stretch.answer.as_ref().and_then(|answer| answer.seen.clone()) {
            Some(seen) => self.watch.answer(&seen, &mut write),
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

impl Drop for Wire {
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

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let poll = Pin::new(&mut self.stream).poll_read(cx, buffer);
        let line = Arc::clone(&self.line);
        let mut state = line.lock();
        if state.serving > 0 {
            return poll;
        }
        state.is_reading = buffer.filled().len() > before;
        if state.is_reading && state.began.is_none() {
            let now = Instant::now();
            state.began = Some(now);
            self.head_timeout = Some(Box::pin(tokio::time::sleep_until(now + self.read_timeout)));
        }
        if poll.is_pending()
            && state.began.is_some()
            && let Some(timeout) = &mut self.head_timeout
            && timeout.as_mut().poll(cx).is_ready()
        {
            self.refused = Some(408);
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        poll
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut stretch = match self.stretch.take() {
            Some(stretch) => stretch,
            None => match self.next_stretch(bytes)? {
                Some(stretch) => stretch,
                None => {
                    let status = bytes.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
                    self.refused = Some(status.unwrap_or(400));
                    return Poll::Ready(Ok(bytes.len()));
                }
            },
        };
        if stretch.withheld > 0 && stretch.left == stretch.withheld {
            return Poll::Ready(Err(io::Error::other("the rest of the answer is kept back")));
        }
        let piece = &bytes[..bytes.len().min(stretch.left - stretch.withheld)];
        let written = loop {
            match self.stream.poll_write_ready(cx) {
                Poll::Ready(ready) => ready?,
                Poll::Pending => {
                    self.stretch = Some(stretch);
                    return Poll::Pending;
                }
            }
            if let Some(n) = self.write_piece(piece, &stretch)? {
                break n;
            }
        };
        stretch.left -= written;
        if stretch.left > 0 {
            self.stretch = Some(stretch);
        } else if let Some(answer) = stretch.answer {
            self.line.lock().serving -= 1;
            // Nobody waits for it any more only where the sandbox has been stopped.
            let _ = answer.done.send(Instant::now());
        }
        Poll::Ready(Ok(written))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.refused.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
        }
        Poll::Ready(Ok(()))
    }
}

fn refusal_text(status: u16, read_timeout: Duration) -> String {
    let message = match status {
        408 => format!("the request did not arrive within {} ms", read_timeout.as_millis()),
        414 => "the path is too long".to_owned(),
        431 => format!("the head of the request has more than {} bytes, or more headers than are read", limits::HEAD_MAX_BYTES),
        _ => "this is not a request of HTTP/1.1".to_owned(),
    };
    let body = Refusal::limit(status, message).body().to_string();
    let reason = http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or("Refused");
    format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}
