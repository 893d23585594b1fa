//! The folders of one trial, and the root under which all trials of a run have theirs.
//!
//! They stand under the system's temporary folder with short names, because a workflow may make UNIX sockets there, whose paths may be 107
//! bytes long. A root is locked while its run lives; roots of runs that died are taken away by the next run.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::image::Root;

use crate::model::limits::{DIR_COPY_FILES_MAX, DIR_COPY_MAX_BYTES};

const ROOT_PREFIX: &str = "kp-";
const LOCK_NAME: &str = "owner.lock";
/// How often a world is copied anew because a file of it went away meanwhile.
const KEEP_TRIES: u32 = 5;

/// The root of all trials of one run. Dropping it removes it.
#[derive(Debug)]
pub struct Worlds {
    root: tempfile::TempDir,
    path: PathBuf,
    _lock: File,
}

/// The folders of one trial. Dropping it removes them.
#[derive(Debug)]
pub struct World {
    path: PathBuf,
    dir: Option<PathBuf>,
    /// Folders elsewhere and their copies.
    more: Vec<(PathBuf, PathBuf)>,
}

/// A folder of a trial could not be made, copied or removed.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
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
    /// `dir_copy` would copy too much.
    #[error("{} holds more than {limit}, too much to copy for each trial; set `dir_copy = false`, or point `dir` at a smaller folder", path.display())]
    TooLarge {
        /// The folder.
        path: PathBuf,
        /// The limit.
        limit: String,
    },
}

impl WorldError {
    /// Whether something was not there any more.
    fn is_vanished(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

fn io_error<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> WorldError + 'a {
    move |source| WorldError::Io { what, path: path.to_owned(), source }
}

impl Worlds {
    /// Makes a root, after taking away those of runs that died.
    ///
    /// # Errors
    /// The temporary folder cannot be written.
    pub fn create() -> Result<Self, WorldError> {
        let base = std::env::temp_dir();
        sweep(&base);
        let root = tempfile::Builder::new().prefix(ROOT_PREFIX).tempdir_in(&base).map_err(io_error("make a folder in", &base))?;
        let path = root.path().canonicalize().map_err(io_error("find", root.path()))?;
        let lock_path = path.join(LOCK_NAME);
        let lock = File::create(&lock_path).map_err(io_error("make", &lock_path))?;
        // Nobody else knows the folder yet, so that the lock is free.
        lock.try_lock().map_err(|error| WorldError::Io { what: "lock", path: lock_path, source: error.into() })?;
        Ok(Self { root, path, _lock: lock })
    }

    /// The root's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the folders of one trial; with `copy_of`, a copy of that working directory among them.
    ///
    /// # Errors
    /// A folder cannot be made, or the copy is too large.
    pub fn world(&self, name: &str, copy_of: Option<&Path>) -> Result<World, WorldError> {
        let path = self.path.join(name);
        if path.exists() {
            fs::remove_dir_all(&path).map_err(io_error("clear", &path))?;
        }
        let mut world = World { path, dir: None, more: Vec::new() };
        for folder in [world.state(), world.tmp(), world.shm(), world.home()] {
            fs::create_dir_all(&folder).map_err(io_error("make", &folder))?;
        }
        if let Some(source) = copy_of {
            let target = world.path.join("dir");
            copy_tree(source, &target)?;
            world.dir = Some(target);
        }
        Ok(world)
    }

    /// Makes the folders of a trial that an image fills: the same as [`Self::world`], with nothing in them. `has_dir`: the working
    /// directory is among them.
    ///
    /// # Errors
    /// A folder cannot be made.
    pub fn empty(&self, name: &str, has_dir: bool) -> Result<World, WorldError> {
        let mut world = self.world(name, None)?;
        if has_dir {
            let dir = world.path.join("dir");
            fs::create_dir_all(&dir).map_err(io_error("make", &dir))?;
            world.dir = Some(dir);
        }
        Ok(world)
    }

    /// Removes the root now, so that trouble with it can be told.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn close(self) -> Result<(), WorldError> {
        let path = self.path.clone();
        self.root.close().map_err(io_error("remove", &path))
    }
}

impl World {
    /// The folder of it all.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The state folder.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.path.join("state")
    }

    /// The temporary folder; it outlives a killed process, so it belongs to the state.
    #[must_use]
    pub fn tmp(&self) -> PathBuf {
        self.path.join("tmp")
    }

    /// Shared memory; it outlives a killed process too.
    #[must_use]
    pub fn shm(&self) -> PathBuf {
        self.path.join("shm")
    }

    /// The home folder.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.path.join("home")
    }

    /// Adds a folder for one that stands elsewhere, with a copy of what is in that one where it is `filled`.
    ///
    /// # Errors
    /// It cannot be made, or holds too much.
    pub fn add(&mut self, source: &Path, filled: bool) -> Result<(), WorldError> {
        let own = self.path.join(format!("more-{}", self.more.len()));
        fs::create_dir_all(&own).map_err(io_error("make", &own))?;
        if filled && source.exists() {
            copy_tree(source, &own)?;
        }
        self.more.push((source.to_owned(), own));
        Ok(())
    }

    /// Folders elsewhere, each with the one that stands for it.
    #[must_use]
    pub fn more(&self) -> &[(PathBuf, PathBuf)] {
        &self.more
    }

    /// The copy of the working directory, where there is one.
    #[must_use]
    pub fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// The folders that belong to its images. `mount_points` are names in the temporary folder that are there for a mount alone.
    #[must_use]
    pub fn roots(&self, mount_points: &[PathBuf]) -> Vec<Root> {
        let root = |name: &str, path: &Path, skip: &[PathBuf]| Root {
            name: name.to_owned(),
            path: path.to_owned(),
            skip: skip.to_vec(),
        };
        let mut roots = vec![
            root("state", &self.state(), &[]),
            root("tmp", &self.tmp(), mount_points),
            root("shm", &self.shm(), &[]),
            root("home", &self.home(), &[]),
        ];
        roots.extend(self.dir().map(|dir| root("dir", dir, &[])));
        roots.extend(self.more.iter().enumerate().map(|(number, (_, own))| root(&format!("more-{number}"), own, &[])));
        roots
    }

    /// The sandbox's ledger.
    #[must_use]
    pub fn ledger(&self) -> PathBuf {
        self.path.join("ledger.db")
    }

    /// The file that takes the output of a life.
    #[must_use]
    pub fn output(&self, life: u32) -> PathBuf {
        self.path.join(format!("life-{life}.log"))
    }

    /// Copies the whole of it, for people to look at.
    ///
    /// # Errors
    /// Something cannot be copied.
    pub fn keep(&self, target: &Path) -> Result<(), WorldError> {
        // The ledger may be closing still: SQLite takes its log back into the database and removes it. A copy in which a file
        // went missing half-way is thrown away, so that it never holds the one without the other.
        for _ in 1..KEEP_TRIES {
            match copy_tree(&self.path, target) {
                Err(error) if error.is_vanished() => fs::remove_dir_all(target).map_err(io_error("clear", target))?,
                other => return other,
            }
        }
        copy_tree(&self.path, target)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // What cannot be removed now goes with the root.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes roots whose owner is gone.
fn sweep(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(ROOT_PREFIX)) {
        let lock = File::open(entry.path().join(LOCK_NAME));
        if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Copies files, folders and links; other kinds (sockets, pipes) are left out.
fn copy_tree(source: &Path, target: &Path) -> Result<(), WorldError> {
    let (mut files, mut bytes) = (0usize, 0u64);
    for entry in WalkDir::new(source) {
        let entry = entry.map_err(|error| WorldError::Io { what: "read", path: source.to_owned(), source: error.into() })?;
        let relative = entry.path().strip_prefix(source).expect("walkdir stays below its root");
        let to = if relative.as_os_str().is_empty() { target.to_owned() } else { target.join(relative) };
        let kind = entry.file_type();
        if kind.is_dir() {
            fs::create_dir_all(&to).map_err(io_error("make", &to))?;
        } else if kind.is_symlink() {
            let link = fs::read_link(entry.path()).map_err(io_error("read", entry.path()))?;
            std::os::unix::fs::symlink(link, &to).map_err(io_error("make", &to))?;
        } else if kind.is_file() {
            files += 1;
            bytes += fs::copy(entry.path(), &to).map_err(io_error("copy", entry.path()))?;
        }
        if files > DIR_COPY_FILES_MAX || bytes > DIR_COPY_MAX_BYTES {
            let limit = format!("{DIR_COPY_FILES_MAX} files or {} MiB", DIR_COPY_MAX_BYTES / 1024 / 1024);
            return Err(WorldError::TooLarge { path: source.to_owned(), limit });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_is_empty_at_first_and_gone_at_the_end() {
        let worlds = Worlds::create().unwrap();
        let root = worlds.path().to_owned();
        let world = worlds.world("t1", None).unwrap();
        assert_eq!(fs::read_dir(world.state()).unwrap().count(), 0);
        fs::write(world.state().join("left"), "over").unwrap();
        let path = world.path().to_owned();
        drop(world);
        assert!(!path.exists());
        worlds.close().unwrap();
        assert!(!root.exists());
    }

    #[test]
    fn the_root_of_a_living_run_is_left_alone_and_that_of_a_dead_one_goes() {
        let base = tempfile::tempdir().unwrap();
        let (alive, dead) = (base.path().join("kp-alive"), base.path().join("kp-dead"));
        for root in [&alive, &dead] {
            fs::create_dir(root).unwrap();
            fs::write(root.join(LOCK_NAME), "").unwrap();
        }
        let lock = File::open(alive.join(LOCK_NAME)).unwrap();
        lock.lock().unwrap();
        sweep(base.path());
        assert!(alive.exists() && !dead.exists());
    }

    #[test]
    fn a_copied_working_directory_keeps_files_and_links() {
        let source = tempfile::tempdir().unwrap();
        fs::create_dir(source.path().join("sub")).unwrap();
        fs::write(source.path().join("sub/file"), "text").unwrap();
        std::os::unix::fs::symlink("sub/file", source.path().join("link")).unwrap();
        let worlds = Worlds::create().unwrap();
        let world = worlds.world("t1", Some(source.path())).unwrap();
        let copy = world.dir().expect("a copy was asked for");
        assert_eq!(fs::read_to_string(copy.join("link")).unwrap(), "text");
        assert_eq!(fs::read_link(copy.join("link")).unwrap(), Path::new("sub/file"));
    }
}
