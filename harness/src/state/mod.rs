//! The durable world of a trial: its state folder, its temporary folder, its ledger; and the folders that setup fills.
//!
//! It knows nothing of lives and points.

mod cache;
mod world;

pub use cache::{Cache, CacheError, CacheGuard};
pub use world::{World, WorldError, Worlds};
