//! The lens: a handle with which somebody who has stopped the workflow looks at the sandbox.

use std::sync::Arc;

use super::error::SandboxError;
use super::ledger::Picture;
use super::server::World;

/// A handle to a running sandbox that only looks.
#[derive(Clone)]
pub struct Lens(pub(super) Arc<World>);

impl Lens {
    /// Whether everything that clients have sent so far has arrived where it was going. A request that is not whole stays on its way
    /// until its client sends the rest.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.0.is_quiet()
    }

    /// Whether nothing is on its way in either direction: no request is being served, and nobody waits for an answer.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.0.is_idle()
    }

    /// The ledger as it stands. `but`: the request at whose arrival it is taken, which is not to count as pending.
    ///
    /// # Errors
    /// The ledger cannot be copied.
    pub fn picture(&self, but: Option<u64>) -> Result<Picture, SandboxError> {
        self.0.ledger.picture(but)
    }
}

impl std::fmt::Debug for Lens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lens")
    }
}
