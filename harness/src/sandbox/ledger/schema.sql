-- The ledger of one trial: what the outside world was asked, what it did, and under which keys. Times are microseconds from the
-- start of the trial.

CREATE TABLE IF NOT EXISTS requests (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  life INTEGER NOT NULL,
  effect TEXT NOT NULL,             -- the promise's name, or one made of method and path
  ordinal INTEGER NOT NULL,         -- the how-manieth of that effect in its life
  method TEXT NOT NULL,
  path TEXT NOT NULL,
  query TEXT,
  headers TEXT NOT NULL,            -- JSON
  body TEXT NOT NULL,               -- JSON
  body_sha256 TEXT NOT NULL,
  key TEXT,                         -- the idempotency key
  key_at TEXT,                      -- where it stands: header:NAME, body:PATH, argument:NAME
  fault TEXT,                       -- what was done to it on purpose
  outcome TEXT NOT NULL,            -- received, executed, replayed, conflict, mismatch, rejected, read
  status INTEGER NOT NULL,          -- 0: not answered
  object TEXT,                      -- id of the object that its effect made or changed
  received_us INTEGER NOT NULL,
  executed_us INTEGER,
  answered_us INTEGER
);

CREATE TABLE IF NOT EXISTS idempotency_keys (
  key TEXT PRIMARY KEY,             -- at most one request executes under a key: this constraint is the promise
  seq INTEGER NOT NULL UNIQUE REFERENCES requests (seq),
  created_us INTEGER NOT NULL,
  status INTEGER NOT NULL,          -- the first answer, given again to whoever repeats the key
  answer TEXT NOT NULL,
  under_way INTEGER NOT NULL        -- 1 until the first answer is on its way: meanwhile the key is in use
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS effects (
  seq INTEGER PRIMARY KEY REFERENCES requests (seq),
  effect TEXT NOT NULL,
  key TEXT UNIQUE,                  -- NULL: without a key nothing keeps the effect from happening again
  object TEXT NOT NULL,
  executed_us INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS objects (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,               -- charge, payment_intent, refund, customer, effect
  body TEXT NOT NULL                -- JSON
);

CREATE INDEX IF NOT EXISTS objects_by_kind ON objects (kind, number);
