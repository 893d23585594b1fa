//! Key forensics: from the ledgers of several trials, where the key of each effect comes from and whether it protects anything.
//!
//! Pure, as all oracles. A trial stands for a run that shares nothing with the others, its lives for processes, the requests of one life
//! for one intent for attempts. What was not seen is said to be not known.

mod boundary;
mod facts;
mod gaps;
mod origin;
mod pair;
mod place;
mod retries;
mod strand;
mod summary;

#[cfg(test)]
mod tests;

pub use boundary::read_as;
pub use facts::key_facts;
pub use gaps::{gaps, score};
pub(super) use pair::marked;
pub use retries::retry_facts;
pub use strand::{Strand, strands};
pub use summary::origin_in_summary;

use super::expectation::{Expectation, expect};
use crate::model::ledger::Request;
use crate::model::promise::Promise;

/// What clean runs show of every effect, also of those that nothing is promised of: these are made up, each intent once.
#[must_use]
pub fn expect_all(promises: &[Promise], clean: &[Vec<Request>]) -> Expectation {
    let mut all = promises.to_vec();
    let named = |request: &Request| promises.iter().any(|own| own.endpoint.matches(&request.method, &request.path));
    let rest: Vec<Vec<Request>> =
        clean.iter().map(|ledger| ledger.iter().filter(|request| !named(request)).cloned().collect()).collect();
    all.extend(expect(&[], &rest).promises().iter().cloned());
    expect(&all, clean)
}
