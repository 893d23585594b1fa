//! Threads that wait for their turn until the rest of the tree stands still, and the look that says whether it does.
//!
//! A thread stands still when the kernel says that it sleeps and it has not been given the CPU between two looks: one that polls
//! with short sleeps never does, and is waited for only up to a limit.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use libc::pid_t;
use tokio::sync::oneshot;

use super::turns::FALL_LASTS;
use super::{Engine, Step};
use crate::model::limits::{HOLD_MAX_MS, HOLDS_PER_LIFE_MAX_MS, PAUSE_MAX_MS};
use crate::sys::signal::Ticker;
use crate::tracer::tasks::{self, State};
use crate::tracer::{Call, Holds};

/// What a thread waits with.
#[derive(Debug)]
pub(super) enum Turn {
    /// Before a call that is not decided yet.
    Call(Call),
    /// Before its first instruction, or on its way out of a sleep.
    Way,
}

#[derive(Debug)]
struct Waiting {
    tid: pid_t,
    since: Instant,
    /// It is kept until then, whatever the others do.
    until: Option<Instant>,
    turn: Turn,
}

#[derive(Debug)]
struct Asked {
    until: Instant,
    done: oneshot::Sender<bool>,
}

/// Who waits, and for what.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// In the order in which they came.
    waiting: Vec<Waiting>,
    asked: Vec<Asked>,
    /// The last look: when, and how often each running thread had been given the CPU.
    looked: Option<(Instant, HashMap<pid_t, u64>)>,
    ticker: Option<Ticker>,
    began: Option<Instant>,
    spent: Duration,
    holds: Holds,
    /// The thread that falls behind all others, when, and the timer for it.
    fall: Option<(pid_t, Instant, Option<Ticker>)>,
}

impl Waits {
    /// How many waits there were.
    pub(super) fn told(&self) -> Holds {
        self.holds
    }

    /// A thread has ended.
    pub(super) fn forget(&mut self, tid: pid_t) {
        self.waiting.retain(|waiting| waiting.tid != tid);
    }

    /// Nobody waits any more.
    pub(super) fn give_up(&mut self) {
        self.waiting.clear();
        self.asked.clear();
        self.fall = None;
        self.rest();
    }

    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.asked.is_empty()
    }

    /// Whether so much time was spent waiting in this life that nobody is to wait any more.
    fn is_spent(&self) -> bool {
        let now = self.began.map_or(Duration::ZERO, |began| began.elapsed());
        self.spent + now > Duration::from_millis(HOLDS_PER_LIFE_MAX_MS)
    }

    /// Counts the time, and has the look repeated, while somebody waits.
    fn wake(&mut self) {
        if self.began.is_none() && !self.waiting.is_empty() {
            self.began = Some(Instant::now());
        }
        if self.ticker.is_none() {
            // Without a timer the looks come with other events alone.
            self.ticker = Ticker::start(LOOK_EVERY).ok();
        }
    }

    fn rest(&mut self) {
        if self.waiting.is_empty()
            && let Some(began) = self.began.take()
        {
            self.spent += began.elapsed();
        }
        if self.is_idle() {
            (self.ticker, self.looked) = (None, None);
        }
    }
}

/// The time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(1);

impl Engine<'_> {
    /// Whether a thread is to wait before this call.
    pub(super) fn must_wait(&mut self, call: &Call) -> bool {
        if self.waits.is_spent() {
            return false;
        }
        self.policy.holds(call) || self.is_paused(call.tid)
    }

    fn is_paused(&mut self, tid: pid_t) -> bool {
        let is_time = self.tasks.len() > 1 && self.turns.is_some() && self.policy.gives_turns();
        is_time && self.turns.as_mut().is_some_and(|turns| turns.is_paused(tid))
    }

    /// Whether a thread that stops is at its birth, and threads are stopped there.
    pub(super) fn is_birth(&mut self, tid: pid_t) -> bool {
        let is_birth = self.root_ran && self.sleepers.as_mut().is_some_and(|sleepers| sleepers.is_new(tid));
        if is_birth && let Some(turns) = &mut self.turns {
            turns.meet(tid);
        }
        is_birth
    }

    /// A thread that is born, or has woken, goes on when it is its turn.
    pub(super) fn take_turn(&mut self, tid: pid_t) {
        if !self.waits.is_spent() && (self.is_paused(tid) || self.policy.holds_at_wake(tid)) {
            self.wait(tid, Turn::Way);
        } else {
            self.go(tid, 0);
            self.draw_fall(tid);
        }
    }

    /// Lets the seed say whether a thread that goes on falls behind at an instant soon after.
    fn draw_fall(&mut self, tid: pid_t) {
        let is_time = self.turns.is_some() && self.tasks.len() > 1 && self.policy.gives_turns();
        if !is_time {
            return;
        }
        // It is drawn even where it is not done, so that the next one is the same.
        let drawn = self.turns.as_mut().and_then(|turns| turns.next_fall(tid));
        if let Some(after) = drawn
            && self.waits.fall.is_none()
            && !self.waits.is_spent()
        {
            // Without a timer it falls at the next event.
            self.waits.fall = Some((tid, Instant::now() + after, Ticker::once(after).ok()));
        }
    }

    /// Stops the thread whose instant has come.
    fn look_at_fall(&mut self) {
        let Some((tid, at, _)) = self.waits.fall else { return };
        if Instant::now() < at || self.stops.is_stopping() || self.killing.is_some() {
            return;
        }
        if self.tasks.state(tid) == Some(State::Running) {
            self.interrupt(tid);
        } else {
            self.waits.fall = None;
        }
    }

    /// Whether a thread stops because it falls behind; it waits then.
    pub(super) fn has_fallen(&mut self, tid: pid_t) -> bool {
        let is_it = self.waits.fall.as_ref().is_some_and(|(falling, at, _)| *falling == tid && Instant::now() >= *at);
        if is_it {
            self.waits.fall = None;
            if let Some(turns) = &mut self.turns {
                turns.falls(tid);
            }
            self.wait(tid, Turn::Way);
            if let Some(waiting) = self.waits.waiting.iter_mut().find(|waiting| waiting.tid == tid) {
                waiting.until = Some(Instant::now() + FALL_LASTS);
            }
        }
        is_it
    }

    /// Makes a thread wait.
    pub(super) fn wait(&mut self, tid: pid_t, turn: Turn) {
        self.tasks.set(tid, State::Waiting);
        self.waits.waiting.push(Waiting { tid, since: Instant::now(), until: None, turn });
        self.waits.holds.made += 1;
        self.waits.looked = None;
        self.waits.wake();
        self.look_at_waits();
    }

    /// Answers when no thread runs, or when the limit has passed.
    pub(super) fn ask_for_stillness(&mut self, limit: Duration, done: oneshot::Sender<bool>) {
        self.waits.asked.push(Asked { until: Instant::now() + limit, done });
        self.waits.looked = None;
        self.waits.wake();
        self.look_at_waits();
    }

    /// Looks at everything that waits for something.
    pub(super) fn look(&mut self) {
        self.look_at_stops();
        self.look_at_fall();
        self.look_at_waits();
    }

    fn look_at_waits(&mut self) {
        if self.waits.is_idle() || self.stops.is_stopping() || self.killing.is_some() {
            return;
        }
        let is_still = self.is_still();
        let now = Instant::now();
        for asked in std::mem::take(&mut self.waits.asked) {
            if is_still || now >= asked.until {
                // The one who asked may have gone; then nobody waits for it.
                let _ = asked.done.send(is_still);
            } else {
                self.waits.asked.push(asked);
            }
        }
        let limit = Duration::from_millis(if self.turns.is_some() { PAUSE_MAX_MS } else { HOLD_MAX_MS });
        let late = self.waits.waiting.iter().position(|waiting| now.duration_since(waiting.since) > limit);
        let next = match late {
            _ if is_still => self.next_turn(),
            Some(late) => {
                self.waits.holds.timed_out += 1;
                Some(late)
            }
            None if self.waits.is_spent() => self.next_turn(),
            None => None,
        };
        if let Some(next) = next {
            let waiting = self.waits.waiting.remove(next);
            self.waits.looked = None;
            self.resume(waiting);
        }
        self.waits.rest();
    }

    /// Whose turn it is: of threads before a call that were held the one that came last, so that the oldest waits longest; where a seed
    /// gives turns, the one it puts first.
    fn next_turn(&self) -> Option<usize> {
        let (waiting, now) = (&self.waits.waiting, Instant::now());
        let mut free = (0..waiting.len()).filter(|index| waiting[*index].until.is_none_or(|until| now >= until));
        match &self.turns {
            Some(turns) => free.max_by_key(|index| turns.rank(waiting[*index].tid)),
            None => free.next_back(),
        }
    }

    fn resume(&mut self, waiting: Waiting) {
        let tid = waiting.tid;
        self.tasks.set(tid, State::Running);
        match waiting.turn {
            Turn::Call(call) => {
                let step = self.decide(&call);
                self.take(tid, step);
            }
            Turn::Way => self.take(tid, Step::Go),
        }
        self.draw_fall(tid);
    }

    /// Whether no thread runs, by this look and the one before, and nothing from outside is about to move one.
    fn is_still(&mut self) -> bool {
        let running = self.tasks.running();
        if running.is_empty() {
            return self.policy.is_quiet_outside();
        }
        // Two looks in a row see the same short sleep.
        if self.waits.looked.as_ref().is_some_and(|(at, _)| at.elapsed() < LOOK_EVERY / 2) {
            return false;
        }
        let mut now = HashMap::new();
        for tid in running {
            match tasks::turns_of_sleeper(tid) {
                Some(turns) => drop(now.insert(tid, turns)),
                None if self.tasks.is_over(tid) => {}
                None => {
                    self.waits.looked = None;
                    return false;
                }
            }
        }
        let is_same = now.is_empty() || self.waits.looked.as_ref().is_some_and(|(_, before)| *before == now);
        self.waits.looked = Some((Instant::now(), now));
        is_same && self.policy.is_quiet_outside()
    }
}
