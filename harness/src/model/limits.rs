//! Every limit of killpoint, in one place. Units stand last in the name. Hitting one is never a pass: the report names it.

/// Lives of one trial, when the scenario sets no `lives_max`.
pub const LIVES_MAX_DEFAULT: u32 = 5;
/// The most lives a scenario may ask for.
pub const LIVES_MAX: u32 = 1_000;
/// Time one life may take, when the scenario sets no `life_timeout`.
pub const LIFE_TIMEOUT_DEFAULT_MS: u64 = 60_000;
/// The longest `life_timeout` a scenario may ask for (one day).
pub const LIFE_TIMEOUT_MAX_MS: u64 = 86_400_000;
/// How long the sandbox listens on after the last life, when something that could still act was seen.
pub const DRAIN_DEFAULT_MS: u64 = 500;
/// How long a descendant may live on, without doing anything, after the first process of a life has exited.
pub const LINGER_DEFAULT_MS: u64 = 2_000;
/// How long requests that were under way when a life ended may take to settle.
pub const SETTLE_MAX_MS: u64 = 10_000;
/// Time one setup command may take.
pub const SETUP_TIMEOUT_MS: u64 = 1_800_000;
/// How often a point that was not reached is tried again before it is called unreached.
pub const POINT_TRIES_MAX: u32 = 6;
/// Counted calls of one life; a life that makes more is ended and its census is incomplete.
pub const CALLS_PER_LIFE_MAX: u64 = 5_000_000;
/// Files outside of the trial's folders, and shared mappings, that are named for one life.
pub const NOTICES_PER_LIFE_MAX: usize = 200;
/// Crash points one census keeps.
pub const POINTS_PER_CENSUS_MAX: usize = 200_000;
/// Bytes of output kept of one life; a life that prints more is ended.
pub const OUTPUT_PER_LIFE_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Bytes of a write to the terminal that are looked at for an `output:` point.
pub const OUTPUT_LINE_MAX_BYTES: usize = 64 * 1024;
/// Bytes of a path read out of a traced process.
pub const PATH_MAX_BYTES: usize = 4_096;
/// Processes and threads alive in one life.
pub const TASKS_PER_LIFE_MAX: usize = 10_000;
/// Bytes of one request body the sandbox reads.
pub const BODY_MAX_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of the head of one request.
pub const HEAD_MAX_BYTES: usize = 64 * 1024;
/// Longest idempotency key (Stripe documents 255 characters).
pub const KEY_MAX_CHARS: usize = 255;
/// Time a client may take to send the head and the body of one request.
pub const REQUEST_READ_TIMEOUT_MS: u64 = 60_000;
/// Bytes that are still read, and thrown away, after a request was refused, so that its client can read why.
pub const REFUSED_READ_MAX_BYTES: u64 = 1024 * 1024;
/// How long that goes on.
pub const REFUSED_READ_TIMEOUT_MS: u64 = 1_000;
/// Brackets in one key of a form (`a[b][c]` has two).
pub const FORM_DEPTH_MAX: usize = 16;
/// Pause after the system gave the sandbox no connection (it is out of descriptors), so that it does not spin.
pub const ACCEPT_PAUSE_MS: u64 = 10;
/// How long a freeze may take before it is given up: a thread in an uninterruptible call cannot be stopped.
pub const FREEZE_MAX_MS: u64 = 5_000;
/// Characters of a scenario's name in the name of its run folder.
pub const SLUG_MAX_CHARS: usize = 60;
/// Objects on one page of a list (Stripe documents 100).
pub const LIST_PAGE_MAX: i64 = 100;
/// Times that one finding is replayed by one command.
pub const REPLAYS_MAX: i64 = 10_000;
/// How long the writing of an answer may take while the client is stopped for it.
pub const ANSWER_WRITE_MAX_MS: u64 = 2_000;
/// How long bytes that a stopped client has sent may take to arrive in the ledger; a request that is not whole by then stays out.
pub const QUIET_MAX_MS: u64 = 5;
/// How long a thread that is about to write state is held while the rest of the tree does not stand still.
pub const HOLD_MAX_MS: u64 = 200;
/// The same for a thread that waits for the turn that a seed gives it.
pub const PAUSE_MAX_MS: u64 = 20;
/// How long threads of one life wait in all; past that nobody waits any more.
pub const HOLDS_PER_LIFE_MAX_MS: u64 = 10_000;
/// How long an answer is held back until the tree stands still.
pub const STILL_MAX_MS: u64 = 500;
/// Open connections of one sandbox.
pub const CONNECTIONS_MAX: usize = 4_096;
/// Requests one trial may make.
pub const REQUESTS_PER_TRIAL_MAX: u64 = 1_000_000;
/// Bytes of a scenario file.
pub const SCENARIO_MAX_BYTES: u64 = 1024 * 1024;
/// Problems of one scenario file that are shown at once.
pub const SCENARIO_PROBLEMS_MAX: usize = 8;
/// Cells of one matrix.
pub const MATRIX_CELLS_MAX: usize = 256;
/// Lives of one trial that are crashed.
pub const DEPTH_MAX: u32 = 4;
/// Orders of threads that one campaign records.
pub const INTERLEAVINGS_MAX: usize = 64;
/// States of one campaign that are resumed.
pub const STATES_PER_CAMPAIGN_MAX: usize = 100_000;
/// Files, folders and links of one crash image.
pub const IMAGE_FILES_MAX: usize = 100_000;
/// Bytes that one crash image holds, without the holes of its files.
pub const IMAGE_MAX_BYTES: u64 = 4 * 1024 * 1024 * 1024;
/// Bytes of a file that are kept as one piece.
pub const IMAGE_PART_BYTES: u64 = 16 * 1024 * 1024;
/// Bytes of a file that are looked into for their meaning; a larger one is compared by its bytes.
pub const MEANING_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Bytes of files whose meaning is kept in memory, so that it need not be read again.
pub const MEANINGS_KEPT_MAX_BYTES: u64 = 128 * 1024 * 1024;
/// Levels of JSON or MessagePack that are followed.
pub const MEANING_DEPTH_MAX: usize = 128;
/// How much older keys can grow from one life to the next, in milliseconds.
pub const KEY_AGE_MAX_MS: u64 = 400 * 24 * 3_600_000;
/// How long a server behind the sandbox may take to answer, in milliseconds.
pub const UPSTREAM_TIMEOUT_MS: u64 = 60_000;
/// Bytes of one answer of a server behind the sandbox.
pub const UPSTREAM_ANSWER_MAX_BYTES: usize = 16 * 1024 * 1024;
/// How much later a slow answer comes where the fault does not say, in milliseconds. Beyond the patience of common HTTP clients
/// (requests and httpx of Python: none and 5 s; stripe-node and stripe-python: 80 s).
pub const SLOW_ACK_DEFAULT_MS: u64 = 90_000;
/// The longest an answer can be held back, in milliseconds.
pub const SLOW_ACK_MAX_MS: u64 = 600_000;
/// How many requests in a row one `fail` can let fail.
pub const FAIL_TIMES_MAX: u32 = 20;
/// How many steps a scenario can let fail.
pub const FAILS_MAX: usize = 20;
/// Requests of one trial that can be held on their way at once.
pub const HELD_REQUESTS_MAX: usize = 1_000;
/// Recipients of one mail (RFC 5321, section 4.5.3.1.8, asks for 100 at least).
pub const MAIL_RECIPIENTS_MAX: usize = 1_000;
/// How long an MCP server may take to say which tools it has, in milliseconds.
pub const TOOLS_ANSWER_MAX_MS: u64 = 60_000;
/// Trials that run side by side.
pub const JOBS_MAX: usize = 256;
/// Trials a sample may ask for.
pub const TRIALS_MAX: u64 = 10_000_000;
/// Files a `dir_copy` may hold.
pub const DIR_COPY_FILES_MAX: usize = 20_000;
/// Bytes a `dir_copy` may hold.
pub const DIR_COPY_MAX_BYTES: u64 = 512 * 1024 * 1024;
/// Lines of a life's output shown in a finding.
pub const OUTPUT_TAIL_LINES: usize = 12;
/// Reached points that did not fail between two failing ones of one unsafe window. Threads change their order between runs, so
/// that a point can come out clean although its neighbours fail; a gap wider than what a handful of threads shuffle begins a
/// window of its own.
pub const WINDOW_GAP_MAX_POINTS: usize = 3;
/// Characters of an intent that was made up from a body; a longer one is cut and ends in a digest of the whole.
pub const INTENT_MAX_CHARS: usize = 80;
/// Characters of a key or a line of output that a sentence of evidence quotes.
pub const QUOTE_MAX_CHARS: usize = 120;
/// Bytes of a database or a file of lines in which effects are looked for; a larger one is not read.
pub const WITNESS_MAX_BYTES: u64 = 256 * 1024 * 1024;
/// Time a scenario's query may take.
pub const WITNESS_QUERY_MAX_MS: u64 = 10_000;
/// Rows or lines of one promise that are read as effects.
pub const WITNESSED_MAX: usize = 100_000;
/// Waits between attempts that differ by no more than this are taken as alike, in milliseconds: a loaded machine makes as much.
pub const WAITS_ALIKE_MS: u64 = 25;
/// The same, in percent of the longer one.
pub const WAITS_ALIKE_PERCENT: u64 = 10;
/// A wait before an attempt that is shorter than this is no pause, in milliseconds.
pub const BACK_OFF_MIN_MS: u64 = 10;
/// Notes of one kind that are kept on the keys of one effect.
pub const KEY_NOTES_MAX: usize = 5;
/// Attempts in a row that one probe of the back-off lets fail.
pub const BACK_OFF_PROBED_MAX: u32 = 3;
