//! SQLite databases by their rows: SQLite itself reads a copy of the files, so that a log is taken in and a journal rolled back as the
//! workflow would have it.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, ffi};

use super::document::{Document, Value};
use super::json::Json;
use super::packed;

/// The first bytes of a database file (sqlite.org/fileformat2.html, section 1.3).
pub const MAGIC: &[u8] = b"SQLite format 3\0";

/// Adds the rows of a database that stands at `path`, which SQLite may change. `ignored` are columns, by table and name, that do not count.
///
/// # Errors
/// SQLite cannot read all of it, or finds it damaged.
pub fn rows(
    document: &mut Document,
    place: &str,
    path: &std::path::Path,
    ignored: &[(&str, &str)],
) -> Result<(), rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    for pragma in ["user_version", "application_id"] {
        let number: i64 = db.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))?;
        document.push(&format!("{place}:{pragma}"), Value::Int(number));
    }
    let check: String = db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if check != "ok" {
        return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CORRUPT), Some(check)));
    }
    let mut schema = db.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name")?;
    let listed = schema.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let listed: Vec<(String, String, Option<String>)> = listed.collect::<Result<_, _>>()?;
    for (kind, name, sql) in &listed {
        document.text(&format!("{place}:schema"), format!("{kind} {name}"));
        document.text(&format!("{place}:schema"), sql.clone().unwrap_or_default());
    }
    for (_, name, sql) in listed.iter().filter(|(kind, _, _)| kind == "table") {
        if sql.as_deref().is_some_and(|sql| sql.trim_start().to_uppercase().starts_with("CREATE VIRTUAL")) {
            // Its content stands in tables of its own.
            continue;
        }
        table(document, &format!("{place}:{name}"), &db, name, ignored)?;
    }
    Ok(())
}

fn table(
    document: &mut Document,
    place: &str,
    db: &Connection,
    name: &str,
    ignored: &[(&str, &str)],
) -> Result<(), rusqlite::Error> {
    let quoted = format!("\"{}\"", name.replace('"', "\"\""));
    // Without an order SQLite gives rows by rowid, or by the primary key where there is no rowid.
    let mut select = db.prepare(&format!("SELECT * FROM {quoted} NOT INDEXED"))?;
    let columns: Vec<(String, bool)> =
        select.column_names().map(|column| (format!("{place}.{column}"), ignored.contains(&(name, column)))).collect();
    let mut rows = select.query([])?;
    document.mark(place, "table");
    while let Some(row) = rows.next()? {
        document.mark(place, "row");
        for (index, (place, is_ignored)) in columns.iter().enumerate() {
            if *is_ignored {
                continue;
            }
            match row.get_ref(index)? {
                ValueRef::Null => document.mark(place, "null"),
                ValueRef::Integer(number) => document.push(place, Value::Int(number)),
                ValueRef::Real(number) => document.push(place, Value::Real(number)),
                ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                    Ok(text) => content(document, place, text),
                    Err(_) => {
                        document.mark(place, "text");
                        document.push(place, Value::Bytes(bytes.to_vec()));
                    }
                },
                ValueRef::Blob(bytes) => packed::blob(document, place, bytes),
            }
        }
    }
    Ok(())
}

/// A text of a column: JSON by value where it is an object or a list, because a number in it may be volatile.
fn content(document: &mut Document, place: &str, text: &str) {
    match Json::parse(text.as_bytes()).filter(Json::is_tree) {
        Some(value) => value.add(document, place),
        None => document.text(place, text),
    }
}
