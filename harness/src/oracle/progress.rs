//! The oracle of progress: the effects may be right, but the workflow does not get done.

use super::case::{Case, Opinion, Phase};
use crate::model::life::TrialEnd;
use crate::model::verdict::Verdict;

/// Objects to a trial that ended without the workflow being done. In a clean run a declaration that it does not know is none
/// either.
pub(super) fn judge(case: &Case<'_>) -> Option<Opinion> {
    match &case.trial.end {
        TrialEnd::Stuck { reason } => Some(Opinion::new(Verdict::Stuck, [reason.clone()])),
        TrialEnd::DeclaredUnknown if case.phase == Phase::Clean => {
            let fact = "the uninjured workflow does not say that it is done: it says that it does not know".to_owned();
            Some(Opinion::new(Verdict::Stuck, [fact]))
        }
        TrialEnd::DeclaredUnknown if !case.accept_declared_unknown => {
            let fact = "the workflow ends by saying that it does not know; the scenario does not accept that".to_owned();
            Some(Opinion::new(Verdict::Stuck, [fact]))
        }
        _ => None,
    }
}
