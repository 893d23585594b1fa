//! Folders that setup commands fill, kept by the content of what the commands are and read.
//!
//! A folder is complete when its marker stands beside it; one whose setup died is cleared and filled anew. A lock keeps two runs from
//! filling one folder at once.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The folder of one setup.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    marker: PathBuf,
    lock: PathBuf,
}

/// Held while a folder is filled or looked at.
#[derive(Debug)]
pub struct CacheGuard {
    _lock: File,
    /// Whether the folder is complete.
    pub is_filled: bool,
}

/// A cache folder could not be read or made.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what} {}", path.display())]
pub struct CacheError {
    /// What was tried.
    pub what: &'static str,
    /// On what.
    pub path: PathBuf,
    /// Why not.
    pub source: io::Error,
}

fn io_error<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> CacheError + 'a {
    move |source| CacheError { what, path: path.to_owned(), source }
}

impl Cache {
    /// The folder for these commands. What belongs to its key: the commands, the working directory, the content of `reads` and of
    /// every argument that names a file in `dir`.
    ///
    /// # Errors
    /// A file in `reads` is not there.
    pub fn of(dir: &Path, commands: &[Vec<String>], reads: &[String]) -> Result<Self, CacheError> {
        let mut hasher = blake3::Hasher::new();
        let mut add = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        add(dir.as_os_str().as_encoded_bytes());
        for command in commands {
            add(b"command");
            for argument in command {
                add(argument.as_bytes());
                let file = dir.join(argument);
                if file.is_file() {
                    add(&fs::read(&file).map_err(io_error("read", &file))?);
                }
            }
        }
        for name in reads {
            let file = dir.join(name);
            add(name.as_bytes());
            add(&fs::read(&file).map_err(io_error("read", &file))?);
        }
        let key = &hasher.finalize().to_hex()[..16];
        let base = base().join("setup");
        fs::create_dir_all(&base).map_err(io_error("make", &base))?;
        Ok(Self { folder: base.join(key), marker: base.join(format!("{key}.done")), lock: base.join(format!("{key}.lock")) })
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Waits for the lock, then says whether the folder is complete; one that is not is emptied.
    ///
    /// # Errors
    /// The lock cannot be had or the folder cannot be made.
    pub fn enter(&self) -> Result<CacheGuard, CacheError> {
        let lock = File::create(&self.lock).map_err(io_error("make", &self.lock))?;
        lock.lock().map_err(io_error("lock", &self.lock))?;
        let is_filled = self.marker.exists() && self.folder.exists();
        if !is_filled {
            if self.folder.exists() {
                fs::remove_dir_all(&self.folder).map_err(io_error("clear", &self.folder))?;
            }
            fs::create_dir_all(&self.folder).map_err(io_error("make", &self.folder))?;
        }
        Ok(CacheGuard { _lock: lock, is_filled })
    }

    /// Marks the folder as complete.
    ///
    /// # Errors
    /// The marker cannot be written.
    pub fn mark(&self, _guard: &CacheGuard) -> Result<(), CacheError> {
        fs::write(&self.marker, "").map_err(io_error("write", &self.marker))
    }
}

/// `$KILLPOINT_CACHE`, else `$XDG_CACHE_HOME/killpoint`, else `~/.cache/killpoint` (XDG Base Directory Specification).
fn base() -> PathBuf {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    from("KILLPOINT_CACHE")
        .or_else(|| from("XDG_CACHE_HOME").map(|dir| dir.join("killpoint")))
        .or_else(|| from("HOME").map(|dir| dir.join(".cache/killpoint")))
        .unwrap_or_else(|| std::env::temp_dir().join("killpoint-cache"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_follows_the_content_of_what_the_commands_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("requirements.txt");
        let commands = vec![vec!["pip".to_owned(), "install".to_owned(), "-r".to_owned(), "requirements.txt".to_owned()]];
        let key = |reads: &[String]| Cache::of(dir.path(), &commands, reads).map(|cache| cache.folder().to_owned());
        fs::write(&file, "a==1").unwrap();
        let first = key(&[]).unwrap();
        assert_eq!(key(&[]).unwrap(), first);
        fs::write(&file, "a==2").unwrap();
        assert_ne!(key(&[]).unwrap(), first);
        assert!(key(&["not-there".to_owned()]).is_err());
    }
}
