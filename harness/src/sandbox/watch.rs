//! What the sandbox tells its keeper of each request, and what the keeper may say back. It knows nothing of kills or traces.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;

use crate::model::fault::WireFault;

/// A future that can be made by an object behind a pointer.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The keeper's eye and hand at each moment of a request.
///
/// It is called for every request of a writing method, and for a reading one that a rule names; each moment is awaited, so a request
/// stands still for as long as the keeper likes. A request that was not executed (a replay, a mistake) has no `executed`.
pub trait Watch: Send + Sync + 'static {
    /// The whole request has arrived and its row is written; nothing is executed.
    fn received<'a>(&'a self, request: &'a Seen) -> BoxFuture<'a, Go>;

    /// Its effect is committed to the ledger; nothing is answered.
    fn executed<'a>(&'a self, request: &'a Seen) -> BoxFuture<'a, Go>;

    /// The next thing to happen is the first byte of the answer. Called even where the client is gone by now.
    fn answering<'a>(&'a self, request: &'a Seen) -> BoxFuture<'a, Go>;

    /// Writes a piece of the answer. `write` does one non-blocking write and says what became of it. It is to be called exactly once,
    /// under whatever lock orders the keeper's events; if it is not called, the connection is closed. [`Written::Last`] comes at
    /// most once in the life of a request, and never where the client was gone before.
    fn answer(&self, request: &Seen, write: &mut dyn FnMut() -> Written);

    /// The answer to a request that was at `answering` will not be written to its end: the client is gone.
    fn unanswered(&self, _request: &Seen) {}

    /// The workflow itself announced a point: `POST /_killpoint/probe/NAME`.
    fn probe<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Go>;
}

/// Whether a request goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Go {
    /// Go on.
    On,
    /// Close the connection and do nothing further of this request.
    Drop,
    /// Go on, with this going wrong. Said at another moment than the fault's own it is as good as [`Go::On`].
    Fault(WireFault),
}

/// What became of one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// Nothing was written: the socket takes nothing now, or the client is gone.
    Pending,
    /// Some bytes were written; more follow.
    Part,
    /// The last byte of the answer was written.
    Last,
}

/// A request, as far as its keeper needs to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its number in the ledger, from 1.
    pub seq: u64,
    /// The life that was running when it arrived, from 1.
    pub life: u32,
    /// The name of the first rule that matches it, else a name made of its method and path.
    pub effect: String,
    /// The how-manieth request of that effect in its life, from 1.
    pub ordinal: u32,
    /// The HTTP method.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The client's address.
    pub peer: SocketAddr,
}

/// A keeper that lets everything pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoWatch;

impl Watch for NoWatch {
    fn received<'a>(&'a self, _: &'a Seen) -> BoxFuture<'a, Go> {
        Box::pin(std::future::ready(Go::On))
    }
    fn executed<'a>(&'a self, _: &'a Seen) -> BoxFuture<'a, Go> {
        Box::pin(std::future::ready(Go::On))
    }
    fn answering<'a>(&'a self, _: &'a Seen) -> BoxFuture<'a, Go> {
        Box::pin(std::future::ready(Go::On))
    }
    fn answer(&self, _: &Seen, write: &mut dyn FnMut() -> Written) {
        write();
    }
    fn probe<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Go> {
        Box::pin(std::future::ready(Go::On))
    }
}
