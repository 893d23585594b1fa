//! What is counted of one life, under the recorder's lock: points, anchors, names, notices.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::naming::{self, Namer, Place};
use crate::model::call::{Notice, Object};
use crate::model::census::{Census, CensusPoint};
use crate::model::limits::{NOTICES_PER_LIFE_MAX, POINTS_PER_CENSUS_MAX};
use crate::model::point::{Anchor, CallName, Moment, Point, WirePoint};
use crate::sandbox::Seen;
use crate::tracer::{Action, Call};

type Counts = HashMap<CallName, u32>;

/// One life in order.
#[derive(Debug)]
pub struct Sequence {
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
    /// Threads that have changed something.
    doers: BTreeSet<i32>,
    /// Threads that have sent something to the sandbox.
    askers: BTreeSet<i32>,
    window_start: Option<usize>,
    promised: Vec<String>,
}

/// How many anchors further back a call gets other names from.
const ALIAS_ANCHORS: usize = 2;

impl Sequence {
    /// Nothing has happened yet. See [`super::Watched`].
    pub fn new(namer: Arc<Namer>, target: Option<Point>, promised: Vec<String>) -> Self {
        let now = Instant::now();
        let target_count = matches!(&target, Some(Point::Call { anchor: Anchor::Start, .. } | Point::Output { .. })).then_some(0);
        Self {
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
            doers: BTreeSet::new(),
            askers: BTreeSet::new(),
            window_start: None,
            promised,
        }
    }

    /// A request has arrived; the first promised one opens the window.
    pub fn opens_window(&mut self, effect: &String) {
        if self.window_start.is_none() && (self.promised.is_empty() || self.promised.contains(effect)) {
            self.window_start = Some(self.census.len());
        }
    }

    /// The target has come.
    pub fn hit(&mut self) {
        self.hit = true;
    }

    /// Whether the target has come.
    pub fn is_hit(&self) -> bool {
        self.hit
    }

    /// Whether the target has not come and no answer is looked for.
    pub fn still_waits_for_its_answer(&self) -> bool {
        !self.hit && self.watched.is_none()
    }

    /// How long nothing has happened.
    pub fn idle(&self) -> Duration {
        self.active.elapsed()
    }

    /// Whether the first process has ended.
    pub fn first_has_ended(&self) -> bool {
        self.first_has_ended
    }

    /// The first process has ended.
    pub fn first_exit(&mut self) {
        self.active = Instant::now();
        self.first_has_ended = true;
    }

    /// What was noticed.
    pub fn notices(&self) -> Vec<Notice> {
        self.notices.iter().cloned().collect()
    }

    /// How many threads have changed something.
    pub fn doers(&self) -> usize {
        self.doers.len()
    }

    /// The points, of a life that is over, and whether they are all.
    pub fn take_census(&mut self) -> (Census, bool) {
        let points = std::mem::take(&mut self.census);
        (Census { points, window_start: self.window_start }, !self.is_full)
    }

    /// The last byte of an answer was written; the index of the point.
    pub fn answered(&mut self, wire: &WirePoint, seen: &Seen) -> Option<usize> {
        let index = self.wire(wire);
        self.anchor(wire.clone());
        self.unread.push((WirePoint { moment: Moment::Acked, ..wire.clone() }, seen.clone()));
        index
    }

    /// Where the target is that this answer be read, it is looked for from here on.
    pub fn watch_if_targeted(&mut self, seen: &Seen) -> bool {
        let is_target = self.targets(seen, Moment::Acked);
        if is_target {
            self.watched = Some(seen.clone());
        }
        is_target
    }

    /// Whether the answer that is looked for has been read, for the first time.
    pub fn has_been_read(&mut self) -> bool {
        let Some(seen) = &self.watched else { return false };
        let is_now = !self.hit && self.namer.unread_bytes(seen.peer) == Some(0);
        self.hit |= is_now;
        is_now
    }

    /// The workflow announced a point.
    pub fn probe(&mut self, name: &str) -> (Option<usize>, Point) {
        let ordinal = self.names.entry(name.to_owned()).or_default();
        *ordinal += 1;
        let point = Point::Probe { name: name.to_owned(), ordinal: *ordinal };
        self.is_dirty = true;
        (self.record(point.clone(), Vec::new(), 0), point)
    }

    /// Whether a call writes state after an effect was answered.
    pub fn is_flush(&self, call: &Call) -> bool {
        let is_file = matches!(call.object, Object::Path(_) | Object::Paths(..));
        is_file && !self.anchors.is_empty() && self.namer.name(&call.object, &self.pids).1 == Place::Inside
    }

    /// Whether a promised effect has been asked for.
    pub fn has_window(&self) -> bool {
        self.window_start.is_some()
    }

    /// Whether a thread is none of those that ask for effects, after an effect was answered. Where a lock orders the writers, a thread
    /// that is held with the lock keeps the others out; one that is held before it takes the lock does not.
    pub fn is_helper(&self, tid: i32) -> bool {
        !self.anchors.is_empty() && !self.askers.contains(&tid)
    }

    /// Something was seen that is no call.
    pub fn notice(&mut self, notice: Notice, object: Option<&Object>) {
        let notice = match (notice, object) {
            (Notice::SharedMapping { .. }, Some(object)) => {
                let (name, place) = self.namer.clone().name(object, &self.pids);
                if place == Place::Harmless {
                    return;
                }
                Notice::SharedMapping { object: name }
            }
            (notice, _) => notice,
        };
        self.note(notice);
    }

    /// Whether the target is this moment of this request.
    pub fn targets(&self, seen: &Seen, moment: Moment) -> bool {
        matches!(&self.target, Some(Point::Wire(wire)) if wire.effect == seen.effect && wire.ordinal == seen.ordinal && wire.moment == moment)
    }

    /// Whether this is the target, for the first time.
    pub fn aim(&mut self, point: &Point) -> bool {
        let is_now = !self.hit && self.target.as_ref() == Some(point);
        self.hit |= is_now;
        is_now
    }

    fn record(&mut self, point: Point, aliases: Vec<Point>, process: u32) -> Option<usize> {
        self.active = Instant::now();
        if self.census.len() >= POINTS_PER_CENSUS_MAX {
            self.is_full = true;
            return None;
        }
        let at_us = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.census.push(CensusPoint { point, aliases, at_us, process });
        Some(self.census.len() - 1)
    }

    /// A moment of a request has come; the index of the point.
    pub fn wire(&mut self, wire: &WirePoint) -> Option<usize> {
        self.is_dirty = true;
        self.record(Point::Wire(wire.clone()), Vec::new(), 0)
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
        for (wire, seen) in std::mem::take(&mut self.unread) {
            match self.namer.unread_bytes(seen.peer) {
                Some(0) => drop(self.record(Point::Wire(wire), Vec::new(), 0)),
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
        let is_of_file = matches!(notice, Notice::OutsideWrite { .. } | Notice::Refused { .. } | Notice::SharedMapping { .. });
        if !is_of_file || self.notices.len() < NOTICES_PER_LIFE_MAX {
            self.notices.insert(notice);
        }
    }

    /// A thread is about to make a call: what is to be done, and which points have come by it.
    pub fn call(&mut self, call: &Call) -> (Action, Range<usize>) {
        let before = self.census.len();
        let action = match &call.object {
            Object::Output(bytes) => self.output(bytes),
            _ => self.change(call),
        };
        (action, before..self.census.len())
    }

    fn change(&mut self, call: &Call) -> Action {
        if !self.pids.contains(&call.pid) {
            self.pids.push(call.pid);
        }
        let (object, place) = self.namer.clone().name(&call.object, &self.pids);
        if self.namer.is_refused(call.syscall, &call.object) {
            // A call that cannot succeed changes nothing, so it is no point.
            self.note(Notice::Refused { object });
            return Action::Continue;
        }
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
        self.doers.insert(call.tid);
        if self.namer.is_sandbox(&call.object) {
            self.askers.insert(call.tid);
        }
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
