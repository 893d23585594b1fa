//! The eye on one life: it orders the tracer's calls and the sandbox's moments in one sequence, counts them, and knows when the
//! point that was asked for has come.
//!
//! One lock orders everything. The last byte of an answer is written while it is held, so that no call which the client makes
//! because of the answer can be recorded before the answer.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::naming::{self, Namer, Place};
use crate::model::call::{Notice, Object};
use crate::model::census::{Census, CensusPoint};
use crate::model::limits::{NOTICES_PER_LIFE_MAX, POINTS_PER_CENSUS_MAX};
use crate::model::point::{Anchor, CallName, Moment, Point, WirePoint};
use crate::sandbox::{Seen, Written};
use crate::sys::diag::unread_bytes;
use crate::tracer::{Action, Call, Policy};

/// Counts and records one life.
#[derive(Debug)]
pub struct Recorder {
    inner: Mutex<Inner>,
}

/// What is to be done about a moment of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Nothing.
    Pass,
    /// The point has come: stop the tree and kill it.
    Kill,
    /// The point is the answer to this request: stop the tree before the answer goes out.
    Hold,
}

type Counts = HashMap<CallName, u32>;

#[derive(Debug)]
struct Inner {
    started: Instant,
    namer: Arc<Namer>,
    target: Option<Point>,
    /// Calls that match the target, since its anchor came; `None`: the anchor has not come.
    target_count: Option<u32>,
    hit: bool,
    /// The target's request is answered and the harness steps to see it read.
    watched: Option<Seen>,
    census: Vec<CensusPoint>,
    is_full: bool,
    counts: Counts,
    /// The latest answers with the counts as they stood then, the latest last.
    anchors: Vec<(WirePoint, Counts)>,
    unread: Vec<(WirePoint, Seen)>,
    names: HashMap<String, u32>,
    notices: BTreeSet<Notice>,
    pids: Vec<i32>,
    /// Something was changed since the last end of a process, so that the next end is a point of its own.
    is_dirty: bool,
    active: Instant,
    first_has_ended: bool,
    window_start: Option<usize>,
    promised: Vec<String>,
}

/// How many anchors further back a call gets other names from.
const ALIAS_ANCHORS: usize = 2;

impl Recorder {
    /// An eye on a life that is to be killed at a point, or not. `promised` are the names of the effects that open the window;
    /// none: any effect does.
    #[must_use]
    pub fn new(namer: Arc<Namer>, target: Option<Point>, promised: Vec<String>) -> Self {
        let now = Instant::now();
        let target_count = matches!(&target, Some(Point::Call { anchor: Anchor::Start, .. } | Point::Output { .. })).then_some(0);
        let inner = Inner {
            started: now,
            namer,
            target,
            target_count,
            hit: false,
            watched: None,
            census: Vec::new(),
            is_full: false,
            counts: Counts::new(),
            anchors: Vec::new(),
            unread: Vec::new(),
            names: HashMap::new(),
            notices: BTreeSet::new(),
            pids: Vec::new(),
            is_dirty: false,
            active: now,
            first_has_ended: false,
            window_start: None,
            promised,
        };
        Self { inner: Mutex::new(inner) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A moment of a request has come: `received` or `executed`.
    pub fn moment(&self, seen: &Seen, moment: Moment) -> Order {
        let mut inner = self.lock();
        let wire = WirePoint { effect: seen.effect.clone(), ordinal: seen.ordinal, moment };
        if moment == Moment::Received && inner.window_start.is_none() && inner.is_promised(&seen.effect) {
            inner.window_start = Some(inner.census.len());
        }
        inner.wire(&wire);
        if inner.aim(&Point::Wire(wire)) { Order::Kill } else { Order::Pass }
    }

    /// The answer to a request is about to be written.
    pub fn answering(&self, seen: &Seen) -> Order {
        let inner = self.lock();
        let is_target = inner.targets(seen, Moment::Answered) || inner.targets(seen, Moment::Acked);
        if is_target && !inner.hit { Order::Hold } else { Order::Pass }
    }

    /// Writes a piece of an answer under the lock. Returns `Kill` when the target was that it be written, and `Hold` when the target
    /// is that it be read, so that the tree must be stepped from here on.
    pub fn answer(&self, seen: &Seen, write: &mut dyn FnMut() -> Written) -> (Written, Order) {
        let mut inner = self.lock();
        let written = write();
        if written != Written::Last {
            return (written, Order::Pass);
        }
        let wire = WirePoint { effect: seen.effect.clone(), ordinal: seen.ordinal, moment: Moment::Answered };
        inner.wire(&wire);
        let acked = WirePoint { moment: Moment::Acked, ..wire.clone() };
        inner.anchor(wire.clone());
        inner.unread.push((acked, seen.clone()));
        let order = if inner.aim(&Point::Wire(wire)) {
            Order::Kill
        } else if inner.targets(seen, Moment::Acked) {
            inner.watched = Some(seen.clone());
            Order::Hold
        } else {
            Order::Pass
        };
        (written, order)
    }

    /// The workflow announced a point.
    pub fn probe(&self, name: &str) -> Order {
        let mut inner = self.lock();
        let ordinal = inner.names.entry(name.to_owned()).or_default();
        *ordinal += 1;
        let point = Point::Probe { name: name.to_owned(), ordinal: *ordinal };
        inner.record(point.clone(), Vec::new(), 0);
        inner.is_dirty = true;
        if inner.aim(&point) { Order::Kill } else { Order::Pass }
    }

    /// A time offset was the target and has passed.
    pub fn passed_time(&self) {
        self.lock().hit = true;
    }

    /// Whether the target has come.
    #[must_use]
    pub fn is_hit(&self) -> bool {
        self.lock().hit
    }

    /// Whether the target's answer has neither gone out nor been the end.
    #[must_use]
    pub fn still_waits_for_its_answer(&self) -> bool {
        let inner = self.lock();
        !inner.hit && inner.watched.is_none()
    }

    /// How long nothing has happened.
    #[must_use]
    pub fn idle(&self) -> Duration {
        self.lock().active.elapsed()
    }

    /// Whether the first process has ended.
    #[must_use]
    pub fn first_has_ended(&self) -> bool {
        self.lock().first_has_ended
    }

    /// What was noticed.
    #[must_use]
    pub fn notices(&self) -> Vec<Notice> {
        self.lock().notices.iter().cloned().collect()
    }

    /// The crash points of the life, which is over. `false`: there were more than are kept.
    #[must_use]
    pub fn census(&self) -> (Census, bool) {
        let mut inner = self.lock();
        let is_whole = !inner.is_full;
        let points = std::mem::take(&mut inner.census);
        (Census { points, window_start: inner.window_start }, is_whole)
    }
}

impl Inner {
    fn is_promised(&self, effect: &String) -> bool {
        self.promised.is_empty() || self.promised.contains(effect)
    }

    fn targets(&self, seen: &Seen, moment: Moment) -> bool {
        matches!(&self.target, Some(Point::Wire(wire)) if wire.effect == seen.effect && wire.ordinal == seen.ordinal && wire.moment == moment)
    }

    /// Whether this is the target, for the first time.
    fn aim(&mut self, point: &Point) -> bool {
        let is_now = !self.hit && self.target.as_ref() == Some(point);
        self.hit |= is_now;
        is_now
    }

    fn record(&mut self, point: Point, aliases: Vec<Point>, process: u32) {
        self.active = Instant::now();
        if self.census.len() >= POINTS_PER_CENSUS_MAX {
            self.is_full = true;
            return;
        }
        let at_us = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.census.push(CensusPoint { point, aliases, at_us, process });
    }

    fn wire(&mut self, wire: &WirePoint) {
        self.is_dirty = true;
        self.record(Point::Wire(wire.clone()), Vec::new(), 0);
    }

    /// From here on calls are counted from this answer.
    fn anchor(&mut self, wire: WirePoint) {
        if let Some(Point::Call { anchor: Anchor::Wire(wanted), .. }) = &self.target
            && *wanted == wire
        {
            self.target_count = Some(0);
        }
        if self.anchors.len() > ALIAS_ANCHORS {
            self.anchors.remove(0);
        }
        self.anchors.push((wire, self.counts.clone()));
    }

    /// Notes answers that the client has read by now.
    fn look_for_reads(&mut self) {
        let sandbox = self.namer.sandbox();
        for (wire, seen) in std::mem::take(&mut self.unread) {
            match unread_bytes(seen.peer, sandbox) {
                Some(0) => self.record(Point::Wire(wire), Vec::new(), 0),
                Some(_) => self.unread.push((wire, seen)),
                // A connection that was cut off says nothing of what was read from it.
                None => {}
            }
        }
    }

    fn output(&mut self, bytes: &[u8]) -> Action {
        let Some(Point::Output { text, ordinal }) = &self.target else { return Action::Continue };
        let (text, ordinal) = (text.clone(), *ordinal);
        let found = String::from_utf8_lossy(bytes).lines().filter(|line| line.contains(&text)).count();
        let before = self.target_count.unwrap_or(0);
        let after = before.saturating_add(u32::try_from(found).unwrap_or(u32::MAX));
        self.target_count = Some(after);
        if !self.hit && before < ordinal && ordinal <= after {
            self.hit = true;
            return Action::Kill;
        }
        Action::Continue
    }

    /// Keeps a notice. Of files there may be as many as a workflow likes to make; that there are some is what matters.
    fn note(&mut self, notice: Notice) {
        let is_of_file = matches!(notice, Notice::OutsideWrite { .. } | Notice::SharedMapping { .. });
        if !is_of_file || self.notices.len() < NOTICES_PER_LIFE_MAX {
            self.notices.insert(notice);
        }
    }

    fn call(&mut self, call: &Call) -> Action {
        if let Object::Output(bytes) = &call.object {
            return self.output(bytes);
        }
        if !self.pids.contains(&call.pid) {
            self.pids.push(call.pid);
        }
        let (object, place) = self.namer.clone().name(&call.object, &self.pids);
        match place {
            Place::Harmless => return Action::Continue,
            Place::Outside(path) => {
                self.note(Notice::OutsideWrite { object: path.to_string_lossy().into_owned() });
            }
            Place::Elsewhere => {
                self.note(Notice::Connect { object: object.clone() });
            }
            Place::Inside => {}
        }
        if !self.unread.is_empty() {
            self.look_for_reads();
        }
        let is_end = matches!(call.object, Object::Process(_));
        if is_end && !std::mem::take(&mut self.is_dirty) {
            return Action::Continue;
        }
        self.is_dirty |= !is_end;
        let named = |object| CallName { syscall: call.syscall.to_owned(), object };
        let open = naming::open(&call.object, &object).map(named);
        self.count(named(object), open, call.process)
    }

    /// Counts a call under its name, and under the one that leaves open what could be random.
    fn count(&mut self, name: CallName, open: Option<CallName>, process: u32) -> Action {
        let mut names = self.numbered(&name);
        let mut aliases = names.split_off(1);
        if let Some(open) = &open {
            aliases.splice(0..0, self.numbered(open).into_iter().take(1));
        }
        let primary = names.remove(0);
        self.record(primary, aliases, process);

        let Some(Point::Call { call, ordinal, .. }) = &self.target else { return Action::Continue };
        if self.hit || (*call != name && Some(call) != open.as_ref()) {
            return Action::Continue;
        }
        let Some(count) = &mut self.target_count else { return Action::Continue };
        *count += 1;
        if *count == *ordinal {
            self.hit = true;
            return Action::Kill;
        }
        Action::Continue
    }

    /// Counts one more call of a name; its points, from the latest anchor to the start.
    fn numbered(&mut self, name: &CallName) -> Vec<Point> {
        let total = self.counts.entry(name.clone()).or_default();
        *total += 1;
        let total = *total;
        let since = self
            .anchors
            .iter()
            .rev()
            .map(|(wire, before)| (Anchor::Wire(wire.clone()), total - before.get(name).copied().unwrap_or(0)));
        let all = since.chain([(Anchor::Start, total)]);
        all.map(|(anchor, ordinal)| Point::Call { anchor, call: name.clone(), ordinal }).collect()
    }
}

/// The recorder as the tracer sees it.
#[derive(Debug)]
pub struct Eye(pub Arc<Recorder>);

impl Policy for Eye {
    fn on_call(&mut self, call: &Call) -> Action {
        self.0.lock().call(call)
    }

    fn on_step(&mut self) -> Action {
        let mut inner = self.0.lock();
        let Some(seen) = inner.watched.clone() else { return Action::Continue };
        match unread_bytes(seen.peer, inner.namer.sandbox()) {
            Some(0) if !inner.hit => {
                inner.hit = true;
                Action::Kill
            }
            _ => Action::Continue,
        }
    }

    fn on_notice(&mut self, notice: Notice, object: Option<&Object>) {
        let mut inner = self.0.lock();
        let notice = match (notice, object) {
            (Notice::SharedMapping { .. }, Some(object)) => {
                let (name, place) = inner.namer.clone().name(object, &inner.pids);
                if place == Place::Harmless {
                    return;
                }
                Notice::SharedMapping { object: name }
            }
            (notice, _) => notice,
        };
        inner.note(notice);
    }

    fn on_first_exit(&mut self) {
        let mut inner = self.0.lock();
        inner.active = Instant::now();
        inner.first_has_ended = true;
    }
}
