//! The turns that a seed gives: probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatte, "A Randomized Scheduler
//! with Probabilistic Guarantees of Finding Bugs", ASPLOS 2010).
//!
//! Every thread draws a priority at birth. At each event (its birth, a wake-up from a futex, a state-changing call) a thread waits while
//! one of a higher priority may run; at a few events, which the seed picks as well, it falls behind all others.

use std::collections::HashMap;
use std::time::Duration;

use libc::pid_t;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// One event in so many makes its thread fall behind all others: the paper's change points, for a run of unknown length.
const CHANGE_ONE_IN: u32 = 12;

/// One thread that goes on in so many falls behind at an instant after that.
const FALL_ONE_IN: u32 = 2;
/// How soon that is, in microseconds: what a thread does between taking its work and beginning it lies in between.
const FALL_AFTER_US: std::ops::Range<u64> = 10..400;
/// How long such a thread is kept at least: longer than the interval after which CPython makes a thread give up its lock
/// (sys.getswitchinterval, 5 ms), so that one that is kept with that lock gives it up when it goes on.
pub(super) const FALL_LASTS: Duration = Duration::from_millis(7);

/// One thread: what it draws, and where it stands. It draws from a stream of its own, so that what it meets does not depend on who
/// else was faster.
#[derive(Debug)]
struct Thread {
    random: ChaCha8Rng,
    /// `None`: it has had no event.
    rank: Option<i64>,
}

/// The priorities of one life.
#[derive(Debug)]
pub(super) struct Turns {
    seed: u64,
    born: u64,
    threads: HashMap<pid_t, Thread>,
    /// The next rank below all others.
    lowest: i64,
}

impl Turns {
    /// The turns of a seed.
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, born: 0, threads: HashMap::new(), lowest: -1 }
    }

    /// A thread is born, or is seen for the first time.
    pub(super) fn meet(&mut self, tid: pid_t) {
        self.thread(tid);
    }

    fn thread(&mut self, tid: pid_t) -> &mut Thread {
        self.threads.entry(tid).or_insert_with(|| {
            self.born += 1;
            let mut random = ChaCha8Rng::seed_from_u64(self.seed);
            random.set_stream(self.born);
            Thread { random, rank: None }
        })
    }

    /// A thread's rank; the highest goes first.
    pub(super) fn rank(&self, tid: pid_t) -> i64 {
        self.threads.get(&tid).and_then(|thread| thread.rank).unwrap_or(i64::MAX)
    }

    /// Whether a thread at an event waits for its turn: another one ranks higher.
    pub(super) fn is_paused(&mut self, tid: pid_t) -> bool {
        let thread = self.thread(tid);
        if thread.rank.is_none() {
            thread.rank = Some(thread.random.random_range(0..i64::from(u32::MAX)));
        }
        if thread.random.random_ratio(1, CHANGE_ONE_IN) {
            self.falls(tid);
        }
        let own = self.rank(tid);
        self.threads.values().any(|other| other.rank.is_some_and(|rank| rank > own))
    }

    /// Whether a thread that goes on now is to fall behind all others at an instant that comes soon, and when. Such an instant may lie
    /// between two events: after work was taken from a queue, and before the lock that orders what is done with it.
    pub(super) fn next_fall(&mut self, tid: pid_t) -> Option<Duration> {
        let random = &mut self.thread(tid).random;
        let (falls, after) = (random.random_ratio(1, FALL_ONE_IN), random.random_range(FALL_AFTER_US));
        falls.then_some(Duration::from_micros(after))
    }

    /// A thread falls behind all others.
    pub(super) fn falls(&mut self, tid: pid_t) {
        let lowest = self.lowest;
        self.thread(tid).rank = Some(lowest);
        self.lowest -= 1;
    }

    /// A thread has ended.
    pub(super) fn forget(&mut self, tid: pid_t) {
        self.threads.remove(&tid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_draws_depends_on_the_seed_and_not_on_who_was_faster() {
        let draw = |seed, order: &[pid_t]| {
            let mut turns = Turns::new(seed);
            (1..=3).for_each(|tid| turns.meet(tid));
            let mut drawn: Vec<_> = order
                .iter()
                .map(|tid| {
                    turns.is_paused(*tid);
                    (*tid, turns.rank(*tid).max(-1), turns.next_fall(*tid))
                })
                .collect();
            drawn.sort_by_key(|(tid, ..)| *tid);
            drawn
        };
        let (one, other) = ([1, 2, 3, 1, 2, 3, 1, 2, 3], [3, 3, 2, 1, 3, 1, 1, 2, 2]);
        let drawn: Vec<_> = (0..50).map(|seed| draw(seed, &one)).collect();
        assert_eq!(drawn, (0..50).map(|seed| draw(seed, &other)).collect::<Vec<_>>());
        assert!(drawn.windows(2).all(|two| two[0] != two[1]));
    }
}
