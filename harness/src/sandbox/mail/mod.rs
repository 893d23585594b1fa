//! The mail server: it takes mails by SMTP (RFC 5321) from whoever connects, delivers none of them, and writes each down as an effect.
//!
//! `session` (the protocol, without a socket; commands and the text's end are smtp-proto's to find), `serve` (a connection, and the moments
//! of a mail on it), `letter` (a mail as the ledger keeps it). A mail arrives with the final dot of its text; the reply to that dot is its
//! acknowledgement. SMTP has no idempotency key: a mail that is sent twice is two mails, whatever its Message-ID says.

mod letter;
mod serve;
mod session;

pub(super) use self::serve::serve;

use crate::model::promise::Endpoint;

/// The method by which a mail stands in the ledger.
pub(super) const METHOD: &str = Endpoint::MAIL;
/// The path by which it does.
const PATH: &str = "/";
/// The name by which the server greets.
const HOST: &str = "sandbox.killpoint";

/// A mail as it came over the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Mail {
    /// Whom replies of the transport go to; empty for a bounce.
    pub from: String,
    /// Whom it is for, as the transport was told.
    pub to: Vec<String>,
    /// Its text, with the transport's dots taken away.
    pub raw: Vec<u8>,
}
