//! The moments of a request explained: the four crash points around each effect.

use super::{Explanation, Text};
use crate::model::point::Moment;

/// All moments, in the order in which they come.
pub(super) fn all() -> Vec<Explanation> {
    Moment::ALL.into_iter().map(|moment| text(moment).of("moment of a request", moment.word())).collect()
}

fn text(moment: Moment) -> Text {
    match moment {
        Moment::Received => RECEIVED,
        Moment::Executed => EXECUTED,
        Moment::Answered => ANSWERED,
        Moment::Acked => ACKED,
    }
}

const RECEIVED: Text = Text {
    means: "`charge#1:received`: the sandbox has the whole first request of `charge` and has done nothing yet. A crash here must lead to a \
            request that is sent again.",
    known: "the sandbox itself is at this moment, with the last byte of the body read and nothing in the ledger.",
    mend: "if the effect is lost after a crash here, the workflow takes \"sent\" for \"done\": see `killpoint explain not_retried`.",
    example: "",
};

const EXECUTED: Text = Text {
    means: "`charge#1:executed`: the effect is in the ledger and no byte of the answer has been written. The workflow cannot know that the \
            money has moved; this is where most windows begin.",
    known: "the sandbox holds the answer back while the process dies.",
    mend: "if the effect is doubled after a crash here, the repeated request was not recognised: see `killpoint explain no_key` and \
           `killpoint explain key_changed`.",
    example: "",
};

const ANSWERED: Text = Text {
    means: "`charge#1:answered`: the last byte of the answer was handed to the kernel. The workflow may or may not have read it. Calls after \
            it are counted from here: `charge#1:answered/pwrite64(a.db)#3` is just before the third such call.",
    known: "the sandbox has written the answer and says so before anything else runs.",
    mend: "a window that goes on behind this moment lasts until the record is durable: flush it sooner, and above all send a key that is \
           the same in each life.",
    example: "",
};

const ACKED: Text = Text {
    means: "`charge#1:acked`: the workflow has read the last byte of the answer. From here on it knows, and nothing durable does yet.",
    known: "the tracer saw the read on the connection return the end of the answer.",
    mend: "the record of the effect should be the next thing that becomes durable. What is done between (mails, logs, the next model call) \
           widens the window.",
    example: "",
};
