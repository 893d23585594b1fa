//! A database and what SQLite keeps beside it: which files of an image are one database, and whether one of them can be read alone.

use std::collections::BTreeMap;

use crate::state::image::{Entry, Kind};

/// What SQLite keeps beside a database (sqlite.org/tempfiles.html): the log and the journal belong to it, the index of the log is
/// made anew.
const BESIDE: [&str; 3] = ["-wal", "-journal", "-shm"];

/// The first bytes of a journal, and the last ones of a journal that is part of a commit of several databases
/// (sqlite.org/fileformat2.html, section 3).
const JOURNAL_MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// The first bytes of a log without its last bit, which says in which order the numbers of its sums are
/// (sqlite.org/fileformat2.html, section 4.1).
const LOG_MAGIC: [u8; 4] = [0x37, 0x7f, 0x06, 0x82];

/// The entries of an image by root and path.
pub type ByPath<'a> = BTreeMap<(&'a str, &'a str), &'a Entry>;

/// Files that carry the names of a database's companions, each with the ending of its name.
pub fn beside<'a>(by_path: &ByPath<'a>, main: &Entry) -> Vec<(&'static str, &'a Entry)> {
    let companion = |ending: &'static str| {
        let path = format!("{}{ending}", main.path);
        let entry = by_path.get(&(main.root.as_str(), path.as_str()))?;
        matches!(entry.kind, Kind::File { .. }).then_some((ending, *entry))
    };
    BESIDE.into_iter().filter_map(companion).collect()
}

/// Whether SQLite reads the file with this ending, rather than making it anew.
pub fn is_read(ending: &str) -> bool {
    ending != "-shm"
}

/// Whether a journal is part of a commit of several databases. Whether that one has happened stands in a file that the journal
/// names by its path: with the database alone nobody can tell.
pub fn is_shared(journal: &[u8]) -> bool {
    journal.len() > JOURNAL_MAGIC.len() && journal.ends_with(&JOURNAL_MAGIC)
}

/// Whether a file that stands beside a database is a journal that says nothing yet: it is empty, or its first bytes are not written, which
/// SQLite does last (sqlite.org/lockingv3.html, section 4.1: a journal whose header is zeroes is no hot journal).
pub fn is_cold(ending: &str, bytes: &[u8]) -> bool {
    let is_size = |at: usize| {
        let size = bytes.get(at..at + 4).map_or(0, |own| u32::from_be_bytes([own[0], own[1], own[2], own[3]]));
        size.is_power_of_two() && (32..=65_536).contains(&size)
    };
    let has_sizes = || bytes.get(..12).is_some_and(|head| head.iter().all(|byte| *byte == 0)) && is_size(20) && is_size(24);
    (ending == "-wal" || ending == "-journal") && bytes.is_empty() || ending == "-journal" && has_sizes()
}

/// Whether a log or journal was written by SQLite. Others use such names too, and what they keep must not be lost.
pub fn is_of_sqlite(ending: &str, bytes: &[u8]) -> bool {
    match ending {
        "-journal" => bytes.starts_with(&JOURNAL_MAGIC),
        "-wal" => bytes.get(..4).is_some_and(|head| head[..3] == LOG_MAGIC[..3] && head[3] | 1 == LOG_MAGIC[3] | 1),
        _ => false,
    }
}
