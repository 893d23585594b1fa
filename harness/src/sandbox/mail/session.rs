//! The protocol of one connection, without the connection: bytes in, replies and mails out.

use std::mem;
use std::slice::Iter;

use smtp_proto::request::receiver::{DataReceiver, DummyDataReceiver, LineReceiver, RequestReceiver};
use smtp_proto::{
    AUTH_LOGIN, AUTH_PLAIN, EXT_8BIT_MIME, EXT_AUTH, EXT_ENHANCED_STATUS_CODES, EXT_PIPELINING, EXT_SIZE, EXT_SMTP_UTF8,
    EhloResponse, Error, MailFrom, RcptTo, Request, Response,
};

use super::{HOST, Mail};
use crate::model::limits;

/// What came of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// This is to be said.
    Reply(Vec<u8>),
    /// A mail arrived whole; what becomes of it is to be said.
    Mail(Mail),
    /// This is to be said, and then nothing more.
    Leave(Vec<u8>),
}

/// The state of a conversation.
pub(super) struct Session {
    commands: RequestReceiver,
    phase: Phase,
    is_greeted: bool,
    /// The sender of the mail that is being put together.
    from: Option<String>,
    to: Vec<String>,
}

enum Phase {
    Commands,
    /// The text of a mail.
    Text(DataReceiver, Vec<u8>),
    /// The text of a mail that has more bytes than are kept.
    TooLarge(DummyDataReceiver),
    /// Lines of a login that are still to come.
    Credentials(LineReceiver<()>, u8),
}

/// The prompts of AUTH LOGIN: `Username:` and `Password:` in Base64.
const PROMPTS: [&str; 2] = ["334 UGFzc3dvcmQ6\r\n", "334 VXNlcm5hbWU6\r\n"];

impl Session {
    pub fn new() -> Self {
        Self { commands: RequestReceiver::default(), phase: Phase::Commands, is_greeted: false, from: None, to: Vec::new() }
    }

    /// What the server says first.
    pub fn greeting() -> Vec<u8> {
        format!("220 {HOST} ESMTP\r\n").into_bytes()
    }

    /// What it says to a client that takes too long.
    pub fn too_slow() -> Vec<u8> {
        reply(421, [4, 4, 2], "that did not arrive in time")
    }

    /// Whether the client has begun something that is not whole yet.
    pub fn is_midway(&mut self) -> bool {
        !matches!(self.phase, Phase::Commands) || !self.commands.buf().is_empty()
    }

    /// Takes bytes until there is something to say or to do; nothing where all are taken and more must come.
    pub fn hear(&mut self, bytes: &mut Iter<'_, u8>) -> Option<Heard> {
        match &mut self.phase {
            Phase::Commands => self.command(bytes),
            Phase::Text(receiver, text) => {
                let is_whole = receiver.ingest(bytes, text);
                match (is_whole, text.len() > limits::BODY_MAX_BYTES) {
                    (true, true) => Some(self.too_large()),
                    (false, true) => {
                        self.phase = Phase::TooLarge(DummyDataReceiver::new_data(receiver));
                        None
                    }
                    (false, false) => None,
                    (true, false) => {
                        let raw = mem::take(text);
                        self.phase = Phase::Commands;
                        let (from, to) = (self.from.take().unwrap_or_default(), mem::take(&mut self.to));
                        Some(Heard::Mail(Mail { from, to, raw }))
                    }
                }
            }
            Phase::TooLarge(receiver) => receiver.ingest(bytes).then(|| self.too_large()),
            Phase::Credentials(line, left) => {
                if !line.ingest(bytes) {
                    return None;
                }
                line.buf.clear();
                *left = left.saturating_sub(1);
                if *left > 0 {
                    return Some(Heard::Reply(PROMPTS[0].into()));
                }
                self.phase = Phase::Commands;
                Some(logged_in())
            }
        }
    }

    fn too_large(&mut self) -> Heard {
        self.phase = Phase::Commands;
        self.forget();
        Heard::Reply(reply(552, [5, 3, 4], &format!("a mail may have {} bytes at most", limits::BODY_MAX_BYTES)))
    }

    fn forget(&mut self) {
        self.from = None;
        self.to.clear();
    }

    fn command(&mut self, bytes: &mut Iter<'_, u8>) -> Option<Heard> {
        let parsed = self.commands.ingest(bytes).map(Request::into_owned);
        let answer = match parsed {
            Err(Error::NeedsMoreData { .. }) => return None,
            Err(error) => refusal(&error),
            Ok(Request::Quit) => return Some(Heard::Leave(reply(221, [2, 0, 0], "bye"))),
            Ok(Request::Ehlo { .. }) => self.hello(true),
            Ok(Request::Helo { .. }) => self.hello(false),
            Ok(Request::Mail { from }) => self.sender(from),
            Ok(Request::Rcpt { to }) => self.recipient(to),
            Ok(Request::Data) => self.data(),
            Ok(Request::Rset) => {
                self.forget();
                reply(250, [2, 0, 0], "forgotten")
            }
            Ok(Request::Noop { .. }) => reply(250, [2, 0, 0], "still here"),
            Ok(Request::Vrfy { .. }) => reply(252, [2, 1, 5], "send a mail and see"),
            Ok(Request::Auth { mechanism, initial_response }) => return Some(self.auth(mechanism, !initial_response.is_empty())),
            Ok(other) => reply(502, [5, 5, 1], &format!("{} is not offered here", other.name())),
        };
        Some(Heard::Reply(answer))
    }

    fn hello(&mut self, is_extended: bool) -> Vec<u8> {
        self.forget();
        self.is_greeted = true;
        if !is_extended {
            return format!("250 {HOST}\r\n").into_bytes();
        }
        let mut hello = EhloResponse::new(HOST);
        hello.capabilities = EXT_8BIT_MIME | EXT_AUTH | EXT_ENHANCED_STATUS_CODES | EXT_PIPELINING | EXT_SIZE | EXT_SMTP_UTF8;
        hello.auth_mechanisms = AUTH_LOGIN | AUTH_PLAIN;
        hello.size = limits::BODY_MAX_BYTES;
        let mut text = Vec::new();
        // Memory takes all that is written.
        let _ = hello.write(&mut text);
        text
    }

    fn sender(&mut self, from: MailFrom<String>) -> Vec<u8> {
        if !self.is_greeted {
            return reply(503, [5, 5, 1], "say EHLO first");
        }
        if self.from.is_some() {
            return reply(503, [5, 5, 1], "a mail has one sender");
        }
        if from.size > limits::BODY_MAX_BYTES {
            return reply(552, [5, 3, 4], &format!("a mail may have {} bytes at most", limits::BODY_MAX_BYTES));
        }
        self.from = Some(from.address);
        reply(250, [2, 1, 0], "sender ok")
    }

    fn recipient(&mut self, to: RcptTo<String>) -> Vec<u8> {
        if self.from.is_none() {
            return reply(503, [5, 5, 1], "say MAIL FROM first");
        }
        if self.to.len() >= limits::MAIL_RECIPIENTS_MAX {
            return reply(452, [4, 5, 3], &format!("a mail may have {} recipients at most", limits::MAIL_RECIPIENTS_MAX));
        }
        self.to.push(to.address);
        reply(250, [2, 1, 5], "recipient ok")
    }

    fn data(&mut self) -> Vec<u8> {
        if self.to.is_empty() {
            return reply(503, [5, 5, 1], "say RCPT TO first");
        }
        let (mut receiver, mut before) = (DataReceiver::new(), Vec::new());
        // The command's own line end, so that a text that begins with a dot begins a line.
        receiver.ingest(&mut b"\r\n".iter(), &mut before);
        self.phase = Phase::Text(receiver, Vec::new());
        b"354 go on, and end with a line that holds one dot\r\n".to_vec()
    }

    /// Anybody may log in, as anybody.
    fn auth(&mut self, mechanism: u64, has_response: bool) -> Heard {
        let left = match (mechanism, has_response) {
            (AUTH_PLAIN, true) => return logged_in(),
            (AUTH_PLAIN, false) | (AUTH_LOGIN, true) => 1,
            (AUTH_LOGIN, false) => 2,
            _ => return Heard::Reply(reply(504, [5, 5, 4], "offered are PLAIN and LOGIN")),
        };
        let prompt = match mechanism {
            AUTH_LOGIN => PROMPTS[left - 1],
            _ => "334 \r\n",
        };
        self.phase = Phase::Credentials(LineReceiver::new(()), u8::try_from(left).unwrap_or(1));
        Heard::Reply(prompt.into())
    }
}

fn logged_in() -> Heard {
    Heard::Reply(reply(235, [2, 7, 0], "welcome, whoever you are"))
}

fn refusal(error: &Error) -> Vec<u8> {
    match error {
        Error::SyntaxError { syntax } => reply(501, [5, 5, 4], &format!("expected {syntax}")),
        Error::InvalidSenderAddress => reply(553, [5, 1, 7], "this is no sender's address"),
        Error::InvalidRecipientAddress => reply(553, [5, 1, 3], "this is no recipient's address"),
        Error::InvalidParameter { param } => reply(501, [5, 5, 4], &format!("{param} has a value that cannot be")),
        Error::UnsupportedParameter { .. } => reply(555, [5, 5, 4], "a parameter is not known here"),
        Error::ResponseTooLong => reply(500, [5, 5, 6], "the line is too long"),
        _ => reply(500, [5, 5, 1], "the command is not known"),
    }
}

/// A reply with its extended code (RFC 3463).
pub(super) fn reply(code: u16, [class, subject, detail]: [u8; 3], text: &str) -> Vec<u8> {
    let mut line = Vec::new();
    // Memory takes all that is written.
    let _ = Response::new(code, class, subject, detail, text).write(&mut line);
    line
}
