//! A campaign: baseline, census, plan, trials, findings; and what stands beside it: the list of points, and replay.
//!
//! A run is one campaign for each cell of a scenario's matrix. Everything that happens is told as an [`Event`].

pub mod findings;
pub mod options;

pub use options::{Abort, Answer, CampaignError, CellPoints, Options, Source, Tell};

use crate::model::report::Report;
use crate::model::scenario::Scenario;
use crate::store::RunFolder;

/// Runs all campaigns of a scenario into a run folder. Where the folder holds events of a run that was cut off, trials that
/// are done are not done again.
///
/// # Errors
/// The scenario cannot be carried out at all: setup failed, a program is missing, this machine cannot trace, the folder cannot be written.
pub async fn run(_s: &Scenario, _source: &Source, _o: &Options, _f: &RunFolder, _tell: Tell, _abort: &Abort) -> Result<Report, CampaignError> {
    Err(CampaignError::Machine { reason: String::new(), hint: String::new() })
}

/// Runs only the baselines and returns their crash points.
///
/// # Errors
/// As [`run`].
pub async fn points(_s: &Scenario, _o: &Options, _tell: Tell, _abort: &Abort) -> Result<Vec<CellPoints>, CampaignError> {
    Err(CampaignError::Machine { reason: String::new(), hint: String::new() })
}

/// Carries out one schedule `times` times and judges each; for `killpoint replay`.
///
/// # Errors
/// As [`run`].
pub async fn replay(_finding: &crate::store::FindingFile, _times: u32, _tell: Tell, _abort: &Abort) -> Result<Vec<Answer>, CampaignError> {
    Err(CampaignError::Machine { reason: String::new(), hint: String::new() })
}
