//! The commands of a scenario that are run around the lives of its workflow, uninjured: before the first one, to set back what is not
//! the trial's own; after the last one, to find and mend what a crash has left.

use super::keeper::Keeper;
use super::{Interrupt, Stage, TrialError, last_words, unsettled};
use crate::model::life::{Life, LifeEnd, TrialEnd};

impl Stage<'_> {
    /// Runs the command that sets back what is not the trial's own, where there is one and the trial begins at its beginning. Returns why
    /// the trial cannot begin; `None`: it can.
    pub(super) async fn reset(&self, keeper: &Keeper, interrupt: &Interrupt) -> Result<Option<TrialEnd>, TrialError> {
        if self.role.reset.is_empty() || !self.plan.past.is_empty() {
            return Ok(None);
        }
        let (life, _, is_settled) = self.live(0, None, ("reset", &self.role.reset), keeper, interrupt).await?;
        if life.end == LifeEnd::Interrupted {
            return Ok(Some(TrialEnd::Interrupted));
        }
        if is_settled && matches!(life.end, LifeEnd::Exited { code: 0 }) {
            return Ok(None);
        }
        let told: Vec<&str> = life.output_tail.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
        let told = if told.is_empty() { String::new() } else { format!(": {}", told.join(" / ")) };
        let reason = format!("the command `reset` {}{told}", last_words(&[life]));
        Ok(Some(TrialEnd::Environment { reason }))
    }

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
