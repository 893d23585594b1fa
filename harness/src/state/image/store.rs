//! The store: blobs under the hash of their bytes, manifests under the hash of what they list. Nothing is written twice, and a file
//! is there whole or not at all.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::manifest::Manifest;
use super::{ImageError, ImageId, Kind, io_error};

/// A folder of blobs and manifests. May be used from several threads and processes at once.
#[derive(Debug)]
pub struct ImageStore {
    dir: PathBuf,
}

/// Whether a text is a hash as this store makes them.
pub fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

impl ImageStore {
    /// Opens a store, or makes one.
    ///
    /// # Errors
    /// Its folders cannot be made.
    pub fn open(dir: &Path) -> Result<Self, ImageError> {
        for part in ["blobs", "manifests"] {
            let part = dir.join(part);
            fs::create_dir_all(&part).map_err(io_error("make", &part))?;
        }
        Ok(Self { dir: dir.to_owned() })
    }

    /// The hash under which bytes would be kept.
    #[must_use]
    pub fn digest_of(&self, bytes: &[u8]) -> String {
        blake3::hash(bytes).to_hex().to_string()
    }

    /// Keeps some bytes; their hash.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn put(&self, bytes: &[u8]) -> Result<String, ImageError> {
        let hash = self.digest_of(bytes);
        self.write(&self.blob_path(&hash), bytes)?;
        Ok(hash)
    }

    /// The bytes of a blob.
    ///
    /// # Errors
    /// It is not there, or its bytes are not those of its name.
    pub fn get(&self, hash: &str) -> Result<Vec<u8>, ImageError> {
        if !is_hash(hash) {
            return Err(ImageError::NotAnId(hash.to_owned()));
        }
        let path = self.blob_path(hash);
        let bytes = fs::read(&path).map_err(io_error("read", &path))?;
        if self.digest_of(&bytes) != hash {
            return Err(ImageError::Damaged { path, reason: "its bytes are not those that were kept".to_owned() });
        }
        Ok(bytes)
    }

    /// Writes a blob to a file.
    ///
    /// # Errors
    /// It is not there, or cannot be written.
    pub fn restore_blob(&self, hash: &str, target: &Path) -> Result<(), ImageError> {
        let bytes = self.get(hash)?;
        fs::write(target, bytes).map_err(io_error("write", target))
    }

    /// Keeps a manifest.
    pub(super) fn put_manifest(&self, manifest: &Manifest) -> Result<ImageId, ImageError> {
        let listed = serde_json::to_vec(&manifest.entries).unwrap_or_default();
        let id = self.digest_of(&listed);
        let whole = serde_json::to_vec(manifest).unwrap_or_default();
        self.write(&self.manifest_path(&id), &whole)?;
        Ok(ImageId(id))
    }

    /// What an image lists.
    pub(in crate::state) fn manifest(&self, id: &ImageId) -> Result<Manifest, ImageError> {
        let path = self.manifest_path(&id.0);
        let bytes = fs::read(&path).map_err(io_error("read", &path))?;
        let damaged = |reason: String| ImageError::Damaged { path: path.clone(), reason };
        let manifest: Manifest = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        let listed = serde_json::to_vec(&manifest.entries).unwrap_or_default();
        if self.digest_of(&listed) != id.0 || manifest.entries.len() != manifest.mtimes_ns.len() {
            return Err(damaged("it does not list what was kept".to_owned()));
        }
        if !manifest.is_inside() {
            return Err(damaged("it lists a path that leads out of its folders".to_owned()));
        }
        Ok(manifest)
    }

    /// Copies an image with all its blobs into another store.
    ///
    /// # Errors
    /// Something of it is not there, or cannot be written.
    pub fn export(&self, id: &ImageId, to: &Self) -> Result<(), ImageError> {
        let manifest = self.manifest(id)?;
        for entry in &manifest.entries {
            if let Kind::File { parts, .. } = &entry.kind {
                for part in parts {
                    self.export_blob(&part.blob, to)?;
                }
            }
        }
        to.put_manifest(&manifest).map(drop)
    }

    /// Copies one blob into another store.
    ///
    /// # Errors
    /// It is not there, or cannot be written.
    pub fn export_blob(&self, hash: &str, to: &Self) -> Result<(), ImageError> {
        to.put(&self.get(hash)?).map(drop)
    }

    fn blob_path(&self, hash: &str) -> PathBuf {
        self.dir.join("blobs").join(&hash[..2]).join(&hash[2..])
    }

    fn manifest_path(&self, id: &str) -> PathBuf {
        self.dir.join("manifests").join(id)
    }

    /// Writes a file that must not be seen in part; one that is there is as good.
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), ImageError> {
        if path.exists() {
            return Ok(());
        }
        let folder = path.parent().unwrap_or(&self.dir);
        fs::create_dir_all(folder).map_err(io_error("make", folder))?;
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(io_error("write in", folder))?;
        file.write_all(bytes).map_err(io_error("write", path))?;
        file.persist(path).map_err(|error| error.error).map_err(io_error("write", path))?;
        Ok(())
    }
}
