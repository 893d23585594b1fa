//! MessagePack by value. A blob that is one MessagePack value from its first byte to its last, written in the only shortest way, is
//! taken as such: LangGraph's checkpoints are.

use rmpv::Value as Packed;

use super::document::{Document, Value};
use super::shapes;
use crate::model::limits::MEANING_DEPTH_MAX;

/// Adds a blob: as MessagePack if it is that, else as bytes.
pub fn blob(document: &mut Document, place: &str, bytes: &[u8]) {
    nested(document, place, bytes, 0);
}

fn nested(document: &mut Document, place: &str, bytes: &[u8], depth: usize) {
    match whole(bytes).filter(|_| depth < MEANING_DEPTH_MAX) {
        Some(value) => {
            // A number in a blob is not the number itself.
            document.mark(place, "packed");
            packed(document, place, &value, depth + 1);
        }
        None => document.push(place, Value::Bytes(bytes.to_vec())),
    }
}

/// The one value that these bytes are. Bytes that write the value in another way than the shortest are most likely something else, and
/// then two of them must not become one value.
fn whole(bytes: &[u8]) -> Option<Packed> {
    let mut rest = bytes;
    let value = rmpv::decode::read_value_with_max_depth(&mut rest, MEANING_DEPTH_MAX).ok()?;
    let mut again = Vec::with_capacity(bytes.len());
    rmpv::encode::write_value(&mut again, &value).ok()?;
    (again == bytes).then_some(value)
}

fn packed(document: &mut Document, place: &str, value: &Packed, depth: usize) {
    match value {
        Packed::Nil => document.mark(place, "nil"),
        Packed::Boolean(true) => document.mark(place, "true"),
        Packed::Boolean(false) => document.mark(place, "false"),
        Packed::Integer(number) => match number.as_i64() {
            Some(number) => document.push(place, Value::Int(number)),
            None => {
                document.mark(place, "number");
                document.text(place, number.to_string());
            }
        },
        Packed::F32(number) => {
            document.mark(place, "f32");
            document.push(place, Value::Real(f64::from(*number)));
        }
        Packed::F64(number) => document.push(place, Value::Real(*number)),
        Packed::String(text) => match text.as_str() {
            Some(text) => document.text(place, text),
            None => {
                document.mark(place, "text");
                document.push(place, Value::Bytes(text.as_bytes().to_vec()));
            }
        },
        Packed::Binary(bytes) => {
            document.mark(place, "bin");
            nested(document, place, bytes, depth);
        }
        Packed::Array(items) => {
            document.mark(place, "[");
            let inner = format!("{place}[]");
            items.iter().for_each(|item| packed(document, &inner, item, depth + 1));
            document.mark(place, "]");
        }
        Packed::Map(fields) => {
            document.mark(place, "{");
            for (name, item) in fields {
                packed(document, &format!("{place}.key"), name, depth + 1);
                let name = name.as_str().map(shapes::without).unwrap_or_default();
                packed(document, &format!("{place}.{name}"), item, depth + 1);
            }
            document.mark(place, "}");
        }
        Packed::Ext(kind, bytes) => {
            document.mark(place, "ext");
            document.fixed(place, kind.to_string());
            nested(document, place, bytes, depth);
        }
    }
}
