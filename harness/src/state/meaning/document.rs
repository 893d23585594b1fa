//! Documents: what is in a world, as a list of values in a fixed order, each with the place where it stands.

use std::collections::HashMap;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// A word of the form itself: the beginning or end of something, its kind. Never volatile.
    Mark(&'static str),
    /// A text of the form itself, such as a length or a hash of content. Never volatile.
    Fixed(String),
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Real(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// A value at its place. Places that differ only in the number of a row or an item are one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Atom {
    pub place: u32,
    pub value: Value,
}

/// What is in a world.
#[derive(Clone, Debug, Default)]
pub struct Document {
    pub(super) atoms: Vec<Atom>,
    places: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Document {
    /// Adds a value.
    pub(super) fn push(&mut self, place: &str, value: Value) {
        let place = self.number(place);
        self.atoms.push(Atom { place, value });
    }

    /// Adds a text.
    pub(super) fn text(&mut self, place: &str, text: impl Into<String>) {
        self.push(place, Value::Text(text.into()));
    }

    /// Adds a mark.
    pub(super) fn mark(&mut self, place: &str, word: &'static str) {
        self.push(place, Value::Mark(word));
    }

    /// Adds a text that is never volatile.
    pub(super) fn fixed(&mut self, place: &str, text: impl Into<String>) {
        self.push(place, Value::Fixed(text.into()));
    }

    /// The name of a place.
    pub(super) fn place(&self, number: u32) -> &str {
        &self.places[number as usize]
    }

    /// Adds everything of another document behind.
    pub fn add(&mut self, other: &Self) {
        for atom in &other.atoms {
            let place = self.number(other.place(atom.place));
            self.atoms.push(Atom { place, value: atom.value.clone() });
        }
    }

    fn number(&mut self, place: &str) -> u32 {
        if let Some(number) = self.numbers.get(place) {
            return *number;
        }
        let number = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        self.places.push(place.to_owned());
        self.numbers.insert(place.to_owned(), number);
        number
    }
}
