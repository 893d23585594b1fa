//! The origin of one effect's key in the words of a report, from the clean runs and from whether later lives sent the same key.

use super::super::expectation::Expectation;
use super::super::key::{self, Change};
use super::super::volatile::{time_in, uuid_in};
use super::origin::has_word;
use crate::model::audit::Origin;
use crate::model::ledger::Request;

/// Where the key of a request of the clean run comes from. `stable`: whether trials sent the same key again; nothing where none did.
/// `second` is the ledger of a second clean run.
#[must_use]
pub fn origin_in_summary(
    expectation: &Expectation,
    request: &Request,
    second: Option<&[Request]>,
    stable: Option<bool>,
) -> Origin {
    let Some(key) = request.key.as_deref() else { return Origin::None };
    let agent = request.headers.get("user-agent").map(String::as_str);
    let intent = intent(expectation, request);
    let twin = second
        .and_then(|second| second.iter().find(|other| other.effect == request.effect && is_alike(expectation, other, &intent)));
    let twin = twin.and_then(|twin| twin.key.as_deref());
    match (stable, twin) {
        (Some(true), Some(other)) => {
            if other == key {
                Origin::Derived
            } else {
                Origin::Persisted
            }
        }
        (Some(true), None) if intent.is_some_and(|intent| has_word(key, &intent)) => Origin::Derived,
        (Some(true), None) if is_random(key) => Origin::Persisted,
        (Some(false), _) if key::sdk(key, agent).is_some() => Origin::Sdk,
        (Some(false), other) => changing(key, other),
        _ => Origin::NotKnown,
    }
}

fn intent(expectation: &Expectation, request: &Request) -> Option<String> {
    let promise = &expectation.promises()[expectation.promise_of(request)?];
    expectation.intent_of(promise, request)
}

fn is_alike(expectation: &Expectation, other: &Request, own: &Option<String>) -> bool {
    other.had_effect() && intent(expectation, other) == *own
}

/// A key that later lives did not send again: by what differs between two clean runs, else by its form.
fn changing(key: &str, other: Option<&str>) -> Origin {
    match other.filter(|other| *other != key).map(|other| key::change(key, other)) {
        Some(Change::Random) => Origin::Random,
        Some(Change::Time) => Origin::Time,
        Some(Change::Counter | Change::Opaque | Change::Other) => Origin::Changes,
        None if is_random(key) => Origin::Random,
        None if time_in(key).is_some() || key.split(|c: char| !c.is_ascii_digit()).any(super::super::volatile::is_epoch_text) => {
            Origin::Time
        }
        None => Origin::Changes,
    }
}

fn is_random(key: &str) -> bool {
    uuid_in(key).is_some_and(|uuid| uuid.as_bytes().get(14) == Some(&b'4'))
}
