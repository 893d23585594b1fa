//! What an image means: databases by their rows, JSON by value, other files by their bytes; and which values are volatile.
//!
//! * `document`: an image as a list of values, each with its place.
//! * `reader`: makes documents of images.
//! * `database`, `json`, `packed`: SQLite, JSON and MessagePack.
//! * `shapes`: texts that change from run to run.
//! * `volatile`: which of them do here, and the digest in which they are renamed.

mod database;
mod document;
mod family;
mod json;
mod packed;
mod reader;
mod shapes;
#[cfg(test)]
mod tests;
mod volatile;

pub use document::Document;
pub(super) use family::is_shared;
pub use reader::Reader;
pub use volatile::{StateDigest, Volatile, digest};
