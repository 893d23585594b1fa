//! Lines of JSON in a file, one effect each.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{Unread, length};
use crate::model::limits::WITNESSED_MAX;

/// Every whole line of a file as JSON, in its order. Blank lines are none. A last line without its end is one where it is a whole
/// object or list, which nothing torn can be; else it is none.
///
/// # Errors
/// The file is not there, is too large or cannot be read, or a whole line of it is no JSON. `shown` is its name for people.
pub fn lines(path: &Path, shown: &str) -> Result<Vec<Value>, Unread> {
    length(path, shown)?;
    let bytes = fs::read(path).map_err(|error| Unread::Unreadable(format!("{shown} cannot be read: {error}")))?;
    let mut found = Vec::new();
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        match serde_json::from_slice::<Value>(text) {
            Ok(value) if line.ends_with(b"\n") || value.is_object() || value.is_array() => found.push(value),
            Err(error) if line.ends_with(b"\n") => {
                return Err(Unread::Unreadable(format!("line {} of {shown} is no JSON: {error}", index + 1)));
            }
            // Torn off by the death of its writer.
            _ => {}
        }
        if found.len() > WITNESSED_MAX {
            return Err(Unread::Unreadable(format!("{shown} has more than {WITNESSED_MAX} lines")));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Result<Vec<Value>, Unread> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("outbox.jsonl");
        fs::write(&path, text).unwrap();
        lines(&path, "outbox.jsonl")
    }

    #[test]
    fn each_whole_line_is_one_and_a_torn_last_one_is_none() {
        let (one, two) = (json!({"invoice": "inv_1"}), json!({"invoice": "inv_2"}));
        assert_eq!(read("{\"invoice\":\"inv_1\"}\n\n{\"invoice\":\"inv_2\"}\n"), Ok(vec![one.clone(), two.clone()]));
        assert_eq!(read("{\"invoice\":\"inv_1\"}\r\n{\"invoice\":\"inv"), Ok(vec![one.clone()]));
        assert_eq!(read("{\"invoice\":\"inv_1\"}\n12"), Ok(vec![one.clone()]), "12 may have been the head of 123");
        assert_eq!(read("{\"invoice\":\"inv_1\"}\n{\"invoice\":\"inv_2\"}"), Ok(vec![one, two]), "only its end is missing");
        assert_eq!(read(""), Ok(vec![]));
    }

    #[test]
    fn a_whole_line_that_is_no_json_is_named() {
        let error = read("{\"a\":1}\n{\"a\":{\"a\":2}\n{\"a\":3}\n").unwrap_err();
        assert!(matches!(&error, Unread::Unreadable(what) if what.starts_with("line 2 of outbox.jsonl is no JSON")), "{error:?}");
    }

    #[test]
    fn a_file_that_is_not_there_is_absent_and_a_folder_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(lines(&folder.path().join("x"), "x"), Err(Unread::Absent("x is not there".to_owned())));
        assert_eq!(lines(folder.path(), "x"), Err(Unread::Unreadable("x is not a file".to_owned())));
    }
}
