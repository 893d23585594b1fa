//! `junit.xml`, for what collects test results: one test case for each cell and promise. What is not clean never looks green in it.

use std::collections::BTreeSet;

use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use crate::model::finding::Finding;
use crate::model::report::{Cell, Report, RunVerdict};

use super::words;

/// Unreached points that are named in one test case; all of them stand in `report.json`.
const UNREACHED_MAX: usize = 10;

/// Why a report could not be exported.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The XML could not be written.
    #[error("cannot write the report as JUnit XML")]
    Junit {
        /// Why.
        source: quick_junit::SerializeError,
    },
}

/// The report as JUnit XML: a failure where a promise was broken, an error where it cannot be said that it was kept.
///
/// # Errors
///
/// The XML could not be written.
pub fn junit(report: &Report) -> Result<String, ReportError> {
    let mut suite = TestSuite::new(report.scenario.as_str());
    suite.set_time(std::time::Duration::from_millis(report.wall_ms));
    suite.add_property(("killpoint_version", report.killpoint_version.as_str()));
    suite.add_property(("seed", report.seed.to_string().as_str()));
    for cell in &report.cells {
        suite.add_test_cases(cases_of(report, cell));
    }
    let orphans = report.findings.iter().filter(|finding| words::cell_of(&report.cells, &finding.cell).is_none());
    for finding in orphans {
        suite.add_test_case(failed(&name(&finding.promise, &finding.cell), &[finding]));
    }
    if report.verdict != RunVerdict::Clean && suite.failures + suite.errors == 0 {
        let word = words::run_verdict_word(report.verdict);
        suite.add_test_case(errored("the run as a whole", word, &format!("the run is {word}")));
    }
    let mut whole = quick_junit::Report::new("killpoint");
    whole.add_test_suite(suite);
    whole.to_string().map_err(|source| ReportError::Junit { source })
}

fn cases_of(report: &Report, cell: &Cell) -> Vec<TestCase> {
    let in_cell = |finding: &&Finding| finding.cell == cell.cell;
    let found: Vec<&Finding> = report.findings.iter().filter(in_cell).collect();
    let judged = cell.baseline.iter().map(|judgement| judgement.promise.as_str());
    let promises: BTreeSet<&str> = judged.chain(found.iter().map(|finding| finding.promise.as_str())).collect();
    let doubt = doubt(report, cell);
    let mut cases = Vec::new();
    for promise in promises {
        let broken: Vec<&Finding> = found.iter().copied().filter(|finding| finding.promise == promise).collect();
        let name = name(promise, &cell.cell);
        cases.push(match &doubt {
            _ if !broken.is_empty() => failed(&name, &broken),
            Some((kind, text)) => errored(&name, kind, text),
            None => TestCase::new(name, TestCaseStatus::success()),
        });
    }
    if let Some((kind, text)) = doubt {
        cases.push(errored(&name("every crash point was reached", &cell.cell), kind, &text));
    } else if cases.is_empty() {
        cases.push(errored(&name("a promise was judged", &cell.cell), "inconclusive", "no promise was judged"));
    }
    cases
}

/// Why nothing good can be said of a cell's promises, where that is so: its kind and the text.
fn doubt(report: &Report, cell: &Cell) -> Option<(&'static str, String)> {
    let unreached: Vec<String> = report
        .unreached
        .iter()
        .filter(|unreached| unreached.cell == cell.cell)
        .take(UNREACHED_MAX)
        .map(|unreached| format!("not reached: {} ({})", unreached.point, unreached.reason))
        .collect();
    let kind = match cell.verdict {
        RunVerdict::BaselineBroken => "baseline_broken",
        RunVerdict::Inconclusive => "inconclusive",
        _ if cell.points.unreached > 0 || !unreached.is_empty() => "unreached",
        RunVerdict::Clean | RunVerdict::Findings => return None,
    };
    let counts = format!("{} of {} reached", cell.points.reached, words::counted(cell.points.total, "crash point"));
    let reason = cell.reason.clone().into_iter();
    let judged = cell.baseline.iter().filter(|judgement| !judgement.verdict.is_kept()).map(words::judged);
    let lines: Vec<String> = std::iter::once(counts).chain(reason).chain(judged).chain(unreached).collect();
    Some((kind, lines.join("\n")))
}

fn name(what: &str, cell: &[String]) -> String {
    if cell.is_empty() { what.to_owned() } else { format!("{what} [{}]", cell.join(" ")) }
}

fn failed(name: &str, findings: &[&Finding]) -> TestCase {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    let title = |finding: &Finding| format!("{} {}: {}", finding.id, finding.verdict, words::headline(finding));
    let titles: Vec<String> = findings.iter().map(|finding| title(finding)).collect();
    let details: Vec<String> = findings.iter().map(|finding| format!("{}\n{}", title(finding), details(finding))).collect();
    let types: BTreeSet<&str> = findings.iter().map(|finding| finding.verdict.word()).collect();
    status
        .set_type(types.into_iter().collect::<Vec<_>>().join(","))
        .set_message(titles.join("; "))
        .set_description(details.join("\n\n"));
    TestCase::new(name, status)
}

fn details(finding: &Finding) -> String {
    let window = &finding.window;
    let mut lines = vec![format!("first bad point: {}", window.first), format!("last bad point: {}", window.last)];
    lines.extend(window.closed_by.as_ref().map(|point| format!("safe again at: {point}")));
    lines.extend(finding.why.iter().cloned());
    lines.push(format!("cause: {}", words::cause_word(finding.cause)));
    lines.push(format!("bring it back: {}", finding.repro));
    lines.join("\n")
}

fn errored(name: &str, kind: &str, text: &str) -> TestCase {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_type(kind).set_message(text.lines().next().unwrap_or_default()).set_description(text);
    TestCase::new(name, status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn each_kind_of_run_as_junit() {
        for (name, report) in samples::all() {
            insta::assert_snapshot!(format!("junit-{name}"), junit(&report).expect(name));
        }
    }

    #[test]
    fn a_run_that_is_not_clean_has_a_failure_or_an_error() {
        for (name, mut report) in samples::all() {
            for without_cells in [false, true] {
                if without_cells {
                    report.cells.clear();
                    report.findings.clear();
                }
                let xml = junit(&report).expect(name);
                let red = xml.contains("<failure") || xml.contains("<error");
                assert_eq!(red, report.verdict != RunVerdict::Clean, "{name}, without cells: {without_cells}\n{xml}");
            }
        }
    }

    #[test]
    fn a_promise_without_a_finding_is_not_green_where_points_were_not_reached() {
        let mut report = samples::clean();
        report.cells[0].points.unreached = 1;
        report.cells[0].points.reached -= 1;
        let xml = junit(&report).expect("XML");
        assert!(xml.contains(r#"errors="2""#) && xml.contains(r#"type="unreached""#), "{xml}");
    }

    #[test]
    fn text_that_xml_cannot_hold_does_no_harm() {
        let mut report = samples::findings();
        report.findings[0].intent = "a<b>&\"\u{1}\u{1b}[31m".to_owned();
        let xml = junit(&report).expect("XML");
        assert!(xml.contains("a&lt;b&gt;&amp;") && !xml.contains('\u{1}') && !xml.contains('\u{1b}'), "{xml}");
    }
}
