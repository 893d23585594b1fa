//! Reaches the tracer's thread from elsewhere: freeze the tree, let it go on, kill it.
//!
//! The thread sleeps in wait4. A command is put in its mailbox and the bell is rung until it is taken, because a bell between the
//! look into the mailbox and the wait would be lost.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::sys::signal;

/// A command to the tracer.
#[derive(Debug)]
pub(super) enum Command {
    /// Stop every thread; answered when all stand still.
    Freeze(oneshot::Sender<()>),
    /// Let all go on; with `step`, stop at each exit from a system call from now on.
    Thaw {
        /// Whether to step.
        step: bool,
    },
    /// Answer `true` when no thread runs, `false` when the limit has passed.
    Still {
        /// How long that may take.
        limit: Duration,
        /// Who is told.
        done: oneshot::Sender<bool>,
    },
    /// Kill the whole tree; the life's outcome carries the reason.
    Kill(String),
}

#[derive(Debug, Default)]
struct Mailbox {
    commands: VecDeque<Command>,
    thread: Option<i32>,
    over: bool,
}

/// A handle to the tracer of one life.
#[derive(Clone, Debug, Default)]
pub struct Control {
    mailbox: Arc<Mutex<Mailbox>>,
}

/// The life is over, so that nothing can be asked of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the life is over")]
pub struct ControlError;

const RING_EVERY: Duration = Duration::from_millis(1);

impl Control {
    /// Stops every thread of the tree and returns when all stand still.
    ///
    /// # Errors
    /// The life is over.
    pub async fn freeze(&self) -> Result<(), ControlError> {
        let (done, mut stands) = oneshot::channel();
        self.post(Command::Freeze(done))?;
        loop {
            match tokio::time::timeout(RING_EVERY, &mut stands).await {
                Ok(answer) => return answer.map_err(|_| ControlError),
                Err(_) => self.ring(),
            }
        }
    }

    /// Waits until no thread of the tree runs or is about to, or until the limit has passed: `false`.
    ///
    /// # Errors
    /// The life is over.
    pub async fn still(&self, limit: Duration) -> Result<bool, ControlError> {
        let (done, mut stands) = oneshot::channel();
        self.post(Command::Still { limit, done })?;
        loop {
            match tokio::time::timeout(RING_EVERY, &mut stands).await {
                Ok(answer) => return answer.map_err(|_| ControlError),
                Err(_) => self.ring(),
            }
        }
    }

    /// Lets a frozen tree go on. With `step`, the policy is asked at each exit from a system call.
    pub fn thaw(&self, step: bool) {
        self.send(Command::Thaw { step });
    }

    /// Kills the whole tree. The reason comes back in the outcome.
    pub fn kill(&self, reason: impl Into<String>) {
        self.send(Command::Kill(reason.into()));
    }

    /// Puts a command in and keeps ringing from a thread of its own, so that it may be called where nothing can be awaited.
    fn send(&self, command: Command) {
        if self.post(command).is_err() {
            return;
        }
        let control = self.clone();
        std::thread::spawn(move || {
            while control.lock().commands.front().is_some() && !control.lock().over {
                control.ring();
                std::thread::sleep(RING_EVERY);
            }
        });
    }

    fn post(&self, command: Command) -> Result<(), ControlError> {
        let mut mailbox = self.lock();
        if mailbox.over {
            return Err(ControlError);
        }
        mailbox.commands.push_back(command);
        drop(mailbox);
        self.ring();
        Ok(())
    }

    fn ring(&self) {
        let mailbox = self.lock();
        // Under the lock, so that the thread cannot have ended in between and its id be another's.
        if let Some(thread) = mailbox.thread.filter(|_| !mailbox.over) {
            signal::ring(thread);
        }
    }

    /// The tracer's side: this thread takes the commands from now on.
    pub(super) fn attach(&self) {
        signal::install_bell();
        self.lock().thread = Some(signal::thread_id());
    }

    /// The tracer's side: the next command.
    pub(super) fn take(&self) -> Option<Command> {
        self.lock().commands.pop_front()
    }

    /// The tracer's side: nothing is taken any more.
    pub(super) fn close(&self) {
        let mut mailbox = self.lock();
        mailbox.over = true;
        mailbox.thread = None;
        mailbox.commands.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Mailbox> {
        self.mailbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
