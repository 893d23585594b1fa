//! States that must stay apart: pairs of worlds that look alike to a careless reader and are not the same.

use super::*;
use crate::model::limits::MEANING_MAX_BYTES;

/// Two folders that hold one file each, which differ in nothing but its content.
fn differ(name: &str, one: impl AsRef<[u8]>, other: impl AsRef<[u8]>) -> bool {
    let bench = Bench::new();
    plain(&bench.of("one", name, one)) != plain(&bench.of("other", name, other))
}

/// Databases of one row and one column, made of these SQL expressions.
fn cells_differ(one: &str, other: &str) -> bool {
    let bench = Bench::new();
    let of = |name: &str, cell: &str| {
        let db = Connection::open(bench.folder(name).join("data.db")).unwrap();
        db.execute_batch(&format!("CREATE TABLE t (a); INSERT INTO t VALUES ({cell});")).unwrap();
        drop(db);
        plain(&bench.document(name))
    };
    of("one", one) != of("other", other)
}

/// Learns from two runs of one text file; whether two later ones differ.
fn later_differ(name: &str, runs: [&str; 2], later: [&str; 2]) -> bool {
    let bench = Bench::new();
    let runs = [bench.of("run1", name, runs[0]), bench.of("run2", name, runs[1])];
    let volatile = Volatile::learn(&runs);
    assert_eq!(digest(&runs[0], &volatile), digest(&runs[1], &volatile), "the runs themselves are one state");
    let [one, other] = later;
    digest(&bench.of("one", name, one), &volatile) != digest(&bench.of("other", name, other), &volatile)
}

#[test]
fn a_log_of_somebody_elses_making_beside_an_empty_file_counts() {
    for ending in ["-wal", "-journal", "-shm"] {
        let bench = Bench::new();
        for (folder, content) in [("one", "charged inv_9\n"), ("other", "nothing\n")] {
            fs::write(bench.folder(folder).join("store"), "").unwrap();
            fs::write(bench.folder(folder).join(format!("store{ending}")), content).unwrap();
        }
        assert_ne!(plain(&bench.document("one")), plain(&bench.document("other")), "store{ending}");
    }
}

#[test]
fn a_first_transaction_that_did_not_come_to_its_end_is_no_state_of_its_own() {
    let bench = Bench::new();
    let empty = plain(&bench.of("empty", "data.db", ""));
    let folder = bench.folder("begun");
    let db = Connection::open(folder.join("data.db")).unwrap();
    db.execute_batch("PRAGMA cache_size = 1; BEGIN; CREATE TABLE t (a); INSERT INTO t VALUES (1);").unwrap();
    for _ in 0..50 {
        db.execute_batch("INSERT INTO t VALUES (zeroblob(3000));").unwrap();
    }
    assert!(fs::metadata(folder.join("data.db-journal")).unwrap().len() > 0);
    // With pages in the file already, and before the first of them.
    assert_eq!(plain(&bench.document("begun")), empty);
    fs::write(folder.join("data.db"), "").unwrap();
    assert_eq!(plain(&bench.document("begun")), empty);
}

#[test]
fn a_journal_that_says_nothing_yet_is_nothing_beside_a_file_that_becomes_a_database_and_counts_beside_any_other() {
    let bench = Bench::new();
    let cold = |name: &str, file: &str, journal: Option<&[u8]>| {
        let folder = bench.folder(name);
        fs::write(folder.join(file), "").unwrap();
        if let Some(journal) = journal {
            fs::write(folder.join(format!("{file}-journal")), journal).unwrap();
        }
        bench.image(name)
    };
    // As SQLite writes it before it is synced: twelve zeroes, a nonce, no pages, sectors of 512 bytes, pages of 4096.
    let mut unsynced = vec![0; 512];
    unsynced[12..16].copy_from_slice(&[1, 2, 3, 4]);
    unsynced[20..28].copy_from_slice(&[0, 0, 2, 0, 0, 0, 0x10, 0]);
    let later = bench.folder("later");
    Connection::open(later.join("app.db")).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    let mut reader = Reader::new(bench.store.clone());
    reader.learn(&bench.image("later")).unwrap();
    let mut meaning = |name: &str, file: &str, journal| plain(&reader.read(&cold(name, file, journal)).unwrap());
    let alone = meaning("a", "app.db", None);
    assert_eq!(alone, meaning("b", "app.db", Some(b"")));
    assert_eq!(alone, meaning("c", "app.db", Some(&unsynced)));
    assert_ne!(alone, meaning("d", "app.db", Some(b"a note of somebody else")));
    let other = meaning("e", "list", None);
    assert_ne!(other, meaning("f", "list", Some(b"")));
    assert_ne!(other, meaning("g", "list", Some(&unsynced)));
}

#[test]
fn the_journal_that_sqlite_has_begun_and_not_synced_is_known_by_its_head() {
    let bench = Bench::new();
    let path = bench.folder("real").join("app.db");
    let db = Connection::open(&path).unwrap();
    db.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1); BEGIN; UPDATE t SET a = 2;").unwrap();
    let journal = fs::read(bench.folder("real").join("app.db-journal")).unwrap();
    assert!(journal.len() > 28 && super::super::family::is_cold("-journal", &journal));
    assert!(!super::super::family::is_cold("-wal", &journal) && !super::super::family::is_cold("-journal", &journal[4..]));
}

#[test]
fn a_folder_with_the_name_of_a_log_counts() {
    let bench = Bench::new();
    for name in ["one", "other"] {
        Connection::open(bench.folder(name).join("data.db")).unwrap().execute_batch("CREATE TABLE t (a);").unwrap();
    }
    fs::create_dir(bench.folder("other").join("data.db-journal")).unwrap();
    assert_ne!(plain(&bench.document("one")), plain(&bench.document("other")));
}

#[test]
fn the_log_of_a_database_that_is_too_large_to_be_read_counts() {
    let bench = Bench::new();
    for (folder, content) in [("one", "a"), ("other", "b")] {
        let path = bench.folder(folder).join("data.db");
        fs::write(&path, b"SQLite format 3\0").unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_len(MEANING_MAX_BYTES + 1).unwrap();
        fs::write(bench.folder(folder).join("data.db-wal"), content).unwrap();
    }
    assert_ne!(plain(&bench.document("one")), plain(&bench.document("other")));
}

#[test]
fn a_large_file_that_differs_between_runs_is_not_volatile_as_a_whole() {
    let bench = Bench::new();
    let of = |name: &str, content: &str| {
        let path = bench.folder(name).join("large");
        fs::write(&path, content).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_len(MEANING_MAX_BYTES + 1).unwrap();
        bench.document(name)
    };
    let volatile = Volatile::learn(&[of("run1", "one"), of("run2", "two")]);
    assert_ne!(digest(&of("later1", "three"), &volatile), digest(&of("later2", "four"), &volatile));
}

#[test]
fn numbers_that_a_float_cannot_tell_apart_are_two() {
    assert!(differ("f", "[18446744073709551615]", "[18446744073709551614]"));
    assert!(differ("f", "[100000000000000000000001]", "[100000000000000000000002]"));
    assert!(differ("f", "[0.12345678901234567891]", "[0.12345678901234567892]"));
    assert!(differ("f", "[100000000000000000000001]", "[\"100000000000000000000001\"]"));
    assert!(cells_differ("'[18446744073709551615]'", "'[18446744073709551614]'"));
    assert!(!differ("f", "[1.50, 1e3, -0.25]", "[1.5,1000.0,-25e-2]"), "but one value is one value, however it is written");
}

#[test]
fn a_key_that_stands_twice_is_not_dropped() {
    assert!(differ("f", "{\"a\":1,\"a\":2}", "{\"a\":3,\"a\":2}"));
    assert!(differ("f", "{\"a\":1,\"a\":2}", "{\"a\":2,\"a\":1}"));
}

#[test]
fn a_blob_is_not_the_text_or_number_that_it_would_be_in_message_pack() {
    assert!(cells_differ("'abc'", "x'a3616263'"));
    assert!(cells_differ("5", "x'05'"));
    assert!(cells_differ("x'05'", "x'cc05'"), "two ways to write 5 are two blobs");
    assert!(cells_differ("x'ca3fc00000'", "x'cb3ff8000000000000'"), "1.5 in four bytes and in eight");
    assert!(cells_differ("x'cfffffffffffffffff'", "x'b43138343436373434303733373039353531363135'"), "a number and its text");
    assert!(cells_differ("'1.0'", "1.0") && cells_differ("1", "1.0") && cells_differ("NULL", "x'c0'"));
}

#[test]
fn a_journal_of_several_databases_at_once_is_not_judged_by_one_of_them() {
    let bench = Bench::new();
    let folder = bench.folder("a");
    let db = Connection::open(folder.join("data.db")).unwrap();
    db.execute_batch("PRAGMA cache_size = 1; CREATE TABLE t (a); INSERT INTO t VALUES (1); BEGIN;").unwrap();
    for _ in 0..50 {
        db.execute_batch("INSERT INTO t VALUES (zeroblob(3000));").unwrap();
    }
    // The record at the end of a journal that names another one (sqlite.org/fileformat2.html, section 3): without that other one
    // SQLite takes the transaction as committed, and with it as not.
    let name = b"/nowhere/data.db-mj0123456789ab";
    let mut journal = fs::read(folder.join("data.db-journal")).unwrap();
    journal.extend((0x4000_0000_u32 / 4096 + 1).to_be_bytes());
    journal.extend(name);
    journal.extend(u32::try_from(name.len()).unwrap().to_be_bytes());
    journal.extend(name.iter().map(|byte| u32::from(*byte)).sum::<u32>().to_be_bytes());
    journal.extend([0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]);
    for copy in ["with", "without"] {
        fs::copy(folder.join("data.db"), bench.folder(copy).join("data.db")).unwrap();
    }
    fs::write(bench.folder("with").join("data.db-journal"), journal).unwrap();
    assert_ne!(plain(&bench.document("with")), plain(&bench.document("without")));
}

#[test]
fn a_counter_beside_a_time_stays_a_counter() {
    let runs = ["job 0000000001 at 1796127119\n", "job 0000000001 at 1796127120\n"];
    assert!(later_differ("f", runs, ["job 0000000003 at 1796127121\n", "job 0000000004 at 1796127121\n"]));
    let runs = ["order 100000001 at 1796127119.25\n", "order 100000001 at 1796127120.5\n"];
    assert!(later_differ("f", runs, ["order 100000003 at 1796127121.1\n", "order 100000004 at 1796127121.1\n"]));
}

#[test]
fn a_counter_with_leading_zeros_is_no_random_hexadecimal() {
    let (one, two) = ("9f86d081884c7d659a2feaa0c55ad015", "a3bf4f1b2b0b822cd15d6c15b0f00a08");
    for [count, next] in [
        ["00000000000000000000000000000003", "00000000000000000000000000000004"],
        ["000000000000000000000000000000a1", "000000000000000000000000000000b1"],
        ["12345678901234567890", "12345678901234567891"],
    ] {
        let text = |id: &str, count: &str| format!("version {count} of {id}\n");
        let runs = [text(one, "1"), text(two, "1")];
        assert!(later_differ("f", [&runs[0], &runs[1]], [&text(one, count), &text(one, next)]), "{count} and {next}");
    }
}

#[test]
fn a_numbered_name_is_no_random_word() {
    let (one, two) = ("V1StGXR8x5jdHi6B2myT7", "Q9mZk4Lw0xRt3Yc8Vb1Nd");
    for [name, next] in
        [["invoice-2026-attempt-003", "invoice-2026-attempt-004"], ["checkpoint000000000003", "checkpoint000000000004"]]
    {
        let text = |id: &str, name: &str| format!("{name} {id}\n");
        let runs = [text(one, "start"), text(two, "start")];
        assert!(later_differ("f", [&runs[0], &runs[1]], [&text(one, name), &text(one, next)]), "{name} and {next}");
    }
}

#[test]
fn a_random_name_makes_no_other_file_name_volatile() {
    let bench = Bench::new();
    let of = |folder: &str, session: &str, log: &str| {
        fs::write(bench.folder(folder).join(format!("session.{session}")), "").unwrap();
        fs::write(bench.folder(folder).join(format!("log.{log}")), "").unwrap();
        bench.document(folder)
    };
    let ids = ["9f86d081884c7d659a2feaa0c55ad015", "a3bf4f1b2b0b822cd15d6c15b0f00a08"];
    let (charged, mailed) = ("b5bb9d8014a0f9b1d61e21e796d78dcc", "d8e8fca2dc0f896fd7cb4cb0031ba249");
    let runs = [of("run1", ids[0], "first"), of("run2", ids[1], "first")];
    let volatile = Volatile::learn(&runs);
    assert_eq!(digest(&runs[0], &volatile), digest(&runs[1], &volatile));
    let later = [of("later1", ids[0], charged), of("later2", ids[1], mailed)];
    assert_ne!(digest(&later[0], &volatile), digest(&later[1], &volatile), "what is named by its content");
}
