//! An audit for people and programs: coloured text, Markdown, and the JSON Schema of its JSON.

mod markdown;
mod phrases;
mod text;

#[cfg(test)]
mod tests;

use crate::model::audit::Audit;

pub use markdown::markdown;
pub use text::audit_text as text;

/// The JSON Schema of an audit; checked in as `reports/schema/killpoint.audit-1.json`.
#[must_use]
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Audit).to_value()
}
