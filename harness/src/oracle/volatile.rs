//! What in a request is volatile: learned from two clean runs, or seen from its form (UUIDs, times, long hexadecimal, ids the
//! sandbox made). What is left is what the request asks for. It knows no promise's count and no verdict.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::intent;
use crate::model::ledger::Request;
use crate::model::promise::Endpoint;

/// Where a value stands in a request: a JSON pointer (RFC 6901) into the body, `?name` for a query parameter, `path/n` for a
/// segment.
pub(super) type Place = String;

/// What is known of the places of one promise's requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mask {
    /// Places whose value differed between two clean runs.
    volatile: BTreeSet<Place>,
    /// Places whose value was the same in two clean runs: what looks random there is not.
    steady: BTreeSet<Place>,
    /// Beginnings of ids that the sandbox made (`ch_`). Their counters move on when an effect is repeated.
    made: BTreeSet<String>,
}

impl Mask {
    /// Learns from the effects of one or two clean runs. Effects of the two runs are paired by likeness, not by position, because
    /// a workflow that charges two invoices side by side does not always charge them in the same order.
    pub(super) fn learn(endpoint: &Endpoint, first: &[&Request], second: Option<&[&Request]>) -> Self {
        let mut mask = Self::default();
        for request in first.iter().chain(second.unwrap_or_default()) {
            mask.made.extend(made_prefix(request));
        }
        let mut rest: Vec<Leaves<'_>> = second.unwrap_or_default().iter().map(|request| leaves(endpoint, request)).collect();
        for request in first {
            let own = leaves(endpoint, request);
            let Some(at) = (0..rest.len()).min_by_key(|&at| differing(&own, &rest[at]).len()) else { break };
            let differing = differing(&own, &rest.remove(at));
            mask.steady.extend(own.into_keys().filter(|place| !differing.contains(place)));
            mask.volatile.extend(differing);
        }
        mask.steady.retain(|place| !mask.volatile.contains(place));
        mask
    }

    /// What the request asks for: places and their values as text, volatile ones dropped, the volatile part of a longer text as
    /// `*`.
    pub(super) fn stable(&self, endpoint: &Endpoint, request: &Request) -> BTreeMap<Place, String> {
        let kept = leaves(endpoint, request).into_iter().filter(|(place, _)| !self.volatile.contains(place));
        kept.filter_map(|(place, value)| self.masked(&place, &value).map(|text| (place, text))).collect()
    }

    /// Places at which two requests ask for different things.
    pub(super) fn differences(&self, endpoint: &Endpoint, one: &Request, other: &Request) -> Vec<Place> {
        differing(&self.stable(endpoint, one), &self.stable(endpoint, other)).into_iter().collect()
    }

    fn masked(&self, place: &str, value: &Value) -> Option<String> {
        match value {
            Value::Number(number) if number.as_f64().is_some_and(is_epoch) => None,
            Value::String(text) => {
                if self.made.iter().any(|prefix| is_id(text, prefix)) {
                    return None;
                }
                let masked = mask_text(text, self.steady.contains(place));
                (text.is_empty() || masked.chars().any(|c| c != '*')).then_some(masked)
            }
            other => Some(intent::text(other)),
        }
    }
}

/// Places at which two requests differ at all, volatile or not.
pub(super) fn raw_differences(endpoint: &Endpoint, one: &Request, other: &Request) -> Vec<Place> {
    differing(&leaves(endpoint, one), &leaves(endpoint, other)).into_iter().collect()
}

/// Every value of a request as text, with its place.
pub(super) fn leaf_texts(endpoint: &Endpoint, request: &Request) -> Vec<(Place, String)> {
    leaves(endpoint, request).into_iter().map(|(place, value)| (place, intent::text(&value))).collect()
}

fn differing<T: PartialEq>(one: &BTreeMap<Place, T>, other: &BTreeMap<Place, T>) -> BTreeSet<Place> {
    let places = one.keys().chain(other.keys());
    places.filter(|place| one.get(*place) != other.get(*place)).cloned().collect()
}

type Leaves<'a> = BTreeMap<Place, Cow<'a, Value>>;

/// Every value of a request with its place: segments of the path that the endpoint leaves open, the query, the body.
fn leaves<'a>(endpoint: &Endpoint, request: &'a Request) -> Leaves<'a> {
    let mut out = Leaves::new();
    let mut own = endpoint.path.split('/');
    for (index, segment) in request.path.split('/').enumerate() {
        if own.next() != Some(segment) && !segment.is_empty() {
            out.insert(format!("path/{index}"), Cow::Owned(Value::from(segment)));
        }
    }
    for (name, value) in intent::query_pairs(request.query.as_deref().unwrap_or_default()) {
        out.insert(format!("?{name}"), Cow::Owned(Value::from(value)));
    }
    flatten(&request.body, String::new(), &mut out);
    out.retain(|place, _| !is_of_key(request, place));
    out
}

/// Whether a place holds the key of a request rather than a part of what it asks for: a mail's Message-ID, an idempotency key that
/// stands in the body or among the arguments of a tool.
fn is_of_key(request: &Request, place: &str) -> bool {
    let name = place.rsplit('/').next().unwrap_or_default();
    let letters: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    letters == "idempotencykey" || (request.method == Endpoint::MAIL && place == "/message_id")
}

fn flatten<'a>(value: &'a Value, place: Place, out: &mut Leaves<'a>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, field) in fields {
                flatten(field, format!("{place}/{}", name.replace('~', "~0").replace('/', "~1")), out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                flatten(item, format!("{place}/{index}"), out);
            }
        }
        Value::Null if place.is_empty() => {}
        leaf => {
            out.insert(place, Cow::Borrowed(leaf));
        }
    }
}

static UUID: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").expect("a constant pattern"));
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)[0-9]{4}-[0-9]{2}-[0-9]{2}[t ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(z|[+-][0-9]{2}:?[0-9]{2})?")
        .expect("a constant pattern")
});
static NUMBER: LazyLock<Regex> = LazyLock::new(|| Regex::new("[0-9]+").expect("a constant pattern"));
static WORD: LazyLock<Regex> = LazyLock::new(|| Regex::new("[0-9A-Za-z]+").expect("a constant pattern"));

/// Writes the volatile parts of a text as `*`. In a steady place only times are volatile: two quick runs can fall into one
/// second. A date without a time of day is kept: it names a billing period more often than an instant.
fn mask_text(text: &str, steady: bool) -> String {
    let timeless = TIME.replace_all(text, "*");
    let plain = if steady { timeless } else { Cow::Owned(UUID.replace_all(&timeless, "*").into_owned()) };
    let masked = |volatile: bool, found: &regex::Captures<'_>| if volatile { "*".to_owned() } else { found[0].to_owned() };
    let hexless = WORD.replace_all(&plain, |found: &regex::Captures<'_>| masked(!steady && is_long_hex(&found[0]), found));
    NUMBER.replace_all(&hexless, |found: &regex::Captures<'_>| masked(is_epoch_text(&found[0]), found)).into_owned()
}

/// Whether a number can be seconds, milliseconds, microseconds or nanoseconds since 1970, between 2017 and 2033.
pub(super) fn is_epoch(number: f64) -> bool {
    [1.0, 1e3, 1e6, 1e9].iter().any(|unit| (1.5e9..2.0e9).contains(&(number / unit)))
}

/// The same for a run of digits; the number of digits must fit the unit.
pub(super) fn is_epoch_text(word: &str) -> bool {
    matches!(word.len(), 10 | 13 | 16 | 19) && word.bytes().all(|b| b.is_ascii_digit()) && word.parse().is_ok_and(is_epoch)
}

/// Whether a word is 16 or more hexadecimal digits with a letter and a number among them.
pub(super) fn is_long_hex(word: &str) -> bool {
    word.len() >= 16
        && word.bytes().all(|b| b.is_ascii_hexdigit())
        && word.bytes().any(|b| b.is_ascii_digit())
        && word.bytes().any(|b| b.is_ascii_alphabetic())
}

/// The first UUID in a text.
pub(super) fn uuid_in(text: &str) -> Option<&str> {
    UUID.find(text).map(|found| found.as_str())
}

/// The first date with a time of day in a text.
pub(super) fn time_in(text: &str) -> Option<&str> {
    TIME.find(text).map(|found| found.as_str())
}

fn is_id(text: &str, prefix: &str) -> bool {
    text.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// The beginning of the id that the sandbox made for a request, unless the request itself named it: then it is the caller's.
fn made_prefix(request: &Request) -> Option<String> {
    let object = request.object.as_deref()?;
    let named = request.path.split('/').any(|segment| segment == object) || request.body.to_string().contains(object);
    let end = object.rfind('_')?;
    (!named && end > 0).then(|| object[..=end].to_owned())
}
