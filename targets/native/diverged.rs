//! Charges what an invoice costs now: a late fee of a cent grows with each millisecond since it was first quoted.
//!
//! The mistake: a restart computes the amount anew, and there is no key. Killed after the charge and before the record, it
//! makes a second charge of another amount; killed after the quote and before the charge, one charge of another amount than
//! was quoted.

#[path = "common/mod.rs"]
mod common;

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use common::{Invoice, Job, Result};

fn work(job: &Job) -> Result<()> {
    let done = job.done_log();
    for invoice in &job.invoices {
        if !done.has(&invoice.id)? {
            let fee = late_fee(&job.state.join(format!("{}.quoted", invoice.id)))?;
            job.api.charge(&Invoice { cents: invoice.cents + fee, ..invoice.clone() }, None)?;
            done.add(&invoice.id)?;
        }
    }
    Ok(())
}

/// The fee in cents: nothing for who quotes now, and a cent for each millisecond that has begun since an earlier quote.
fn late_fee(quote: &Path) -> Result<u64> {
    let now = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?;
    let quoted = fs::read_to_string(quote).ok().and_then(|text| text.trim().parse::<u64>().ok());
    if let Some(quoted) = quoted {
        return Ok(now.saturating_sub(quoted) + 1);
    }
    let mut file = File::create(quote)?;
    file.write_all(format!("{now}\n").as_bytes())?;
    file.sync_all()?;
    Ok(0)
}

fn main() -> std::process::ExitCode {
    common::run(work)
}
