//! The faults explained: what can happen at a crash point, and what can go wrong with one request while everybody lives.

use super::{Explanation, Text};
use crate::model::fault::WORDS;

/// All faults.
pub(super) fn all() -> Vec<Explanation> {
    let name = |word: &str| word.split('(').next().unwrap_or(word).replace('-', "_");
    WORDS.into_iter().filter_map(|word| Some(text(word)?.of("fault", name(word)))).collect()
}

fn text(word: &str) -> Option<Text> {
    match word.split('(').next()? {
        "kill" => Some(KILL),
        "drop-ack" => Some(DROP_ACK),
        "reset-ack" => Some(RESET_ACK),
        "half-ack" => Some(HALF_ACK),
        "slow-ack" => Some(SLOW_ACK),
        "error-after-commit" => Some(ERROR_AFTER_COMMIT),
        "error-before-commit" => Some(ERROR_BEFORE_COMMIT),
        "duplicate" => Some(DUPLICATE),
        "hold" => Some(HOLD),
        "pending" => Some(PENDING),
        _ => None,
    }
}

const LOST_ACK: &str = "send the key with the first try already, and the same one with each repetition; a lost answer is never proof that \
                        nothing happened. See `killpoint explain no_key`.";

const KILL: Text = Text {
    means: "`kill`: the whole process tree dies by SIGKILL at the point, and the workflow is started again by its resume command.",
    known: "every thread is stopped first, so that nothing runs past the point; then the wait status of each process is read.",
    mend: "see the cause of the finding.",
    example: "",
};

const DROP_ACK: Text = Text {
    means: "`drop-ack`: the effect is committed, and the connection is closed without one byte of an answer. To the client this looks like a \
            server that failed before it did anything.",
    known: "the sandbox commits the effect to its ledger, and then closes the connection instead of answering.",
    mend: LOST_ACK,
    example: "killpoint run refund.toml --at 'charge#1:executed drop-ack'",
};

const RESET_ACK: Text = Text {
    means: "`reset-ack`: the effect is committed, and the client sees its connection reset. Some clients send such a request again by \
            themselves, even with retries switched off.",
    known: "the sandbox commits the effect, and closes the connection in a way that sends a TCP reset.",
    mend: LOST_ACK,
    example: "killpoint run refund.toml --at 'charge#1:executed reset-ack'",
};

const HALF_ACK: Text = Text {
    means: "`half-ack`: the effect is committed, and the connection is closed after half of the bytes of the answer.",
    known: "the sandbox writes half of the answer and closes the connection.",
    mend: LOST_ACK,
    example: "killpoint run refund.toml --at 'charge#1:executed half-ack'",
};

const SLOW_ACK: Text = Text {
    means: "`slow-ack(30s)`: the effect is committed, and the answer comes so much later. A client with a shorter time-out has given up by \
            then: whether it takes the time-out for \"did not happen\" is what this shows.",
    known: "the sandbox commits the effect at once and waits with the answer, until its client goes away at the latest.",
    mend: LOST_ACK,
    example: "killpoint run refund.toml --at 'charge#1:executed slow-ack(30s)'",
};

const ERROR_AFTER_COMMIT: Text = Text {
    means: "`error-after-commit(500)`: the effect is committed, and the answer says that something failed. What a repetition under the same \
            key gets is what the profile says: the same 500 (Stripe v1), the effect's answer, or a second effect.",
    known: "the sandbox commits the effect and answers with the status.",
    mend: "treat a 5xx as \"not known\", never as \"did not happen\": repeat it under the same key, or look up what became of it by an id of \
           your own.",
    example: "killpoint run refund.toml --at 'charge#1:executed error-after-commit(500)'",
};

const ERROR_BEFORE_COMMIT: Text = Text {
    means: "`error-before-commit(500)`: the answer says that something failed, and nothing was done. With `[campaign] fail` a step after the \
            charge fails in this way: most double charges need no crash at all.",
    known: "the sandbox answers with the status and executes nothing.",
    mend: "an effect that is missing in the end was given up too early; one before it that is doubled was repeated along with the step that \
           failed: give each effect a key of its own, made from what it is for.",
    example: "killpoint run refund.toml --at 'email#1:received error-before-commit(500)'",
};

const DUPLICATE: Text = Text {
    means: "`duplicate`: one request is delivered twice, as proxies, gateways and queues do. The client sees the first answer only.",
    known: "the sandbox takes the same bytes a second time, as a request of its own under the same rules.",
    mend: "only a key, or a unique constraint at the receiver, makes the second copy harmless.",
    example: "killpoint run refund.toml --at 'charge#1:received duplicate'",
};

const HOLD: Text = Text {
    means: "`hold`: the request is held on its way, without an answer, and arrives after the next life's request for the same effect, or when \
            the workflow is done. Looking first whether something happened finds nothing, and then it happens.",
    known: "the sandbox keeps the request and executes it later; the ledger has both.",
    mend: "look-ups before a repetition do not help against it; a key that is the same in both requests does.",
    example: "killpoint run refund.toml --at 'charge#1:received hold; charge#1:received kill'",
};

const PENDING: Text = Text {
    means: "`pending`: the effect is committed, and the first answer says `pending` (a payment intent: `processing`). Whoever looks at the object \
            later sees that it has succeeded.",
    known: "the sandbox answers with the object as it would be while the bank has not answered, and keeps it as it will be.",
    mend: "\"not done yet\" is not \"failed\": wait for it or look it up, and repeat only under the same key.",
    example: "killpoint run refund.toml --at 'charge#1:executed pending'",
};
