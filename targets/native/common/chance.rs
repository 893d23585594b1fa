//! Chance: random UUIDs and random pauses, out of the system's own source.

use std::fs::File;
use std::io::Read;
use std::time::Duration;

use super::Result;

fn bytes<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// A random UUID (RFC 9562, version 4).
pub fn uuid() -> Result<String> {
    let mut bytes = bytes::<16>()?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}

/// A pause before an attempt, counted from 1: it doubles each time, and half of it is random.
pub fn pause(attempt: u32) -> Result<()> {
    let whole = 40_u64 << attempt;
    let random = u64::from(u16::from_le_bytes(bytes::<2>()?)) * whole / 2 / u64::from(u16::MAX);
    std::thread::sleep(Duration::from_millis(whole / 2 + random));
    Ok(())
}
