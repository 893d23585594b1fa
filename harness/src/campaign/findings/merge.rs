//! Joins the findings of several recordings: one that shows in a plainer order of threads, or after fewer crashes, is told there.

use crate::model::finding::{Finding, Window};
use crate::model::interleaving::Interleaving;
use crate::model::schedule::Schedule;

/// The findings of one recording.
#[derive(Clone, Debug)]
pub struct Told {
    /// The order of its threads.
    pub interleaving: Interleaving,
    /// The crashes of the lives before it.
    pub prefix: Schedule,
    /// What was found in it.
    pub findings: Vec<Finding>,
}

/// Joins findings with one promise, verdict and cause; the recordings stand in the order in which they are to be preferred. Windows in
/// another order of threads are kept beside the main one where they lie in the first life; what shows after one crash is no news
/// after two.
#[must_use]
pub fn merge(told: Vec<Told>) -> Vec<Finding> {
    let mut merged: Vec<Finding> = Vec::new();
    for Told { interleaving, prefix, findings } in told {
        let after = (!prefix.0.is_empty()).then_some(&prefix);
        for mut finding in findings {
            finding.interleaving = interleaving;
            let place = |window: &mut Window| {
                window.interleaving = interleaving;
                window.after = after.cloned();
            };
            place(&mut finding.window);
            finding.windows.iter_mut().for_each(place);
            let is_same = |other: &&mut Finding| {
                (&other.promise, other.verdict, other.cause) == (&finding.promise, finding.verdict, finding.cause)
            };
            match merged.iter_mut().find(is_same) {
                Some(known) => join(known, finding, after.is_none()),
                None => merged.push(finding),
            }
        }
    }
    merged.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
    merged
}

fn join(known: &mut Finding, other: Finding, is_first_life: bool) {
    known.trials += other.trials;
    for intent in other.intents {
        if !known.intents.contains(&intent) {
            known.intents.push(intent);
        }
    }
    // A window that is the same in another order is no news; one that is wider, or lies elsewhere, is.
    let is_known = |window: &Window, known: &[Window]| {
        known.iter().any(|own| (&own.intent, &own.first, &own.last) == (&window.intent, &window.first, &window.last))
    };
    for window in other.windows.into_iter().filter(|_| is_first_life) {
        if !is_known(&window, &known.windows) {
            known.windows.push(window);
        }
    }
}
