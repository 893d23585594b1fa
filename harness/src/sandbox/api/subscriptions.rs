//! Subscriptions: paused, resumed and cancelled. One that the sandbox has not made is taken as an active one of before, because a workflow
//! mostly changes subscriptions that somebody else made.

use serde_json::{Value, json};

use super::desk::{Desk, now};
use super::params::Params;
use super::refusal::{Refusal, Stop};

const KIND: &str = "subscription";

/// `POST /v1/subscriptions`.
pub(super) fn create(desk: &Desk<'_>, params: &Params) -> Result<Value, Stop> {
    let subscription = active(&desk.new_id("sub")?, params.required("customer")?.into(), params.metadata()?.into());
    desk.add(&subscription)?;
    Ok(subscription)
}

/// `POST /v1/subscriptions/:id`: its description, its metadata, `cancel_at_period_end`, and `pause_collection`, which an empty value ends.
pub(super) fn update(desk: &Desk<'_>, id: &str, params: &Params) -> Result<Value, Stop> {
    let changes = params.metadata()?;
    let at_end = params.flag("cancel_at_period_end", false)?;
    let mut subscription = living(desk, id)?;
    match params.raw("pause_collection") {
        Some(Value::Object(pause)) => {
            let behavior = pause.get("behavior").and_then(Value::as_str).unwrap_or_default();
            if !["keep_as_draft", "mark_uncollectible", "void"].contains(&behavior) {
                let message = "behavior must be one of keep_as_draft, mark_uncollectible, void";
                return Err(Refusal::param("pause_collection[behavior]", "parameter_invalid", message).into());
            }
            subscription["pause_collection"] = json!({ "behavior": behavior, "resumes_at": pause.get("resumes_at") });
        }
        Some(Value::String(text)) if text.is_empty() => subscription["pause_collection"] = Value::Null,
        Some(Value::Null) => subscription["pause_collection"] = Value::Null,
        _ => {}
    }
    if params.raw("cancel_at_period_end").is_some() {
        subscription["cancel_at_period_end"] = at_end.into();
    }
    if let Some(description) = params.text("description") {
        subscription["description"] = description.into();
    }
    super::change_metadata(&mut subscription, changes);
    desk.replace(&subscription)?;
    Ok(subscription)
}

/// `POST /v1/subscriptions/:id/resume`: what is paused goes on.
pub(super) fn resume(desk: &Desk<'_>, id: &str) -> Result<Value, Stop> {
    let mut subscription = living(desk, id)?;
    subscription["pause_collection"] = Value::Null;
    subscription["status"] = "active".into();
    desk.replace(&subscription)?;
    Ok(subscription)
}

/// `DELETE /v1/subscriptions/:id`, and `POST /v1/subscriptions/:id/cancel` of older versions. One that is cancelled is gone: asked again,
/// the answer is 404, as at Stripe.
pub(super) fn cancel(desk: &Desk<'_>, id: &str) -> Result<Value, Stop> {
    let mut subscription = living(desk, id)?;
    subscription["status"] = "canceled".into();
    subscription["canceled_at"] = now().into();
    subscription["ended_at"] = now().into();
    desk.replace(&subscription)?;
    Ok(subscription)
}

/// A subscription that is not cancelled.
fn living(desk: &Desk<'_>, id: &str) -> Result<Value, Stop> {
    match desk.find(KIND, id)? {
        Some(subscription) if subscription["status"] == "canceled" => Err(Refusal::no_such(KIND, id).into()),
        Some(subscription) => Ok(subscription),
        None => {
            let subscription = active(id, Value::Null, json!({}));
            desk.add(&subscription)?;
            Ok(subscription)
        }
    }
}

fn active(id: &str, customer: Value, metadata: Value) -> Value {
    json!({
        "id": id, "object": KIND, "cancel_at_period_end": false, "canceled_at": null, "created": now(), "customer": customer,
        "description": null, "ended_at": null, "livemode": false, "metadata": metadata, "pause_collection": null, "status": "active",
    })
}
