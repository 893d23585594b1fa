//! The billing API: Stripe-shaped objects, and an effect of no shape for every other path that is written to.
//!
//! A new kind of object: one file with its handlers, and its lines in [`serve`]. Handlers know nothing of keys, wires or moments.
//! The shapes follow the public API reference (docs.stripe.com/api); what a test of payments does not look at is left out.

mod charges;
mod customers;
mod desk;
mod lists;
mod params;
mod payment_intents;
mod refunds;
mod refusal;
mod subscriptions;
mod tools;

use serde_json::{Map, Value, json};

pub(super) use self::desk::Desk;
use self::params::Params;
pub(super) use self::refusal::{Refusal, Stop};
use super::mcp;

/// A request, as the API needs to know it.
pub(super) struct Ask<'a> {
    /// The HTTP method.
    pub method: &'a str,
    /// The path, without the query.
    pub path: &'a str,
    /// The query, undecoded.
    pub query: Option<&'a str>,
    /// The body as JSON.
    pub body: &'a Value,
}

/// Whether a method writes.
pub(super) fn writes(method: &str) -> bool {
    matches!(method, "POST" | "PUT" | "PATCH" | "DELETE" | "MAIL" | "MCP")
}

/// Does what is asked: the object that is the answer, with status 200.
pub(super) fn serve(desk: &Desk<'_>, ask: &Ask<'_>) -> Result<Value, Stop> {
    let segments: Vec<&str> = ask.path.split('/').filter(|segment| !segment.is_empty()).collect();
    match ask.method {
        "GET" | "HEAD" => read(desk, ask, &segments),
        method if writes(method) => write(desk, ask, &segments),
        method => Err(Refusal::no_such_path(method, ask.path).into()),
    }
}

fn read(desk: &Desk<'_>, ask: &Ask<'_>, segments: &[&str]) -> Result<Value, Stop> {
    let ["v1", collection, rest @ ..] = segments else {
        return Err(Refusal::no_such_path(ask.method, ask.path).into());
    };
    let kind = match *collection {
        "charges" => "charge",
        "payment_intents" => "payment_intent",
        "refunds" => "refund",
        "customers" => "customer",
        "subscriptions" => "subscription",
        _ => return Err(Refusal::no_such_path(ask.method, ask.path).into()),
    };
    let query = super::body::decode_form(ask.query.unwrap_or_default())
        .ok_or_else(|| Refusal::invalid("the query cannot be read as a form"))?;
    let params = Params::new(&query)?;
    match rest {
        [] => lists::list(desk, kind, ask.path, &params),
        ["search"] if matches!(kind, "charge" | "payment_intent") => lists::search(desk, kind, ask.path, &params),
        [id] => desk.get(kind, id),
        _ => Err(Refusal::no_such_path(ask.method, ask.path).into()),
    }
}

fn write(desk: &Desk<'_>, ask: &Ask<'_>, segments: &[&str]) -> Result<Value, Stop> {
    let params = || Params::new(ask.body);
    if let (mcp::METHOD, [tool]) = (ask.method, segments) {
        return tools::call(desk, tool, &params()?);
    }
    if let ("DELETE", ["v1", "subscriptions", id]) = (ask.method, segments) {
        return subscriptions::cancel(desk, id);
    }
    let ("POST", ["v1", collection, rest @ ..]) = (ask.method, segments) else { return generic(desk) };
    match (*collection, rest) {
        ("charges", []) => charges::create(desk, &params()?),
        ("charges", [id]) => update(desk, "charge", id, &params()?),
        ("charges", [id, "capture"]) => charges::capture(desk, id, &params()?),
        ("payment_intents", []) => payment_intents::create(desk, &params()?),
        ("payment_intents", [id]) => update(desk, "payment_intent", id, &params()?),
        ("payment_intents", [id, "confirm"]) => payment_intents::confirm(desk, id, &params()?),
        ("payment_intents", [id, "capture"]) => payment_intents::capture(desk, id, &params()?),
        ("payment_intents", [id, "cancel"]) => payment_intents::cancel(desk, id),
        ("refunds", []) => refunds::create(desk, &params()?),
        ("refunds", [id]) => update(desk, "refund", id, &params()?),
        ("subscriptions", []) => subscriptions::create(desk, &params()?),
        ("subscriptions", [id]) => subscriptions::update(desk, id, &params()?),
        ("subscriptions", [id, "resume"]) => subscriptions::resume(desk, id),
        ("subscriptions", [id, "cancel"]) => subscriptions::cancel(desk, id),
        ("customers", []) => customers::create(desk, &params()?),
        ("customers", [id]) => update(desk, "customer", id, &params()?),
        _ => generic(desk),
    }
}

/// An effect of which the sandbox knows no more than that it happened.
fn generic(desk: &Desk<'_>) -> Result<Value, Stop> {
    let effect = json!({ "id": desk.new_id("eff")?, "object": "effect" });
    desk.add(&effect)?;
    Ok(effect)
}

/// Changes what may be changed of an object: its description and its metadata, an empty value taking a name away.
fn update(desk: &Desk<'_>, kind: &str, id: &str, params: &Params) -> Result<Value, Stop> {
    let changes = params.metadata()?;
    let mut object = desk.get(kind, id)?;
    if let Some(description) = params.text("description") {
        object["description"] = description.into();
    }
    change_metadata(&mut object, changes);
    desk.replace(&object)?;
    Ok(object)
}

/// Changes the metadata of an object, an empty value taking a name away.
fn change_metadata(object: &mut Value, changes: Map<String, Value>) {
    let Some(metadata) = object["metadata"].as_object_mut() else { return };
    for (name, value) in changes {
        if value == "" {
            metadata.remove(&name)
        } else {
            metadata.insert(name, value)
        };
    }
}
