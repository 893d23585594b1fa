//! Shots: what a recording keeps of the durable world at its crash points.

use serde::{Deserialize, Serialize};

/// The durable world as it stood at a crash point: a SIGKILL there would have left just this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shot {
    /// Index of the point in its recording's census.
    pub point: usize,
    /// The image of the folders.
    pub files: String,
    /// The blob that holds the ledger.
    pub ledger: String,
    /// Whether requests that had arrived were executed for it although they were not yet at that instant: a dying client does not
    /// take back what it has sent. Such a shot stands beside one in which they were not.
    pub is_settled: bool,
    /// Microseconds from the start of the life.
    pub at_us: u64,
}
