//! Rows of an SQLite database, one effect each.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, Statement};
use serde_json::{Map, Number, Value};

use super::{Unread, length, one_line};
use crate::model::limits::{WITNESS_QUERY_MAX_MS, WITNESSED_MAX};
use crate::state::meaning::is_shared;

/// What belongs to a database and is read with it (sqlite.org/tempfiles.html); the index of the log is made anew.
const BESIDE: [&str; 2] = ["-wal", "-journal"];

/// Every row that a query gives, as an object by column, in its order. Binary columns are written in hexadecimal. SQLite reads a copy:
/// a log is taken in and a journal rolled back as the workflow would have it, and the world stays as it is.
///
/// # Errors
/// The database or a table is not there, or it cannot be read. `shown` is its name for people.
pub fn rows(path: &Path, shown: &str, query: &str) -> Result<Vec<Value>, Unread> {
    let unreadable = |error: std::io::Error| Unread::Unreadable(format!("{shown} cannot be copied: {error}"));
    let scratch = tempfile::tempdir().map_err(unreadable)?;
    let copy = copied(path, shown, scratch.path())?;
    read(&copy, query).map_err(|error| told(error, shown, query))
}

/// Copies a database and what belongs to it.
fn copied(path: &Path, shown: &str, folder: &Path) -> Result<PathBuf, Unread> {
    let fail = |error: std::io::Error| Unread::Unreadable(format!("{shown} cannot be copied: {error}"));
    let copy = folder.join("db");
    length(path, shown)?;
    fs::copy(path, &copy).map_err(fail)?;
    for ending in BESIDE {
        let with = |path: &Path| {
            let mut name = path.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        };
        let shown = format!("{shown}{ending}");
        match length(&with(path), &shown) {
            Ok(_) => fs::copy(with(path), with(&copy)).map_err(fail)?,
            Err(Unread::Absent(_)) => continue,
            Err(error) => return Err(error),
        };
        if ending == "-journal" && is_shared(&fs::read(with(&copy)).map_err(fail)?) {
            let what = "is part of a commit of several databases, which a copy cannot tell done from not done";
            return Err(Unread::Unreadable(format!("{shown} {what}")));
        }
    }
    Ok(copy)
}

/// Why a query gave no rows.
enum Refused {
    Sqlite(rusqlite::Error),
    Other(String),
}

impl From<rusqlite::Error> for Refused {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

fn read(path: &Path, query: &str) -> Result<Vec<Value>, Refused> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    let mut select = db.prepare(query)?;
    if !select.readonly() {
        return Err(Refused::Other("it does more than read".to_owned()));
    }
    let interrupt = db.get_interrupt_handle();
    let (done, over) = mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        let limit = Duration::from_millis(WITNESS_QUERY_MAX_MS);
        if over.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
            interrupt.interrupt();
        }
    });
    let found = all(&mut select);
    drop(done);
    // It cannot panic, and ends at once when the sender is gone.
    let _ = watch.join();
    found
}

fn all(select: &mut Statement<'_>) -> Result<Vec<Value>, Refused> {
    let columns: Vec<String> = select.column_names().map(str::to_owned).collect();
    if let Some((_, twice)) = columns.iter().enumerate().find(|(at, name)| columns[..*at].contains(name)) {
        return Err(Refused::Other(format!("two columns are called `{twice}`; name one of them with AS")));
    }
    let mut found = Vec::new();
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        if found.len() == WITNESSED_MAX {
            return Err(Refused::Other(format!("it gives more than {WITNESSED_MAX} rows")));
        }
        let mut body = Map::new();
        for (index, column) in columns.iter().enumerate() {
            body.insert(column.clone(), json(row.get_ref(index)?));
        }
        found.push(Value::Object(body));
    }
    Ok(found)
}

fn json(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => Number::from_f64(number).map_or(Value::Null, Value::Number),
        ValueRef::Text(bytes) => String::from_utf8_lossy(bytes).into_owned().into(),
        ValueRef::Blob(bytes) => hex::encode(bytes).into(),
    }
}

fn told(error: Refused, shown: &str, query: &str) -> Unread {
    let what = match &error {
        Refused::Sqlite(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
            format!("it takes longer than {WITNESS_QUERY_MAX_MS} ms")
        }
        // The query itself is told already.
        Refused::Sqlite(rusqlite::Error::SqlInputError { msg, .. }) => msg.clone(),
        Refused::Sqlite(error) => error.to_string(),
        Refused::Other(what) => what.clone(),
    };
    let told = format!("the query `{}` on {shown} gives no answer: {what}", one_line(query));
    if what.starts_with("no such table") { Unread::Absent(told) } else { Unread::Unreadable(told) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const QUERY: &str = "SELECT invoice, amount FROM payouts ORDER BY rowid";

    fn database(sql: &str) -> (tempfile::TempDir, PathBuf, Connection) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.db");
        let db = Connection::open(&path).unwrap();
        db.execute_batch(sql).unwrap();
        (folder, path, db)
    }

    fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files.into_iter().map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
    }

    #[test]
    fn rows_that_stand_in_the_log_alone_are_read_and_nothing_is_changed() {
        let sql = "PRAGMA journal_mode = WAL; CREATE TABLE payouts (invoice TEXT, amount INTEGER);
                   INSERT INTO payouts VALUES ('inv_1', 2900), ('inv_2', NULL);";
        let (folder, path, db) = database(sql);
        assert!(fs::metadata(folder.path().join("app.db-wal")).unwrap().len() > 0, "the rows are in the log");
        let before = files(folder.path());
        let found = rows(&path, "app.db", QUERY).unwrap();
        assert_eq!(found, [json!({"invoice": "inv_1", "amount": 2900}), json!({"invoice": "inv_2", "amount": null})]);
        assert_eq!(files(folder.path()), before);
        drop(db);
    }

    #[test]
    fn what_a_journal_would_roll_back_is_no_row() {
        let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)";
        let sql =
            format!("CREATE TABLE payouts (invoice TEXT, amount INTEGER); {numbers} INSERT INTO payouts SELECT 'x', 0 FROM n;");
        let (folder, path, db) = database(&sql);
        // Pages are written to the database before the commit, because the transaction is larger than the cache.
        db.execute_batch("PRAGMA cache_size = 1; BEGIN; UPDATE payouts SET amount = 1;").unwrap();
        assert!(folder.path().join("app.db-journal").exists(), "a journal stands beside it");
        let before = files(folder.path());
        let amounts = |path: &Path| rows(path, "app.db", "SELECT DISTINCT amount FROM payouts");
        assert_eq!(amounts(&path), Ok(vec![json!({"amount": 0})]));
        assert_eq!(files(folder.path()), before);
        let alone = folder.path().join("alone.db");
        fs::copy(&path, &alone).unwrap();
        assert_ne!(amounts(&alone), Ok(vec![json!({"amount": 0})]), "without its journal it is something else");
    }

    #[test]
    fn a_table_that_is_not_there_yet_is_absent_and_a_wrong_column_is_not() {
        let (_folder, path, _db) = database("CREATE TABLE other (a);");
        let absent = rows(&path, "app.db", QUERY).unwrap_err();
        assert!(matches!(absent, Unread::Absent(_)) && absent.to_string().contains("no such table: payouts"), "{absent:?}");
        assert!(absent.to_string().contains(QUERY), "{absent}");
        let wrong = rows(&path, "app.db", "SELECT b FROM other").unwrap_err();
        assert!(matches!(wrong, Unread::Unreadable(_)) && wrong.to_string().contains("no such column: b"), "{wrong:?}");
        let none = rows(Path::new("/nowhere/app.db"), "app.db", QUERY);
        assert_eq!(none, Err(Unread::Absent("app.db is not there".to_owned())));
    }

    #[test]
    fn a_query_that_writes_or_that_names_a_column_twice_gives_no_rows() {
        let (_folder, path, db) =
            database("CREATE TABLE payouts (invoice TEXT, amount INTEGER); INSERT INTO payouts VALUES ('a', 1);");
        for query in ["DELETE FROM payouts RETURNING invoice", "SELECT invoice, amount AS invoice FROM payouts"] {
            assert!(matches!(rows(&path, "app.db", query), Err(Unread::Unreadable(_))), "{query}");
        }
        assert_eq!(db.query_row("SELECT count(*) FROM payouts", [], |row| row.get::<_, i64>(0)), Ok(1));
    }
}
