//! The life that comes after the last one: the command of a scenario that finds and mends what a crash has left.

use super::keeper::Keeper;
use super::{Interrupt, Stage, TrialError, last_words, unsettled};
use crate::model::life::{Life, TrialEnd};

impl Stage<'_> {
    /// One more life, of the command that mends what is left, where there is one. It may turn a trial that ended in *I do not know*
    /// into one that is done; a workflow that did not get done has not got done by it.
    pub(super) async fn reconcile(
        &self,
        lives: &mut Vec<Life>,
        end: TrialEnd,
        keeper: &Keeper,
        interrupt: &Interrupt,
    ) -> Result<TrialEnd, TrialError> {
        let has_ended = matches!(end, TrialEnd::Done | TrialEnd::DeclaredUnknown | TrialEnd::Stuck { .. });
        if self.role.reconcile.is_empty() || !has_ended {
            return Ok(end);
        }
        let number = u32::try_from(lives.len() + 1).unwrap_or(u32::MAX);
        let command = ("reconcile", self.role.reconcile.as_slice());
        let (life, _, is_settled) = self.live(number, None, command, keeper, interrupt).await?;
        let after = if is_settled { self.after(&life, false) } else { Some(unsettled()) };
        lives.push(Life { reconciles: true, ..life });
        Ok(match (after, end) {
            (Some(TrialEnd::Done | TrialEnd::DeclaredUnknown), end @ TrialEnd::Stuck { .. }) => end,
            (Some(after), _) => after,
            (None, _) => TrialEnd::Stuck { reason: format!("the command `reconcile` {}", last_words(lives)) },
        })
    }
}
