//! Snapshots of the terminal report, read as a person would who sees killpoint for the first time.

use super::*;
use crate::report::samples;

const PLAIN_80: Style = Style { colour: false, width: 80 };

#[test]
fn each_kind_of_run_at_80_and_at_120_columns() {
    for (name, report) in samples::all() {
        for width in [80, 120] {
            insta::assert_snapshot!(format!("text-{name}-{width}"), text(&report, Style { colour: false, width }));
        }
    }
}

#[test]
fn the_first_screen_has_the_verdict_the_window_the_reason_the_remedy_and_the_command() {
    let screen = |report: &Report| text(report, PLAIN_80).lines().take(24).collect::<Vec<_>>().join("\n");
    let shown = screen(&samples::findings());
    let words = [
        "FINDINGS",
        "F1 duplicated: charge of inv_9 happened 2 times",
        "xxxxxxx",
        "first bad",
        "last bad",
        "safe again",
        "no idempotency key",
        "killpoint explain no_key",
        "killpoint replay F1",
    ];
    for word in words {
        assert!(shown.contains(word), "{word}\n{shown}");
    }
    assert!(screen(&samples::clean()).contains("all 122 of 122 crash points of 1 run"));
    assert!(screen(&samples::inconclusive()).contains("not a pass"));
    assert!(screen(&samples::baseline_broken()).contains("happened 2 times, promised exactly 1"));
}

#[test]
fn only_what_must_not_be_broken_is_wider_than_the_terminal() {
    for (name, report) in samples::all() {
        for line in text(&report, PLAIN_80).lines().filter(|line| line.chars().count() > 80) {
            let whole = ["(", "replay", "_"].iter().any(|part| line.contains(part));
            assert!(whole, "{name}: {line}");
        }
    }
}

#[test]
fn colour_adds_nothing_but_colour() {
    let codes = regex::Regex::new("\u{1b}\\[[0-9;]*m").expect("a pattern");
    for (name, report) in samples::all() {
        let coloured = text(&report, Style { colour: true, width: 80 });
        let plain = text(&report, PLAIN_80);
        let bare = codes.replace_all(&coloured, "").into_owned();
        assert_ne!(coloured, plain, "{name}");
        let trimmed = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        assert_eq!(trimmed(&bare), trimmed(&plain), "{name}");
    }
}

#[test]
fn a_foreign_text_cannot_drive_the_terminal() {
    let mut report = samples::findings();
    report.scenario = "a\u{1b}]0;title\u{7}".to_owned();
    report.findings[0].intent = "inv\u{1b}[2J\u{202e}9\r".to_owned();
    report.findings[0].why = vec!["a\nb\u{9b}31m".to_owned()];
    report.findings[0].repro = "killpoint replay F1\u{8}".to_owned();
    let shown = text(&report, PLAIN_80);
    assert!(shown.chars().all(|c| c == '\n' || (!c.is_control() && c != '\u{202e}')), "{shown:?}");
    assert!(shown.contains(r"inv\u{1b}[2J\u{202e}9\r"), "{shown}");
}

#[test]
fn without_a_strip_the_window_is_still_named() {
    let mut report = samples::findings();
    for cell in &mut report.cells {
        cell.strip.clear();
        cell.landmarks.clear();
    }
    insta::assert_snapshot!("text-findings-without-strip", text(&report, PLAIN_80));
}

#[test]
fn points_of_another_finding_are_not_drawn_as_those_of_this_one() {
    let shown = text(&samples::long_names(), PLAIN_80);
    let strips: Vec<&str> =
        shown.lines().filter(|line| line.contains("xx..xxx") || line.contains("oo..xxx") || line.contains("xxx..ooo")).collect();
    assert!(strips[0].contains(".xx.xxx..ooo.") && strips[1].contains(".oo.ooo..xxx."), "{strips:#?}");
}

#[test]
fn where_a_window_cannot_be_placed_the_strip_says_that_it_shows_all_findings() {
    let mut report = samples::long_names();
    report.cells[0].landmarks.retain(|mark| mark.index != 501);
    let shown = text(&report, PLAIN_80);
    let place = |part: &str| shown.find(part).expect(part);
    assert!(
        place(".xx.xxx..xxx.") < place("x any finding of this cell") && place("x any finding of this cell") < place("F2 lost")
    );
    assert_eq!(shown.matches("x any finding").count(), 1, "{shown}");
}

#[test]
fn a_big_matrix_does_not_push_the_first_finding_off_the_screen() {
    let mut report = samples::findings();
    for number in 0..100 {
        let mut cell = samples::clean().cells[0].clone();
        cell.cell = vec![format!("number={number}")];
        report.cells.push(cell);
    }
    let shown = text(&report, PLAIN_80);
    let place = |part: &str| shown.lines().position(|line| line.contains(part)).expect(part);
    assert!(place("killpoint replay F1") < 24, "{shown}");
    assert!(place("number=99") > place("killpoint replay F3"), "{shown}");
}

#[test]
fn a_clean_run_of_a_part_of_the_points_says_that_it_was_a_part() {
    let mut report = samples::clean();
    report.points.census = 400;
    let shown = text(&report, PLAIN_80).replace('\n', " ");
    assert!(shown.contains("all 122 of 122 crash points (planned; the runs have 400 in all)"), "{shown}");
}

#[test]
fn at_most_ten_unreached_points_are_named() {
    let shown = text(&samples::inconclusive(), PLAIN_80);
    assert_eq!(shown.matches("pwrite64(checkpoints.db-wal)#").count(), 10, "{shown}");
    assert!(shown.contains("and 2 more, in report.json"), "{shown}");
}

#[test]
fn a_clean_run_says_how_often_a_promise_was_kept_by_what_it_allows() {
    let mut report = samples::clean();
    let unused = text(&report, PLAIN_80);
    report.cells[0].allowances = vec![Allowance { promise: "charge".to_owned(), declared_unknown: 4, surplus: 1, most: 2 }];
    let shown = text(&report, PLAIN_80).split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "after 4 points",
        "the workflow said that it does not know whether charge happened, and ended; the scenario accepts that.",
        "After 1 point",
        "there were more of charge on the way, up to 2",
    ] {
        assert!(shown.contains(words), "no `{words}` in\n{shown}");
    }
    assert!(!unused.contains("does not know") && !unused.contains("on the way"), "{unused}");
}
