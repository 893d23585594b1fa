//! Charges: money taken. Also made by payment intents.

use serde_json::{Map, Value, json};

use super::desk::{Desk, now};
use super::params::Params;
use super::refusal::{Refusal, Stop};

/// What a charge is made of.
pub(super) struct NewCharge {
    pub amount: i64,
    pub currency: Value,
    pub captured: bool,
    pub customer: Value,
    pub description: Value,
    pub metadata: Map<String, Value>,
    pub payment_intent: Value,
    pub payment_method: Value,
}

/// `POST /v1/charges`.
pub(super) fn create(desk: &Desk<'_>, params: &Params) -> Result<Value, Stop> {
    let charge = NewCharge {
        amount: params.required_amount()?,
        currency: params.required("currency")?.to_ascii_lowercase().into(),
        captured: params.flag("capture", true)?,
        customer: params.value("customer"),
        description: params.value("description"),
        metadata: params.metadata()?,
        payment_intent: Value::Null,
        payment_method: params.value("source"),
    };
    take(desk, charge)
}

/// Stripe's test cards that are declined when they are charged (docs.stripe.com/testing), as token and as payment method.
const DECLINED: [&str; 2] = ["tok_chargeDeclined", "pm_card_chargeDeclined"];

/// Makes a charge, unless the card is declined.
pub(super) fn take(desk: &Desk<'_>, new: NewCharge) -> Result<Value, Stop> {
    if new.payment_method.as_str().is_some_and(|card| DECLINED.contains(&card)) {
        return Err(Refusal::declined().into());
    }
    let charge = json!({
        "id": desk.new_id("ch")?, "object": "charge",
        "amount": new.amount, "amount_captured": if new.captured { new.amount } else { 0 }, "amount_refunded": 0,
        "captured": new.captured, "created": now(), "currency": new.currency, "customer": new.customer,
        "description": new.description, "disputed": false, "failure_code": null, "failure_message": null, "livemode": false,
        "metadata": new.metadata, "paid": true, "payment_intent": new.payment_intent, "payment_method": new.payment_method,
        "refunded": false, "status": "succeeded",
    });
    desk.add(&charge)?;
    Ok(charge)
}

/// `POST /v1/charges/:id/capture`.
pub(super) fn capture(desk: &Desk<'_>, id: &str, params: &Params) -> Result<Value, Stop> {
    let wanted = params.amount("amount")?;
    let charge = desk.get("charge", id)?;
    settle(desk, charge, wanted)
}

/// Captures a charge, wholly or in part.
pub(super) fn settle(desk: &Desk<'_>, mut charge: Value, wanted: Option<i64>) -> Result<Value, Stop> {
    if charge["captured"] == true {
        return Err(Refusal::state("charge_already_captured", "this charge has already been captured").into());
    }
    let amount = charge["amount"].as_i64().unwrap_or(0);
    let captured = wanted.unwrap_or(amount);
    if captured > amount {
        return Err(Refusal::state("amount_too_large", format!("{captured} is more than the {amount} of the charge")).into());
    }
    charge["captured"] = true.into();
    charge["amount_captured"] = captured.into();
    desk.replace(&charge)?;
    Ok(charge)
}
