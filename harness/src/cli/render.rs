//! The one place where the command asks the room `report` for texts.

use killpoint::model::audit::Audit;
use killpoint::model::exit::Exit;
use killpoint::model::report::{Report, RunVerdict};
use killpoint::report;

use super::failure::Failure;
use super::terminal::Terminal;

pub use killpoint::report::explain::{Explanation, explain, explain_all};
pub use killpoint::report::progress::Progress;

/// Columns of `report.txt`.
const FILE_WIDTH_COLUMNS: usize = 100;

/// The report for stdout.
pub fn for_terminal(report: &Report, terminal: &Terminal) -> String {
    report::text(report, report::Style { colour: terminal.out_colour, width: terminal.width })
}

/// The report for `report.txt`.
pub fn for_file(report: &Report) -> String {
    report::text(report, report::Style { colour: false, width: FILE_WIDTH_COLUMNS })
}

/// The report for `junit.xml`.
///
/// # Errors
/// It cannot be written as XML.
pub fn junit(report: &Report) -> Result<String, Failure> {
    report::junit(report).map_err(|error| Failure::new(Exit::Bug, "junit.xml cannot be made").cause(error))
}

/// The JSON Schema of `report.json`.
pub fn report_schema() -> serde_json::Value {
    report::json_schema()
}

/// The audit for stdout.
pub fn audit_for_terminal(audit: &Audit, terminal: &Terminal) -> String {
    report::audit::text(audit, report::Style { colour: terminal.out_colour, width: terminal.width })
}

/// The audit as Markdown.
pub fn audit_markdown(audit: &Audit) -> String {
    report::audit::markdown(audit)
}

/// The JSON Schema of an audit.
pub fn audit_schema() -> serde_json::Value {
    report::audit::json_schema()
}

/// The exit code that a run leads to.
pub fn exit_of(verdict: RunVerdict) -> Exit {
    match verdict {
        RunVerdict::Clean => Exit::Clean,
        RunVerdict::Findings => Exit::Findings,
        RunVerdict::Inconclusive => Exit::Inconclusive,
        RunVerdict::BaselineBroken => Exit::BaselineBroken,
    }
}
