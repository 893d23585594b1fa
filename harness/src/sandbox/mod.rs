//! The sandbox: the outside world as killpoint plays it. A billing API and a mail server on ports of their own, whose ledger is the
//! truth about effects.
//!
//! From the wire inwards: `server` (ports, connections), `line` (what is known of one), `wire` (which byte belongs to which answer), `carry`
//! (a request of HTTP), `mcp` (calls of tools), `mail` (mails by SMTP), `moments` (what happens to a request of any kind, and what goes wrong with it), `ledger` (rows, keys),
//! `api` (objects), or `proxy` (another server instead of them). It tells a [`Watch`] of each moment and obeys it; it knows nothing of
//! processes or points.
//! A new profile of key rules: a file in `profile/`. A new kind of object: a file in `api/`.

mod api;
mod body;
mod carry;
mod error;
mod key;
mod ledger;
mod lens;
mod line;
mod mail;
pub mod mcp;
mod moments;
mod naming;
mod openapi;
mod profile;
mod proxy;
mod request;
mod server;
mod watch;
mod wire;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use self::error::SandboxError;
pub use self::ledger::{Picture, retell};
pub use self::lens::Lens;
pub use self::naming::{EffectRule, endpoint};
pub use self::openapi::openapi;
pub use self::server::Doors;
use self::server::Server;
pub use self::watch::{BoxFuture, Go, NoWatch, Seen, Watch, Written};
use crate::model::ledger::Request;
use crate::model::limits;
use crate::model::scenario::SandboxSpec;

/// What a sandbox is made from.
#[derive(Clone, Debug)]
pub struct SandboxConfig {
    /// Whose rules it follows, and what stands behind it.
    pub spec: SandboxSpec,
    /// Names of effects; the first rule that matches counts.
    pub rules: Vec<EffectRule>,
    /// The ledger's file. One that is there is continued, as a sandbox that was cut off there would find it.
    pub ledger_path: PathBuf,
    /// The start of the trial, from which the ledger's times count.
    pub epoch: Instant,
}

/// A running sandbox. Dropping it closes its ports and its connections.
pub struct Sandbox {
    server: Server,
}

impl Sandbox {
    /// Starts a sandbox on free ports of 127.0.0.1, with life 1 running. Needs a tokio runtime with time and I/O.
    ///
    /// # Errors
    /// Where no ports can be had or the ledger cannot be opened.
    pub async fn start(config: SandboxConfig, watch: Arc<dyn Watch>) -> Result<Self, SandboxError> {
        Self::start_on(Doors::free()?, config, watch).await
    }

    /// The same on listeners that are there, wherever they were made.
    ///
    /// # Errors
    /// Where they cannot be used or the ledger cannot be opened.
    pub async fn start_on(doors: Doors, config: SandboxConfig, watch: Arc<dyn Watch>) -> Result<Self, SandboxError> {
        let read_timeout = Duration::from_millis(limits::REQUEST_READ_TIMEOUT_MS);
        Ok(Self { server: Server::start(doors, config, watch, read_timeout)? })
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.server.addr()
    }

    /// The same as a base URL, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.server.addr())
    }

    /// Where mails are taken by SMTP.
    #[must_use]
    pub fn mail_addr(&self) -> SocketAddr {
        self.server.mail_addr()
    }

    /// The same as a URL.
    #[must_use]
    pub fn mail_url(&self) -> String {
        format!("smtp://{}", self.server.mail_addr())
    }

    /// A life begins: what arrives from now on belongs to it, and ordinals start at 1.
    pub fn begin_life(&self, life: u32) {
        self.server.world.ledger.begin_life(life);
    }

    /// Waits until every connection is closed, those that still waited to be taken included, and every request that arrived whole is
    /// carried through. `false` where that takes longer than `limit`, as with a client that lives on.
    pub async fn settle(&self, limit: Duration) -> bool {
        self.server.settle(limit).await
    }

    /// A handle that only looks.
    #[must_use]
    pub fn lens(&self) -> Lens {
        Lens(Arc::clone(&self.server.world))
    }

    /// Lets every request go that was held on its way: it arrives now.
    ///
    /// # Errors
    /// Where the ledger cannot be written.
    pub async fn release_held(&self) -> Result<(), SandboxError> {
        moments::release(&self.server.world, |_| true).await
    }

    /// Every request that arrived whole, in order of arrival.
    ///
    /// # Errors
    /// Where the ledger cannot be read, or is not the whole truth because a write failed or a limit was hit.
    pub fn ledger(&self) -> Result<Vec<Request>, SandboxError> {
        self.server.world.ledger.requests()
    }

    /// The numbers of requests, each told when nothing further will be done of it except for its answer. Who asks last hears them.
    #[must_use]
    pub fn finished(&self) -> tokio::sync::mpsc::UnboundedReceiver<u64> {
        self.server.world.ledger.finished()
    }

    /// The request with this number, as far as it has come.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn request(&self, seq: u64) -> Result<Option<Request>, SandboxError> {
        self.server.world.ledger.request(seq)
    }

    /// Closes the ports and the connections. Requests that the watch still holds go on until it lets go of them.
    pub async fn stop(self) {
        self.server.stop().await;
    }
}
