//! What an image lists: one entry for each file, folder, link, pipe and socket, in the order of their paths.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The list of an image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// What makes the image's id.
    pub entries: Vec<Entry>,
    /// Times of change in nanoseconds since 1970, one for each entry; they are restored and belong to no id.
    pub mtimes_ns: Vec<i64>,
}

impl Manifest {
    /// Whether everything it lists can be put below the roots and nowhere else. An image may have come from somebody else, in a
    /// finding's folder: nothing of it may lead out of the world.
    pub fn is_inside(&self) -> bool {
        let mut kinds: HashMap<(&str, PathBuf), &Kind> = HashMap::new();
        self.entries.iter().all(|entry| {
            let path = decode(&entry.path);
            let kind_of = |root, path: &Path| kinds.get(&(root, path.to_owned())).copied();
            let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
            // Its folder stands before it, and is no link.
            let is_below = match path.parent() {
                Some(parent) => kind_of(&entry.root, parent) == Some(&Kind::Folder),
                None => entry.kind == Kind::Folder,
            };
            let is_linked = match &entry.kind {
                Kind::HardLink { root, path } => {
                    matches!(kind_of(root, &decode(path)), Some(Kind::File { .. } | Kind::Fifo | Kind::Socket))
                }
                _ => true,
            };
            let is_new = kinds.insert((&entry.root, path), &entry.kind).is_none();
            is_plain && is_below && is_new && is_linked
        })
    }
}

/// One file, folder, link, pipe or socket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The root's name.
    pub root: String,
    /// The path below it; bytes that are no UTF-8 are escaped.
    pub path: String,
    /// Permissions.
    pub mode: u32,
    /// Owner and group, where they are not those of killpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<(u32, u32)>,
    /// What it is.
    pub kind: Kind,
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A folder.
    Folder,
    /// A file: its length and the stretches of it that are no holes.
    File {
        /// Bytes.
        len: u64,
        /// The stretches in order.
        parts: Vec<Part>,
    },
    /// Another name of a file that stands earlier in the list.
    HardLink {
        /// The root of that entry.
        root: String,
        /// Its path.
        path: String,
    },
    /// A symbolic link and where it leads.
    Symlink(String),
    /// A named pipe.
    Fifo,
    /// A UNIX socket: what is left of it when its process is gone.
    Socket,
}

/// A stretch of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Where it begins.
    pub offset: u64,
    /// The blob that holds it.
    pub blob: String,
}

/// A path as text, without loss.
pub fn encode(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        text.push_str(&chunk.valid().replace('\\', "\\\\"));
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

/// The path of a text that [`encode`] made.
pub fn decode(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let escape = &rest[at + 1..];
        let hex = escape.strip_prefix('x').and_then(|tail| tail.get(..2)).and_then(|two| u8::from_str_radix(two, 16).ok());
        match hex {
            Some(byte) => {
                bytes.push(byte);
                rest = &escape[3..];
            }
            None => {
                bytes.push(b'\\');
                rest = escape.strip_prefix('\\').unwrap_or(escape);
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    PathBuf::from(OsString::from_vec(bytes))
}
