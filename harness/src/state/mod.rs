//! The durable world of a trial: its state folder, its temporary folder, its ledger; the folders that setup fills; and
//! the effects that a world bears witness of.
//!
//! It knows nothing of lives and points.

mod cache;
mod image;
mod meaning;
mod witness;
mod world;

pub use cache::{Cache, CacheError, CacheGuard};
pub use image::{Camera, ImageError, ImageId, ImageStore, Root};
pub use meaning::{Document, Reader, StateDigest, Volatile, digest};
pub use witness::{Unread, lines as witness_lines, rows as witness_rows, server_rows as witness_server_rows};
pub use world::{World, WorldError, Worlds};
