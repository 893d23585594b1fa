//! killpoint crashes a workflow at every point between the payment server's 200 and the checkpoint's flush, lets it resume, and
//! counts the charges.
//!
//! The house, from the top down; imports go down only (a test keeps it so):
//!
//! * [`campaign`]: baseline, census, plan, trials, findings; replay.
//! * [`trial`]: one schedule: its lives, its ledger, its verdict.
//! * [`tracer`], [`sandbox`], [`state`], [`oracle`], [`plan`], [`store`], [`report`], [`scenario`]: rooms with no doors between them.
//! * [`model`]: the nouns.
//! * `sys`: the cellar: ptrace, seccomp; the only `unsafe`.
//!
//! Start with [`campaign`].

pub mod campaign;
pub mod model;
pub mod oracle;
pub mod plan;
pub mod report;
pub mod sandbox;
pub mod scenario;
pub mod state;
pub mod store;
pub mod tracer;
pub mod trial;

mod sys;
