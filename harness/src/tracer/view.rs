//! The files as a life sees them: its paths mean what they mean where it is, which may be a mount namespace of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::sys::namespace::Namespaces;

/// Looks paths up where the life is; `None`: where we are.
#[derive(Debug)]
pub struct View(pub Option<Arc<Namespaces>>);

impl View {
    /// Whether something of that name is there, be it a dangling link.
    #[must_use]
    pub fn there(&self, path: &Path) -> bool {
        match &self.0 {
            None => path.symlink_metadata().is_ok(),
            Some(inside) => inside.resolve(path, false).is_some(),
        }
    }

    /// A path without links; `None` where it leads nowhere.
    #[must_use]
    pub fn real(&self, path: &Path) -> Option<PathBuf> {
        match &self.0 {
            None => std::fs::canonicalize(path).ok(),
            Some(inside) => inside.resolve(path, true),
        }
    }

    /// Whether a path leads to a regular file.
    #[must_use]
    pub fn is_file(&self, path: &Path) -> bool {
        match &self.0 {
            None => path.is_file(),
            Some(inside) => inside.is_file(path),
        }
    }

    /// Resolves the folder of a path; the last part is taken as it is, because calls act on links themselves.
    #[must_use]
    pub fn plain(&self, path: &Path) -> PathBuf {
        match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => self.real(parent).unwrap_or_else(|| parent.to_owned()).join(name),
            _ => self.real(path).unwrap_or_else(|| path.to_owned()),
        }
    }
}
