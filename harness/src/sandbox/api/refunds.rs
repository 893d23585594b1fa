//! Refunds: money given back, of a charge or a payment intent.

use serde_json::{Value, json};

use super::desk::{Desk, now};
use super::params::Params;
use super::refusal::{Refusal, Stop};

/// `POST /v1/refunds`, of a charge or of a payment intent's charge; without an amount, of all that is left.
pub(super) fn create(desk: &Desk<'_>, params: &Params) -> Result<Value, Stop> {
    let (wanted, metadata) = (params.amount("amount")?, params.metadata()?);
    let mut charge = charge_of(desk, params)?;
    let taken = charge["amount_captured"].as_i64().unwrap_or(0);
    let returned = charge["amount_refunded"].as_i64().unwrap_or(0);
    let left = taken - returned;
    if left <= 0 {
        return Err(
            Refusal::state("charge_already_refunded", format!("charge {} has nothing left to refund", charge["id"])).into()
        );
    }
    let amount = wanted.unwrap_or(left);
    if amount > left {
        return Err(Refusal::state("amount_too_large", format!("{amount} is more than the {left} left on the charge")).into());
    }
    charge["amount_refunded"] = (returned + amount).into();
    charge["refunded"] = (returned + amount == taken).into();
    desk.replace(&charge)?;
    let refund = json!({
        "id": desk.new_id("re")?, "object": "refund", "amount": amount, "charge": charge["id"], "created": now(),
        "currency": charge["currency"], "metadata": metadata, "payment_intent": charge["payment_intent"],
        "reason": params.value("reason"), "status": "succeeded",
    });
    desk.add(&refund)?;
    Ok(refund)
}

fn charge_of(desk: &Desk<'_>, params: &Params) -> Result<Value, Stop> {
    let unknown =
        |param: &str, kind: &str, id: &str| Refusal::param(param, "resource_missing", format!("No such {kind}: '{id}'"));
    if let Some(id) = params.text("charge") {
        return Ok(desk.find("charge", &id)?.ok_or_else(|| unknown("charge", "charge", &id))?);
    }
    let Some(id) = params.text("payment_intent") else {
        return Err(Refusal::param("charge", "parameter_missing", "one of charge and payment_intent must be given").into());
    };
    let intent = desk.find("payment_intent", &id)?.ok_or_else(|| unknown("payment_intent", "payment_intent", &id))?;
    match intent["latest_charge"].as_str() {
        Some(charge) => desk.get("charge", charge),
        None => Err(Refusal::state("charge_missing", format!("payment intent {id} has no charge to refund")).into()),
    }
}
