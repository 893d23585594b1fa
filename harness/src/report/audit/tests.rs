//! Texts of audits as snapshots, and the checked-in schema.

use super::super::text::Style;
use super::*;
use crate::model::audit::{
    AuditedCell, Boundary, Fix, Gap, GapKind, KeyFacts, Mark, Origin, Pair, Presence, Probe, Reading, RetryFacts, SCHEMA, Score,
    Write,
};
use crate::model::fault::{Fault, WireFault};
use crate::model::tool::{Tool, ToolServer};
use crate::model::verdict::Verdict;

fn timed() -> Write {
    let boundary = |fault, reading, effects, verdict| Boundary { at: 1, fault, reading, same_life: false, effects, verdict };
    Write {
        effect: "charge".to_owned(),
        method: "POST".to_owned(),
        path: "/v1/charges".to_owned(),
        promised: true,
        tool_takes_key: None,
        requests: 1,
        key: KeyFacts {
            presence: Presence::Always,
            places: vec!["header:idempotency-key".to_owned()],
            origin: Origin::Time,
            why: "the keys differ in what is a time by its form".to_owned(),
            pair: Some(Pair {
                one_from: "run 3, life 1, request 1".to_owned(),
                one: "charge-1785000000123".to_owned(),
                other_from: "run 3, life 2, request 12".to_owned(),
                other: "charge-1785000012456".to_owned(),
                one_differs: Some((7, 20)),
                other_differs: Some((7, 20)),
            }),
            equal_in_attempts: None,
            equal_in_lives: Some(false),
            equal_in_runs: Some(false),
            other_body: Vec::new(),
            too_coarse: Vec::new(),
            at_once: Vec::new(),
        },
        retry: RetryFacts {
            attempts: 3,
            waits_ms: vec![41, 95],
            first_waits_ms: vec![41, 77],
            grows: Some(true),
            jitter: Some(true),
        },
        boundary: vec![
            boundary(Fault::Kill, Reading::OtherKey, 2, Some(Verdict::Duplicated)),
            boundary(Fault::Wire(WireFault::SlowAck { delay_ms: 90_000 }), Reading::NotReached, 0, None),
        ],
        repeated_after_timeout: None,
        score: Score { key: Mark::Gap, retry: Mark::Good, boundary: Mark::Gap },
        gaps: vec![Gap {
            kind: GapKind::KeyChanges,
            what: "the key does not survive a repetition: contains the time".to_owned(),
            fixes: vec![Fix::KeyOnTheWrite, Fix::PersistBeforeCall],
        }],
    }
}

fn audit() -> Audit {
    let mut mail = timed();
    (mail.effect, mail.method, mail.path) = ("a|mail\u{1b}[2J".to_owned(), "MAIL".to_owned(), "/".to_owned());
    (mail.promised, mail.gaps, mail.boundary) = (false, Vec::new(), Vec::new());
    (mail.key.presence, mail.key.places, mail.key.pair) = (Presence::Never, Vec::new(), None);
    (mail.key.origin, mail.key.why) = (Origin::None, "no request carries a key".to_owned());
    mail.score = Score { key: Mark::Absent, retry: Mark::NotKnown, boundary: Mark::NotKnown };
    mail.retry = RetryFacts::default();
    let probe = |schedule: &str, reached: bool| Probe {
        effect: "charge".to_owned(),
        schedule: schedule.parse().expect("a schedule"),
        reached,
        reason: (!reached).then(|| "it did not come to happen: the life ended before it".to_owned()),
    };
    Audit {
        schema: SCHEMA.to_owned(),
        killpoint_version: "0.1.0".to_owned(),
        scenario: "refund".to_owned(),
        cells: vec![AuditedCell {
            cell: vec!["durability=sync".to_owned()],
            broken: None,
            probes: vec![probe("charge#1:executed kill", true), probe("charge#1:executed slow-ack(90s)", false)],
            writes: vec![timed(), mail],
        }],
        servers: vec![],
    }
}

#[test]
fn the_text_fits_a_hundred_columns_and_a_foreign_name_does_not_drive_the_terminal() {
    let text = text(&audit(), Style { colour: false, width: 100 });
    assert!(text.lines().all(|line| line.chars().count() <= 100) && !text.contains('\u{1b}'), "{text}");
    insta::assert_snapshot!("audit_text", text);
}

#[test]
fn colour_only_repeats_what_the_words_say() {
    let coloured = text(&audit(), Style { colour: true, width: 100 });
    assert!(coloured.contains('\u{1b}'));
    assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), text(&audit(), Style { colour: false, width: 100 }));
}

#[test]
fn the_markdown_keeps_its_tables_whole() {
    let markdown = markdown(&audit());
    let rows: Vec<&str> = markdown.lines().filter(|line| line.starts_with('|')).collect();
    let bars = |row: &str| row.replace("\\|", "").matches('|').count();
    assert!(rows[..4].iter().all(|row| bars(row) == 8) && rows[4..].iter().all(|row| bars(row) == 5), "{markdown}");
    insta::assert_snapshot!("audit_markdown", markdown);
}

#[test]
fn a_tool_that_takes_no_key_is_a_gap_and_a_server_that_says_nothing_is_no_pass() {
    let tool = |name: &str, key: Option<&str>, reads: Option<bool>| Tool {
        name: name.to_owned(),
        key: key.map(str::to_owned),
        key_is_required: false,
        read_only_hint: reads,
        idempotent_hint: Some(true),
    };
    let mut audit = audit();
    audit.cells.clear();
    let tools =
        vec![tool("pay|\u{1b}[2J", None, None), tool("refund", Some("idempotency_key"), None), tool("list", None, Some(true))];
    audit.servers = vec![ToolServer { command: "python3 server.py".to_owned(), tools, trouble: None }];
    assert_eq!(audit.gaps(), 1);
    let text = text(&audit, Style { colour: false, width: 100 });
    assert!(text.starts_with("GAPS") && !text.contains('\u{1b}'), "{text}");
    insta::assert_snapshot!("audit_tools_text", text);
    insta::assert_snapshot!("audit_tools_markdown", markdown(&audit));
    let silent = ToolServer { command: "true".to_owned(), tools: vec![], trouble: Some("it does not begin".to_owned()) };
    audit.servers = vec![silent];
    assert!(super::text(&audit, Style { colour: false, width: 100 }).starts_with("INCONCLUSIVE"));
}

#[test]
fn what_could_not_be_tried_is_no_pass() {
    let mut audit = audit();
    audit.cells[0].writes[0].gaps.clear();
    assert!(text(&audit, Style { colour: false, width: 100 }).starts_with("INCONCLUSIVE"));
    audit.cells[0].probes.pop();
    assert!(text(&audit, Style { colour: false, width: 100 }).starts_with("NO GAP"));
    audit.cells[0].writes.clear();
    assert!(text(&audit, Style { colour: false, width: 100 }).starts_with("INCONCLUSIVE"), "nothing was seen");
}

#[test]
fn the_checked_in_schema_is_that_of_the_types() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../reports/schema/killpoint.audit-1.json");
    let text = format!("{:#}\n", json_schema());
    if std::env::var_os("KILLPOINT_BLESS").is_some() {
        std::fs::write(&path, &text).expect("written");
    }
    let kept = std::fs::read_to_string(&path).expect("the checked-in file");
    assert!(kept == text, "it is out of date; look at the change, then KILLPOINT_BLESS=1 writes it");
}
