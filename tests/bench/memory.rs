//! Memory and time of campaigns that grow tenfold: memory has to stay flat, time has to grow with the trials.

use super::machine::Machine;
use super::table::{Goal, Row};

const PROGRAM: &str = env!("CARGO_BIN_EXE_charge_then_record");
const FLAT_KIB: f64 = 200.0 * 1024.0;

/// A row for the memory of each size, against the goal; and one for the time of a trial against that of the smallest.
pub fn rows(machine: &Machine) -> Vec<Row> {
    let scenario = machine.native("charge_then_record", PROGRAM);
    let sizes: &[u32] = if machine.is_full { &[100, 1_000, 10_000] } else { &[100, 1_000] };
    let mut rows = Vec::new();
    let mut smallest = None;
    for size in sizes {
        let ran = machine.campaign(&scenario, &["--strategy", "sample", "--trials", &size.to_string()]);
        let trials = ran.report["trials"]["killed"].as_f64().unwrap_or(0.0);
        let each = ran.wall.as_secs_f64() / f64::from(*size);
        let first = *smallest.get_or_insert(each);
        let peak = f64::from(u32::try_from(ran.peak_kib).unwrap_or(u32::MAX));
        rows.push(Row {
            group: "memory",
            what: format!("peak memory of a sample of {size} ({trials} trials), against the 200 MiB it may have"),
            ours: format!("{:.1} MiB", peak / 1024.0),
            other: "200 MiB".to_owned(),
            ratio: Some(peak / FLAT_KIB),
            is_bound: false,
            goal: Goal::AtMost(1.0),
        });
        rows.push(Row {
            group: "memory",
            what: format!("time for each of {size} trials, against that for each of {}", sizes[0]),
            ours: format!("{:.2} ms ({:.1} s in all)", each * 1e3, ran.wall.as_secs_f64()),
            other: format!("{:.2} ms", first * 1e3),
            ratio: Some(each / first),
            is_bound: false,
            goal: Goal::None,
        });
    }
    if !machine.is_full {
        rows.push(Row::skipped("memory", "10,000 trials: only with KILLPOINT_BENCH_FULL=1"));
    }
    rows
}
