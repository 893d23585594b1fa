//! The OpenAPI 3.1 description of the billing API: what is served, with which parameters, and what errors look like.
//!
//! It is written beside the API and not made from it; a test asks for each path that it names, and a test with schemathesis compares the
//! answers with it. Other paths take writes as well (an effect of no shape); OpenAPI has no word for "any other path", the text says it.
//! A new object: its schema in `objects`, its line in [`COLLECTIONS`], and its actions in [`paths`].

mod objects;
mod params;

use serde_json::{Map, Value, json};

use self::objects::{LIST, SEARCH};

/// What the description says of itself as a whole.
const ABOUT: &str = "The billing API of killpoint's sandbox: Stripe-shaped objects under Stripe's rules for idempotency keys. Bodies are \
    forms or JSON. A write to a path that is not listed here has an effect too: it is answered with an object of the kind `effect`. \
    Fields that a test of payments does not look at are left out of the objects.";

/// A collection of objects: where it stands, the name of its schema, and whether it can be searched.
struct Collection {
    path: &'static str,
    schema: &'static str,
    searched: bool,
}

const COLLECTIONS: [Collection; 4] = [
    Collection { path: "charges", schema: "Charge", searched: true },
    Collection { path: "payment_intents", schema: "PaymentIntent", searched: true },
    Collection { path: "refunds", schema: "Refund", searched: false },
    Collection { path: "customers", schema: "Customer", searched: false },
];

/// The description, as `GET /_killpoint/openapi.json` gives it.
#[must_use]
pub fn openapi() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "killpoint sandbox",
            "version": env!("CARGO_PKG_VERSION"),
            "description": ABOUT,
            "license": { "name": "MIT OR Apache-2.0" },
        },
        // Relative: the same text is true on every port.
        "servers": [{ "url": "/" }],
        "paths": paths(),
        "components": {
            "schemas": objects::schemas(),
            "parameters": params::shared(),
            "responses": { "Refused": refused() },
            "headers": {
                "RequestId": { "description": "The request's number in the ledger.", "schema": { "type": "string" } },
                "Replayed": {
                    "description": "`true` where the first answer under this key is given again.",
                    "schema": { "const": "true" },
                },
            },
        },
    })
}

fn paths() -> Map<String, Value> {
    let mut paths = Map::new();
    for Collection { path, schema, searched } in COLLECTIONS {
        let read_one = json!({
            "summary": format!("One {schema}"), "parameters": [param("Id")], "responses": responses(schema, false),
        });
        let list = json!({
            "summary": format!("The newest of the objects {schema}"), "parameters": params::of_list(),
            "responses": responses(&format!("{schema}{LIST}"), false),
        });
        let create = write(&format!("Makes a {schema}"), schema, params::of_create(path), false);
        let update = write("Changes description and metadata", schema, params::of_update(), true);
        paths.insert(format!("/v1/{path}"), json!({ "get": list, "post": create }));
        paths.insert(format!("/v1/{path}/{{id}}"), json!({ "get": read_one, "post": update }));
        if searched {
            let search = json!({
                "summary": "A search by fields and metadata, at once up to date", "parameters": params::of_search(),
                "responses": responses(&format!("{schema}{SEARCH}"), false),
            });
            paths.insert(format!("/v1/{path}/search"), json!({ "get": search }));
        }
    }
    for (path, schema, summary, body) in [
        ("charges/{id}/capture", "Charge", "Takes a reserved charge", params::of_amount("amount")),
        ("payment_intents/{id}/confirm", "PaymentIntent", "Makes the charge of a payment intent", params::of_confirm()),
        ("payment_intents/{id}/capture", "PaymentIntent", "Takes what is reserved", params::of_amount("amount_to_capture")),
        ("payment_intents/{id}/cancel", "PaymentIntent", "Gives it up", params::nothing()),
    ] {
        paths.insert(format!("/v1/{path}"), json!({ "post": write(summary, schema, body, true) }));
    }
    paths.insert("/_killpoint/openapi.json".to_owned(), json!({ "get": itself() }));
    paths
}

fn itself() -> Value {
    let answer =
        json!({ "description": "This description.", "content": { "application/json": { "schema": { "type": "object" } } } });
    json!({ "summary": "This description", "responses": { "200": answer, "default": reference("responses", "Refused") } })
}

/// A writing operation whose body may be a form or JSON.
fn write(summary: &str, schema: &str, body: Value, has_id: bool) -> Value {
    let mut parameters = vec![param("IdempotencyKey")];
    if has_id {
        parameters.push(param("Id"));
    }
    let required = body["required"].is_array();
    let metadata = json!({ "metadata": { "style": "deepObject", "explode": true } });
    json!({
        "summary": summary, "parameters": parameters,
        "requestBody": {
            "required": required,
            "content": {
                "application/x-www-form-urlencoded": { "schema": body, "encoding": metadata },
                "application/json": { "schema": body },
            },
        },
        "responses": responses(schema, true),
    })
}

fn responses(schema: &str, writes: bool) -> Value {
    let mut headers = json!({ "request-id": reference("headers", "RequestId") });
    if writes {
        headers["idempotent-replayed"] = reference("headers", "Replayed");
    }
    let done = json!({
        "description": "Done, or done before under the same key.", "headers": headers,
        "content": { "application/json": { "schema": reference("schemas", schema) } },
    });
    let mut all = Map::from_iter([("200".to_owned(), done)]);
    // 409 and 402 come of writes only: a key that is in use, and a card that is declined.
    let refusals: &[&str] = if writes { &["400", "402", "404", "408", "409", "413"] } else { &["400", "404", "408", "413"] };
    all.extend(refusals.iter().map(|status| ((*status).to_owned(), reference("responses", "Refused"))));
    Value::Object(all)
}

fn refused() -> Value {
    json!({
        "description": "Not done. `type` tells the sort of the error, `code` the error, `param` the parameter it is about.",
        "content": { "application/json": { "schema": reference("schemas", "Error") } },
    })
}

fn param(name: &str) -> Value {
    reference("parameters", name)
}

fn reference(section: &str, name: &str) -> Value {
    json!({ "$ref": format!("#/components/{section}/{name}") })
}
