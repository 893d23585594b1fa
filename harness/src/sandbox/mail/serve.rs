//! One connection of the mail server: what is read goes to the session, what it says goes out, and a mail passes its moments.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::super::ledger::Reply;
use super::super::line::Socket;
use super::super::moments::{self, Passed};
use super::super::server::{Busy, World};
use super::super::watch::Seen;
use super::session::{Heard, Session, reply};
use super::{Mail, letter};

/// Bytes that are read at once.
const READ_BYTES: usize = 16 * 1024;

/// Whether a conversation goes on.
enum Then {
    On,
    Close,
}

/// Serves a connection to its end.
pub(in crate::sandbox) async fn serve(world: &Arc<World>, socket: Socket, peer: SocketAddr) {
    tokio::select! {
        // How a conversation ends is not of interest: what arrived is in the ledger.
        _ = converse(world, &socket, peer) => {}
        () = world.stopped() => {}
    }
}

async fn converse(world: &Arc<World>, socket: &Socket, peer: SocketAddr) -> io::Result<()> {
    let (mut session, mut chunk, mut began) = (Session::new(), vec![0; READ_BYTES], None);
    say(world, socket, &Session::greeting(), None, false).await?;
    loop {
        if !session.is_midway() {
            began = None;
        } else if began.is_none() {
            began = Some(Instant::now());
        }
        let deadline = began.map(|began| began + world.read_timeout);
        let Some(length) = read(socket, &mut chunk, deadline).await? else {
            return say(world, socket, &Session::too_slow(), None, false).await;
        };
        if length == 0 {
            return Ok(());
        }
        let mut bytes = chunk[..length].iter();
        while let Some(heard) = session.hear(&mut bytes) {
            match heard {
                Heard::Reply(text) => say(world, socket, &text, None, false).await?,
                Heard::Leave(text) => return say(world, socket, &text, None, false).await,
                Heard::Mail(mail) => {
                    if let Then::Close = carry(world, socket, peer, mail).await? {
                        return Ok(());
                    }
                }
            }
        }
        socket.line.lock().is_reading = false;
    }
}

/// Reads what there is, and at least one byte, or none at the end; nothing where that takes too long. Until it is understood the connection
/// is not quiet.
async fn read(socket: &Socket, chunk: &mut [u8], deadline: Option<Instant>) -> io::Result<Option<usize>> {
    loop {
        let readable = socket.stream.readable();
        match deadline {
            Some(deadline) => match tokio::time::timeout_at(deadline, readable).await {
                Ok(readable) => readable?,
                Err(_) => return Ok(None),
            },
            None => readable.await?,
        }
        let mut state = socket.line.lock();
        match socket.stream.try_read(chunk) {
            Ok(length) => {
                state.is_reading = length > 0;
                return Ok(Some(length));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

/// Writes a reply; half of it where the rest is to go missing, which is an error then. `seen`: the mail that it is the answer to.
async fn say(world: &World, socket: &Socket, text: &[u8], seen: Option<&Seen>, half: bool) -> io::Result<()> {
    let withheld = if half { text.len() / 2 } else { 0 };
    let mut left = text.len();
    while left > withheld {
        socket.stream.writable().await?;
        let piece = &text[text.len() - left..text.len() - withheld];
        left -= socket.write_piece(piece, left, seen, &*world.watch)?.unwrap_or(0);
    }
    if half { Err(io::Error::other("the rest of the answer is kept back")) } else { Ok(()) }
}

/// Carries a mail through its moments, which go on whether or not its client still lives, and answers it.
async fn carry(world: &Arc<World>, socket: &Socket, peer: SocketAddr, mail: Mail) -> io::Result<Then> {
    let entered = moments::enter(world, Arc::new(letter::arrived(&mail)), peer);
    socket.line.request_arrived();
    let Some(entered) = entered else { return Ok(Then::Close) };
    let seen = Arc::clone(&entered.seen);
    let (mut outlet, outgoing) = oneshot::channel();
    let busy = Busy::new(world);
    tokio::spawn(async move {
        let world = &busy.0;
        let execute = world.carry_out(entered.seen.seq, &entered.arrived);
        let passed = moments::pass(world, &entered, outlet.closed(), execute).await;
        if let Err(Passed::Answered { .. }) = outlet.send(passed)
            && entered.watched
        {
            world.watch.unanswered(&entered.seen);
        }
    });
    let passed = tokio::select! {
        biased;
        passed = outgoing => passed.map_err(io::Error::other)?,
        () = gone(&socket.stream) => return Ok(Then::Close),
    };
    let (reply, half) = match passed {
        Passed::Answered { reply, half } => (reply, half),
        Passed::Closed { reset } => {
            if reset {
                socket.line.reset();
            }
            return Ok(Then::Close);
        }
    };
    let said = say(world, socket, &answer(&reply), Some(&seen), half).await;
    if said.is_err() {
        world.watch.unanswered(&seen);
        return Ok(Then::Close);
    }
    socket.line.lock().serving -= 1;
    // An error of the ledger is kept by the ledger itself.
    let _ = world.ledger.answered(seen.seq, world.ledger.now_us());
    Ok(Then::On)
}

/// Is over when the client has closed the connection. One that has sent more already is not looked at further.
async fn gone(stream: &TcpStream) {
    match stream.peek(&mut [0]).await {
        Ok(0) | Err(_) => {}
        Ok(_) => std::future::pending().await,
    }
}

/// What a client hears of its mail (RFC 5321, section 4.2.3). The statuses of HTTP by which faults are written stand for what a mail server
/// says in the same case: for now it cannot.
fn answer(done: &Reply) -> Vec<u8> {
    match done.status {
        0..400 => reply(250, [2, 0, 0], &format!("queued as {}", done.object.as_deref().unwrap_or("nothing"))),
        status @ (421 | 450 | 452) => reply(status, [4, 3, 2], "not now, try again later"),
        status @ 550..=554 => reply(status, [5, 0, 0], "this mail is not taken"),
        429 => reply(450, [4, 3, 2], "too many mails, try again later"),
        _ => reply(451, [4, 3, 0], "something went wrong on the server's side"),
    }
}
