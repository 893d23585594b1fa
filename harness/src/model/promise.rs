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
    /// Where its effects are read after the last life, where they are not requests.
    #[serde(default)]
    pub source: Option<Source>,
    /// Requests that give effects back: an effect that was given back whole does not count.
    #[serde(default)]
    pub net_of: Option<Endpoint>,
    /// The promise whose effects count in the end, by name: then there may be more effects of this one than promised, on the way.
    #[serde(default)]
    pub reconciled_by: Option<String>,
}

/// A kind of effect: the method and the path of its requests, where a segment `*` or `{name}` stands for any one segment. Effects
/// that are not HTTP requests have a method of their own: `MAIL /`, `MCP /<tool>`, `ROWS /<promise>`, `LINES /<promise>`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// The HTTP method, or `MAIL`, `MCP`, `ROWS`, `LINES`; in capitals.
    pub method: String,
    /// The path, starting with `/`.
    pub path: String,
}

/// Where effects are read that are not requests. Texts may hold placeholders (`{state}`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Each row that a query gives is one effect; its columns are the fields of its body.
    Rows {
        /// The path of an SQLite database, or the address of a PostgreSQL one (`postgres://...`).
        database: String,
        /// The query, one statement that only reads.
        query: String,
    },
    /// Each whole line of JSON in a file is one effect; the line is its body.
    Lines {
        /// The path of the file.
        file: String,
    },
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

impl Source {
    /// Whether it is a server, which stands outside of the world of every trial.
    #[must_use]
    pub fn is_server(&self) -> bool {
        matches!(self, Self::Rows { database, .. } if ["postgres://", "postgresql://"].iter().any(|own| database.starts_with(own)))
    }
}

impl Promise {
    /// A promise that every intent of an effect is done exactly once, whatever in its body names the intent.
    #[must_use]
    pub fn once(name: impl Into<String>, endpoint: Endpoint) -> Self {
        Self {
            name: name.into(),
            endpoint,
            intent: IntentSource::Auto,
            count: Count::exactly(1),
            counts: BTreeMap::new(),
            amount: None,
            source: None,
            net_of: None,
            reconciled_by: None,
        }
    }
}

impl Endpoint {
    /// The method of mails.
    pub const MAIL: &'static str = "MAIL";
    /// The method of calls of an MCP server's tools.
    pub const MCP: &'static str = "MCP";
    /// The method of rows that a query gives.
    pub const ROWS: &'static str = "ROWS";
    /// The method of lines of a file.
    pub const LINES: &'static str = "LINES";

    /// An endpoint by its method and path.
    #[must_use]
    pub fn new(method: impl Into<String>, path: impl Into<String>) -> Self {
        Self { method: method.into(), path: path.into() }
    }

    /// Whether its effects are requests; rows and lines are not: they are found in the world when the last life is over.
    #[must_use]
    pub fn is_request(&self) -> bool {
        self.method != Self::ROWS && self.method != Self::LINES
    }

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
        match self.method.as_str() {
            Self::MAIL => f.write_str("mail"),
            Self::MCP => write!(f, "mcp {}", self.path.trim_start_matches('/')),
            Self::ROWS => f.write_str("rows"),
            Self::LINES => f.write_str("lines"),
            method => write!(f, "{method} {}", self.path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_matches_whole_segments_only() {
        let endpoint = Endpoint::new("POST", "/v1/subscriptions/{id}/pause");
        assert!(endpoint.matches("POST", "/v1/subscriptions/sub_1/pause"));
        assert!(!endpoint.matches("GET", "/v1/subscriptions/sub_1/pause"));
        assert!(!endpoint.matches("POST", "/v1/subscriptions//pause"));
        assert!(!endpoint.matches("POST", "/v1/subscriptions/sub_1/pause/now"));
        assert!(!endpoint.matches("POST", "/v1/subscriptions/sub_1"));
    }

    #[test]
    fn an_endpoint_is_shown_as_it_is_written_in_a_scenario() {
        let shown = |method: &str, path: &str| Endpoint::new(method, path).to_string();
        assert_eq!(shown("POST", "/v1/charges"), "POST /v1/charges");
        assert_eq!(shown("MAIL", "/"), "mail");
        assert_eq!(shown("MCP", "/create_charge"), "mcp create_charge");
        assert_eq!((shown("ROWS", "/payout"), shown("LINES", "/outbox")), ("rows".to_owned(), "lines".to_owned()));
    }

    #[test]
    fn a_tool_is_not_another_tool_and_a_mail_is_any_mail() {
        assert!(Endpoint::new("MCP", "/create_charge").matches("MCP", "/create_charge"));
        assert!(!Endpoint::new("MCP", "/create_charge").matches("MCP", "/create_refund"));
        assert!(!Endpoint::new("MCP", "/create_charge").matches("POST", "/create_charge"));
        assert!(Endpoint::new("MAIL", "/").matches("MAIL", "/"));
    }
}
