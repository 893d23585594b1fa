//! Which tools there are, and their schemas: with a key among the arguments, or without one as most tools have it.

use std::collections::BTreeMap;
use std::sync::Arc;

use rmcp::handler::server::tool::schema_for_input;
use rmcp::model::{Tool, ToolAnnotations};
use rmcp::schemars::{self, JsonSchema};
use serde_json::json;

use super::KEY_ARGUMENT;
use crate::model::tool::Tool as Facts;

/// The arguments of `create_charge`. They exist for their schema; the API reads them itself.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct CreateCharge {
    /// Amount in the smallest unit of the currency, such as cents
    amount: u64,
    /// Three-letter code of the currency, such as usd
    currency: String,
    /// Id of the customer who pays
    customer: Option<String>,
    /// What it is for, for people
    description: Option<String>,
    /// Names and values of your own, such as the invoice
    metadata: Option<BTreeMap<String, String>>,
}

/// The arguments of `create_refund`.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct CreateRefund {
    /// Id of the charge whose money is given back
    charge: String,
    /// Amount in the smallest unit of the currency; without it all that is left
    amount: Option<u64>,
    /// Why: duplicate, fraudulent or requested_by_customer
    reason: Option<String>,
    /// Names and values of your own, such as the invoice
    metadata: Option<BTreeMap<String, String>>,
}

/// The arguments of `send_email`.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct SendEmail {
    /// Address of the one who gets it
    to: String,
    /// The subject
    subject: String,
    /// The text
    text: Option<String>,
    /// Names and values of your own, such as the invoice
    metadata: Option<BTreeMap<String, String>>,
}

/// The tools; with `keys` each takes an idempotency key, which may be left out.
pub(super) fn all(keys: bool) -> Vec<Tool> {
    vec![
        tool::<CreateCharge>("create_charge", "Take money from a customer", keys),
        tool::<CreateRefund>("create_refund", "Give back the money of a charge, in whole or in part", keys),
        tool::<SendEmail>("send_email", "Send an email", keys),
    ]
}

fn tool<Arguments: JsonSchema + 'static>(name: &'static str, does: &'static str, keys: bool) -> Tool {
    // A struct with named fields has the schema of an object; the tests look at each.
    let mut schema = schema_for_input::<Arguments>().map(Arc::unwrap_or_clone).unwrap_or_default();
    if let Some(arguments) = schema.get_mut("properties").and_then(|arguments| arguments.as_object_mut()).filter(|_| keys) {
        let text = "Calls with the same key are one call: choose it once for each thing that is to be done, and keep it when you try again";
        arguments.insert(KEY_ARGUMENT.to_owned(), json!({ "type": "string", "description": text }));
    }
    let annotations = ToolAnnotations::new().read_only(false).destructive(true).idempotent(false).open_world(true);
    Tool::new(name, does, schema).annotate(annotations)
}

/// What the schemas of the tools say about being called twice. `keys` as the scenario has it.
#[must_use]
pub fn facts(keys: bool) -> Vec<Facts> {
    serde_json::to_value(all(keys)).map(|tools| Facts::listed(&json!({ "tools": tools }))).unwrap_or_default()
}
