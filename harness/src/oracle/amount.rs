//! The oracle of amounts: as many effects as promised, but for another amount than in the clean run.

use super::case::{Case, Opinion, named};
use super::expectation::amount_of;
use crate::model::verdict::Verdict;

/// Objects to a declared amount that is not that of the clean run. It leaves wrong counts to the oracle of counts.
pub(super) fn judge(case: &Case<'_>) -> Option<Opinion> {
    let path = case.promise.amount.as_deref()?;
    let effects = case.effects();
    let observed = case.observed();
    let too_many = case.expected.at_most.is_some_and(|most| observed > most);
    if effects.is_empty() || too_many || observed < case.expected.at_least {
        return None;
    }
    let amounts: Vec<_> = effects.iter().map(|effect| amount_of(case.promise, effect)).collect();
    let Some(known) = case.known else {
        let (effect, error) = effects.iter().zip(&amounts).find_map(|(effect, amount)| Some((effect, amount.as_ref().err()?)))?;
        return Some(Opinion::new(Verdict::Unknown, [format!("no amount in {}: {}", named(effect), error.0)]));
    };
    let clean: Option<Vec<&String>> = known.amounts.iter().map(Option::as_ref).collect();
    let Some(clean) = clean else {
        return Some(Opinion::new(Verdict::Unknown, [format!("the amount {path} cannot be read in the clean run")]));
    };
    if known.amounts_vary {
        return Some(Opinion::new(Verdict::Unknown, [format!("the amount {path} differs between two clean runs")]));
    }
    let mut seen: Vec<Option<&String>> = amounts.iter().map(|amount| amount.as_ref().ok()).collect();
    seen.sort();
    // Where the count may vary there is no fixed list to compare with, but no amount may be new.
    let same = if seen.len() == clean.len() {
        seen.iter().copied().eq(clean.iter().copied().map(Some))
    } else {
        seen.iter().all(|amount| amount.is_some_and(|amount| clean.contains(&amount)))
    };
    if same {
        return None;
    }
    let list = |amounts: Vec<Option<&String>>| {
        amounts.into_iter().map(|amount| amount.map_or("none", String::as_str)).collect::<Vec<_>>().join(", ")
    };
    let lives: Vec<String> = effects.iter().map(|effect| named(effect)).collect();
    let fact = format!("{path} in the clean run: {}; here: {}", list(clean.into_iter().map(Some).collect()), list(seen));
    Some(Opinion::new(Verdict::WrongAmount, [fact, format!("asked for by {}", lives.join(", "))]))
}
