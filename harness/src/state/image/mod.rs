//! Crash images: the folders of a world at an instant, kept by content.
//!
//! * `store`: blobs by their hash, manifests by what they list.
//! * `manifest`: what an image lists.
//! * `content`: reads a file, without its holes.
//! * `camera`: takes images one after the other and reads only what changed.
//! * `restore`: puts an image into empty folders.

mod camera;
mod content;
mod manifest;
mod restore;
mod store;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::model::limits::{IMAGE_FILES_MAX, IMAGE_MAX_BYTES};

pub use camera::Camera;
pub(super) use manifest::{Entry, Kind, Part};
pub use store::ImageStore;

/// An image: the hash of everything it lists, so that equal worlds have equal ids. Times of change do not count.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ImageId(String);

impl fmt::Display for ImageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ImageId {
    type Err = ImageError;

    fn from_str(text: &str) -> Result<Self, ImageError> {
        if store::is_hash(text) { Ok(Self(text.to_owned())) } else { Err(ImageError::NotAnId(text.to_owned())) }
    }
}

/// A folder of a world that belongs to its images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Its name in images.
    pub name: String,
    /// Where it stands.
    pub path: PathBuf,
    /// Paths below it, relative, that do not belong to images.
    pub skip: Vec<PathBuf>,
}

/// An image could not be taken, read or restored.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The system said no.
    #[error("cannot {what} {}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A blob or manifest is not what its name says.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// There is too much to keep.
    #[error("the folders of a trial hold more than {limit}, too much for a crash image")]
    TooLarge {
        /// The limit.
        limit: String,
    },
    /// A text that is no image's id.
    #[error("`{0}` is no image")]
    NotAnId(String),
    /// An image lists a folder that the world does not have.
    #[error("the image holds a folder `{0}` that this world does not have")]
    UnknownRoot(String),
    /// A database could not be looked into.
    #[error("cannot read a database of an image")]
    Database(#[source] rusqlite::Error),
}

fn too_large() -> ImageError {
    ImageError::TooLarge { limit: format!("{IMAGE_FILES_MAX} files or {} MiB", IMAGE_MAX_BYTES / 1024 / 1024) }
}

pub(super) fn io_error<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> ImageError + 'a {
    move |source| ImageError::Io { what, path: path.to_owned(), source }
}
