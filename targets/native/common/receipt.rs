//! The document that is mailed. Drawing it is plain work of a processor: no call, no wait.

use super::Invoice;

/// Pixels of a page.
const PIXELS: u32 = 4_000_000;

impl Invoice {
    /// Draws its receipt and returns the picture's checksum.
    pub fn draw_receipt(&self) -> u64 {
        let mut sum = self.cents;
        for pixel in 0..PIXELS {
            let ink = u64::from(self.id.as_bytes()[pixel as usize % self.id.len()]);
            sum = sum.rotate_left(5) ^ std::hint::black_box(ink + u64::from(pixel));
        }
        sum
    }
}
