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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::findings::tests::{judged, record};

    fn kept(verdict: Verdict, observed: u32, on_the_way: Option<u32>) -> Judgement {
        Judgement { observed, on_the_way, ..judged("inv_9", verdict, None) }
    }

    #[test]
    fn points_are_counted_once_and_what_was_not_needed_is_not_told() {
        let plain = record(1, vec![kept(Verdict::Once, 1, None)]);
        let surplus = |point, all| record(point, vec![kept(Verdict::Once, 1, Some(all)), kept(Verdict::Once, 1, Some(all))]);
        let asks = record(4, vec![kept(Verdict::DeclaredUnknown, 0, None)]);
        let broken = record(5, vec![kept(Verdict::Duplicated, 2, Some(7))]);
        assert_eq!(of(&[plain.clone(), broken.clone()]), []);
        let expected = Allowance { promise: "charge".to_owned(), declared_unknown: 1, surplus: 2, most: 3 };
        assert_eq!(of(&[plain, surplus(2, 2), surplus(3, 3), asks, broken]), [expected]);
    }
}
