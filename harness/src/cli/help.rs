//! The longer texts of `--help`.

/// What stands on top of `killpoint --help`.
pub const ABOUT: &str = "\
killpoint crashes a workflow at every point between the payment server's 200 and the checkpoint's flush, lets it resume, and \
counts the charges. One command, any language, no change to the workflow.

A first example; the command finds a billing API at $BILLING_URL and an empty folder at $STATE_DIR:

    killpoint run -- python3 refund.py

Then write down what it promises, and go on from there:

    killpoint init -- python3 refund.py
    killpoint run killpoint.toml
    killpoint replay F1";

/// The exit codes in short.
pub const AFTER: &str = "\
Exit codes: 0 clean, 1 findings, 2 usage, 3 baseline broken, 4 inconclusive, 5 this machine cannot, 70 bug in killpoint.";

/// The exit codes.
pub const AFTER_LONG: &str = "\
Exit codes:
   0  clean: every point of the plan was reached and every promise kept
   1  findings: at least one promise was broken
   2  the command line or the scenario is wrong
   3  baseline broken: the workflow breaks its promises without any crash
   4  inconclusive: nothing was injected, points were not reached, or the run was interrupted
   5  this machine cannot do it (see `killpoint doctor`)
  70  a bug in killpoint

`killpoint explain 4` says more of one of them.";

/// Below `killpoint run --help`.
pub const AFTER_RUN: &str = "\
Examples:
  killpoint run -- python3 refund.py                       every crash point of a command
  killpoint run refund.toml --matrix durability=sync       one cell of a scenario
  killpoint run refund.toml --at 'charge#1:answered'       one crash point
  killpoint run refund.toml --faults kill,drop-ack         lost answers as well
  killpoint run refund.toml --strategy sample --trials 100 --seed 7
  killpoint run --resume reports/runs/20260821T101530Z-refund

Stopping: Ctrl-C ends the running lives and reports what was found until then; a second one leaves at once (130).

Exit codes: 0 clean, 1 findings, 2 usage, 3 baseline broken, 4 inconclusive, 5 this machine cannot, 70 bug in killpoint.";

/// Below `killpoint audit --help`.
pub const AFTER_AUDIT: &str = "\
What is tried, for each write and each in a trial of its own: a SIGKILL after the effect, an answer that never comes (closed, reset, \
too late), a 500 after the effect, a 503 before it.

The score of a write has three parts:
  key       is there an idempotency key, and is it the same in each attempt and each life?
  retry     is it sent again by itself, how often, with which waits, growing, with jitter?
  boundary  is a failure that says nothing read as \"did not happen\"?

Examples:
  killpoint audit refund.toml
  killpoint audit refund.toml --matrix durability=sync --slow-ack 6s     for a time-out of 5 s
  killpoint audit refund.toml --format markdown > audit.md
  killpoint audit agent.toml --mcp-server '{venv}/bin/python server.py'
  killpoint audit -- python3 refund.py

Exit codes: 0 no gap, 1 gaps, 2 usage, 3 baseline broken, 4 inconclusive, 5 this machine cannot, 70 bug in killpoint.";

/// Below `killpoint points --help`.
pub const AFTER_POINTS: &str = "\
Examples:
  killpoint points refund.toml --window
  killpoint points -- python3 refund.py | less

A point of this list can be given to `killpoint run --at`.

Exit codes: 0 listed, 2 usage, 3 the clean run breaks its promises, 5 this machine cannot, 70 bug in killpoint.";

/// Below `killpoint replay --help`.
pub const AFTER_REPLAY: &str = "\
Examples:
  killpoint replay F1
  killpoint replay 20260821T101530Z-refund/F2 --times 10
  killpoint replay F1 --kill                 from the start, with a real SIGKILL: after a mend
  killpoint replay F1 --shell                the world as it stood at the crash, in your shell
  killpoint replay F1 --exec ls -la /tmp/kp/state

Exit codes: 1 it came back each time, 0 it never came back, 4 it came back only sometimes or its point was not reached.";

/// Below `killpoint sandbox --help`.
pub const AFTER_SANDBOX: &str = "\
Examples:
  killpoint sandbox                                        on a free port, until Ctrl-C
  killpoint sandbox --port 12111 --ledger pay.db           on this port; look at pay.db with sqlite3
  killpoint sandbox --smtp-port 2525                       mails at this port
  killpoint sandbox --openapi > sandbox.json               the description of the API

Point a client at the printed address, here http://127.0.0.1:12111, and change nothing else:
  stripe-python   stripe.StripeClient(\"sk_test_x\", base_addresses={\"api\": \"http://127.0.0.1:12111\"})
  stripe-node     new Stripe(\"sk_test_x\", { protocol: \"http\", host: \"127.0.0.1\", port: 12111 })

Mails are taken by SMTP, with any login or none, and delivered to nobody: smtplib.SMTP(\"127.0.0.1\", PORT) with the printed port.

Stdout gets two lines, `url http://...` and `smtp smtp://...`; everything else is told on stderr.

Exit codes: 0 ended by Ctrl-C or SIGTERM, 2 usage, 5 the port or the ledger cannot be had, 70 bug in killpoint.";

/// Below `killpoint init --help`.
pub const AFTER_INIT: &str = "\
Example:
  killpoint init --resume-cmd 'python3 refund.py --resume' -- python3 refund.py

Exit codes: 0 written, 2 usage or the file is there, 3 written as a skeleton because the run failed, 5 this machine cannot.";

/// Below `killpoint doctor --help`.
pub const AFTER_DOCTOR: &str = "\
Exit codes: 0 this machine can trace, 5 it cannot; the line that fails says what to change.";
