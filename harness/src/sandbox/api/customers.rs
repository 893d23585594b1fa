//! Customers: who pays. Making one is an effect like any other.

use serde_json::{Value, json};

use super::desk::{Desk, now};
use super::params::Params;
use super::refusal::Stop;

/// `POST /v1/customers`.
pub(super) fn create(desk: &Desk<'_>, params: &Params) -> Result<Value, Stop> {
    let customer = json!({
        "id": desk.new_id("cus")?, "object": "customer", "balance": 0, "created": now(),
        "description": params.value("description"), "email": params.value("email"), "livemode": false,
        "metadata": params.metadata()?, "name": params.value("name"), "phone": params.value("phone"),
    });
    desk.add(&customer)?;
    Ok(customer)
}
