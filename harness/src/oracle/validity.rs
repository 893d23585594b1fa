//! Whether a trial says anything about the workflow. One that the machine or killpoint itself spoiled is unknown as a whole.

use crate::model::life::{LifeEnd, Trial, TrialEnd};

/// Why nothing can be said, where that is so.
pub(super) fn objection(trial: &Trial) -> Option<String> {
    match &trial.end {
        TrialEnd::Environment { reason } => return Some(format!("environment: {reason}")),
        TrialEnd::Interrupted => return Some("the campaign was interrupted".to_owned()),
        TrialEnd::Unreached => return Some("the crash point was not reached".to_owned()),
        TrialEnd::Done | TrialEnd::DeclaredUnknown | TrialEnd::Stuck { .. } => {}
    }
    trial.lives.iter().find_map(|life| match &life.end {
        LifeEnd::KilledFromOutside => {
            Some(format!("environment: life {} was killed by a SIGKILL that killpoint did not send", life.number))
        }
        LifeEnd::Interrupted => Some(format!("life {} was cut off when the campaign was interrupted", life.number)),
        LifeEnd::Failed { reason } => Some(format!("environment: life {} could not be run: {reason}", life.number)),
        // A life that was stopped at a limit and never got done after it is stuck; one that did was killed at a place nobody
        // asked for.
        LifeEnd::LimitHit { limit } if !matches!(trial.end, TrialEnd::Stuck { .. }) => {
            Some(format!("life {} was ended at a limit: {limit}", life.number))
        }
        _ => None,
    })
}
