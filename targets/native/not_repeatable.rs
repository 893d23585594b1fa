//! Leaves one to three audit files before its charge and after it, by the clock's whim and under names made up each time.
//!
//! The charge carries a stable key and is right. But no two runs make the same calls: what was a moment of one run may
//! never come in the next, so nothing can be said of it by trying again.

#[path = "common/mod.rs"]
mod common;

use std::time::{SystemTime, UNIX_EPOCH};

use common::{Job, Result};

fn work(job: &Job) -> Result<()> {
    let done = job.done_log();
    let mut chance = Chance::new()?;
    for invoice in &job.invoices {
        if !done.has(&invoice.id)? {
            audit(job, &mut chance, &format!("about to charge {}", invoice.id))?;
            job.api.charge(invoice, Some(&format!("charge-{}", invoice.id)))?;
            audit(job, &mut chance, &format!("charged {}", invoice.id))?;
            done.add(&invoice.id)?;
        }
    }
    Ok(())
}

/// Writes a line to one, two or three new files.
fn audit(job: &Job, chance: &mut Chance, line: &str) -> Result<()> {
    for _ in 0..=chance.below(3) {
        std::fs::write(job.state.join(chance.word()), format!("{line}\n"))?;
    }
    Ok(())
}

/// Numbers that differ from run to run (an xorshift generator, started from the clock and the process id).
struct Chance(u64);

impl Chance {
    fn new() -> Result<Self> {
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH)?.subsec_nanos();
        let mut chance = Self((u64::from(nanos) << 32 | u64::from(std::process::id())).max(1));
        for _ in 0..8 {
            chance.below(1);
        }
        Ok(chance)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % end
    }

    /// A word of four letters; which one, nobody can foresee, and nothing in it shows that it is made up.
    fn word(&mut self) -> String {
        let mut letter = |of: &[u8]| char::from(of[self.below(of.len())]);
        (0..2).flat_map(|_| [letter(b"bdfgklmnprstvz"), letter(b"aeiou")]).collect()
    }
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
