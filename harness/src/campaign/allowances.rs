//! How often a promise was kept by what it allows besides its number: a workflow that says it does not know, more effects on the way
//! than in the end. A report that says *once, each time* would leave that out.

use std::collections::BTreeSet;

use crate::model::event::TrialRecord;
use crate::model::report::Allowance;
use crate::model::verdict::{Judgement, Verdict};

/// The allowances that were made use of, by promise, in the order of the first one.
pub fn of(records: &[TrialRecord]) -> Vec<Allowance> {
    let mut allowances: Vec<Allowance> = Vec::new();
    let kept = records.iter().flat_map(|record| record.judgements.iter().map(move |judgement| (record.point, judgement)));
    let kept: Vec<(usize, &Judgement)> = kept.filter(|(_, judgement)| judgement.verdict.is_kept()).collect();
    for (_, judgement) in &kept {
        if allowances.iter().any(|known| known.promise == judgement.promise) {
            continue;
        }
        let own = || kept.iter().filter(|(_, other)| other.promise == judgement.promise);
        let surplus = |judgement: &Judgement| judgement.on_the_way.filter(|all| *all > judgement.observed);
        let points = |test: &dyn Fn(&Judgement) -> bool| {
            own().filter(|(_, judgement)| test(judgement)).map(|(point, _)| *point).collect::<BTreeSet<_>>().len() as u64
        };
        allowances.push(Allowance {
            promise: judgement.promise.clone(),
            declared_unknown: points(&|judgement| judgement.verdict == Verdict::DeclaredUnknown),
            surplus: points(&|judgement| surplus(judgement).is_some()),
            most: own().filter_map(|(_, judgement)| surplus(judgement)).max().unwrap_or(0),
        });
    }
    allowances.retain(|allowance| allowance.declared_unknown > 0 || allowance.surplus > 0);
    allowances
}
