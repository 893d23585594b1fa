//! Turns that a seed gives: both orders of two threads come up, and a life without them is left alone.

use std::collections::BTreeSet;

use super::hands::{Hands, ends_well, python, read};
use super::*;

/// Two threads that are woken take one lock and write; the main thread waits for both.
const ONE_LOCK: &str = "lock = threading.Lock()\ngo = threading.Event()\n\
    def work(n):\n    go.wait()\n    with lock: out('log', n)\n\
    all = [start(lambda n=n: work(n)) for n in 'AB']\ngo.set()\nfor t in all: t.join()\n";

fn order(seed: Option<u64>) -> String {
    let (_keep, dir) = scratch();
    ends_well(&Launch { pauses: seed, ..python(&dir, ONE_LOCK) }, &mut Hands::default());
    read(&dir, "log")
}

#[test]
fn some_of_twenty_seeds_turn_two_writers_round() {
    let orders: BTreeSet<_> = (0..20).map(|seed| order(Some(seed))).collect();
    assert_eq!(orders.iter().map(String::as_str).collect::<Vec<_>>(), ["AB", "BA"]);
}

#[test]
fn a_life_without_turns_is_not_stopped_where_threads_sleep() {
    let sleeps = |wanted| {
        let rules = super::super::calls::Calls::new().rules(wanted);
        rules[0].rules.iter().filter(|rule| rule.number == libc::SYS_futex as u32).count()
    };
    assert_eq!(sleeps(false), 0);
    assert!(sleeps(true) > 0);
    let (_keep, dir) = scratch();
    let outcome = ends_well(&python(&dir, ONE_LOCK), &mut Hands::default());
    assert_eq!(outcome.holds, Holds::default());
}
