//! Reads the memory of a stopped tracee.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use libc::pid_t;

/// Reads up to `length` bytes at an address; fewer where the mapping ends. `None` where nothing can be read.
#[must_use]
pub fn read(tid: pid_t, address: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0u8; length];
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: length };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: length };
    // SAFETY: `local` spans a live buffer of that length; the kernel checks `remote`.
    let count = unsafe { libc::process_vm_readv(tid, &raw const local, 1, &raw const remote, 1, 0) };
    if count < 0 || (count == 0 && length > 0) {
        return None;
    }
    bytes.truncate(usize::try_from(count).ok()?);
    Some(bytes)
}

/// Reads a path that ends in a zero byte, at most `length_max` bytes long.
#[must_use]
pub fn read_path(tid: pid_t, address: u64, length_max: usize) -> Option<OsString> {
    const PAGE_BYTES: u64 = 4096;
    let mut path = Vec::new();
    let mut at = address;
    while path.len() < length_max {
        // A read that crosses into an unmapped page fails as a whole, so pages are read one by one.
        let rest = (PAGE_BYTES - at % PAGE_BYTES) as usize;
        let chunk = read(tid, at, rest.min(256))?;
        if let Some(end) = chunk.iter().position(|byte| *byte == 0) {
            path.extend_from_slice(&chunk[..end]);
            return Some(OsString::from_vec(path));
        }
        at += chunk.len() as u64;
        path.extend(chunk);
    }
    None
}

/// Reads a native-endian `u64`.
#[must_use]
pub fn read_u64(tid: pid_t, address: u64) -> Option<u64> {
    Some(u64::from_ne_bytes(read(tid, address, 8)?.try_into().ok()?))
}

/// Reads a native-endian `u32`.
#[must_use]
pub fn read_u32(tid: pid_t, address: u64) -> Option<u32> {
    Some(u32::from_ne_bytes(read(tid, address, 4)?.try_into().ok()?))
}
