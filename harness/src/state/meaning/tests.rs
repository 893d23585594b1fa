//! What worlds mean: which differences count, and that nothing but volatile values is renamed.

mod apart;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;
use rusqlite::Connection;

use super::*;
use crate::state::image::{Camera, ImageId, ImageStore, Root};

/// A store, and folders of which documents are made.
struct Bench {
    keep: tempfile::TempDir,
    store: Arc<ImageStore>,
}

impl Bench {
    fn new() -> Self {
        let keep = tempfile::tempdir().unwrap();
        let store = Arc::new(ImageStore::open(&keep.path().join("store")).unwrap());
        Self { keep, store }
    }

    fn folder(&self, name: &str) -> PathBuf {
        let path = self.keep.path().join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn image(&self, name: &str) -> ImageId {
        let root = Root { name: "state".to_owned(), path: self.folder(name), skip: Vec::new() };
        Camera::new(self.store.clone(), vec![root]).shoot().unwrap()
    }

    fn document(&self, name: &str) -> Document {
        Reader::new(self.store.clone()).read(&self.image(name)).unwrap()
    }

    fn of(&self, name: &str, file: &str, content: impl AsRef<[u8]>) -> Document {
        fs::write(self.folder(name).join(file), content).unwrap();
        self.document(name)
    }
}

fn plain(document: &Document) -> StateDigest {
    digest(document, &Volatile::none())
}

/// A database in WAL mode with one row, its log not taken in; the connection keeps it so.
fn database(path: &std::path::Path) -> Connection {
    let db = Connection::open(path).unwrap();
    db.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'x');",
    )
    .unwrap();
    db
}

#[test]
fn a_half_written_frame_is_no_state_of_its_own_and_a_whole_one_is() {
    let bench = Bench::new();
    let folder = bench.folder("a");
    let db = database(&folder.join("data.db"));
    let before = plain(&bench.document("a"));
    let log = fs::read(folder.join("data.db-wal")).unwrap();
    db.execute_batch("INSERT INTO t VALUES (2, 'y');").unwrap();
    let whole = fs::read(folder.join("data.db-wal")).unwrap();
    assert!(whole.len() > log.len());
    for length in [log.len(), log.len() + 100, whole.len() - 1] {
        let torn = bench.folder(&format!("torn{length}"));
        fs::copy(folder.join("data.db"), torn.join("data.db")).unwrap();
        fs::write(torn.join("data.db-wal"), &whole[..length]).unwrap();
        assert_eq!(plain(&bench.document(&format!("torn{length}"))), before, "{length} bytes of the log");
    }
    let after = plain(&bench.document("a"));
    assert_ne!(after, before);
    // Taken into the database, the same rows are the same state.
    db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE);").unwrap();
    assert_eq!(plain(&bench.document("a")), after);
}

#[test]
fn a_hot_journal_is_the_state_before_its_transaction() {
    let bench = Bench::new();
    let folder = bench.folder("a");
    let db = Connection::open(folder.join("data.db")).unwrap();
    db.execute_batch("PRAGMA cache_size = 1; CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(1));").unwrap();
    let before = plain(&bench.document("a"));
    // More than the cache holds, so that pages are in the file before the end of the transaction.
    db.execute_batch("BEGIN;").unwrap();
    for _ in 0..50 {
        db.execute_batch("INSERT INTO t VALUES (zeroblob(3000));").unwrap();
    }
    assert!(fs::metadata(folder.join("data.db-journal")).unwrap().len() > 0);
    assert_eq!(plain(&bench.document("a")), before);
    db.execute_batch("COMMIT;").unwrap();
    assert_ne!(plain(&bench.document("a")), before);
}

#[test]
fn what_is_no_database_any_more_counts_by_its_bytes() {
    let bench = Bench::new();
    let mut bytes = b"SQLite format 3\0".to_vec();
    bytes.extend([7; 100]);
    let one = bench.of("one", "data.db", &bytes);
    bytes.push(8);
    assert_ne!(plain(&one), plain(&bench.of("two", "data.db", &bytes)));
}

#[test]
fn json_counts_by_value_and_a_torn_line_is_seen() {
    let bench = Bench::new();
    let of = |name: &str, text: &str| plain(&bench.of(name, "f", text));
    assert_eq!(of("a", "{\"a\": 1, \"b\": [true]}"), of("b", "{\"b\":[true],\"a\":1}"));
    assert_ne!(of("c", "{\"a\": 1}"), of("d", "{\"a\": 2}"));
    assert_ne!(of("e", "{\"a\":1}\n{\"a\":2}\n"), of("f", "{\"a\":1}\n{\"a\":2}"));
    assert_ne!(of("g", "{\"a\":1}\n{\"a\":2}\n"), of("h", "{\"a\":1}\n{\"a\":"));
    assert_ne!(of("i", "{\"a\":1}"), of("j", "{\"a\":\"1\"}"));
}

const RUNS: [&str; 2] = [
    "id 8f14e45f-ceea-467f-a0e6-1b2c3d4e5f60 ref 8f14e45f-ceea-467f-a0e6-1b2c3d4e5f60 at 2026-12-01T05:10:12.123456Z step 3\n",
    "id 0a0b0c0d-1111-4222-8333-123456789abc ref 0a0b0c0d-1111-4222-8333-123456789abc at 2026-12-01T06:00:00.000001Z step 3\n",
];

#[test]
fn values_that_clean_runs_do_not_share_are_renamed_and_no_others() {
    let bench = Bench::new();
    let runs = [bench.of("one", "f", RUNS[0]), bench.of("two", "f", RUNS[1])];
    let volatile = Volatile::learn(&runs);
    let of = |name: &str, text: &str| digest(&bench.of(name, "f", text), &volatile);
    let known = digest(&runs[0], &volatile);
    assert_eq!(digest(&runs[1], &volatile), known);
    // A later life makes values that no clean run had.
    let later = RUNS[0].replace("8f14e45f", "ffffffff").replace("05:10", "07:07");
    assert_eq!(of("later", &later), known);
    // Which value refers to which stays: here the second is another one.
    let other = RUNS[0].replacen("ref 8f14e45f", "ref 9f14e45f", 1);
    assert_ne!(of("other", &other), known);
    // A counter is no volatile value.
    assert_ne!(of("step", &RUNS[0].replace("step 3", "step 4")), known);
    // Nothing is learned from one run alone.
    assert_ne!(plain(&runs[0]), plain(&runs[1]));
}

#[test]
fn a_value_that_every_run_shares_is_told_from_others() {
    let bench = Bench::new();
    let fixed = "11111111-2222-4333-8444-555555555555";
    let run = |id: &str| format!("{fixed} {id}\n");
    let ids = ["8f14e45f-ceea-467f-a0e6-1b2c3d4e5f60", "0a0b0c0d-1111-4222-8333-123456789abc"];
    let runs = [bench.of("one", "f", run(ids[0])), bench.of("two", "f", run(ids[1]))];
    let volatile = Volatile::learn(&runs);
    let swapped = bench.of("swapped", "f", format!("{} {fixed}\n", ids[0]));
    assert_ne!(digest(&swapped, &volatile), digest(&runs[0], &volatile));
}

#[test]
fn a_volatile_value_is_one_in_a_file_that_has_not_got_its_name_yet() {
    let bench = Bench::new();
    let made = |id: &str, at: u64| format!("{{\"id\": \"ch_000001{id}\", \"created\": {at}}}");
    let (one, two) = (made("k3v9x2m4q1", 1_796_127_119), made("z7p0b5w8c6", 1_796_127_120));
    let runs = [bench.of("one", "done", &one), bench.of("two", "done", &two)];
    let volatile = Volatile::learn(&runs);
    let of = |name: &str, text: &str| digest(&bench.of(name, "done.tmp", text), &volatile);
    let whole = of("whole1", &one);
    assert_eq!(of("whole2", &two), whole);
    assert_ne!(whole, digest(&runs[0], &volatile), "the name counts");
    // Torn in its last byte, it is no JSON any more, and its numbers are digits of a text.
    assert_eq!(of("torn1", one.trim_end_matches('}')), of("torn2", two.trim_end_matches('}')));
    assert_ne!(of("torn3", one.trim_end_matches('}')), whole);
    assert_ne!(of("other", &made("k3v9x2m4q1", 12)), whole, "what no run had there is not renamed");
    // Which of two values is meant still counts, and so does another value of that shape.
    let both = |first: &str, second: &str| {
        let folder = bench.folder(&format!("both-{}-{}", first.len(), blake3::hash(format!("{first}{second}").as_bytes())));
        fs::write(folder.join("a.tmp"), first).unwrap();
        bench.of(folder.file_name().unwrap().to_str().unwrap(), "b.tmp", second)
    };
    assert_ne!(digest(&both(&one, &one), &volatile), digest(&both(&one, &two), &volatile));
    assert_ne!(of("foreign", &made("m2n4d6f8h0", 1_796_127_119)), whole);
}

#[test]
fn a_number_is_volatile_only_where_it_is_a_time_that_runs_do_not_share() {
    let bench = Bench::new();
    let text = |at: u64, count: u64| format!("{{\"at\": {at}, \"count\": {count}}}");
    let runs = [bench.of("one", "f", text(1_796_127_119, 7)), bench.of("two", "f", text(1_796_127_120, 7))];
    let volatile = Volatile::learn(&runs);
    let of = |name: &str, at, count| digest(&bench.of(name, "f", text(at, count)), &volatile);
    let known = digest(&runs[0], &volatile);
    assert_eq!(of("later", 1_796_999_999, 7), known);
    assert_ne!(of("count", 1_796_127_119, 8), known);
    assert_ne!(of("small", 12, 7), known, "what is no time is not renamed where times are");
}

#[test]
fn a_checkpoint_in_message_pack_is_read_by_value() {
    let bench = Bench::new();
    let write = |name: &str, version: &str| {
        let db = Connection::open(bench.folder(name).join("data.db")).unwrap();
        let mut blob = vec![0x81, 0xa1, b'v', 0xd9, u8::try_from(version.len()).unwrap()];
        blob.extend(version.as_bytes());
        db.execute_batch("CREATE TABLE t (a)").unwrap();
        db.execute("INSERT INTO t VALUES (?1)", [blob]).unwrap();
        drop(db);
        bench.document(name)
    };
    // Random tails of different lengths, as LangGraph's channel versions have them.
    let head = "00000000000000000000000000000002.0";
    let runs = [write("one", &format!("{head}.24379884883851")), write("two", &format!("{head}.0243798848838515427"))];
    let volatile = Volatile::learn(&runs);
    assert_eq!(digest(&runs[0], &volatile), digest(&runs[1], &volatile));
    let next = write("three", "00000000000000000000000000000003.0.24379884883851");
    assert_ne!(digest(&next, &volatile), digest(&runs[0], &volatile), "the version itself counts");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn renaming_follows_identity_and_a_stable_word_counts(
        order in prop::collection::vec(0_usize..3, 1..8),
        words in prop::collection::vec("[a-z]{1,4}", 8),
        change in 0_usize..8,
    ) {
        let bench = Bench::new();
        let ids = |salt: u32| (0..3).map(|n| format!("{salt:08x}-0000-4000-8000-{n:012x}")).collect::<Vec<_>>();
        let text = |ids: &[String], words: &[String]| {
            order.iter().zip(words).map(|(id, word)| format!("{word} {}\n", ids[*id])).collect::<String>()
        };
        let runs = [bench.of("one", "f", text(&ids(1), &words)), bench.of("two", "f", text(&ids(2), &words))];
        let volatile = Volatile::learn(&runs);
        let known = digest(&runs[0], &volatile);
        prop_assert_eq!(&digest(&bench.of("three", "f", text(&ids(3), &words)), &volatile), &known);
        let change = change % order.len();
        let mut other = words.clone();
        other[change].push('z');
        prop_assert_ne!(&digest(&bench.of("four", "f", text(&ids(3), &other)), &volatile), &known);
    }
}
