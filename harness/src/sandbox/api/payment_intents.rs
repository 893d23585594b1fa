//! Payment intents: a payment from its announcement to its capture.

use serde_json::{Value, json};

use super::charges::{self, NewCharge};
use super::desk::{Desk, now};
use super::params::Params;
use super::refusal::{Refusal, Stop};

/// `POST /v1/payment_intents`.
pub(super) fn create(desk: &Desk<'_>, params: &Params) -> Result<Value, Stop> {
    let (amount, currency) = (params.required_amount()?, params.required("currency")?.to_ascii_lowercase());
    let (confirmed, metadata) = (params.flag("confirm", false)?, params.metadata()?);
    let capture_method = params.text("capture_method").unwrap_or_else(|| "automatic".to_owned());
    let method = params.value("payment_method");
    let status = if method.is_null() { "requires_payment_method" } else { "requires_confirmation" };
    let id = desk.new_id("pi")?;
    let intent = json!({
        "client_secret": format!("{id}_secret"), "id": id, "object": "payment_intent",
        "amount": amount, "amount_capturable": 0, "amount_received": 0, "canceled_at": null, "capture_method": capture_method,
        "created": now(), "currency": currency, "customer": params.value("customer"),
        "description": params.value("description"), "latest_charge": null, "livemode": false, "metadata": metadata,
        "payment_method": method, "status": status,
    });
    desk.add(&intent)?;
    if confirmed { charge(desk, intent) } else { Ok(intent) }
}

/// `POST /v1/payment_intents/:id/confirm`.
pub(super) fn confirm(desk: &Desk<'_>, id: &str, params: &Params) -> Result<Value, Stop> {
    let mut intent = desk.get("payment_intent", id)?;
    must_be(&intent, &["requires_payment_method", "requires_confirmation"], "confirmed")?;
    if let Some(method) = params.text("payment_method") {
        intent["payment_method"] = method.into();
    }
    charge(desk, intent)
}

/// `POST /v1/payment_intents/:id/capture`.
pub(super) fn capture(desk: &Desk<'_>, id: &str, params: &Params) -> Result<Value, Stop> {
    let wanted = params.amount("amount_to_capture")?;
    let mut intent = desk.get("payment_intent", id)?;
    must_be(&intent, &["requires_capture"], "captured")?;
    let charge = desk.get("charge", intent["latest_charge"].as_str().unwrap_or_default())?;
    let charge = charges::settle(desk, charge, wanted)?;
    intent["amount_received"] = charge["amount_captured"].clone();
    intent["amount_capturable"] = 0.into();
    intent["status"] = "succeeded".into();
    desk.replace(&intent)?;
    Ok(intent)
}

/// `POST /v1/payment_intents/:id/cancel`. What was reserved is given free: the charge counts as refunded, as at Stripe.
pub(super) fn cancel(desk: &Desk<'_>, id: &str) -> Result<Value, Stop> {
    let mut intent = desk.get("payment_intent", id)?;
    must_be(&intent, &["requires_payment_method", "requires_confirmation", "requires_capture"], "canceled")?;
    if let Some(charge) = intent["latest_charge"].as_str() {
        let mut charge = desk.get("charge", charge)?;
        charge["amount_refunded"] = charge["amount"].clone();
        charge["refunded"] = true.into();
        desk.replace(&charge)?;
    }
    intent["amount_capturable"] = 0.into();
    intent["canceled_at"] = now().into();
    intent["status"] = "canceled".into();
    desk.replace(&intent)?;
    Ok(intent)
}

fn charge(desk: &Desk<'_>, mut intent: Value) -> Result<Value, Stop> {
    let amount = intent["amount"].as_i64().unwrap_or(0);
    let manual = intent["capture_method"] == "manual";
    let charge = charges::take(
        desk,
        NewCharge {
            amount,
            currency: intent["currency"].clone(),
            captured: !manual,
            customer: intent["customer"].clone(),
            description: intent["description"].clone(),
            metadata: intent["metadata"].as_object().cloned().unwrap_or_default(),
            payment_intent: intent["id"].clone(),
            payment_method: intent["payment_method"].clone(),
        },
    )?;
    intent["latest_charge"] = charge["id"].clone();
    let field = if manual { "amount_capturable" } else { "amount_received" };
    intent[field] = amount.into();
    intent["status"] = if manual { "requires_capture" } else { "succeeded" }.into();
    desk.replace(&intent)?;
    Ok(intent)
}

fn must_be(intent: &Value, states: &[&str], done: &str) -> Result<(), Refusal> {
    let status = intent["status"].as_str().unwrap_or_default();
    if states.contains(&status) {
        return Ok(());
    }
    let message = format!("this payment intent cannot be {done}: its status is {status}");
    Err(Refusal::state("payment_intent_unexpected_state", message))
}
