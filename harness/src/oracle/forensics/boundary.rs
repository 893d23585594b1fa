//! How a failure was read: what a workflow did after one request of an effect went wrong in one trial.

use super::super::expectation::Expectation;
use super::super::judge;
use super::strand::{Sent, Strand};
use crate::model::audit::{Boundary, Reading};
use crate::model::fault::Fault;
use crate::model::ledger::{Outcome, Request};
use crate::model::life::{Trial, TrialEnd};
use crate::model::schedule::Schedule;

/// Reads one trial of an effect; `strand` holds that trial only.
#[must_use]
pub fn read_as(expectation: &Expectation, strand: &Strand<'_>, schedule: &Schedule, trial: &Trial) -> Boundary {
    let fault = schedule.fault();
    let verdicts = judge(expectation, trial);
    let Some(hit) = hit(strand, fault) else {
        return Boundary { at: 0, fault, reading: Reading::NotReached, same_life: false, effects: 0, verdict: None };
    };
    let later: Vec<&Sent<'_>> =
        strand.sent.iter().filter(|sent| sent.intent == hit.intent && sent.request.seq > hit.request.seq).collect();
    let reading = match later.first() {
        Some(next) => again(hit.request, next.request),
        None => alone(hit.request, fault, trial),
    };
    let effects = strand.sent.iter().filter(|sent| sent.intent == hit.intent && sent.request.had_effect()).count();
    let own = verdicts.iter().filter(|own| own.promise == strand.promise.name);
    Boundary {
        at: hit.request.ordinal,
        fault,
        reading,
        same_life: later.first().is_none_or(|next| next.request.life == hit.request.life),
        effects: u32::try_from(effects).unwrap_or(u32::MAX),
        verdict: own.map(|own| own.verdict).max(),
    }
}

/// The request to which it was done: the ledger names it; a kill was done to the last one of its life.
fn hit<'s, 'a>(strand: &'s Strand<'a>, fault: Fault) -> Option<&'s Sent<'a>> {
    let word = fault.to_string();
    match fault {
        Fault::Kill => strand.sent.iter().rfind(|sent| sent.request.life == 1),
        Fault::Wire(_) => strand.sent.iter().find(|sent| sent.request.fault.as_deref() == Some(word.as_str())),
    }
}

fn again(hit: &Request, next: &Request) -> Reading {
    match (&hit.key, &next.key) {
        (Some(one), Some(other)) if one == other => Reading::SameKey,
        (_, None) => Reading::NoKey,
        _ => Reading::OtherKey,
    }
}

fn alone(hit: &Request, fault: Fault, trial: &Trial) -> Reading {
    let asked = trial.ledger.iter().any(|other| other.outcome == Outcome::Read && other.seq > hit.seq);
    let done = matches!(trial.end, TrialEnd::Done | TrialEnd::DeclaredUnknown);
    let is_slow = matches!(fault, Fault::Wire(crate::model::fault::WireFault::SlowAck { .. }));
    match done {
        false => Reading::GaveUp,
        true if is_slow && hit.answered_us.is_some() && hit.life == last_life(trial) => Reading::Waited,
        true if asked => Reading::Asked,
        true => Reading::WentOn,
    }
}

fn last_life(trial: &Trial) -> u32 {
    trial.lives.last().map_or(0, |life| life.number)
}
