//! The verdicts of a run and the exit codes explained.

use super::{Explanation, Text};
use crate::model::exit::Exit;
use crate::model::report::RunVerdict;
use crate::report::words;

const RUNS: [RunVerdict; 4] = [RunVerdict::Clean, RunVerdict::Findings, RunVerdict::Inconclusive, RunVerdict::BaselineBroken];

const EXITS: [Exit; 7] =
    [Exit::Clean, Exit::Findings, Exit::Usage, Exit::BaselineBroken, Exit::Inconclusive, Exit::Environment, Exit::Bug];

/// All verdicts of a run.
pub(super) fn runs() -> Vec<Explanation> {
    RUNS.into_iter().map(|verdict| run(verdict).of("verdict of a run", words::run_verdict_word(verdict))).collect()
}

/// All exit codes, each under its number.
pub(super) fn exits() -> Vec<Explanation> {
    EXITS.into_iter().map(|code| exit(code).of("exit code", (code as u8).to_string())).collect()
}

fn run(verdict: RunVerdict) -> Text {
    match verdict {
        RunVerdict::Clean => CLEAN,
        RunVerdict::Findings => FINDINGS,
        RunVerdict::Inconclusive => INCONCLUSIVE,
        RunVerdict::BaselineBroken => BASELINE_BROKEN,
    }
}

fn exit(code: Exit) -> Text {
    match code {
        Exit::Clean => CLEAN,
        Exit::Findings => FINDINGS,
        Exit::Usage => USAGE,
        Exit::BaselineBroken => BASELINE_BROKEN,
        Exit::Inconclusive => INCONCLUSIVE,
        Exit::Environment => ENVIRONMENT,
        Exit::Bug => BUG,
    }
}

const CLEAN: Text = Text {
    means: "Every crash point of the plan was reached, the process really died there, it was resumed, and every promise was kept each time. \
            Exit code 0.",
    known: "at each point the wait status of the processes says SIGKILL, and the ledger afterwards holds what was promised.",
    mend: "nothing. Read under \"outside\" what the run cannot say: loss of power, other orders of threads, and what else is named there.",
    example: "",
};

const FINDINGS: Text = Text {
    means: "There is at least one crash point after which a promise is broken. Neighbouring points with one cause are one finding: the \
            window. Exit code 1.",
    known: "the ledger of the sandbox after the last life shows it; the process died of a real SIGKILL at that point.",
    mend: "start with F1: run its `replay` line, read `why`, do what `mend` says, and run again. A saved finding can be replayed after the \
           change to see that it is gone.",
    example: "killpoint replay F1\nkillpoint explain no_key      # the cause, as the finding names it",
};

const INCONCLUSIVE: Text = Text {
    means: "Nothing wrong was found, and nothing was proved either: points were not reached, nothing was injected, a trial could not be \
            judged, or the run was interrupted. It is not a pass. Exit code 4.",
    known: "each trial keeps whether its point was reached and the SIGKILL landed there; at least one did not.",
    mend: "if it was interrupted, go on with `killpoint run --resume RUN`. If points were not reached, the runs differ from each other: \
           take time, random numbers and the order of threads out of the workflow as far as you can, and let `twice = true` name \
           what differs. If nothing was injected, see that the scenario starts the right command.",
    example: "",
};

const BASELINE_BROKEN: Text = Text {
    means: "The workflow breaks its own promises without any crash, so crashing it would prove nothing. Exit code 3.",
    known: "it was run once, uninjured, before anything else, and the ledger did not hold what the scenario promises.",
    mend: "run the workflow by hand first. Where it is right and the promise is not, mend the scenario: `effect` must be the request it \
           sends, `intent` must be found in it, `exactly` must be how often it is due. Where it sends nothing, see that it uses the \
           sandbox's address.",
    example: "env = { BILLING_URL = \"{sandbox.url}\", STATE_DIR = \"{state}\" }",
};

const USAGE: Text = Text {
    means: "The command line or the scenario is wrong. Nothing was run. Exit code 2.",
    known: "it was read and checked before anything was started.",
    mend: "the message names the flag, or the file with line and column, and a hint. `killpoint schema` prints the JSON Schema of \
           scenarios, which editors use to complete and check them.",
    example: "",
};

const ENVIRONMENT: Text = Text {
    means: "This machine cannot do it: tracing is not allowed, a program is missing, the disk is full. It says nothing about the workflow. \
            Exit code 5.",
    known: "the system refused a call that killpoint cannot do without; the message names it.",
    mend: "`killpoint doctor` tries what is needed and says what to change. In a container, tracing may have to be allowed: see the \
           capability SYS_PTRACE and the seccomp profile.",
    example: "docker run --cap-add=SYS_PTRACE --security-opt seccomp=unconfined ...",
};

const BUG: Text = Text {
    means: "killpoint itself went wrong. Whatever it printed before is not a verdict. Exit code 70.",
    known: "something happened that its code holds for impossible.",
    mend: "please report it with the message, the version, and `events.jsonl` of the run folder. What was written there is kept, so the \
           run can be taken up again with `killpoint run --resume RUN`.",
    example: "",
};
