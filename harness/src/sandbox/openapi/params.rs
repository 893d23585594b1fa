//! The parameters of the API: in the path, the query, the head and the body.

use serde_json::{Value, json};

use super::param;
use crate::model::limits::{KEY_MAX_CHARS, LIST_PAGE_MAX};

/// Parameters that several operations share.
pub(super) fn shared() -> Value {
    json!({
        "Id": { "name": "id", "in": "path", "required": true, "schema": { "type": "string", "pattern": "^[A-Za-z0-9_]{1,64}$" } },
        "IdempotencyKey": {
            "name": "Idempotency-Key", "in": "header", "schema": { "type": "string", "maxLength": KEY_MAX_CHARS },
            "description": "What is asked under one key is done once; the first answer is given again, unless it says that nothing was begun.",
        },
        "Limit": { "name": "limit", "in": "query", "schema": { "type": "integer", "minimum": 1, "maximum": LIST_PAGE_MAX, "default": 10 } },
        "StartingAfter": { "name": "starting_after", "in": "query", "schema": { "type": "string" }, "description": "The id of the last object of the page before." },
        "Customer": { "name": "customer", "in": "query", "schema": { "type": "string" } },
        "Charge": { "name": "charge", "in": "query", "schema": { "type": "string" } },
        "PaymentIntent": { "name": "payment_intent", "in": "query", "schema": { "type": "string" } },
        "Query": {
            "name": "query", "in": "query", "required": true, "schema": { "type": "string", "minLength": 1 },
            "description": "Terms joined by AND.", "example": "metadata['invoice']:'inv_9' AND status:'succeeded'",
        },
    })
}

/// Of a list.
pub(super) fn of_list() -> Value {
    ["Limit", "StartingAfter", "Customer", "Charge", "PaymentIntent"].map(param).into_iter().collect()
}

/// Of a search.
pub(super) fn of_search() -> Value {
    ["Query", "Limit"].map(param).into_iter().collect()
}

/// The body that makes an object of a collection.
pub(super) fn of_create(collection: &str) -> Value {
    let own = match collection {
        "charges" => json!({ "capture": truth(), "customer": text(), "description": text(), "source": text() }),
        "payment_intents" => json!({
            "capture_method": { "enum": ["automatic", "automatic_async", "manual"] }, "confirm": truth(), "customer": text(),
            "description": text(), "payment_method": text(),
        }),
        "refunds" => json!({ "amount": cents(), "charge": text(), "payment_intent": text(), "reason": text() }),
        _ => json!({ "description": text(), "email": text(), "name": text(), "phone": text() }),
    };
    let mut body = body(own);
    if matches!(collection, "charges" | "payment_intents") {
        body["properties"]["amount"] = cents();
        body["properties"]["currency"] = json!({ "type": "string", "pattern": "^[A-Za-z]{3}$" });
        body["required"] = json!(["amount", "currency"]);
    }
    body
}

/// The body that changes an object.
pub(super) fn of_update() -> Value {
    body(json!({ "description": text() }))
}

/// The body that confirms a payment intent.
pub(super) fn of_confirm() -> Value {
    body(json!({ "payment_method": text() }))
}

/// A body of one amount, all of it where it is absent.
pub(super) fn of_amount(name: &str) -> Value {
    json!({ "type": "object", "properties": { name: cents() } })
}

/// A body of which nothing is read.
pub(super) fn nothing() -> Value {
    json!({ "type": "object" })
}

fn body(mut own: Value) -> Value {
    own["metadata"] = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    json!({ "type": "object", "properties": own })
}

fn cents() -> Value {
    json!({ "type": "integer", "minimum": 1, "description": "in the smallest unit of the currency" })
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn truth() -> Value {
    json!({ "type": "boolean" })
}
