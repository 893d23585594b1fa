//! Writes a file whole or not at all: a temporary file beside it, then a rename over it. It knows no run folder.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

/// How sure the file must be on the disk before the call returns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// It survives the loss of power.
    Disk,
    /// It survives the end of this process; for files of which there are many and which can be made again.
    Process,
}

/// Writes `bytes` to `path`. At every instant the old file is there or the new one.
pub(super) fn write(path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    let parent = parent(path);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".new-").permissions(Permissions::from_mode(0o666));
    let mut file = builder.tempfile_in(parent)?;
    file.write_all(bytes)?;
    if durability == Durability::Disk {
        file.as_file().sync_all()?;
    }
    file.persist(path).map_err(|error| error.error)?;
    if durability == Durability::Disk {
        // The rename itself is durable only once its folder is.
        File::open(parent)?.sync_all()?;
    }
    Ok(())
}

/// Lets the symbolic link `link` point to `target`, in the place of an older link.
pub(super) fn relink(target: &Path, link: &Path) -> io::Result<()> {
    let folder = tempfile::Builder::new().prefix(".new-").tempdir_in(parent(link))?;
    let fresh = folder.path().join("link");
    symlink(target, &fresh)?;
    fs::rename(&fresh, link)
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
