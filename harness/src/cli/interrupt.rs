//! Ctrl-C and SIGTERM: the first one ends the running lives and keeps what was found, the second one leaves at once.

use std::io;

use tokio::signal::unix::{SignalKind, signal};

use killpoint::campaign::Abort;
use killpoint::model::exit::Exit;

use super::failure::Failure;

/// The exit code of a second signal, as a shell writes an end by SIGINT. The lives die with their tracer (PTRACE_O_EXITKILL).
const EXIT_AT_ONCE: i32 = 130;

/// Sets the interrupt at the first signal, then calls `tell`. Signals are waited for on a thread of their own, so that they are
/// heard whatever the campaign does.
///
/// # Errors
/// The signals cannot be listened for.
pub fn watch(abort: Abort, tell: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::new(Exit::Environment, "signals cannot be listened for").cause(error);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().map_err(failed)?;
    let inside = runtime.enter();
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    drop(inside);
    let wait = async move {
        let mut next = async || tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} };
        next().await;
        abort.set();
        tell();
        next().await;
        std::process::exit(EXIT_AT_ONCE);
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || runtime.block_on(wait)).map_err(failed)?;
    Ok(())
}
