//! Makes documents of images. What was read of a file once is not read again while its blobs are the same.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::sync::Arc;

use super::database::{self, MAGIC};
use super::document::{Document, Value};
use super::family::{self, ByPath};
use super::json::Json;
use super::shapes;
use crate::model::limits::{MEANING_MAX_BYTES, MEANINGS_KEPT_MAX_BYTES};
use crate::state::image::{Entry, ImageError, ImageId, ImageStore, Kind, Part, io_error};

/// Makes documents of the images of one store.
#[derive(Debug)]
pub struct Reader {
    store: Arc<ImageStore>,
    /// Files by what they are and the blobs of all that belongs to them.
    known: HashMap<String, Arc<Content>>,
    /// Bytes of the files that are known.
    known_bytes: u64,
    /// Files, by root and path, that are databases in images of the same workflow.
    databases: HashSet<(String, String)>,
}

/// What is in a file.
#[derive(Debug, Default)]
struct Content {
    document: Document,
    /// Whether the files beside it were read with it: then they do not stand for themselves.
    is_family: bool,
}

impl Reader {
    /// A reader of a store.
    #[must_use]
    pub fn new(store: Arc<ImageStore>) -> Self {
        Self { store, known: HashMap::new(), known_bytes: 0, databases: HashSet::new() }
    }

    /// Learns from an image which files of the workflow are databases: what stands beside an empty one of these is SQLite's.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn learn(&mut self, id: &ImageId) -> Result<(), ImageError> {
        for entry in self.store.manifest(id)?.entries {
            let Kind::File { len, parts } = &entry.kind else { continue };
            if *len <= MEANING_MAX_BYTES && *len > 0 && self.whole(*len, parts)?.starts_with(MAGIC) {
                self.databases.insert((entry.root, entry.path));
            }
        }
        Ok(())
    }

    /// What an image means.
    ///
    /// # Errors
    /// Something of it cannot be read.
    pub fn read(&mut self, id: &ImageId) -> Result<Document, ImageError> {
        let manifest = self.store.manifest(id)?;
        let by_path: ByPath<'_> =
            manifest.entries.iter().map(|entry| ((entry.root.as_str(), entry.path.as_str()), entry)).collect();
        let mut document = Document::default();
        // A database stands before the files beside it, whose names are longer.
        let mut taken: HashSet<(&str, &str)> = HashSet::new();
        for entry in &manifest.entries {
            if taken.contains(&(entry.root.as_str(), entry.path.as_str())) {
                continue;
            }
            let place = head(&mut document, entry);
            match &entry.kind {
                Kind::Folder => document.mark(&place, "folder"),
                Kind::Fifo => document.mark(&place, "fifo"),
                Kind::Socket => document.mark(&place, "socket"),
                Kind::Symlink(target) => {
                    document.mark(&place, "symlink");
                    document.text(&place, target.clone());
                }
                Kind::HardLink { root, path } => {
                    document.mark(&place, "link");
                    document.text(&place, format!("{root}/{path}"));
                }
                Kind::File { .. } => {
                    let beside = family::beside(&by_path, entry);
                    let content = self.file(&place, entry, &beside)?;
                    document.add(&content.document);
                    if content.is_family {
                        taken.extend(beside.iter().map(|(_, entry)| (entry.root.as_str(), entry.path.as_str())));
                    }
                }
            }
        }
        Ok(document)
    }

    /// What a blob means that is a database, without some columns, by table and name.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read_database(&mut self, place: &str, blob: &str, ignored: &[(&str, &str)]) -> Result<Document, ImageError> {
        let scratch = scratch()?;
        let path = scratch.path().join("db");
        self.store.restore_blob(blob, &path)?;
        let mut document = Document::default();
        database::rows(&mut document, place, &path, ignored).map_err(ImageError::Database)?;
        Ok(document)
    }

    fn file(&mut self, place: &str, entry: &Entry, beside: &[(&str, &Entry)]) -> Result<Arc<Content>, ImageError> {
        let key =
            serde_json::to_string(&(place, &entry.kind, beside.iter().map(|(end, file)| (end, &file.kind)).collect::<Vec<_>>()));
        let key = self.store.digest_of(key.unwrap_or_default().as_bytes());
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let content = Arc::new(self.content(place, entry, beside)?);
        let size = family_size(entry, beside);
        if self.known_bytes.saturating_add(size) > MEANINGS_KEPT_MAX_BYTES {
            self.known.clear();
            self.known_bytes = 0;
        }
        self.known_bytes = self.known_bytes.saturating_add(size);
        self.known.insert(key, content.clone());
        Ok(content)
    }

    fn content(&self, place: &str, entry: &Entry, beside: &[(&str, &Entry)]) -> Result<Content, ImageError> {
        let Kind::File { len, parts } = &entry.kind else { return Ok(Content::default()) };
        let mut document = Document::default();
        if *len > MEANING_MAX_BYTES {
            blobs(&mut document, place, *len, parts);
            return Ok(Content { document, is_family: false });
        }
        let bytes = self.whole(*len, parts)?;
        if self.is_database(entry, &bytes, beside)?
            && let Some(document) = self.database(place, &bytes, beside)?
        {
            return Ok(Content { document, is_family: true });
        }
        if !text(&mut document, place, &bytes) {
            document.push(place, Value::Bytes(bytes));
        }
        Ok(Content { document, is_family: false })
    }

    /// Whether a file is a database: it says so, or it has no first page yet and a log or journal of SQLite stands beside it. One that is known
    /// to become a database may have a journal beside it that says nothing yet.
    fn is_database(&self, main: &Entry, bytes: &[u8], beside: &[(&str, &Entry)]) -> Result<bool, ImageError> {
        if bytes.starts_with(MAGIC) {
            return Ok(true);
        }
        let becomes = bytes.is_empty() && self.databases.contains(&(main.root.clone(), main.path.clone()));
        let mut is_begun = false;
        for (ending, file) in beside.iter().filter(|(ending, _)| family::is_read(ending)) {
            let Kind::File { len, parts } = &file.kind else { return Ok(false) };
            if *len > MEANING_MAX_BYTES {
                return Ok(false);
            }
            let own = self.whole(*len, parts)?;
            if !(family::is_of_sqlite(ending, &own) || becomes && family::is_cold(ending, &own)) {
                return Ok(false);
            }
            is_begun = true;
        }
        Ok(is_begun)
    }

    /// The rows of a database with its log or journal; `None`: it cannot be read, so that all of its files count by their bytes.
    fn database(&self, place: &str, main: &[u8], beside: &[(&str, &Entry)]) -> Result<Option<Document>, ImageError> {
        let read: Vec<_> = beside.iter().filter(|(ending, _)| family::is_read(ending)).collect();
        if read.iter().any(|(_, file)| length(file) > MEANING_MAX_BYTES) {
            return Ok(None);
        }
        let scratch = scratch()?;
        let path = scratch.path().join("db");
        fs::write(&path, main).map_err(io_error("write", &path))?;
        for (ending, file) in read {
            let Kind::File { len, parts } = &file.kind else { continue };
            let bytes = self.whole(*len, parts)?;
            if family::is_shared(&bytes) {
                return Ok(None);
            }
            let path = scratch.path().join(format!("db{ending}"));
            fs::write(&path, bytes).map_err(io_error("write", &path))?;
        }
        let mut document = Document::default();
        document.mark(place, "database");
        if database::rows(&mut document, place, &path, &[]).is_err() {
            return Ok(None);
        }
        if fs::metadata(&path).map_err(io_error("look at", &path))?.len() == 0 {
            // Rolled back to before its first page: an empty file is what is left.
            document = Document::default();
            document.push(place, Value::Bytes(Vec::new()));
        }
        Ok(Some(document))
    }

    fn whole(&self, len: u64, parts: &[Part]) -> Result<Vec<u8>, ImageError> {
        let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
        for part in parts {
            let own = self.store.get(&part.blob)?;
            let from = usize::try_from(part.offset).unwrap_or(usize::MAX);
            if let Some(place) = bytes.get_mut(from..from.saturating_add(own.len())) {
                place.copy_from_slice(&own);
            }
        }
        Ok(bytes)
    }
}

/// A file that is too large to be looked into, by its blobs. It has no volatile values: a hash must never be taken for one.
fn blobs(document: &mut Document, place: &str, len: u64, parts: &[Part]) {
    document.fixed(place, len.to_string());
    for part in parts {
        document.fixed(place, format!("{} {}", part.offset, part.blob));
    }
}

/// Adds the name, the permissions and the owner of an entry; the place of what is in it. Each part of a path has the place of the folder
/// that it names, so that a random name makes no other one volatile.
fn head(document: &mut Document, entry: &Entry) -> String {
    let mut place = entry.root.clone();
    document.mark(&place, "entry");
    for part in entry.path.split('/').filter(|part| !part.is_empty()) {
        place.push('/');
        place.push_str(&shapes::without(part));
        document.text(&format!("{place}:name"), part);
    }
    document.fixed(&place, format!("{:o}", entry.mode));
    if let Some((user, group)) = entry.owner {
        document.fixed(&place, format!("{user} {group}"));
    }
    place
}

/// JSON, or lines of JSON; `false`: it is neither.
fn text(document: &mut Document, place: &str, bytes: &[u8]) -> bool {
    // Whoever appends to a file sees whether its last line has ended.
    let end = |line: &[u8]| if line.ends_with(b"\n") { "end of line" } else { "no end of line" };
    if !bytes.iter().find(|byte| !byte.is_ascii_whitespace()).is_some_and(|first| matches!(first, b'{' | b'[')) {
        return false;
    }
    if let Some(value) = Json::parse(bytes) {
        document.mark(place, "json");
        value.add(document, place);
        document.mark(place, end(bytes));
        return true;
    }
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let Some(values) = lines.clone().map(Json::parse).collect::<Option<Vec<_>>>() else { return false };
    document.mark(place, "lines of json");
    let inner = format!("{place}[]");
    for (line, value) in lines.zip(values) {
        value.add(document, &inner);
        document.mark(place, end(line));
    }
    true
}

fn length(entry: &Entry) -> u64 {
    if let Kind::File { len, .. } = &entry.kind { *len } else { 0 }
}

fn family_size(main: &Entry, beside: &[(&str, &Entry)]) -> u64 {
    beside.iter().map(|(_, file)| length(file)).fold(length(main), u64::saturating_add)
}

fn scratch() -> Result<tempfile::TempDir, ImageError> {
    let base = std::env::temp_dir();
    tempfile::tempdir_in(&base).map_err(io_error("make a folder in", &base))
}
