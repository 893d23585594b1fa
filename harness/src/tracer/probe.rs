//! Whether this machine can do what the tracer needs, found out by doing it: a shell is killed before it creates a file.

use std::path::Path;

use super::{Action, Call, Control, Death, Launch, Policy, run_life};
use crate::model::call::{Notice, Object};

/// What this machine can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ability {
    /// A SIGKILL landed before the call at which it was sent.
    Full,
    /// It cannot.
    None {
        /// What went wrong.
        reason: String,
    },
}

struct KillBeforeFile<'a>(&'a Path);

impl Policy for KillBeforeFile<'_> {
    fn on_call(&mut self, call: &Call) -> Action {
        if call.object == Object::Path(self.0.to_owned()) { Action::Kill } else { Action::Continue }
    }
    fn on_notice(&mut self, _: Notice, _: Option<&Object>) {}
    fn on_first_exit(&mut self) {}
}

/// Tries it in a scratch folder, which must exist and be absolute without links.
#[must_use]
pub fn probe(scratch: &Path) -> Ability {
    let file = scratch.join("made");
    let launch = Launch {
        program: "/bin/sh".into(),
        argv: ["sh", "-c", "echo made > made"].map(Into::into).to_vec(),
        env: Vec::new(),
        dir: scratch.to_owned(),
        output: scratch.join("output"),
        inside: None,
        stop_at_calls: true,
        stop_at_wakes: false,
        pauses: None,
    };
    let outcome = run_life(&launch, &mut KillBeforeFile(&file), &Control::default());
    match outcome.death {
        Death::KilledAtCall if !file.exists() => Ability::Full,
        Death::KilledAtCall => {
            Ability::None { reason: "a call went through although its process was killed before it".to_owned() }
        }
        Death::NotStarted(reason) => Ability::None { reason },
        other => Ability::None { reason: format!("a traced shell ended otherwise than it should: {other:?}") },
    }
}
