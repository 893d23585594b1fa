//! The causes explained, and the one line that says how to mend each.

use super::{Explanation, Text};
use crate::model::verdict::Cause;
use crate::report::words;

const ALL: [Cause; 14] = [
    Cause::NoKey,
    Cause::KeyChanged,
    Cause::KeyNotAlways,
    Cause::KeyReused,
    Cause::KeyTooCoarse,
    Cause::KeyForgotten,
    Cause::RecordedBeforeDone,
    Cause::NotRetried,
    Cause::RequestChanged,
    Cause::NotUnique,
    Cause::NotKeyable,
    Cause::ResumeFails,
    Cause::ResumeHangs,
    Cause::Unexplained,
];

/// All causes.
pub(super) fn all() -> Vec<Explanation> {
    ALL.into_iter().map(|cause| text(cause).of("cause", words::cause_word(cause))).collect()
}

fn text(cause: Cause) -> Text {
    match cause {
        Cause::NoKey => NO_KEY,
        Cause::KeyChanged => KEY_CHANGED,
        Cause::KeyNotAlways => KEY_NOT_ALWAYS,
        Cause::KeyReused => KEY_REUSED,
        Cause::KeyTooCoarse => KEY_TOO_COARSE,
        Cause::KeyForgotten => KEY_FORGOTTEN,
        Cause::RecordedBeforeDone => RECORDED_BEFORE_DONE,
        Cause::NotRetried => NOT_RETRIED,
        Cause::RequestChanged => REQUEST_CHANGED,
        Cause::NotUnique => NOT_UNIQUE,
        Cause::NotKeyable => NOT_KEYABLE,
        Cause::ResumeFails => RESUME_FAILS,
        Cause::ResumeHangs => RESUME_HANGS,
        Cause::Unexplained => UNEXPLAINED,
    }
}

/// How to mend a cause, in one line.
pub(super) fn mend_line(cause: Cause) -> &'static str {
    match cause {
        Cause::NoKey => "Send an Idempotency-Key made from the intent, the same in each life.",
        Cause::KeyChanged => "Make the key from the intent, not anew in each life.",
        Cause::KeyNotAlways => "Send the key on every path, the retry and the resume included.",
        Cause::KeyReused => "Store the request beside its key, and send it again unchanged.",
        Cause::KeyTooCoarse => "Put into the key what tells the intents apart, such as the invoice.",
        Cause::KeyForgotten => "Before sending again so late, ask whether the effect is there.",
        Cause::RecordedBeforeDone => "Record \"about to\" before the request, \"done\" only after the answer.",
        Cause::NotRetried => "On resume send again what has no recorded answer, with the same key.",
        Cause::RequestChanged => "Store the request before sending it; on resume send the stored one.",
        Cause::NotUnique => "Have the table refuse the second: a unique index over the intent, and an upsert.",
        Cause::NotKeyable => "Put it into an outbox with the step's record, and send it from there, marked first or reconciled.",
        Cause::ResumeFails => "Replay it, and mend the error that the resumed life ends with.",
        Cause::ResumeHangs => "Find what it waits for: often a lock or lease of the life that died.",
        Cause::Unexplained => "Replay it and compare the requests of its lives in the trial's file.",
    }
}

const NO_KEY: Text = Text {
    means: "The request was sent again after the crash without an idempotency key, so the server took it for a new order.",
    known: "the ledger holds several requests of the intent, none of which has the header Idempotency-Key.",
    mend: "make a key from what the request is for, so that each life comes to the same one without having to remember it: workflow or \
           thread, step, payload. Leave out times, attempts and process ids.",
    example: "key = hashlib.sha256(f\"{thread}/{node}/{invoice}/{cents}\".encode()).hexdigest()\nrequests.post(url, data=body, headers={\"Idempotency-Key\": key})",
};

const KEY_CHANGED: Text = Text {
    means: "Each life sent a key of its own, so the server could not see that it was the same request. Client libraries that make up a \
            random key by themselves do just that: it covers their own retries, not a restart.",
    known: "the requests of the intent in the ledger carry different keys; the finding shows them side by side.",
    mend: "make the key from the intent (see no_key), or draw it once and write it down, durably, before the first request.",
    example: "with db:  # committed before the call\n    db.execute(\"INSERT OR IGNORE INTO intents VALUES (?, ?)\", (invoice, str(uuid4())))\nsql = \"SELECT key FROM intents WHERE invoice = ?\"\nkey = db.execute(sql, (invoice,)).fetchone()[0]",
};

const KEY_NOT_ALWAYS: Text = Text {
    means: "Some of the requests for the intent carry a key and some do not. One that carries none is a new order to the server, whatever \
            the others carry.",
    known: "the ledger shows requests of one intent with the header Idempotency-Key and others without it.",
    mend: "send the request from one place in the code, which cannot be called without a key. Look first at the code that runs on resume \
           and at clean-up jobs.",
    example: "",
};

const KEY_REUSED: Text = Text {
    means: "The right key came back with another body, and the server refused it. So there is no second effect, but the workflow cannot \
            get its answer either.",
    known: "the sandbox answered as the payment API does: an error because the key was first used with other parameters.",
    mend: "keep the body as stable as the key: no times, no new ids, no fields read anew. Best store the body with the key before the \
           first request and send the stored one.",
    example: "",
};

const KEY_TOO_COARSE: Text = Text {
    means: "One key stands for two intents. The server took the second for a repetition of the first and gave the first one's answer: \
            the second effect never happened.",
    known: "the ledger shows one key on requests of different intents, of which only the first was executed.",
    mend: "put into the key what tells the intents apart: the invoice or the line, not only the customer, the thread or the day.",
    example: "key = f\"charge/{customer}\"             # too coarse: the second invoice is swallowed\nkey = f\"charge/{customer}/{invoice}\"   # one key for each intent",
};

const KEY_FORGOTTEN: Text = Text {
    means: "The same key was executed twice, because the server no longer knew it, or never kept it. Servers keep keys for a limited time only \
            (Stripe's v1 API: at least 24 hours); some keep nothing of a request that failed after its work was done (profiles `acp` and \
            `success-only`), and some look at no key at all (`none`).",
    known: "the ledger holds two executed requests with one key.",
    mend: "where a resume can come later than the keys live, look first whether the effect is there, by the intent in its metadata, and \
           have the receiving side refuse a second one.",
    example: "CREATE UNIQUE INDEX one_charge_per_invoice ON charges (invoice_id);",
};

const RECORDED_BEFORE_DONE: Text = Text {
    means: "The workflow's own record says that the effect is done, and it is not: the record was durable before the request was sent. \
            After a crash in between nobody sends it any more.",
    known: "the workflow calls itself done after the crash, and no request of the intent is in the ledger.",
    mend: "two records: the intent before the call, the outcome after the answer. On resume, an intent without an outcome is sent again \
           with the key it was recorded with.",
    example: "store.put(invoice, state=\"charging\", key=key)   # durable before the call\nreceipt = charge(invoice, key=key)\nstore.put(invoice, state=\"charged\", receipt=receipt.id)",
};

const NOT_RETRIED: Text = Text {
    means: "The request was on its way when the process died, it had no effect, and the resumed workflow did not send it again: it took \
            \"sent\" for \"done\".",
    known: "the ledger holds the request as received and not executed, and no later one of the same intent.",
    mend: "only an answer makes it done. On resume send again what has no recorded answer; with the same idempotency key that is safe \
           whether or not the first one had its effect.",
    example: "",
};

const REQUEST_CHANGED: Text = Text {
    means: "What was asked for after the crash is not what was asked for before it: another amount, another target, another text. The \
            step is not repeatable.",
    known: "the bodies of the requests of one intent differ in the ledger beyond what already differs between two clean runs.",
    mend: "make the decision a step of its own whose result is stored, and let the step that sends only read it. Answers of a model, \
           prices and clocks belong into the first.",
    example: "plan = store.get_or_create(thread, lambda: decide(state))  # durable from here on\ncharge(plan.invoice, plan.cents, key=plan.key)",
};

const NOT_UNIQUE: Text = Text {
    means: "The workflow wrote the same row or line again after the crash, and nothing where it is kept refused the second one.",
    known: "the effects are rows that the scenario's query gives, or lines of a file, read when the last life was over; several of \
            them are for one intent.",
    mend: "let the table carry the promise: a unique index over what names the intent, and INSERT ... ON CONFLICT DO NOTHING. Write the \
           row in the transaction that records the step, so that there is no instant between them. A file cannot refuse anything: look \
           for the intent before appending, or leave its readers to drop the second.",
    example: "CREATE UNIQUE INDEX one_payout_per_invoice ON payouts (invoice);\nINSERT INTO payouts (invoice, cents) VALUES (?, ?) ON CONFLICT DO NOTHING;",
};

const NOT_KEYABLE: Text = Text {
    means: "The workflow sent the same mail again after the crash. SMTP has no idempotency key: a server that has taken a mail and whose \
            reply was lost takes the next one as well, whatever its Message-ID says.",
    known: "the ledger holds several mails of the intent, each taken by the mail server; their Message-IDs stand side by side in the \
            finding.",
    mend: "no mail can be sent exactly once over SMTP. Write it into an outbox in the transaction that records the step, and let one sender \
           empty that: marked before sending, a crash loses a mail, which somebody must look for; marked after, a crash sends one twice. A \
           Message-ID made from the intent lets receivers drop the second. Or send it by an API that takes a key.",
    example: "with db:  # the step and what is to be sent, at once\n    db.execute(\"UPDATE invoices SET paid = 1 WHERE id = ?\", (invoice,))\n    db.execute(\"INSERT INTO outbox VALUES (?, ?)\", (invoice, f\"<{invoice}@shop>\"))",
};

const RESUME_FAILS: Text = Text {
    means: "After this crash the workflow cannot be resumed: each further life ends with an error.",
    known: "every life after the crash exited with a code that does not mean done, or died of a signal of its own.",
    mend: "replay the finding and read the last lines of the life's output. Usual reasons are a file that was half-written (write a new \
           one and rename it), a unique constraint hit by the repetition, and a server's refusal taken for a fatal error.",
    example: "with open(path + \".new\", \"w\") as f:\n    f.write(text); f.flush(); os.fsync(f.fileno())\nos.replace(path + \".new\", path)",
};

const RESUME_HANGS: Text = Text {
    means: "After this crash the resumed workflow does not come to an end: it waits for something that will not happen.",
    known: "a life after the crash went past `life_timeout` and had to be killed, on each try.",
    mend: "look for what the dead life still seems to hold: a lock file, a row marked as running, a lease longer than the timeout. Let \
           locks end with their process (flock), and leases run out. If it is only slow, raise `life_timeout`.",
    example: "",
};

const UNEXPLAINED: Text = Text {
    means: "The promise was broken, and neither the keys nor the bodies nor the ends of the lives say why.",
    known: "the ledger alone shows that the promise was broken; none of the known patterns fits.",
    mend: "replay the finding and read its trial's file: the requests of all lives, with key, body and outcome, and the end of each life. \
           Often the second effect comes from a part that was not meant to act, such as a clean-up job or a second worker.",
    example: "",
};
