//! The objects of the API and the shape of its errors, as JSON Schemas. They name what is always there; more fields may come.

use serde_json::{Map, Value, json};

use super::COLLECTIONS;
use super::reference;

/// The end of the name of a page's schema.
pub(super) const LIST: &str = "List";

/// The end of the name of a search result's schema.
pub(super) const SEARCH: &str = "SearchResult";

/// All schemas by name.
pub(super) fn schemas() -> Map<String, Value> {
    let mut schemas = Map::new();
    let mut add = |name: &str, schema: Value| schemas.insert(name.to_owned(), schema);
    add("Charge", charge());
    add("PaymentIntent", payment_intent());
    add("Refund", refund());
    add("Customer", customer());
    add("Error", error());
    for collection in COLLECTIONS {
        let name = collection.schema;
        add(&format!("{name}{LIST}"), page("list", name));
        if collection.searched {
            let mut result = page("search_result", name);
            result["properties"]["next_page"] = maybe_text();
            add(&format!("{name}{SEARCH}"), result);
        }
    }
    schemas
}

fn charge() -> Value {
    object(
        "charge",
        "ch_",
        json!({
            "amount": cents(), "amount_captured": cents(), "amount_refunded": cents(), "captured": truth(), "currency": text(),
            "customer": maybe_text(), "description": maybe_text(), "paid": truth(), "payment_intent": maybe_text(),
            "payment_method": maybe_text(), "refunded": truth(), "status": { "enum": ["succeeded", "pending", "failed"] },
        }),
    )
}

fn payment_intent() -> Value {
    let states = json!([
        "requires_payment_method",
        "requires_confirmation",
        "requires_action",
        "processing",
        "requires_capture",
        "canceled",
        "succeeded"
    ]);
    object(
        "payment_intent",
        "pi_",
        json!({
            "amount": cents(), "amount_capturable": cents(), "amount_received": cents(), "capture_method": text(),
            "client_secret": text(), "currency": text(), "customer": maybe_text(), "description": maybe_text(),
            "latest_charge": maybe_text(), "payment_method": maybe_text(), "status": { "enum": states },
        }),
    )
}

fn refund() -> Value {
    object(
        "refund",
        "re_",
        json!({
            "amount": cents(), "charge": text(), "currency": text(), "payment_intent": maybe_text(), "reason": maybe_text(),
            "status": { "enum": ["succeeded", "pending", "requires_action", "failed", "canceled"] },
        }),
    )
}

fn customer() -> Value {
    object(
        "customer",
        "cus_",
        json!({
            "balance": { "type": "integer" }, "description": maybe_text(), "email": maybe_text(), "name": maybe_text(),
            "phone": maybe_text(),
        }),
    )
}

/// An object of a kind: its own fields, and those that all of them have. All of them are always there.
fn object(kind: &str, prefix: &str, own: Value) -> Value {
    let mut properties = json!({
        "id": { "type": "string", "pattern": format!("^{prefix}") },
        "object": { "const": kind },
        "created": { "type": "integer", "description": "Unix seconds" },
        "metadata": { "type": "object", "additionalProperties": { "type": "string" } },
    });
    if let (Value::Object(all), Value::Object(own)) = (&mut properties, own) {
        all.extend(own);
    }
    let required: Vec<&String> = properties.as_object().into_iter().flat_map(Map::keys).collect();
    json!({ "type": "object", "required": required, "properties": properties })
}

fn page(kind: &str, schema: &str) -> Value {
    json!({
        "type": "object", "required": ["object", "url", "has_more", "data"],
        "properties": {
            "object": { "const": kind }, "url": text(), "has_more": truth(),
            "data": { "type": "array", "items": reference("schemas", schema) },
        },
    })
}

fn error() -> Value {
    let error = json!({
        "type": "object", "required": ["type", "message"],
        "properties": {
            "type": { "enum": ["invalid_request_error", "idempotency_error", "card_error", "api_error"] },
            "message": text(), "code": text(), "param": text(), "decline_code": text(),
        },
    });
    json!({ "type": "object", "required": ["error"], "properties": { "error": error } })
}

fn cents() -> Value {
    json!({ "type": "integer", "minimum": 0, "description": "in the smallest unit of the currency" })
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn maybe_text() -> Value {
    json!({ "type": ["string", "null"] })
}

fn truth() -> Value {
    json!({ "type": "boolean" })
}
