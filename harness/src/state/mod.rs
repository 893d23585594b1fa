//! The durable world of a trial: its state folder, its temporary folder, its ledger; and the folders that setup fills.
//!
//! It knows nothing of lives and points.

mod cache;
mod image;
mod meaning;
mod world;

pub use cache::{Cache, CacheError, CacheGuard};
pub use image::{Camera, ImageError, ImageId, ImageStore, Root};
pub use meaning::{Document, Reader, StateDigest, Volatile, digest};
pub use world::{World, WorldError, Worlds};
