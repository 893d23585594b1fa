//! The verdicts explained, each for somebody who meets it in a report.

use super::{Explanation, Text};
use crate::model::verdict::Verdict;

/// All verdicts, the best first.
pub(super) fn all() -> Vec<Explanation> {
    Verdict::ALL.into_iter().map(|verdict| text(verdict).of("verdict", verdict.word())).collect()
}

fn text(verdict: Verdict) -> Text {
    match verdict {
        Verdict::Once => ONCE,
        Verdict::DeclaredUnknown => DECLARED_UNKNOWN,
        Verdict::Unknown => UNKNOWN,
        Verdict::Stuck => STUCK,
        Verdict::Overlap => OVERLAP,
        Verdict::WrongAmount => WRONG_AMOUNT,
        Verdict::Lost => LOST,
        Verdict::Duplicated => DUPLICATED,
        Verdict::Diverged => DIVERGED,
    }
}

const ONCE: Text = Text {
    means: "The effect happened as often as the scenario promises for its intent: neither twice nor never, although the process died \
            at the point and was started again.",
    known: "the sandbox keeps a ledger out of the workflow's reach; after the last life the effects of each intent in it are counted.",
    mend: "nothing. It is said of this one point only; a run is clean when every point of it is `once` and every point was reached.",
    example: "",
};

const DECLARED_UNKNOWN: Text = Text {
    means: "The workflow stopped and said that it does not know whether the effect happened, so that a person can look. The scenario \
            accepts that, so it is no finding.",
    known: "a life ended with one of the scenario's `unknown_exit_codes`, and `accept_declared_unknown` is set. The ledger does not hold \
            more effects than promised.",
    mend: "nothing, if a person really looks. Otherwise ask the server with the same idempotency key what became of the request and go \
           on with its answer.",
    example: "",
};

const UNKNOWN: Text = Text {
    means: "The trial cannot be judged: a limit was hit, the machine got in the way, or the ledger does not hold what the judge needs. \
            It is never counted as a pass, and the run is inconclusive.",
    known: "the reason stands beside the verdict. A SIGKILL that killpoint did not send, for example by a kernel that is out of memory, \
            is such a reason.",
    mend: "remove the reason and run again: give the machine more memory, raise the limit that is named, or run fewer trials at once \
           with `--jobs 1`.",
    example: "",
};

const STUCK: Text = Text {
    means: "After the crash the workflow did not get done again, however often it was started. The money may be right; the order is \
            not, and somebody has to clean up by hand.",
    known: "no life came to an end with an exit code that means done, within `lives_max` lives of `life_timeout` each.",
    mend: "see how its last life ended: `killpoint explain resume_fails` where it exits with an error, `killpoint explain resume_hangs` \
           where it waits for ever. Often a lock or a half-written file was left behind by the crash.",
    example: "",
};

const OVERLAP: Text = Text {
    means: "Two executors worked on one intent at the same time. With luck the outcome is right; nothing made sure of it.",
    known: "it does not say it yet: where only the whole tree is killed, every process of a life is gone before the next one starts. The \
            word is kept for runs with more than one executor.",
    mend: "let one executor own an intent, by a lease that is renewed and checked with each write (a fencing token), and give all of them \
           the same idempotency key, so that the server keeps the promise where the lease does not.",
    example: "UPDATE jobs SET owner = :me, fence = fence + 1\n WHERE id = :job AND (owner IS NULL OR lease_until < now());",
};

const WRONG_AMOUNT: Text = Text {
    means: "There is one effect, but its amount is not that of the clean run: the crash changed what was asked for.",
    known: "the promise names an `amount` in the body of the request, and its value in the ledger differs from that of the clean run.",
    mend: "compute the amount once, write it down before the first request, and read it back when resuming, instead of computing it \
           again from state that may have moved on in the meantime (a balance, a rate, a half-updated row).",
    example: "",
};

const LOST: Text = Text {
    means: "The effect happened less often than promised, mostly never, and the workflow calls itself done. Nobody will send the \
            request again.",
    known: "the last life ended with an exit code that means done, and the ledger holds too few effects of the intent.",
    mend: "write \"done\" after the effect and never before; before it, write \"about to\". Then send again on resume whatever is \"about \
           to\", with the same idempotency key. See also recorded_before_done and not_retried.",
    example: "",
};

const DUPLICATED: Text = Text {
    means: "The effect happened more often than promised: after the crash the workflow did again what it had already done. For a charge \
            this is money taken twice.",
    known: "the ledger holds more effects of the intent than promised, all with the same content. The points at which a crash leads to \
            that form the window.",
    mend: "the window between an effect and its durable record cannot be closed by the workflow alone: let the server recognise the \
           repetition. Send an idempotency key that is the same in each life.",
    example: "key = hashlib.sha256(f\"{thread}/{node}/{invoice}/{cents}\".encode()).hexdigest()\nrequests.post(url, data=body, headers={\"Idempotency-Key\": key})",
};

const DIVERGED: Text = Text {
    means: "More effects happened than promised, and they are not alike: after the crash the workflow asked for something else under the \
            same intent. Undoing one of them does not simply leave the other right.",
    known: "the ledger holds several effects of one intent whose bodies differ.",
    mend: "decide once. Write the whole request down before it is sent for the first time, and on resume send what was written, with the \
           key that was written. Do not ask a model, a clock or a random source for it again.",
    example: "",
};
