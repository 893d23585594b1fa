//! Readers of values: what a run came to, for people ([`text()`], [`explain`], [`progress`]) and for machines ([`junit`], [`json_schema`]).
//!
//! Nothing here runs, reads files or judges. To add an exporter: one file here with one function from `&Report` to a text, a line
//! below, and a test that a run which is not clean does not look clean in it.

pub mod audit;
pub mod explain;
mod junit;
pub mod progress;
mod schema;
mod text;
mod words;

#[cfg(test)]
mod samples;

pub use junit::{ReportError, junit};
pub use schema::json_schema;
pub use text::{Style, text};
