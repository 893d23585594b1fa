//! Floor 1: the nouns of the house, as plain values. No I/O, no clock, nothing above is known here.
//!
//! One noun, one meaning, one file. Everything on this floor can be written to JSON and read back.

pub mod audit;
pub mod call;
pub mod census;
pub mod event;
pub mod exit;
pub mod fault;
pub mod finding;
pub mod interleaving;
pub mod ledger;
pub mod life;
pub mod limits;
pub mod point;
pub mod promise;
pub mod reel;
pub mod report;
pub mod scenario;
pub mod schedule;
pub mod shot;
pub mod tool;
pub mod verdict;
