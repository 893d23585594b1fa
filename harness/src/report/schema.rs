//! The JSON Schema of `report.json`, made from the types, so that it cannot say something else than they do.

use crate::model::report::Report;

/// The JSON Schema of `report.json`; checked in as `reports/schema/killpoint.report-1.json`.
#[must_use]
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Report).to_value()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::model::report::{RunVerdict, SCHEMA};
    use crate::report::samples;

    fn reports() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../reports")
    }

    /// Compares a checked-in file with what it should be; with `KILLPOINT_BLESS=1` in the environment it is written instead.
    fn check(path: &Path, expected: &serde_json::Value) {
        let mut text = serde_json::to_string_pretty(expected).expect("JSON");
        text.push('\n');
        if std::env::var_os("KILLPOINT_BLESS").is_some() {
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("written");
            return;
        }
        let kept = fs::read_to_string(path).expect("the checked-in file");
        assert!(kept == text, "{} is out of date; look at the change, then KILLPOINT_BLESS=1 writes it", path.display());
    }

    #[test]
    fn the_checked_in_schema_is_that_of_the_types() {
        check(&reports().join("schema/killpoint.report-1.json"), &json_schema());
    }

    #[test]
    fn the_golden_reports_are_read_and_written_back_unchanged() {
        for (name, report) in samples::all() {
            let path = reports().join(format!("golden/{name}.json"));
            check(&path, &serde_json::to_value(&report).expect("JSON"));
            let text = fs::read(&path).expect("the golden report");
            assert_eq!(serde_json::from_slice::<Report>(&text).expect(name), report, "{name}");
            assert_eq!(report.schema, SCHEMA);
        }
    }

    #[test]
    fn there_is_a_golden_report_for_each_verdict_of_a_run() {
        let verdicts = [RunVerdict::Clean, RunVerdict::Findings, RunVerdict::Inconclusive, RunVerdict::BaselineBroken];
        for verdict in verdicts {
            assert!(samples::all().iter().any(|(_, report)| report.verdict == verdict), "{verdict:?}");
        }
    }

    #[test]
    fn a_report_without_the_fields_that_were_added_later_is_still_read() {
        let mut value = serde_json::to_value(samples::clean()).expect("JSON");
        let cell = value["cells"][0].as_object_mut().expect("a cell");
        assert!(cell.remove("strip").is_some() && cell.remove("landmarks").is_some());
        let report: Report = serde_json::from_value(value).expect("an older report");
        assert!(report.cells[0].strip.is_empty());
    }
}
