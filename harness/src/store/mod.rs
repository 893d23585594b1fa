//! The run folder: where a run is written down as it happens, taken up again, and read back. It knows files, not verdicts.
//!
//! A run folder holds `run.lock`, `events.jsonl`, `scenario.toml`, `trials/`, `findings/`, and at the end `report.json` and what
//! the exporters make of it. A file is there whole or not at all; only `events.jsonl` grows, by whole lines.

mod atomic;
mod error;
mod events;
mod finding;
mod folder;
mod lock;

#[cfg(test)]
mod tests;

pub use error::StoreError;
pub use events::read_events;
pub use finding::{FINDING_SCHEMA, FindingFile, FindingImage, read_finding};
pub use folder::{RunFolder, read_report};
pub use lock::Holder;
