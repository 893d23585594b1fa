//! Promises: what the workflow owes the outside world, per intent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One promise about one kind of effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Promise {
    /// Its name; it names the effect in points and reports.
    pub name: String,
    /// The requests it is about.
    pub endpoint: Endpoint,
    /// How the intent is read out of a request.
    pub intent: IntentSource,
    /// How many effects each intent must have.
    pub count: Count,
    /// Counts of single intents that differ from `count`.
    pub counts: BTreeMap<String, Count>,
    /// JSONPath of an amount in the body that must be the same in every life.
    pub amount: Option<String>,
}

/// A method and a path; a segment `*` or `{name}` stands for any one segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// The HTTP method, in capitals.
    pub method: String,
    /// The path, starting with `/`.
    pub path: String,
}

/// Where the intent of a request stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntentSource {
    /// A JSONPath into the body (RFC 9535).
    Body(String),
    /// A header, name in lower case.
    Header(String),
    /// A query parameter.
    Query(String),
    /// Nothing was said: the body without what differs between two clean runs and without volatile values.
    Auto,
}

/// How many effects one intent must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// At least so many.
    pub at_least: u32,
    /// At most so many; `None`: no upper bound.
    pub at_most: Option<u32>,
}

impl Count {
    /// Exactly so many.
    #[must_use]
    pub fn exactly(n: u32) -> Self {
        Self { at_least: n, at_most: Some(n) }
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.at_least, self.at_most) {
            (low, Some(high)) if low == high => write!(f, "exactly {low}"),
            (0, Some(high)) => write!(f, "at most {high}"),
            (low, None) => write!(f, "at least {low}"),
            (low, Some(high)) => write!(f, "{low} to {high}"),
        }
    }
}

impl Endpoint {
    /// Whether a request goes to this endpoint.
    #[must_use]
    pub fn matches(&self, method: &str, path: &str) -> bool {
        let wild = |segment: &str| segment == "*" || (segment.starts_with('{') && segment.ends_with('}'));
        let path = path.strip_suffix('/').unwrap_or(path);
        let own = self.path.strip_suffix('/').unwrap_or(&self.path);
        self.method == method
            && own.split('/').count() == path.split('/').count()
            && own.split('/').zip(path.split('/')).all(|(own, other)| own == other || (wild(own) && !other.is_empty()))
    }
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_matches_whole_segments_only() {
        let endpoint = Endpoint { method: "POST".to_owned(), path: "/v1/subscriptions/{id}/pause".to_owned() };
        assert!(endpoint.matches("POST", "/v1/subscriptions/sub_1/pause"));
        assert!(!endpoint.matches("GET", "/v1/subscriptions/sub_1/pause"));
        assert!(!endpoint.matches("POST", "/v1/subscriptions//pause"));
        assert!(!endpoint.matches("POST", "/v1/subscriptions/sub_1/pause/now"));
        assert!(!endpoint.matches("POST", "/v1/subscriptions/sub_1"));
    }
}
