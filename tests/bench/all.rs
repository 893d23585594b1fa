//! The benchmarks: killpoint beside what one would do without it, in one run, as ratios. `cargo bench`, or `cargo bench -- strace trial`.
//!
//! Each group is a file with one function that returns rows. Every number comes from the run. The goals are shown beside the
//! ratios; a goal that is missed is no failure, because times depend on the machine. `KILLPOINT_BENCH_FULL=1` leaves nothing out.

mod machine;
mod memory;
mod random;
mod strace;
mod table;
mod trace;
mod trial;
mod world;

use machine::Machine;
use table::Row;

type Group = (&'static str, fn(&Machine) -> Vec<Row>);

const GROUPS: [Group; 5] = [
    ("strace", strace::rows),
    ("trace", trace::rows),
    ("trial", trial::rows),
    ("random", random::rows),
    ("memory", memory::rows),
];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    if let Some(word) = wanted.iter().find(|word| GROUPS.iter().all(|(name, _)| name != word)) {
        eprintln!("error: no group is called {word}\nhint: {}", GROUPS.map(|(name, _)| name).join(", "));
        std::process::exit(2);
    }
    let machine = Machine::new(std::env::var("KILLPOINT_BENCH_FULL").is_ok_and(|value| value == "1"));
    let mut rows = Vec::new();
    for (name, group) in GROUPS {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            eprintln!("{name} ...");
            rows.extend(group(&machine));
        }
    }
    let text = table::text(&rows, &machine);
    print!("{text}");
    if wanted.is_empty() {
        let file = machine.root.join("reports/benchmarks.md");
        std::fs::write(&file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        eprintln!("written to {}", file.display());
    } else {
        eprintln!("only a run of all groups is written to reports/benchmarks.md");
    }
}
