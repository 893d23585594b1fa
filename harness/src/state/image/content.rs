//! Reads a file into the store by its content alone: a hole and a stretch of zeros are the same, whatever the file system made of them.
//!
//! Of a hole nothing is read. A file is kept as pieces that begin and end with a block that is not all zeros; a longer stretch of zeros
//! parts two pieces. Where they are cut follows from the bytes, so that equal files are equal lists.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::path::Path;

use nix::unistd::{Whence, lseek};

use super::{ImageError, ImageStore, Kind, Part, io_error, too_large};
use crate::model::limits::{IMAGE_MAX_BYTES, IMAGE_PART_BYTES};

/// What is looked at as a whole: zeros or not.
const BLOCK: u64 = 4096;
/// Bytes that are read at once, in whole blocks.
const AT_ONCE: u64 = 64 * BLOCK;
/// Blocks of zeros that part two pieces.
const APART: u64 = 64;

/// Keeps what is in a file.
///
/// # Errors
/// It cannot be read or kept, or it is too large.
pub fn read(store: &ImageStore, path: &Path, len: u64) -> Result<Kind, ImageError> {
    let mut file = File::open(path).map_err(io_error("read", path))?;
    let mut pieces = Pieces { store, parts: Vec::new(), from: 0, piece: Vec::new(), bytes: 0 };
    let mut bytes = Vec::new();
    let mut at = 0;
    while let Some((from, to)) = data_after(&file, at, len) {
        // A stretch may begin inside of a block, where the file system's blocks are smaller.
        at = from.max(at) / BLOCK * BLOCK;
        file.seek(SeekFrom::Start(at)).map_err(io_error("read", path))?;
        while at < to {
            let length = (to.next_multiple_of(BLOCK).min(len) - at).min(AT_ONCE);
            bytes.clear();
            (&mut file).take(length).read_to_end(&mut bytes).map_err(io_error("read", path))?;
            if bytes.len() as u64 != length {
                return Err(io_error("read", path)(std::io::ErrorKind::UnexpectedEof.into()));
            }
            for block in bytes.chunks(BLOCK as usize) {
                pieces.add(at, block)?;
                at += block.len() as u64;
            }
        }
    }
    pieces.end()?;
    Ok(Kind::File { len, parts: pieces.parts })
}

/// The pieces of a file, the last of them in the making.
struct Pieces<'a> {
    store: &'a ImageStore,
    parts: Vec<Part>,
    from: u64,
    piece: Vec<u8>,
    bytes: u64,
}

impl Pieces<'_> {
    fn add(&mut self, at: u64, block: &[u8]) -> Result<(), ImageError> {
        if block.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        let zeros = at - (self.from + self.piece.len() as u64);
        if zeros >= APART * BLOCK || self.piece.len() as u64 + zeros + BLOCK > IMAGE_PART_BYTES {
            self.end()?;
        }
        if self.piece.is_empty() {
            self.from = at;
        }
        let length = usize::try_from(at - self.from).unwrap_or(usize::MAX);
        self.piece.resize(length, 0);
        self.piece.extend_from_slice(block);
        Ok(())
    }

    fn end(&mut self) -> Result<(), ImageError> {
        if self.piece.is_empty() {
            return Ok(());
        }
        self.bytes += self.piece.len() as u64;
        if self.bytes > IMAGE_MAX_BYTES {
            return Err(too_large());
        }
        self.parts.push(Part { offset: self.from, blob: self.store.put(&self.piece)? });
        self.from += self.piece.len() as u64;
        self.piece.clear();
        Ok(())
    }
}

/// The next stretch of a file that is no hole (lseek(2), SEEK_DATA). A file system that knows no holes has one stretch.
fn data_after(file: &File, at: u64, len: u64) -> Option<(u64, u64)> {
    if at >= len {
        return None;
    }
    let from = match lseek(file.as_fd(), i64::try_from(at).ok()?, Whence::SeekData) {
        Ok(from) => u64::try_from(from).ok()?,
        // No data behind this place.
        Err(nix::errno::Errno::ENXIO) => return None,
        Err(_) => return Some((at, len)),
    };
    let to = lseek(file.as_fd(), i64::try_from(from).ok()?, Whence::SeekHole).map_or(len, |to| u64::try_from(to).unwrap_or(len));
    Some((from, to.min(len))).filter(|(from, to)| from < to)
}
