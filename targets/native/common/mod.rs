//! What the native targets share: the job as the command line and the environment give it, the billing API's client and a
//! journal of what is done. None of it knows that anything might kill it.
#![allow(dead_code, reason = "compiled into each target, and each uses its own part of it")]

mod api;
pub mod chance;
mod journal;
mod messages;
mod outbox;
mod receipt;

use std::path::PathBuf;
use std::process::ExitCode;

pub use api::Api;
pub use journal::DoneLog;
pub use messages::Messages;
pub use outbox::Outbox;

/// Why a target could not go on; it is printed in one line.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// What a target's steps give.
pub type Result<T> = std::result::Result<T, Error>;

/// One invoice to be paid.
#[derive(Clone, Debug)]
pub struct Invoice {
    /// Its id (`inv_1`).
    pub id: String,
    /// What is to be charged, in cents.
    pub cents: u64,
}

/// What a target has to do, and where.
pub struct Job {
    /// The billing API at `BILLING_URL`.
    pub api: Api,
    /// The folder `STATE_DIR`, where progress is kept.
    pub state: PathBuf,
    /// The invoices of the command line, `INVOICE:CENTS` each, in its order.
    pub invoices: Vec<Invoice>,
    /// Whether it is the job that runs afterwards, `--reconcile`.
    pub reconciles: bool,
}

impl Job {
    fn from_command_line() -> Result<Self> {
        let variable = |name: &str| std::env::var(name).map_err(|error| format!("{name}: {error}"));
        let (flags, words): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|text| text == "--reconcile");
        let invoices = words.iter().map(|text| parse(text)).collect::<Result<Vec<_>>>()?;
        if invoices.is_empty() {
            return Err("expected at least one INVOICE:CENTS".into());
        }
        let (api, state) = (Api::new(&variable("BILLING_URL")?), variable("STATE_DIR")?.into());
        Ok(Self { api, state, invoices, reconciles: !flags.is_empty() })
    }

    /// The journal of invoices that are done.
    pub fn done_log(&self) -> DoneLog {
        DoneLog::new(self.state.join("done.log"))
    }

    /// The outbox.
    pub fn outbox(&self) -> Result<Outbox> {
        Outbox::open(&self.state)
    }

    /// The messages for somebody else.
    pub fn messages(&self) -> Messages {
        Messages::new(self.state.join("messages.jsonl"))
    }
}

fn parse(text: &str) -> Result<Invoice> {
    let (id, cents) = text.split_once(':').ok_or_else(|| format!("expected INVOICE:CENTS, not {text}"))?;
    let cents = cents.parse().map_err(|error| format!("{text}: {error}"))?;
    Ok(Invoice { id: id.to_owned(), cents })
}

/// Runs a target: exit code 0 when its job is done, else 1 with a line on stderr.
pub fn run(target: fn(&Job) -> Result<()>) -> ExitCode {
    match Job::from_command_line().and_then(|job| target(&job)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
