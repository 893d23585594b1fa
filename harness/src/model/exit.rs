//! Exit codes of the command, a contract.

/// What the process exit code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Every point of the plan was reached and every promise kept.
    Clean = 0,
    /// At least one promise was broken.
    Findings = 1,
    /// The command line or the scenario is wrong.
    Usage = 2,
    /// The uninjured workflow breaks its own promises, so that nothing could be shown.
    BaselineBroken = 3,
    /// Nothing was injected, or points were not reached, or the campaign was interrupted.
    Inconclusive = 4,
    /// This machine cannot do it.
    Environment = 5,
    /// A bug in killpoint.
    Bug = 70,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
