//! JSON by value and without loss: numbers keep all their digits, and a key that stands twice stands there twice.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::document::{Document, Value};
use super::shapes;
use crate::model::limits::MEANING_DEPTH_MAX;

/// A JSON value.
pub enum Json {
    /// `null`, `true` or `false`.
    Word(&'static str),
    /// A number as it was written.
    Number(String),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// An object: its fields in the order of their keys.
    Fields(Vec<(String, Json)>),
}

impl Json {
    /// Reads a whole text; `None`: it is no JSON, or nested too deeply.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        // The parser looks at the form of all of it first, so that what is torn is not followed half-way.
        let raw: &RawValue = serde_json::from_slice(bytes).ok()?;
        Self::of(raw.get(), 0)
    }

    fn of(raw: &str, depth: usize) -> Option<Self> {
        if depth > MEANING_DEPTH_MAX {
            return None;
        }
        Some(match raw.as_bytes().first()? {
            b'n' => Self::Word("null"),
            b't' => Self::Word("true"),
            b'f' => Self::Word("false"),
            b'"' => Self::Text(serde_json::from_str(raw).ok()?),
            b'[' => {
                let items: Vec<&RawValue> = serde_json::from_str(raw).ok()?;
                Self::List(items.iter().map(|item| Self::of(item.get(), depth + 1)).collect::<Option<_>>()?)
            }
            b'{' => {
                let Pairs(pairs) = serde_json::from_str(raw).ok()?;
                let pairs = pairs.into_iter().map(|(key, raw)| Some((key, Self::of(raw.get(), depth + 1)?)));
                let mut fields = pairs.collect::<Option<Vec<_>>>()?;
                // A stable order: of two fields with one key most readers take the last.
                fields.sort_by(|(one, _), (other, _)| one.cmp(other));
                Self::Fields(fields)
            }
            _ => Self::Number(raw.to_owned()),
        })
    }

    /// Whether it is an object or a list.
    pub fn is_tree(&self) -> bool {
        matches!(self, Self::List(_) | Self::Fields(_))
    }

    /// Adds it to a document.
    pub fn add(&self, document: &mut Document, place: &str) {
        match self {
            Self::Word(word) => document.mark(place, word),
            Self::Number(text) => number(document, place, text),
            Self::Text(text) => document.text(place, text.clone()),
            Self::List(items) => {
                document.mark(place, "[");
                let inner = format!("{place}[]");
                items.iter().for_each(|item| item.add(document, &inner));
                document.mark(place, "]");
            }
            Self::Fields(fields) => {
                document.mark(place, "{");
                for (key, item) in fields {
                    document.text(&format!("{place}.key"), key.clone());
                    item.add(document, &format!("{place}.{}", shapes::without(key)));
                }
                document.mark(place, "}");
            }
        }
    }
}

/// A number by value, where a machine's number is its value exactly; by its digits otherwise.
fn number(document: &mut Document, place: &str, text: &str) {
    if let Ok(whole) = text.parse() {
        return document.push(place, Value::Int(whole));
    }
    match text.parse::<f64>() {
        Ok(real) if real.is_finite() && decimal(text) == decimal(&format!("{real:e}")) => document.push(place, Value::Real(real)),
        _ => {
            document.mark(place, "number");
            document.text(place, text);
        }
    }
}

/// Sign, digits without zeros at either end, and exponent of a number in decimal notation.
fn decimal(text: &str) -> Option<(bool, String, i64)> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (is_negative, mantissa) = mantissa.strip_prefix('-').map_or((false, mantissa), |rest| (true, rest));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let kept = digits.trim_end_matches('0');
    let places = i64::try_from(digits.len() - kept.len()).ok()? - i64::try_from(fraction.len()).ok()?;
    let exponent = if kept.is_empty() { 0 } else { exponent.parse::<i64>().ok()?.checked_add(places)? };
    Some((is_negative, kept.trim_start_matches('0').to_owned(), exponent))
}

/// The fields of an object as they stand, repeated keys included.
struct Pairs<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PairsVisitor)
    }
}

struct PairsVisitor;

impl<'de> Visitor<'de> for PairsVisitor {
    type Value = Pairs<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Pairs(pairs))
    }
}
