//! Where the keys of an effect come from: by comparing those that should be equal, and by looking for what is in them.

use std::collections::BTreeSet;

use super::super::case::quoted;
use super::super::key::{self, Change};
use super::super::volatile::{leaf_texts, raw_differences, time_in, uuid_in};
use super::facts::too_coarse;
use super::pair;
use super::strand::{Sent, Strand, Two};
use crate::model::audit::{Origin, Pair};

/// What is said of the origin of a key.
pub(super) struct Guess {
    pub(super) origin: Origin,
    pub(super) why: String,
    pub(super) pair: Option<Pair>,
}

/// Whether the keys are equal in pairs that should have one; nothing where no pair has two keys.
pub(super) fn equal(pairs: &[Two<'_, '_>]) -> Option<bool> {
    let both: Vec<bool> = keyed(pairs).map(|(one, other)| one.request.key == other.request.key).collect();
    (!both.is_empty()).then(|| both.into_iter().all(|equal| equal))
}

fn keyed<'p, 's, 'a>(pairs: &'p [Two<'s, 'a>]) -> impl Iterator<Item = Two<'s, 'a>> + 'p {
    pairs.iter().copied().filter(|(one, other)| one.request.key.is_some() && other.request.key.is_some())
}

/// The origin of the keys of an effect. `arguments` are those of the command line.
pub(super) fn guess(strand: &Strand<'_>, arguments: &[String]) -> Guess {
    let (attempts, lives, runs) = (strand.attempts(), strand.lives(), strand.runs());
    let changed = |pairs: &[Two<'_, '_>]| keyed(pairs).find(|(one, other)| one.request.key != other.request.key).is_some();
    let Some(first) = strand.sent.iter().find(|sent| sent.request.key.is_some()) else {
        return Guess { origin: Origin::None, why: "no request carries a key".to_owned(), pair: None };
    };
    if changed(&lives) || changed(&attempts) {
        return changing(strand, &attempts, &lives);
    }
    let held = keyed(&lives).next().or_else(|| keyed(&attempts).next());
    let pair = held.or_else(|| keyed(&runs).next()).map(|two| beside(two));
    let (across_lives, across_runs) = (equal(&lives), equal(&runs));
    let (origin, why) = match (across_lives, across_runs, sources(strand, arguments)) {
        _ if across_lives.is_none() && sdk(first).is_some() => {
            (Origin::Sdk, format!("its form is that of {}, which makes one for each call", sdk(first).unwrap_or_default()))
        }
        (_, Some(true), from) => {
            let holds = if from.is_empty() {
                "it shows none of the values that it is made from, as a hash does".to_owned()
            } else {
                format!("it holds {}", from.join(", "))
            };
            (Origin::Derived, format!("equal in runs that share nothing: {holds}"))
        }
        (Some(true), None, from) if !from.is_empty() => {
            (Origin::Derived, format!("equal in each life; it holds {}", from.join(", ")))
        }
        (Some(true), Some(false), _) => (
            Origin::Persisted,
            "another one in each run, and the same in all lives of a run: it is stored before the call".to_owned(),
        ),
        (Some(true), None, _) if random_form(first) => {
            (Origin::Persisted, "random by its form, and the same in all lives: it is stored before the call".to_owned())
        }
        (Some(true), None, _) => {
            (Origin::NotKnown, "equal in all lives; one run cannot tell whether it is kept or made again".to_owned())
        }
        (_, Some(false), _) => {
            (Origin::NotKnown, "another one in each run; whether a later life would send it again was not seen".to_owned())
        }
        _ if strand.sent.len() == 1 => (Origin::NotKnown, "one request only: nothing to compare it with".to_owned()),
        _ => (Origin::NotKnown, "no intent was asked for again: nothing to compare its keys with".to_owned()),
    };
    Guess { origin, why, pair }
}

/// Keys that change between requests that should carry the same one.
fn changing(strand: &Strand<'_>, attempts: &[Two<'_, '_>], lives: &[Two<'_, '_>]) -> Guess {
    let differ = |pairs: &[Two<'_, '_>]| equal(pairs) == Some(false);
    let pick = if differ(lives) { lives } else { attempts };
    let Some(two) = pick
        .iter()
        .copied()
        .find(|(one, other)| one.request.key.is_some() && other.request.key.is_some() && one.request.key != other.request.key)
    else {
        return Guess { origin: Origin::Changes, why: "it changes".to_owned(), pair: None };
    };
    let (one, other) = two;
    let (a, b) = (one.request.key.as_deref().unwrap_or_default(), other.request.key.as_deref().unwrap_or_default());
    let places = raw_differences(&strand.promise.endpoint, one.request, other.request);
    let (origin, why) = match key::change(a, b) {
        _ if sdk(one).is_some() && sdk(one) == sdk(other) && !key::are_hashes(a, b) => {
            let name = sdk(one).unwrap_or_default();
            (
                Origin::Sdk,
                format!("made by {name} for each call: its own repeats keep it, a call that is made again gets another"),
            )
        }
        Change::Time => (Origin::Time, "the keys differ in what is a time by its form".to_owned()),
        Change::Counter if !too_coarse(strand).is_empty() => {
            (Origin::Position, "the keys differ in a small number, and the same key stands for another intent".to_owned())
        }
        Change::Counter if grows(a, b) => {
            (Origin::Attempt, "the keys differ in a small number that grows with each attempt".to_owned())
        }
        Change::Counter => (Origin::Changes, "the keys differ in a small number".to_owned()),
        Change::Random => random(attempts, "a random UUID by its form"),
        Change::Opaque if places.is_empty() => {
            random(attempts, "the same request comes with another key, a token or hash by its form")
        }
        Change::Opaque | Change::Other if !places.is_empty() => {
            (Origin::Request, format!("the requests differ in {}, and the key with them", places_told(&places)))
        }
        Change::Opaque | Change::Other => (Origin::Changes, "the same request comes with another key".to_owned()),
    };
    let carried = carried(strand, two, &places).map(|place| format!("; the same value stands in the request at {place}"));
    Guess { origin, why: why + &carried.unwrap_or_default(), pair: Some(beside(two)) }
}

/// Whether the first number in which two keys differ is larger in the second.
fn grows(one: &str, other: &str) -> bool {
    let numbers =
        |text: &str| -> Vec<u64> { text.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect() };
    numbers(one).iter().zip(numbers(other)).find(|(a, b)| **a != *b).is_some_and(|(a, b)| *a < b)
}

fn random(attempts: &[Two<'_, '_>], form: &str) -> (Origin, String) {
    match equal(attempts) {
        Some(true) => (Origin::RandomPerLife, format!("{form}: equal in all attempts of a life, another one in the next life")),
        Some(false) => (Origin::RandomPerCall, format!("{form}: another one in each attempt")),
        None => (Origin::Random, format!("{form}: another one in the next life; no life was seen to send two")),
    }
}

/// The changing place of the request whose value also changes in the key.
fn carried(strand: &Strand<'_>, (one, other): Two<'_, '_>, places: &[String]) -> Option<String> {
    let holds = |sent: &Sent<'_>, place: &String| {
        let key = sent.request.key.as_deref().unwrap_or_default();
        let texts = leaf_texts(&strand.promise.endpoint, sent.request);
        texts.iter().any(|(own, text)| own == place && !text.is_empty() && has_word(key, text))
    };
    places.iter().find(|place| holds(one, place) && holds(other, place)).cloned()
}

fn places_told(places: &[String]) -> String {
    let names = places.iter().take(3).map(|place| if place.is_empty() { "the body".to_owned() } else { place.clone() });
    names.collect::<Vec<_>>().join(", ")
}

/// What all keys of the effect hold: values of the request, and arguments of the command line.
fn sources(strand: &Strand<'_>, arguments: &[String]) -> Vec<String> {
    let keyed = strand.sent.iter().filter_map(|sent| Some((sent, sent.request.key.as_deref()?)));
    let found = keyed.map(|(sent, key)| {
        let mut found: BTreeSet<String> = BTreeSet::new();
        if has_word(key, &sent.intent) {
            found.insert("the intent".to_owned());
        }
        for (place, text) in leaf_texts(&strand.promise.endpoint, sent.request) {
            if text != key && text != sent.intent && has_word(key, &text) {
                found.insert(format!("the request's {place}"));
            }
        }
        for text in arguments.iter().flat_map(|argument| argument.split('=')) {
            if *text != *sent.intent && has_word(key, text) {
                found.insert(format!("the argument {}", quoted(text)));
            }
        }
        found
    });
    let all = found.reduce(|all, own| all.intersection(&own).cloned().collect());
    all.unwrap_or_default().into_iter().collect()
}

/// Whether a text stands in another as a word or several; one of a single character says nothing.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    let is_edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    word.chars().count() > 1
        && text
            .match_indices(word)
            .any(|(at, _)| is_edge(text[..at].chars().next_back()) && is_edge(text[at + word.len()..].chars().next()))
}

/// Whether a key is random by its form: a UUID of version 4.
fn random_form(sent: &Sent<'_>) -> bool {
    let uuid = sent.request.key.as_deref().and_then(uuid_in);
    uuid.is_some_and(|uuid| uuid.as_bytes().get(14) == Some(&b'4')) && sent.request.key.as_deref().and_then(time_in).is_none()
}

/// The SDK that makes keys of this form by itself.
fn sdk(sent: &Sent<'_>) -> Option<&'static str> {
    let key = sent.request.key.as_deref()?;
    key::sdk(key, sent.request.headers.get("user-agent").map(String::as_str))
}

fn beside((one, other): Two<'_, '_>) -> Pair {
    let text = |sent: &Sent<'_>| sent.request.key.clone().unwrap_or_default();
    pair::pair(one.sender(), &text(one), other.sender(), &text(other))
}
