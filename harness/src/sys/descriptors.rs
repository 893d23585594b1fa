//! How many files and sockets this process may have open at once.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Raises the number to the most that the system lets this process have. What it starts afterwards inherits that, so it is for a process
/// that starts nothing.
///
/// # Errors
/// The system refuses; the number stays as it is.
pub fn allow_most() -> std::io::Result<()> {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    Ok(setrlimit(Resource::RLIMIT_NOFILE, most, most)?)
}
