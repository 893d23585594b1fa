//! Hand-written histories, good and bad, for every verdict and every cause.

mod auto;
mod causes;
pub(super) mod history;
mod outside;
mod properties;
mod verdicts;
