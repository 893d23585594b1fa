//! A trial told to a person: its lives, its ledger, its verdict. Pure texts.

use std::fmt::Write as _;

use killpoint::campaign::Answer;
use killpoint::model::ledger::{Outcome, Request};
use killpoint::model::life::{Life, LifeEnd, TrialEnd};
use killpoint::model::promise::Endpoint;
use killpoint::model::verdict::Judgement;

use super::terminal::washed;

/// What one replay showed, in indented lines.
pub fn of(answer: &Answer, promise: &str, intent: &str) -> String {
    let mut text = String::new();
    for life in &answer.lives {
        let what = if life.reconciles { " (reconcile)" } else { "" };
        let _ = writeln!(text, "  life {}{what}: {}", life.number, end_of(life));
        // What a life that was killed on purpose printed is of no interest; what another one printed may say why it failed.
        if !matches!(life.end, LifeEnd::Killed | LifeEnd::Exited { code: 0 }) {
            life.output_tail.iter().for_each(|line| _ = writeln!(text, "    | {}", washed(line)));
        }
    }
    ledger(&mut text, &answer.ledger);
    if let Some(end) = end(&answer.end) {
        let _ = writeln!(text, "  end: {end}");
    }
    let about = |judged: &&Judgement| judged.promise == promise && judged.intent == intent;
    match answer.judgements.iter().find(about) {
        Some(judged) => verdict(&mut text, judged),
        None => _ = writeln!(text, "  verdict: none of {} for {}", washed(promise), washed(intent)),
    }
    text
}

/// The effects and requests of a ledger, in indented lines.
pub fn of_ledger(requests: &[Request]) -> String {
    let mut text = String::new();
    ledger(&mut text, requests);
    text
}

/// How a life ended: `SIGKILL at charge#1:answered`, `exit 0`.
pub fn end_of(life: &Life) -> String {
    let end = match &life.end {
        LifeEnd::Exited { code } => format!("exit {code}"),
        LifeEnd::Signalled { signal } => format!("died of signal {signal}, which it sent to itself"),
        LifeEnd::Killed => match &life.target {
            Some(point) => return format!("SIGKILL at {point}"),
            None => "SIGKILL".to_owned(),
        },
        LifeEnd::KilledFromOutside => "SIGKILL that killpoint did not send (out of memory?)".to_owned(),
        LifeEnd::TimedOut => "not done within its time".to_owned(),
        LifeEnd::LimitHit { limit } => format!("past a limit: {}", washed(limit)),
        LifeEnd::Interrupted => "interrupted".to_owned(),
        LifeEnd::Failed { reason } => format!("could not be run: {}", washed(reason)),
    };
    match &life.target {
        Some(point) if !life.reached => format!("{end}; it did not come to {point}"),
        _ => end,
    }
}

fn ledger(text: &mut String, ledger: &[Request]) {
    let effects = ledger.iter().filter(|request| request.had_effect()).count();
    let plural = if effects == 1 { "effect" } else { "effects" };
    let _ = writeln!(text, "  ledger: {effects} {plural}");
    for request in ledger.iter().filter(|request| request.outcome != Outcome::Read) {
        let Request { life, method, path, outcome, .. } = request;
        let kind = Endpoint::new(method, path);
        if !kind.is_request() {
            let body = washed(&request.body.to_string());
            let _ = writeln!(text, "    in the end  {kind} of {}: {body}", washed(&request.effect));
            continue;
        }
        let object = request.object.as_deref().map(|object| format!(" {}", washed(object))).unwrap_or_default();
        let key = request.key.as_deref().map_or_else(|| "no key".to_owned(), |key| format!("key {}", washed(key)));
        let fault = request.fault.as_deref().map(|fault| format!("  <- {}", washed(fault))).unwrap_or_default();
        let _ = writeln!(text, "    life {life}  {}  {}{object}, {key}{fault}", washed(&kind.to_string()), word(*outcome));
    }
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Received => "received, not executed",
        Outcome::Executed => "executed",
        Outcome::Replayed => "replayed, no new effect",
        Outcome::Conflict => "refused: its key was in use",
        Outcome::Mismatch => "refused: its key was used with another body",
        Outcome::Rejected => "rejected",
        Outcome::Read => "read",
    }
}

/// Why a trial ended, where it did not simply get done.
fn end(end: &TrialEnd) -> Option<String> {
    match end {
        TrialEnd::Done => None,
        TrialEnd::DeclaredUnknown => Some("the workflow says that it does not know whether it happened".to_owned()),
        TrialEnd::Stuck { reason } => Some(format!("stuck: {}", washed(reason))),
        TrialEnd::Unreached => Some("the point was not reached".to_owned()),
        TrialEnd::Environment { reason } => Some(format!("the machine got in the way: {}", washed(reason))),
        TrialEnd::Interrupted => Some("interrupted".to_owned()),
    }
}

fn verdict(text: &mut String, judged: &Judgement) {
    let Judgement { promise, intent, verdict, expected, observed, .. } = judged;
    let _ =
        writeln!(text, "  verdict: {verdict}: {} of {}, promised {expected}, {observed} seen", washed(promise), washed(intent));
    judged.evidence.iter().for_each(|fact| _ = writeln!(text, "    {}", washed(fact)));
}

#[cfg(test)]
mod tests {
    use super::super::tests::samples;
    use super::*;

    #[test]
    fn a_replay_that_brought_two_charges_is_told_life_by_life() {
        insta::assert_snapshot!(of(&samples::answer(true, true), "charge", "inv_9"));
    }

    #[test]
    fn a_point_that_was_not_reached_and_a_life_that_failed_are_told() {
        let mut answer = samples::answer(false, false);
        answer.lives[0].end = LifeEnd::Exited { code: 3 };
        answer.lives[0].reached = false;
        answer.lives[0].output_tail = vec!["boom\u{1b}[2J".to_owned()];
        answer.end = TrialEnd::Unreached;
        insta::assert_snapshot!(of(&answer, "charge", "inv_9"));
    }
}
