//! Findings from hand-written records, and that no failing trial is dropped or counted twice.

use proptest::prelude::*;

use super::{Told, group, merge};
use crate::model::census::{Census, CensusPoint};
use crate::model::event::TrialRecord;
use crate::model::finding::Finding;
use crate::model::interleaving::Interleaving;
use crate::model::life::TrialEnd;
use crate::model::limits::WINDOW_GAP_MAX_POINTS;
use crate::model::point::Point;
use crate::model::schedule::Schedule;
use crate::model::verdict::{Cause, Judgement, Verdict};

fn name(index: usize) -> Point {
    format!("start/write(state.db)#{}", index + 1).parse().expect("a point")
}

fn alias(index: usize) -> Point {
    format!("charge#1:answered/write(state.db)#{}", index + 1).parse().expect("a point")
}

fn census(points: usize) -> Census {
    let point = |index| CensusPoint { point: name(index), aliases: vec![alias(index)], at_us: 100 * index as u64, process: 1 };
    Census { points: (0..points).map(point).collect(), window_start: Some(0) }
}

pub(in crate::campaign) fn judged(intent: &str, verdict: Verdict, cause: Option<Cause>) -> Judgement {
    Judgement {
        promise: "charge".to_owned(),
        intent: intent.to_owned(),
        verdict,
        expected: "exactly 1".to_owned(),
        observed: 2,
        on_the_way: None,
        cause,
        evidence: vec![format!("evidence of {intent}")],
    }
}

pub(in crate::campaign) fn record(point: usize, judgements: Vec<Judgement>) -> TrialRecord {
    TrialRecord {
        cell: 0,
        trial: point as u64,
        point,
        interleaving: Interleaving::AsIs,
        state: None,
        schedule: Schedule::kill(name(point)),
        tries: 1,
        reached: true,
        end: TrialEnd::Done,
        lives: 2,
        cpu_us: 0,
        judgements,
        keys_stable: std::collections::BTreeMap::new(),
    }
}

fn fails(point: usize) -> TrialRecord {
    record(point, vec![judged("inv_9", Verdict::Duplicated, Some(Cause::NoKey))])
}

fn clean(point: usize) -> TrialRecord {
    record(point, vec![judged("inv_9", Verdict::Once, None)])
}

fn unreached(point: usize) -> TrialRecord {
    TrialRecord { reached: false, end: TrialEnd::Unreached, ..record(point, Vec::new()) }
}

/// One record for each character: `x` fails, `.` is clean, `-` is not reached, `?` is unknown.
fn sweep(marks: &str) -> Vec<TrialRecord> {
    let each = marks.chars().enumerate().map(|(point, mark)| match mark {
        'x' => fails(point),
        '.' => clean(point),
        '?' => record(point, vec![judged("inv_9", Verdict::Unknown, None)]),
        _ => unreached(point),
    });
    each.collect()
}

fn found(marks: &str) -> Vec<Finding> {
    group(&["durability=async".to_owned()], &census(marks.len()), &sweep(marks))
}

/// First, last, the closing point, failing and clean points of each window.
fn windows(finding: &Finding) -> Vec<(Point, Point, Option<Point>, u32, u32)> {
    let each = finding.windows.iter();
    each.map(|w| (w.first.clone(), w.last.clone(), w.closed_by.clone(), w.points, w.clean_points)).collect()
}

#[test]
fn neighbouring_failures_are_one_window_that_the_next_clean_point_closes() {
    let findings = found("..xxx..");
    assert_eq!(findings.len(), 1);
    let finding = &findings[0];
    assert_eq!(windows(finding), [(name(2), name(4), Some(name(5)), 3, 0)]);
    assert_eq!((finding.window.micros, finding.trials, finding.observed), (200, 3, 2));
    assert_eq!((finding.verdict, finding.cause, finding.promise.as_str()), (Verdict::Duplicated, Cause::NoKey, "charge"));
    assert_eq!((finding.cell.as_slice(), finding.intent.as_str()), (["durability=async".to_owned()].as_slice(), "inv_9"));
    assert_eq!((finding.schedule.clone(), finding.confirmed_by_sigkill), (Schedule::kill(name(2)), true));
    assert_eq!((finding.why.as_slice(), finding.id.as_str()), (["evidence of inv_9".to_owned()].as_slice(), ""));
}

#[test]
fn clean_unknown_and_unreached_trials_are_no_findings() {
    assert!(found("..?-.").is_empty());
    assert!(found("").is_empty());
}

#[test]
fn a_few_clean_points_do_not_cut_a_window_and_more_do() {
    let with_gap = |gap: usize| windows(&found(&format!("x{}xx", ".".repeat(gap)))[0]).len();
    assert_eq!(with_gap(WINDOW_GAP_MAX_POINTS), 1);
    assert_eq!(with_gap(WINDOW_GAP_MAX_POINTS + 1), 2);
    assert_eq!(windows(&found("x.x")[0])[0].4, 1, "the clean point inside is counted");
}

#[test]
fn unreached_points_neither_fail_nor_cut_nor_close() {
    let marks = format!("x{}x--.", "-".repeat(WINDOW_GAP_MAX_POINTS + 5));
    let closing = marks.len() - 1;
    let found = found(&marks);
    assert_eq!(windows(&found[0]), [(name(0), name(closing - 3), Some(name(closing)), 2, 0)]);
}

#[test]
fn an_unknown_point_does_not_close_a_window() {
    assert_eq!(found("xx?.")[0].window.closed_by, Some(name(3)));
    assert_eq!(found("xx?")[0].window.closed_by, None);
}

#[test]
fn the_widest_window_stands_for_the_finding() {
    let marks = format!("x{}xxx.", ".".repeat(WINDOW_GAP_MAX_POINTS + 1));
    let finding = &found(&marks)[0];
    let first = WINDOW_GAP_MAX_POINTS + 2;
    assert_eq!((finding.windows.len(), finding.window.first.clone()), (2, name(first)));
    assert_eq!((finding.schedule.clone(), finding.trials), (Schedule::kill(name(first)), 4));
}

#[test]
fn of_two_windows_alike_the_first_stands_for_the_finding() {
    let marks = format!("xx{}xx", ".".repeat(WINDOW_GAP_MAX_POINTS + 1));
    assert_eq!(found(&marks)[0].window.first, name(0));
}

#[test]
fn a_trial_reached_under_its_own_name_is_preferred() {
    let mut records = sweep("xx.");
    records[0].schedule = Schedule::kill(alias(0));
    let finding = |records: &[TrialRecord]| group(&[], &census(3), records).remove(0);
    assert_eq!(finding(&records).schedule, Schedule::kill(name(1)));
    records[1].schedule = Schedule::kill(alias(1));
    assert_eq!(finding(&records).schedule, Schedule::kill(alias(0)));
}

#[test]
fn verdicts_and_causes_are_findings_of_their_own_the_worst_first() {
    let mut records = sweep("xxxx");
    records[1].judgements = vec![judged("inv_9", Verdict::Stuck, Some(Cause::ResumeFails))];
    records[2].judgements = vec![judged("inv_9", Verdict::Lost, Some(Cause::NotRetried))];
    records[3].judgements = vec![judged("inv_9", Verdict::Duplicated, Some(Cause::KeyChanged))];
    let findings = group(&[], &census(4), &records);
    let found: Vec<_> = findings.iter().map(|finding| (finding.verdict, finding.cause)).collect();
    let expected = [
        (Verdict::Duplicated, Cause::NoKey),
        (Verdict::Duplicated, Cause::KeyChanged),
        (Verdict::Lost, Cause::NotRetried),
        (Verdict::Stuck, Cause::ResumeFails),
    ];
    assert_eq!(found, expected);
    assert!(findings.iter().all(|finding| finding.window.closed_by.is_none() && finding.window.clean_points == 0));
}

#[test]
fn intents_that_share_a_cause_are_one_finding_with_a_window_each() {
    let both = |point: usize, one: Verdict, two: Verdict| {
        let cause = |verdict: Verdict| verdict.is_finding().then_some(Cause::NoKey);
        record(point, vec![judged("inv_1", one, cause(one)), judged("inv_2", two, cause(two))])
    };
    let (ok, bad) = (Verdict::Once, Verdict::Duplicated);
    let records = [both(0, bad, ok), both(1, bad, bad), both(2, ok, bad), both(3, ok, bad), both(4, ok, ok)];
    let findings = group(&[], &census(5), &records);
    assert_eq!(findings.len(), 1);
    let finding = &findings[0];
    let of: Vec<_> = finding.windows.iter().map(|w| (w.intent.as_str(), w.points, w.closed_by.clone())).collect();
    assert_eq!(of, [("inv_1", 2, Some(name(2))), ("inv_2", 3, Some(name(4)))]);
    assert_eq!((finding.intents.join(" "), finding.intent.as_str(), finding.trials), ("inv_2 inv_1".to_owned(), "inv_2", 4));
    assert_eq!(finding.why, ["evidence of inv_2"]);
}

#[test]
fn an_intent_that_only_failing_trials_have_is_closed_by_a_point_that_kept_the_promise() {
    let foreign = judged("attempt=2", Verdict::Diverged, Some(Cause::NoKey));
    let mut records = sweep("xx?.");
    for record in &mut records[..2] {
        record.judgements = vec![judged("inv_9", Verdict::Once, None), foreign.clone()];
    }
    assert_eq!(group(&[], &census(4), &records)[0].window.closed_by, Some(name(3)));
}

#[test]
fn a_point_that_failed_in_one_of_two_rounds_fails() {
    let mut records = sweep("x.");
    records.extend(sweep("..").into_iter().map(|record| TrialRecord { trial: record.trial + 2, ..record }));
    let findings = group(&[], &census(2), &records);
    assert_eq!((findings[0].window.points, findings[0].trials), (1, 1));
    assert_eq!(findings[0].window.closed_by, Some(name(1)));
}

#[test]
fn a_record_of_a_point_that_the_census_lacks_is_not_dropped() {
    let findings = group(&[], &census(1), &[TrialRecord { point: usize::MAX, ..fails(7) }]);
    assert_eq!((findings[0].window.first.clone(), findings[0].trials), (name(7), 1));
}

fn any_record() -> impl Strategy<Value = TrialRecord> {
    let judgement = (0..3_u8, 0..2_u8, prop::sample::select(Verdict::ALL.to_vec()), any::<bool>());
    let judgements = prop::collection::vec(judgement, 0..4);
    (0..40_usize, any::<bool>(), judgements).prop_map(|(point, reached, judgements)| {
        let judgement = |(intent, promise, verdict, known): (u8, u8, Verdict, bool)| Judgement {
            promise: format!("p{promise}"),
            cause: (verdict.is_finding() && known).then_some(Cause::NoKey),
            ..judged(&format!("i{intent}"), verdict, None)
        };
        TrialRecord { reached, ..record(point, judgements.into_iter().map(judgement).collect()) }
    })
}

fn one_per_point() -> impl Strategy<Value = Vec<TrialRecord>> {
    prop::collection::vec(any_record(), 0..30).prop_map(|mut records| {
        records.sort_by_key(|record| record.point);
        records.dedup_by_key(|record| record.point);
        records
    })
}

#[test]
fn a_finding_is_told_in_the_plainest_order_and_another_order_only_where_it_is_wider() {
    let told = |interleaving, prefix: &str, marks: &str| Told {
        interleaving,
        prefix: if prefix.is_empty() { Schedule::default() } else { prefix.parse().expect("a schedule") },
        findings: group(&[], &census(marks.len()), &sweep(marks)),
    };
    let merged = merge(vec![
        told(Interleaving::AsIs, "", "..xx..."),
        told(Interleaving::FlushLate, "", "..xxxx."),
        told(Interleaving::Seed(1), "", "..xx..."),
        told(Interleaving::AsIs, "charge#1:executed", ".xxxxx."),
    ]);
    let [finding] = merged.as_slice() else { panic!("{merged:?}") };
    assert_eq!(finding.interleaving, Interleaving::AsIs);
    let windows: Vec<_> = finding.windows.iter().map(|window| (window.interleaving, window.last.clone())).collect();
    assert_eq!(windows, [(Interleaving::AsIs, name(3)), (Interleaving::FlushLate, name(5))]);
    assert_eq!(finding.trials, 2 + 4 + 2 + 5);

    let late = merge(vec![told(Interleaving::AsIs, "", "......"), told(Interleaving::AsIs, "charge#1:executed", "..xx..")]);
    assert_eq!(late[0].window.after.as_ref().map(ToString::to_string).as_deref(), Some("charge#1:executed kill"));
}

proptest! {
    #[test]
    fn every_failing_trial_is_in_exactly_the_findings_of_its_failures(mut records in prop::collection::vec(any_record(), 0..60)) {
        for (index, record) in records.iter_mut().enumerate() {
            record.trial = index as u64;
        }
        let findings = group(&[], &census(40), &records);
        let mut counted = 0;
        for finding in &findings {
            let own = |judgement: &&Judgement| {
                (judgement.verdict, judgement.cause.unwrap_or(Cause::Unexplained), &judgement.promise)
                    == (finding.verdict, finding.cause, &finding.promise)
            };
            let failing: Vec<&TrialRecord> =
                records.iter().filter(|record| record.reached && record.judgements.iter().any(|j| own(&j))).collect();
            prop_assert_eq!(failing.len(), finding.trials as usize);
            for record in &failing {
                for judgement in record.judgements.iter().filter(own) {
                    counted += 1;
                    let holds = |w: &&crate::model::finding::Window| {
                        let at = |point: &Point| (0..40).find(|index| name(*index) == *point).expect("in the census");
                        w.intent == judgement.intent && (at(&w.first)..=at(&w.last)).contains(&record.point)
                    };
                    prop_assert_eq!(finding.windows.iter().filter(holds).count(), 1);
                }
            }
            prop_assert!(finding.windows.contains(&finding.window));
            prop_assert!(failing.iter().any(|record| record.schedule == finding.schedule));
            prop_assert!(finding.windows.iter().all(|window| window.points <= finding.window.points));
        }
        let failing = records.iter().filter(|record| record.reached).flat_map(|record| &record.judgements);
        prop_assert_eq!(counted, failing.filter(|judgement| judgement.verdict.is_finding()).count());
        prop_assert!(findings.windows(2).all(|pair| pair[0].verdict >= pair[1].verdict));
    }

    #[test]
    fn the_order_of_the_records_changes_nothing(records in one_per_point().prop_flat_map(|records| {
        (Just(records.clone()), Just(records).prop_shuffle())
    })) {
        prop_assert_eq!(group(&[], &census(40), &records.0), group(&[], &census(40), &records.1));
    }
}
