//! The camera: takes one image after the other of the same folders, with their processes stopped, and reads only what changed.
//!
//! The kernel stamps changes by its tick, so two writes within one tick leave the same time and a file's stat does not tell them apart.
//! Therefore the one who sees the calls says which paths they touch. A call is announced before it is made: the next image is of the
//! time before it, and the one after that the first that can show it, so a touch is in force for two images. And a file that had
//! changed shortly before it was read is read again, whoever touched it, until its last change lies further back than any tick.

use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use walkdir::WalkDir;

use super::content;
use super::manifest::{Entry, Kind, Manifest, encode};
use super::{ImageError, ImageId, ImageStore, Root, io_error, too_large};
use crate::model::limits::{IMAGE_FILES_MAX, IMAGE_MAX_BYTES};

/// How many images a touch is in force for.
const IN_FORCE: u8 = 2;

/// A change that lies less far back than this may share its time with the next one; a tick has 10 ms at most (CONFIG_HZ of 100).
const FRESH: Duration = Duration::from_millis(30);

/// What a file's stat says of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    inode: (u64, u64),
    len: u64,
    mtime: (i64, i64),
    ctime: (i64, i64),
}

/// Files as they were read: what their stat said, what they held, and whether their last change was fresh.
type Known = HashMap<PathBuf, (Stamp, Kind, bool)>;

/// Takes images of some folders.
#[derive(Debug)]
pub struct Camera {
    store: Arc<ImageStore>,
    roots: Vec<Root>,
    /// Files as they were read last.
    known: Known,
    touched: HashMap<PathBuf, u8>,
    /// Mapped files by path, and those seen at these paths: a file that gets another name is mapped all the same.
    mapped: HashSet<PathBuf>,
    mapped_inodes: HashSet<(u64, u64)>,
    everything: u8,
}

impl Camera {
    /// A camera on these folders.
    #[must_use]
    pub fn new(store: Arc<ImageStore>, roots: Vec<Root>) -> Self {
        let (known, touched) = (HashMap::new(), HashMap::new());
        Self { store, roots, known, touched, mapped: HashSet::new(), mapped_inodes: HashSet::new(), everything: 0 }
    }

    /// A call is about to change what stands at this path, or has just done so.
    pub fn touch(&mut self, path: &Path) {
        self.touched.insert(path.to_owned(), IN_FORCE);
    }

    /// The file at this path is mapped shared and writable: it is read for every image from now on.
    pub fn touch_mapped(&mut self, path: &Path) {
        self.mapped_inodes.extend(inode_at(path));
        self.mapped.insert(path.to_owned());
    }

    /// Anything may change.
    pub fn touch_all(&mut self) {
        self.everything = IN_FORCE;
    }

    /// Takes an image.
    ///
    /// # Errors
    /// Something cannot be read or kept, or there is too much of it.
    pub fn shoot(&mut self) -> Result<ImageId, ImageError> {
        self.mapped_inodes.extend(self.mapped.iter().filter_map(|path| inode_at(path)));
        let inodes = self.touched_inodes();
        let mut shot = Shot { manifest: Manifest::default(), links: HashMap::new(), bytes: 0 };
        let mut known = HashMap::new();
        for root in self.roots.clone() {
            self.walk(&root, &inodes, &mut shot, &mut known)?;
        }
        self.known = known;
        self.touched.retain(|_, left| {
            *left -= 1;
            *left > 0
        });
        self.everything = self.everything.saturating_sub(1);
        self.store.put_manifest(&shot.manifest)
    }

    /// The files that touched paths lead to, and those that are mapped: a file may have other names.
    fn touched_inodes(&self) -> HashSet<(u64, u64)> {
        let touched = self.touched.keys().filter_map(|path| inode_at(path));
        touched.chain(self.mapped_inodes.iter().copied()).collect()
    }

    fn walk(&self, root: &Root, inodes: &HashSet<(u64, u64)>, shot: &mut Shot, known: &mut Known) -> Result<(), ImageError> {
        let is_kept = |path: &Path| {
            let relative = path.strip_prefix(&root.path).unwrap_or(path);
            !root.skip.iter().any(|skip| relative == skip)
        };
        let walk = WalkDir::new(&root.path).sort_by_file_name().into_iter().filter_entry(|entry| is_kept(entry.path()));
        for item in walk {
            let item = item.map_err(|error| ImageError::Io {
                what: "read",
                path: error.path().unwrap_or(&root.path).to_owned(),
                source: error.into(),
            })?;
            let path = item.path();
            let meta = fs::symlink_metadata(path).map_err(io_error("look at", path))?;
            let relative = encode(path.strip_prefix(&root.path).unwrap_or(path));
            let kind = self.kind(path, &meta, root, &relative, inodes, shot)?;
            if let Kind::File { len, .. } = &kind {
                shot.bytes = shot.bytes.saturating_add(allocated(&meta).min(*len));
                let is_fresh = is_fresh(&meta);
                known.insert(path.to_owned(), (stamp(&meta), kind.clone(), is_fresh));
            }
            shot.add(root, relative, &meta, kind)?;
        }
        Ok(())
    }

    fn kind(
        &self,
        path: &Path,
        meta: &Metadata,
        root: &Root,
        relative: &str,
        inodes: &HashSet<(u64, u64)>,
        shot: &mut Shot,
    ) -> Result<Kind, ImageError> {
        let kind = meta.file_type();
        if kind.is_dir() {
            return Ok(Kind::Folder);
        }
        if kind.is_symlink() {
            let target = fs::read_link(path).map_err(io_error("read", path))?;
            return Ok(Kind::Symlink(encode(&target)));
        }
        let inode = (meta.dev(), meta.ino());
        if meta.nlink() > 1 {
            if let Some((root, path)) = shot.links.get(&inode) {
                return Ok(Kind::HardLink { root: root.clone(), path: path.clone() });
            }
            shot.links.insert(inode, (root.name.clone(), relative.to_owned()));
        }
        if kind.is_fifo() {
            return Ok(Kind::Fifo);
        }
        if kind.is_socket() {
            return Ok(Kind::Socket);
        }
        let is_touched = self.everything > 0 || inodes.contains(&inode);
        match self.known.get(path) {
            Some((known, kind, false)) if !is_touched && *known == stamp(meta) => Ok(kind.clone()),
            _ => content::read(&self.store, path, meta.len()),
        }
    }
}

/// An image in the making.
struct Shot {
    manifest: Manifest,
    /// Files with several names, by the first one.
    links: HashMap<(u64, u64), (String, String)>,
    bytes: u64,
}

impl Shot {
    fn add(&mut self, root: &Root, path: String, meta: &Metadata, kind: Kind) -> Result<(), ImageError> {
        if self.manifest.entries.len() >= IMAGE_FILES_MAX || self.bytes > IMAGE_MAX_BYTES {
            return Err(too_large());
        }
        let own = (nix::unistd::geteuid().as_raw(), nix::unistd::getegid().as_raw());
        let owner = Some((meta.uid(), meta.gid())).filter(|owner| *owner != own);
        self.manifest.entries.push(Entry { root: root.name.clone(), path, mode: meta.mode() & 0o7777, owner, kind });
        self.manifest.mtimes_ns.push(meta.mtime().saturating_mul(1_000_000_000).saturating_add(meta.mtime_nsec()));
        Ok(())
    }
}

fn inode_at(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}

fn stamp(meta: &Metadata) -> Stamp {
    Stamp {
        inode: (meta.dev(), meta.ino()),
        len: meta.len(),
        mtime: (meta.mtime(), meta.mtime_nsec()),
        ctime: (meta.ctime(), meta.ctime_nsec()),
    }
}

/// Whether a file's last change may share its time with one that is still to come.
fn is_fresh(meta: &Metadata) -> bool {
    let changed = Duration::new(u64::try_from(meta.ctime()).unwrap_or(0), u32::try_from(meta.ctime_nsec()).unwrap_or(0));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(changed) < FRESH
}

fn allocated(meta: &Metadata) -> u64 {
    meta.blocks().saturating_mul(512)
}
