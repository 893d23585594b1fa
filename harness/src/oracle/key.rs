//! What changes in idempotency keys that should have been the same. It guesses from the form of the keys alone and says so.

use super::volatile::{is_epoch_text, is_long_hex, time_in, uuid_in};

/// What seems to make two keys differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// A random UUID.
    Random,
    /// A time.
    Time,
    /// A small number, such as that of an attempt.
    Counter,
    /// A hash or a random token; the form does not tell which.
    Opaque,
    /// Nothing that is recognised.
    Other,
}

impl Change {
    /// What it means, as the end of a sentence.
    pub(super) fn meaning(self) -> &'static str {
        match self {
            Self::Random => "a random UUID is made anew in each attempt",
            Self::Time => "they differ in what looks like a time",
            Self::Counter => "they differ in a small number, such as that of an attempt",
            Self::Opaque => "they look like hashes or random tokens: made anew, or made from something that changed",
            Self::Other => "the key is made anew in each attempt",
        }
    }

    /// Whether the key changed by itself, whatever the request asks for.
    pub(super) fn is_own_doing(self) -> bool {
        matches!(self, Self::Random | Self::Time | Self::Counter)
    }
}

/// What seems to change between two different keys.
pub(super) fn change(one: &str, other: &str) -> Change {
    if let (Some(a), Some(b)) = (uuid_in(one), uuid_in(other))
        && a != b
    {
        // The version stands in the 13th hexadecimal digit (RFC 9562): 4 is random, 1, 6 and 7 begin with a time, 3 and 5 are
        // hashes.
        return match (version(a), version(b)) {
            ('4', '4') => Change::Random,
            ('1' | '6' | '7', '1' | '6' | '7') => Change::Time,
            _ => Change::Opaque,
        };
    }
    if time_in(one).zip(time_in(other)).is_some_and(|(a, b)| a != b) {
        return Change::Time;
    }
    let (a, b) = (words(one), words(other));
    let differing: Vec<(&str, &str)> = a.iter().zip(&b).filter(|(a, b)| a != b).map(|(a, b)| (*a, *b)).collect();
    if a.len() != b.len() || differing.is_empty() {
        return Change::Other;
    }
    let all = |test: fn(&str) -> bool| differing.iter().all(|(a, b)| test(a) && test(b));
    if differing.iter().any(|(a, b)| is_epoch_text(a) && is_epoch_text(b)) {
        Change::Time
    } else if all(|word| word.len() <= 4 && word.bytes().all(|b| b.is_ascii_digit())) {
        Change::Counter
    } else if all(is_token) {
        Change::Opaque
    } else {
        Change::Other
    }
}

/// The SDK that makes keys of this form by itself, one for each call: its own repeats keep it, a restarted program gets another.
///
/// stripe-node: `stripe-node-retry-` and a UUID of version 4, on every v1 POST. stripe-python: 16 random bytes in the form of a UUID, whatever
/// version they seem to name (seen of 16.1.0); known only together with its `User-Agent`, since others make such keys as well.
pub(super) fn sdk(key: &str, user_agent: Option<&str>) -> Option<&'static str> {
    let is_uuid = |text: &str| uuid_in(text).is_some_and(|uuid| uuid.len() == text.len());
    let is_random = |text: &str| is_uuid(text) && version(text) == '4';
    if key.strip_prefix("stripe-node-retry-").is_some_and(is_random) {
        return Some("stripe-node");
    }
    let agent = user_agent.filter(|_| is_uuid(key))?;
    (agent.starts_with("Stripe/") && agent.contains("PythonBindings")).then_some("stripe-python")
}

/// Whether both keys are UUIDs that are hashes of something (RFC 9562, versions 3 and 5): random bytes seem to be that once in a thousand
/// pairs.
pub(super) fn are_hashes(one: &str, other: &str) -> bool {
    let is_hash = |key: &str| {
        let variant = key.chars().nth(19).unwrap_or_default().to_ascii_lowercase();
        uuid_in(key).is_some_and(|uuid| uuid.len() == key.len())
            && matches!(version(key), '3' | '5')
            && matches!(variant, '8' | '9' | 'a' | 'b')
    };
    is_hash(one) && is_hash(other)
}

fn version(uuid: &str) -> char {
    uuid.chars().nth(14).unwrap_or('0')
}

/// Letters and digits mixed, long enough that nobody typed them.
fn is_token(word: &str) -> bool {
    is_long_hex(word)
        || (word.len() >= 16 && word.bytes().any(|b| b.is_ascii_digit()) && word.bytes().any(|b| b.is_ascii_alphabetic()))
}

/// The runs of letters and digits of a key; a number at the end of a word (`attempt2`) stands by itself.
fn words(key: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for word in key.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        let stem = word.trim_end_matches(|c: char| c.is_ascii_digit());
        if is_long_hex(word) || !stem.bytes().all(|b| b.is_ascii_alphabetic()) {
            words.push(word);
        } else {
            words.extend([stem, &word[stem.len()..]].into_iter().filter(|part| !part.is_empty()));
        }
    }
    words
}
