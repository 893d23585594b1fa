//! The right way where nothing can be keyed or looked up: writes down what it is about to do, and where a restart finds that without an
//! outcome, it does nothing more and says that it does not know, exit code 75. A person has to look.

#[path = "common/mod.rs"]
mod common;

use std::fs::File;
use std::process::ExitCode;

use common::{Job, Result};

/// What `sysexits.h` calls a temporary failure: try again later, when somebody has looked.
const UNKNOWN: u8 = 75;

fn work(job: &Job) -> Result<()> {
    let done = job.done_log();
    for invoice in &job.invoices {
        if done.has(&invoice.id)? {
            continue;
        }
        let intent = job.state.join(format!("{}.intent", invoice.id));
        if intent.exists() {
            println!("{}: charged or not? a person must look", invoice.id);
            std::process::exit(i32::from(UNKNOWN));
        }
        File::create(&intent)?;
        job.api.charge(invoice, None)?;
        done.add(&invoice.id)?;
    }
    Ok(())
}

fn main() -> ExitCode {
    common::run(work)
}
