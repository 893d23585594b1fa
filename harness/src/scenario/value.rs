//! The shapes a value may take in the file, wrong ones included: where a stranger is likely to write another shape than
//! the right one, both are read, so that the check can point at it beside everything else that is wrong.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use toml::Spanned;

/// A text and where it stands.
pub(super) type Text = Spanned<String>;
/// A whole number of any size and where it stands; the check says which sizes are possible.
pub(super) type Number = Spanned<i128>;

/// A command: a list of texts, or a single text, which is an error.
#[derive(Debug)]
pub(super) enum Command {
    /// Program and arguments.
    Words(Vec<Text>),
    /// What would need a shell.
    Line(String),
}

impl<'de> Deserialize<'de> for Command {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Shape;
        impl<'de> Visitor<'de> for Shape {
            type Value = Command;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of texts, the program first")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Command, E> {
                Ok(Command::Line(text.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Command, A::Error> {
                collect(list).map(Command::Words)
            }
        }
        deserializer.deserialize_any(Shape)
    }
}

impl JsonSchema for Command {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Command".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A program and its arguments, each a text of its own; no shell is involved.",
            "type": "array", "items": { "type": "string" }, "minItems": 1,
        })
    }
}

/// A table, or a list of tables.
#[derive(Debug)]
pub(super) struct OneOrMore<T>(pub Vec<T>);

impl<T> Default for OneOrMore<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMore<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Shape<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Shape<T> {
            type Value = OneOrMore<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table, or a list of tables")
            }
            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<OneOrMore<T>, A::Error> {
                T::deserialize(de::value::MapAccessDeserializer::new(table)).map(|one| OneOrMore(vec![one]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<OneOrMore<T>, A::Error> {
                collect(list).map(OneOrMore)
            }
        }
        deserializer.deserialize_any(Shape(std::marker::PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for OneOrMore<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("OneOrMore{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        json_schema!({ "description": "A table, or a list of tables.", "anyOf": [one, { "type": "array", "items": one }] })
    }
}

/// What is run once: a list of commands, or one command.
#[derive(Debug)]
pub(super) enum Setup {
    /// Commands, or the words of a single one.
    Items(Vec<Spanned<Command>>),
    /// What would need a shell.
    Line(String),
}

impl<'de> Deserialize<'de> for Setup {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Shape;
        impl<'de> Visitor<'de> for Shape {
            type Value = Setup;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of commands, or one command")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Setup, E> {
                Ok(Setup::Line(text.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Setup, A::Error> {
                collect(list).map(Setup::Items)
            }
        }
        deserializer.deserialize_any(Shape)
    }
}

impl JsonSchema for Setup {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Setup".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let command = generator.subschema_for::<Command>();
        json_schema!({
            "description": "One command, or a list of commands.",
            "anyOf": [command, { "type": "array", "items": command }],
        })
    }
}

/// A text, a number or a yes or no; kept as the text it stands for.
#[derive(Debug)]
pub(super) struct Scalar {
    /// The text it stands for.
    pub text: String,
    /// Whether it was written as a text.
    pub quoted: bool,
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Shape;
        impl Visitor<'_> for Shape {
            type Value = Scalar;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a number, true or false")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar { text: text.to_owned(), quoted: true })
            }
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Scalar, E> {
                Ok(Scalar { text: value.to_string(), quoted: false })
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Scalar, E> {
                Ok(Scalar { text: value.to_string(), quoted: false })
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Scalar, E> {
                Ok(Scalar { text: value.to_string(), quoted: false })
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Scalar, E> {
                // `{:?}` keeps the point of `1.0`, so that a float stays one for whoever reads it.
                Ok(Scalar { text: format!("{value:?}"), quoted: false })
            }
        }
        deserializer.deserialize_any(Shape)
    }
}

impl JsonSchema for Scalar {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Scalar".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number", "boolean"] })
    }
}

/// A table with free keys, in the order of the file.
#[derive(Debug)]
pub(super) struct InOrder<T>(pub Vec<(Text, T)>);

impl<T> Default for InOrder<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for InOrder<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Shape<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Shape<T> {
            type Value = InOrder<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of names and values")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<InOrder<T>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                entries.sort_by_key(|(name, _): &(Text, T)| name.span().start);
                Ok(InOrder(entries))
            }
        }
        deserializer.deserialize_any(Shape(std::marker::PhantomData))
    }
}

fn collect<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(mut list: A) -> Result<Vec<T>, A::Error> {
    let mut items = Vec::new();
    while let Some(item) = list.next_element()? {
        items.push(item);
    }
    Ok(items)
}
