//! Why the API did not do what it was asked to, in Stripe's error form.

use serde_json::{Map, Value, json};

/// An answer that is an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::sandbox) struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// `error.type`.
    pub kind: &'static str,
    /// `error.code`, where there is one.
    pub code: Option<&'static str>,
    /// `error.message`.
    pub message: String,
    /// `error.param`: the parameter it is about.
    pub param: Option<String>,
    /// Whether execution had begun: then the answer is saved under the key and given again.
    pub begun: bool,
}

impl Refusal {
    /// A request that is not valid.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self { status: 400, kind: "invalid_request_error", code: None, message: message.into(), param: None, begun: false }
    }

    /// A request with a parameter that is not valid.
    pub fn param(param: &str, code: &'static str, message: impl Into<String>) -> Self {
        Self { code: Some(code), param: Some(param.to_owned()), ..Self::invalid(message) }
    }

    /// The object named in the path does not exist.
    pub fn no_such(kind: &str, id: &str) -> Self {
        Self { status: 404, ..Self::param("id", "resource_missing", format!("No such {kind}: '{id}'")) }
    }

    /// Nothing is served at this path.
    pub fn no_such_path(method: &str, path: &str) -> Self {
        Self { status: 404, ..Self::invalid(format!("nothing is served at {method} {path}")) }
    }

    /// The object is in a state that does not allow it. It takes execution to find that out.
    pub fn state(code: &'static str, message: impl Into<String>) -> Self {
        Self { code: Some(code), begun: true, ..Self::invalid(message) }
    }

    /// The card is declined. It takes execution to find that out, so the answer is saved under the key.
    pub fn declined() -> Self {
        let message = "Your card was declined.".to_owned();
        Self { status: 402, kind: "card_error", code: Some("card_declined"), message, param: None, begun: true }
    }

    /// The request goes past a limit of the sandbox.
    pub fn limit(status: u16, message: impl Into<String>) -> Self {
        Self { status, ..Self::invalid(message) }
    }

    /// The body of the answer.
    pub fn body(&self) -> Value {
        let mut error = Map::new();
        error.insert("type".to_owned(), self.kind.into());
        error.insert("message".to_owned(), self.message.clone().into());
        if let Some(code) = self.code {
            error.insert("code".to_owned(), code.into());
        }
        if let Some(param) = &self.param {
            error.insert("param".to_owned(), param.clone().into());
        }
        json!({ "error": error })
    }
}

/// Why a handler stopped: a refusal, or the ledger itself failed.
#[derive(Debug)]
pub(in crate::sandbox) enum Stop {
    /// The answer is an error.
    Refused(Box<Refusal>),
    /// The ledger could not be read or written.
    Ledger(rusqlite::Error),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl From<rusqlite::Error> for Stop {
    fn from(error: rusqlite::Error) -> Self {
        Self::Ledger(error)
    }
}
