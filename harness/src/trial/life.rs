//! One life: a thread that traces it, a clock that ends it, and what it came to.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::Interrupt;
use super::keeper::AT_POINT;
use super::recorder::{Eye, Recorder};
use crate::model::call::Notice;
use crate::model::life::{Life, LifeEnd};
use crate::model::limits::OUTPUT_TAIL_LINES;
use crate::model::point::Point;
use crate::tracer::{Control, Death, Launch, Outcome, run_life};

/// What a life is given.
#[derive(Debug)]
pub struct LifePlan {
    /// Its number in the trial, from 1.
    pub number: u32,
    /// How it is started.
    pub launch: Launch,
    /// The point it is to be killed at.
    pub target: Option<Point>,
    /// The longest it may take.
    pub timeout: Duration,
    /// How long descendants may idle once the first process has ended.
    pub linger: Duration,
}

const TIMEOUT: &str = "timeout";
const LINGER: &str = "linger";
const INTERRUPTED: &str = "interrupted";

/// Runs a life to the end of its last process.
pub async fn live(plan: LifePlan, recorder: &Arc<Recorder>, control: &Control, interrupt: &Interrupt) -> Life {
    let started = Instant::now();
    let output = plan.launch.output.clone();
    let (done, mut outcome) = oneshot::channel();
    let _end_with_us = EndWithUs(control.clone());
    let thread = {
        let (launch, recorder, control) = (plan.launch, recorder.clone(), control.clone());
        // A thread of its own: ptrace requests must come from the thread that attached, and it must outlive its tracees.
        std::thread::Builder::new().name("life".to_owned()).spawn(move || {
            let outcome = run_life(&launch, &mut Eye::new(recorder), &control);
            // The campaign may be gone; then nobody asks.
            let _ = done.send(outcome);
        })
    };
    let outcome = match thread {
        Ok(_) => {
            let clock = Clock { started, timeout: plan.timeout, linger: plan.linger, offset: offset(plan.target.as_ref()) };
            tokio::select! {
                biased;
                outcome = &mut outcome => outcome.ok(),
                () = clock.watch(recorder, control, interrupt) => outcome.await.ok(),
            }
        }
        Err(error) => Some(failed(format!("cannot make a thread: {error}"))),
    };
    let outcome = outcome.unwrap_or_else(|| failed("the tracer's thread ended without an answer".to_owned()));
    let mut notices = recorder.notices();
    let (end, reached) = match judge(&outcome.death, recorder, &mut notices) {
        // Whatever came after it says nothing of the workflow.
        (end, _) if outcome.killed_from_outside && end != LifeEnd::Interrupted => (LifeEnd::KilledFromOutside, false),
        other => other,
    };
    Life {
        number: plan.number,
        target: plan.target,
        reached,
        end,
        wall_us: u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
        cpu_us: outcome.cpu_us,
        processes: outcome.processes,
        notices,
        output_tail: tail(&output),
        reconciles: false,
    }
}

/// Ends the life if nobody waits for it any more: a campaign that is dropped leaves no process behind. One that is over is not touched.
struct EndWithUs(Control);

impl Drop for EndWithUs {
    fn drop(&mut self) {
        self.0.kill(INTERRUPTED);
    }
}

fn failed(reason: String) -> Outcome {
    Outcome::not_started(reason)
}

fn offset(target: Option<&Point>) -> Option<Duration> {
    if let Some(Point::After(offset)) = target { Some(*offset) } else { None }
}

/// What ends a life from outside.
struct Clock {
    started: Instant,
    timeout: Duration,
    linger: Duration,
    offset: Option<Duration>,
}

impl Clock {
    /// Returns when it has told the tracer to kill the tree.
    async fn watch(&self, recorder: &Recorder, control: &Control, interrupt: &Interrupt) {
        let at = |after: Duration| tokio::time::sleep_until((self.started + after).into());
        let reason = tokio::select! {
            () = at(self.timeout) => TIMEOUT,
            () = async { match self.offset { Some(offset) => at(offset).await, None => std::future::pending().await } } => {
                recorder.passed_time();
                AT_POINT
            }
            () = self.wait_for_stillness(recorder) => LINGER,
            () = interrupt.wait() => INTERRUPTED,
        };
        control.kill(reason);
    }

    /// Waits until the first process has ended and the others have done nothing for the time they may linger.
    async fn wait_for_stillness(&self, recorder: &Recorder) {
        const LOOK_EVERY: Duration = Duration::from_millis(20);
        loop {
            let is_alone = !recorder.first_has_ended();
            let rest = if is_alone { LOOK_EVERY } else { self.linger.saturating_sub(recorder.idle()) };
            if rest.is_zero() {
                return;
            }
            tokio::time::sleep(rest.max(Duration::from_millis(1))).await;
        }
    }
}

/// What a death is to the trial, and whether the target was reached.
fn judge(death: &Death, recorder: &Recorder, notices: &mut Vec<Notice>) -> (LifeEnd, bool) {
    match death {
        Death::Exited(code) => (LifeEnd::Exited { code: *code }, false),
        Death::Signalled(signal) => (LifeEnd::Signalled { signal: *signal }, false),
        Death::KilledAtCall => (LifeEnd::Killed, true),
        Death::KilledOnCommand { reason, killed, first_exit } => match (reason.as_str(), first_exit) {
            (AT_POINT, _) if *killed > 0 && recorder.is_hit() => (LifeEnd::Killed, true),
            (AT_POINT, Some(code)) => (LifeEnd::Exited { code: *code }, false),
            (AT_POINT, None) => (LifeEnd::Failed { reason: "the kill found nobody to kill".to_owned() }, false),
            (TIMEOUT, _) => (LifeEnd::TimedOut, false),
            (LINGER, code) => {
                notices.push(Notice::Lingering { processes: u32::try_from(*killed).unwrap_or(u32::MAX) });
                (code.map_or(LifeEnd::Signalled { signal: 0 }, |code| LifeEnd::Exited { code }), false)
            }
            _ => (LifeEnd::Interrupted, false),
        },
        Death::Limit(limit) => (LifeEnd::LimitHit { limit: limit.clone() }, false),
        Death::NotStarted(reason) | Death::KillDidNotLand(reason) => (LifeEnd::Failed { reason: reason.clone() }, false),
    }
}

/// The last lines of a life's output, without control characters.
fn tail(output: &Path) -> Vec<String> {
    use std::io::{Read, Seek, SeekFrom};
    const TAIL_BYTES: u64 = 16 * 1024;
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(output)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let clean = |line: &str| line.chars().filter(|c| !c.is_control() || *c == '\t').collect::<String>();
    let lines: Vec<_> = text.lines().map(clean).filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(OUTPUT_TAIL_LINES)..].to_vec()
}
