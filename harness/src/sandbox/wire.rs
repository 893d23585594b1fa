//! The wire under hyper: it knows which bytes belong to which answer, and lets the keeper do the writing of them.
//!
//! hyper writes answers in order, each as one head of known length followed by a body of known length; so the last byte of an answer is
//! found by counting. What hyper says of its own accord (its refusals of what is not HTTP) is held back and said in the API's form.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::api::Refusal;
use super::line::{Answer, Socket};
use super::watch::Watch;
use crate::model::limits;

/// A stretch of bytes that hyper is writing.
struct Stretch {
    left: usize,
    /// Of these, the bytes that are kept back for good.
    withheld: usize,
    answer: Option<Answer>,
}

/// The stream of one connection.
pub(super) struct Wire {
    socket: Socket,
    watch: Arc<dyn Watch>,
    stretch: Option<Stretch>,
    read_timeout: Duration,
    head_timeout: Option<Pin<Box<Sleep>>>,
    refused: Option<u16>,
}

impl Wire {
    pub fn new(socket: Socket, watch: Arc<dyn Watch>, read_timeout: Duration) -> Self {
        Self { socket, watch, stretch: None, read_timeout, head_timeout: None, refused: None }
    }

    /// Says what is left to say after hyper has let go of the connection, and closes it.
    pub async fn finish(mut self, rubbish: bool) {
        if rubbish {
            self.refused.get_or_insert(400);
        }
        if let Some(status) = self.refused {
            // The client may be gone; there is nobody else to tell.
            let _ = self.socket.stream.write_all(refusal_text(status, self.read_timeout).as_bytes()).await;
        }
        if self.refused.is_some() || self.socket.line.lock().linger {
            // Closing a socket with unread bytes resets it, and a reset can destroy the answer before the client has read it.
            let _ = self.socket.stream.shutdown().await;
            let mut rest = (&mut self.socket.stream).take(limits::REFUSED_READ_MAX_BYTES);
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
        let answer = self.socket.line.lock().answers.pop_front();
        Ok(answer.map(|answer| {
            let left = head + answer.body_bytes;
            Stretch { left, withheld: if answer.half { left / 2 } else { 0 }, answer: Some(answer) }
        }))
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let line = Arc::clone(&self.socket.line);
        // Read under the lock: between the socket and the head nobody finds the connection quiet.
        let mut state = line.lock();
        let poll = Pin::new(&mut self.socket.stream).poll_read(cx, buffer);
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
            match self.socket.stream.poll_write_ready(cx) {
                Poll::Ready(ready) => ready?,
                Poll::Pending => {
                    self.stretch = Some(stretch);
                    return Poll::Pending;
                }
            }
            let seen = stretch.answer.as_ref().and_then(|answer| answer.seen.as_deref());
            if let Some(n) = self.socket.write_piece(piece, stretch.left, seen, &*self.watch)? {
                break n;
            }
        };
        stretch.left -= written;
        if stretch.left > 0 {
            self.stretch = Some(stretch);
        } else if let Some(answer) = stretch.answer {
            self.socket.line.lock().serving -= 1;
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
            ready!(Pin::new(&mut self.socket.stream).poll_shutdown(cx))?;
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
