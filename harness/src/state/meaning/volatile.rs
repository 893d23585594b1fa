//! Volatile values: what uninjured runs of one workflow do not share. They are renamed in the order in which they appear, never
//! dropped: two states that differ in which row refers to which value stay apart.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;

use super::document::{Document, Value};
use super::shapes::{Shape, candidates, is_epoch};

/// The digest by which states are told apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StateDigest(String);

impl fmt::Display for StateDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is volatile in a workflow.
#[derive(Clone, Debug, Default)]
pub struct Volatile {
    /// Texts that every run has: never renamed.
    shared: HashSet<Vec<u8>>,
    /// Where texts of a shape differ between runs. A later life makes new ones there.
    texts: HashMap<String, BTreeSet<Shape>>,
    /// Where numbers differ between runs, all of them times.
    numbers: HashSet<String>,
    /// What the runs had there, numbers by their digits. It stays volatile at another place, such as a file that is not there any more at
    /// the end of a run because it was given its name at last.
    values: HashSet<Vec<u8>>,
}

impl Volatile {
    /// Nothing is.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Learns from two or more uninjured runs.
    #[must_use]
    pub fn learn(runs: &[Document]) -> Self {
        let seen: Vec<Seen> = runs.iter().map(Seen::of).collect();
        let Some((first, rest)) = seen.split_first() else { return Self::none() };
        let all = |text: &&Vec<u8>| rest.iter().all(|other| other.texts.contains_key(*text));
        let shared: HashSet<Vec<u8>> = first.texts.keys().filter(all).cloned().collect();
        let mut volatile = Self { shared, ..Self::default() };
        for (text, places) in seen.iter().flat_map(|seen| &seen.texts) {
            if !volatile.shared.contains(text) {
                for (place, shape) in places {
                    volatile.texts.entry(place.clone()).or_default().insert(*shape);
                }
                volatile.values.insert(text.clone());
            }
        }
        let places: BTreeSet<&String> = seen.iter().flat_map(|seen| seen.numbers.keys()).collect();
        for place in places {
            let of = |seen: &Seen| seen.numbers.get(place).cloned().unwrap_or_default();
            let differs = rest.iter().any(|other| of(other) != of(first));
            let are_times = seen.iter().flat_map(of).all(|bits| is_epoch(f64::from_bits(bits)));
            if differs && are_times {
                volatile.numbers.insert(place.clone());
                let values = seen.iter().flat_map(of).map(|bits| digits(f64::from_bits(bits)));
                volatile.values.extend(values);
            }
        }
        volatile
    }

    fn is_text(&self, place: &str, shape: Shape, text: &[u8]) -> bool {
        let is_learned = self.texts.get(place).is_some_and(|shapes| shapes.contains(&shape)) || self.values.contains(text);
        is_learned && !self.shared.contains(text)
    }

    fn is_number(&self, place: &str, number: f64) -> bool {
        is_epoch(number) && (self.numbers.contains(place) || self.values.contains(&digits(number)))
    }
}

/// A number as a text has it.
fn digits(number: f64) -> Vec<u8> {
    number.to_string().into_bytes()
}

/// What one run has.
#[derive(Default)]
struct Seen {
    /// Candidates with their places.
    texts: HashMap<Vec<u8>, BTreeSet<(String, Shape)>>,
    /// Numbers by place, as the bits of their value.
    numbers: BTreeMap<String, BTreeSet<u64>>,
}

impl Seen {
    fn of(document: &Document) -> Self {
        let mut seen = Self::default();
        for atom in &document.atoms {
            let place = document.place(atom.place);
            match &atom.value {
                Value::Text(text) => seen.candidates(place, text.as_bytes()),
                Value::Bytes(bytes) => seen.candidates(place, bytes),
                Value::Int(number) => seen.number(place, *number as f64),
                Value::Real(number) => seen.number(place, *number),
                Value::Mark(_) | Value::Fixed(_) => {}
            }
        }
        seen
    }

    fn candidates(&mut self, place: &str, bytes: &[u8]) {
        for (shape, found) in candidates(bytes) {
            self.texts.entry(found.as_bytes().to_vec()).or_default().insert((place.to_owned(), shape));
        }
    }

    fn number(&mut self, place: &str, number: f64) {
        self.numbers.entry(place.to_owned()).or_default().insert(number.to_bits());
    }
}

/// The digest of a state, in which volatile values go by the order of their first appearance.
#[must_use]
pub fn digest(document: &Document, volatile: &Volatile) -> StateDigest {
    let mut writer = Writer { hasher: blake3::Hasher::new(), volatile, names: HashMap::new() };
    for atom in &document.atoms {
        let place = document.place(atom.place);
        writer.piece(b'@', place.as_bytes());
        match &atom.value {
            Value::Mark(word) => writer.piece(b'm', word.as_bytes()),
            Value::Fixed(text) => writer.piece(b'f', text.as_bytes()),
            Value::Int(number) if volatile.is_number(place, *number as f64) => writer.renamed(b'I', &number.to_le_bytes()),
            Value::Int(number) => writer.piece(b'i', &number.to_le_bytes()),
            Value::Real(number) if volatile.is_number(place, *number) => writer.renamed(b'R', &number.to_bits().to_le_bytes()),
            Value::Real(number) => writer.piece(b'r', &number.to_bits().to_le_bytes()),
            Value::Text(text) => writer.text(b't', place, text.as_bytes()),
            Value::Bytes(bytes) => writer.text(b'b', place, bytes),
        }
    }
    StateDigest(writer.hasher.finalize().to_hex().to_string())
}

struct Writer<'a> {
    hasher: blake3::Hasher,
    volatile: &'a Volatile,
    names: HashMap<Vec<u8>, u64>,
}

impl Writer<'_> {
    /// A piece with its kind and length, so that no two lists of pieces have the same bytes.
    fn piece(&mut self, kind: u8, bytes: &[u8]) {
        self.hasher.update(&[kind]);
        self.hasher.update(&(bytes.len() as u64).to_le_bytes());
        self.hasher.update(bytes);
    }

    /// A volatile value by its name. What it is made like stays: a time where a UUID stood is another state.
    fn renamed(&mut self, kind: u8, value: &[u8]) {
        let next = self.names.len() as u64;
        let name = *self.names.entry(value.to_vec()).or_insert(next);
        self.piece(kind, &name.to_le_bytes());
    }

    fn text(&mut self, kind: u8, place: &str, bytes: &[u8]) {
        let mut from = 0;
        for (shape, found) in candidates(bytes) {
            if self.volatile.is_text(place, shape, found.as_bytes()) {
                self.piece(kind, &bytes[from..found.start()]);
                self.renamed(shape.sign(), found.as_bytes());
                from = found.end();
            }
        }
        self.piece(kind, &bytes[from..]);
    }
}
