//! The moments of a request, by whatever wire it came: received, executed, answering; and what is made to go wrong with it on its way.
//!
//! A request of a new kind is put together as an [`Arrived`], entered, and passed; what comes out is what its client gets to see.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use super::api;
use super::error::SandboxError;
use super::ledger::Reply;
use super::naming;
use super::request::Arrived;
use super::server::World;
use super::watch::{Go, Seen};
use crate::model::fault::WireFault;
use crate::model::limits;
use crate::model::point::Moment;

/// A request that is in the ledger, and on its way.
pub(super) struct Entered {
    pub seen: Arc<Seen>,
    pub arrived: Arc<Arrived>,
    /// Whether the keeper is told of it.
    pub watched: bool,
}

/// What the client of a request gets to see.
pub(super) enum Passed {
    /// An answer; half of it only, if that is to go wrong.
    Answered { reply: Reply, half: bool },
    /// A closed connection, or a reset one.
    Closed { reset: bool },
}

/// A request that is held on its way.
pub(super) struct Held {
    pub seen: Arc<Seen>,
    pub arrived: Arc<Arrived>,
}

/// Enters a request into the ledger; nothing where that fails: an error of the ledger is kept by the ledger itself, and makes it no
/// evidence, while the client only sees a closed connection.
pub(super) fn enter(world: &World, arrived: Arc<Arrived>, peer: SocketAddr) -> Option<Entered> {
    let rule = naming::rule_for(&world.rules, &arrived.method, &arrived.path);
    let watched = api::writes(&arrived.method) || rule.is_some();
    let effect = rule.map_or_else(|| naming::slug(&arrived.method, &arrived.path), |rule| rule.name.clone());
    let entry = world.ledger.receive(&arrived, &effect).ok()?;
    let seen = Seen {
        seq: entry.seq,
        life: entry.life,
        effect,
        ordinal: entry.ordinal,
        method: arrived.method.clone(),
        path: arrived.path.clone(),
        peer,
    };
    Some(Entered { seen: Arc::new(seen), arrived, watched })
}

/// Carries a request through its moments. `execute` does what it asks, once; `gone` is over when its client is.
pub(super) async fn pass(
    world: &World,
    entered: &Entered,
    gone: impl Future<Output = ()>,
    execute: impl Future<Output = Result<Reply, SandboxError>>,
) -> Passed {
    let passed = moments(world, entered, gone, execute).await;
    world.ledger.is_over(entered.seen.seq);
    let released = if world.ledger.has_key(&entered.arrived) { world.ledger.release(entered.seen.seq) } else { Ok(()) };
    match (passed, released) {
        (Ok(passed), Ok(())) => passed,
        _ => Passed::Closed { reset: false },
    }
}

async fn moments(
    world: &World,
    entered: &Entered,
    gone: impl Future<Output = ()>,
    execute: impl Future<Output = Result<Reply, SandboxError>>,
) -> Result<Passed, SandboxError> {
    let Entered { seen, arrived, watched } = entered;
    let mut gone = pin!(gone);
    let mut twice = false;
    if *watched {
        match at(world, seen, Moment::Received).await? {
            Go::Drop => return Ok(Passed::Closed { reset: false }),
            Go::Fault(WireFault::Hold) => {
                world.hold(Held { seen: Arc::clone(seen), arrived: Arc::clone(arrived) });
                gone.await;
                return Ok(Passed::Closed { reset: false });
            }
            Go::Fault(WireFault::ErrorBeforeCommit { status }) => {
                let reply = world.ledger.fail_before(seen.seq, status)?;
                return answering(world, entered, reply, false).await;
            }
            Go::Fault(WireFault::Duplicate) => twice = true,
            Go::On | Go::Fault(_) => {}
        }
    }
    let mut reply = execute.await?;
    let is_effect = reply.object.is_some();
    let mut go = Go::On;
    if *watched && is_effect {
        go = at(world, seen, Moment::Executed).await?;
    }
    if twice {
        again(world, seen, arrived).await?;
    }
    if is_effect {
        release(world, |held| held.seen.effect == seen.effect && held.seen.life < seen.life).await?;
    }
    let mut half = false;
    match go {
        Go::Drop | Go::Fault(WireFault::DropAck) => return Ok(Passed::Closed { reset: false }),
        Go::Fault(WireFault::ResetAck) => return Ok(Passed::Closed { reset: true }),
        Go::Fault(WireFault::HalfAck) => half = true,
        Go::Fault(WireFault::SlowAck { delay_ms }) => {
            tokio::select! {
                () = &mut gone => {}
                () = tokio::time::sleep(Duration::from_millis(delay_ms)) => {}
            }
        }
        Go::Fault(WireFault::ErrorAfterCommit { status }) => reply = world.ledger.fail_after(seen.seq, &reply, status)?,
        Go::Fault(WireFault::Pending) => reply = world.ledger.answer_pending(seen.seq, reply)?,
        Go::On | Go::Fault(_) => {}
    }
    answering(world, entered, reply, half).await
}

/// Asks the keeper at a moment, and writes down what it has go wrong there.
async fn at(world: &World, seen: &Seen, moment: Moment) -> Result<Go, SandboxError> {
    let go = match moment {
        Moment::Received => world.watch.received(seen).await,
        _ => world.watch.executed(seen).await,
    };
    match go {
        Go::Fault(fault) if fault.moment() == moment => world.ledger.injured(seen.seq, fault).map(|()| go),
        Go::Fault(_) => Ok(Go::On),
        go => Ok(go),
    }
}

async fn answering(world: &World, entered: &Entered, reply: Reply, half: bool) -> Result<Passed, SandboxError> {
    if entered.watched && world.watch.answering(&entered.seen).await == Go::Drop {
        return Ok(Passed::Closed { reset: false });
    }
    Ok(Passed::Answered { reply, half })
}

/// The second copy of a request that is delivered twice. Nobody waits for its answer.
async fn again(world: &World, seen: &Seen, arrived: &Arc<Arrived>) -> Result<(), SandboxError> {
    let copy = world.ledger.receive(arrived, &seen.effect)?;
    world.ledger.injured(copy.seq, WireFault::Duplicate)?;
    world.carry_out(copy.seq, arrived).await?;
    if world.ledger.has_key(arrived) { world.ledger.release(copy.seq) } else { Ok(()) }
}

/// Lets requests go that were held on their way.
pub(super) async fn release(world: &World, which: impl Fn(&Held) -> bool) -> Result<(), SandboxError> {
    for held in world.take_held(which) {
        world.carry_out(held.seen.seq, &held.arrived).await?;
        if world.ledger.has_key(&held.arrived) {
            world.ledger.release(held.seen.seq)?;
        }
    }
    Ok(())
}

impl World {
    /// Has done what a request asks: by the server behind the sandbox where there is one, else by the ledger.
    pub async fn carry_out(&self, seq: u64, arrived: &Arc<Arrived>) -> Result<Reply, SandboxError> {
        match &self.upstream {
            Some(proxy) if arrived.raw.is_some() => proxy.carry_out(&self.ledger, seq, arrived).await,
            _ => self.ledger.execute(seq, arrived),
        }
    }

    fn hold(&self, held: Held) {
        let mut all = self.held();
        if all.len() < limits::HELD_REQUESTS_MAX {
            all.push(held);
        } else {
            drop(all);
            self.ledger.incomplete(format!("more than {} requests held at once", limits::HELD_REQUESTS_MAX));
        }
    }

    fn take_held(&self, which: impl Fn(&Held) -> bool) -> Vec<Held> {
        let mut all = self.held();
        let (taken, kept) = std::mem::take(&mut *all).into_iter().partition(|held| which(held));
        *all = kept;
        taken
    }
}
