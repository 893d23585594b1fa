//! Carries out what takes long: with its progress drawn, and with an ear for Ctrl-C.

use killpoint::campaign::{Abort, Tell};
use killpoint::model::exit::Exit;

use super::failure::Failure;
use super::interrupt;
use super::progress::Drawer;
use super::terminal::Terminal;

/// Runs `work` to its end. At the first signal `interrupted` is told and the work's interrupt is set.
///
/// # Errors
/// Signals cannot be listened for, or there are no threads.
pub fn carry_out<T>(
    terminal: &Terminal,
    quiet: bool,
    interrupted: String,
    work: impl AsyncFnOnce(Tell, &Abort) -> T,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(Exit::Environment, "no threads for the run").cause(error))?;
    let drawer = Drawer::start(terminal, quiet);
    let abort = Abort::default();
    let line = drawer.liner();
    interrupt::watch(abort.clone(), move || line(&interrupted))?;
    Ok(runtime.block_on(work(drawer.tell(), &abort)))
}
