//! Restores an image into the empty folders of a world.

use std::fs::{self, File, Permissions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::sys::stat::{FchmodatFlags, Mode, UtimensatFlags};
use nix::sys::time::{TimeSpec, TimeValLike};

use super::manifest::{Entry, Kind, Part, decode};
use super::{ImageError, ImageId, ImageStore, Root, io_error};

impl ImageStore {
    /// Puts an image into folders that are empty.
    ///
    /// # Errors
    /// Something of it is not there or cannot be made.
    pub fn restore(&self, id: &ImageId, roots: &[Root]) -> Result<(), ImageError> {
        let manifest = self.manifest(id)?;
        let place = |root: &str, path: &str| -> Result<PathBuf, ImageError> {
            let root = roots.iter().find(|own| own.name == root).ok_or_else(|| ImageError::UnknownRoot(root.to_owned()))?;
            Ok(if path.is_empty() { root.path.clone() } else { root.path.join(decode(path)) })
        };
        for entry in &manifest.entries {
            let path = place(&entry.root, &entry.path)?;
            match &entry.kind {
                Kind::Folder => fs::create_dir_all(&path).map_err(io_error("make", &path))?,
                Kind::File { len, parts } => self.restore_file(&path, *len, parts)?,
                Kind::HardLink { root, path: first } => {
                    let first = place(root, first)?;
                    fs::hard_link(&first, &path).map_err(io_error("link", &path))?;
                }
                Kind::Symlink(target) => {
                    std::os::unix::fs::symlink(decode(target), &path).map_err(io_error("link", &path))?;
                }
                Kind::Fifo => nix::unistd::mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR)
                    .map_err(|error| io_error("make", &path)(error.into()))?,
                Kind::Socket => leave_socket(&path)?,
            }
        }
        // Last, and from the inside out: a folder may not let anything be made in it, and making something changes its time.
        for (entry, mtime_ns) in manifest.entries.iter().zip(&manifest.mtimes_ns).rev() {
            finish(&place(&entry.root, &entry.path)?, entry, *mtime_ns)?;
        }
        Ok(())
    }

    fn restore_file(&self, path: &Path, len: u64, parts: &[Part]) -> Result<(), ImageError> {
        let mut file = File::create(path).map_err(io_error("make", path))?;
        file.set_len(len).map_err(io_error("write", path))?;
        for part in parts {
            let bytes = self.get(&part.blob)?;
            file.seek(SeekFrom::Start(part.offset)).map_err(io_error("write", path))?;
            file.write_all(&bytes).map_err(io_error("write", path))?;
        }
        Ok(())
    }
}

/// Makes the file that a socket leaves behind when its process is gone.
fn leave_socket(path: &Path) -> Result<(), ImageError> {
    nix::sys::stat::mknod(path, nix::sys::stat::SFlag::S_IFSOCK, Mode::S_IRUSR | Mode::S_IWUSR, 0)
        .map_err(|error| io_error("make", path)(error.into()))
}

fn finish(path: &Path, entry: &Entry, mtime_ns: i64) -> Result<(), ImageError> {
    if let Some((user, group)) = entry.owner {
        // Only root may give files away; the owner of a trial's files is seldom somebody else.
        let _ = std::os::unix::fs::lchown(path, Some(user), Some(group));
    }
    match entry.kind {
        Kind::Symlink(_) | Kind::HardLink { .. } => {}
        Kind::Socket | Kind::Fifo => {
            let mode = Mode::from_bits_truncate(entry.mode);
            let _ = nix::sys::stat::fchmodat(nix::fcntl::AT_FDCWD, path, mode, FchmodatFlags::FollowSymlink);
        }
        Kind::Folder | Kind::File { .. } => {
            fs::set_permissions(path, Permissions::from_mode(entry.mode)).map_err(io_error("change", path))?;
        }
    }
    let time = TimeSpec::nanoseconds(mtime_ns);
    nix::sys::stat::utimensat(nix::fcntl::AT_FDCWD, path, &time, &time, UtimensatFlags::NoFollowSymlink)
        .map_err(|error| io_error("change", path)(error.into()))
}
