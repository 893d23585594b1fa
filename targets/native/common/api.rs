//! A client of the billing API as most programs have one: Stripe's requests, an idempotency key where the caller brings one,
//! and no retry of its own.

use std::time::Duration;

use serde_json::json;

use super::{Invoice, Result};

/// The billing API.
pub struct Api {
    base: String,
    agent: ureq::Agent,
}

impl Api {
    /// The API at a base address. Proxies of the environment are not for it.
    pub fn new(base: &str) -> Self {
        let agent = ureq::Agent::config_builder().proxy(None).build().into();
        Self { base: base.trim_end_matches('/').to_owned(), agent }
    }

    /// The same API, given up on where an answer takes longer than this.
    pub fn impatient(&self, patience: Duration) -> Self {
        let agent = ureq::Agent::config_builder().proxy(None).timeout_global(Some(patience)).build().into();
        Self { base: self.base.clone(), agent }
    }

    /// Charges the card on file for an invoice.
    pub fn charge(&self, invoice: &Invoice, key: Option<&str>) -> Result<()> {
        let mut request = self.agent.post(format!("{}/v1/charges", self.base));
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        let cents = invoice.cents.to_string();
        let form = [("amount", cents.as_str()), ("currency", "usd"), ("metadata[invoice]", invoice.id.as_str())];
        let answer = request.send_form(form).and_then(|mut response| response.body_mut().read_to_string());
        answer.map(drop).map_err(|error| format!("charge {}: {error}", invoice.id).into())
    }

    /// Mails the receipt of an invoice.
    pub fn send_receipt(&self, invoice: &Invoice, key: Option<&str>) -> Result<()> {
        let mut request = self.agent.post(format!("{}/email", self.base)).header("Content-Type", "application/json");
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        let mail = json!({ "to": "customer@example.com", "template": "receipt", "invoice": invoice.id });
        let answer = request.send(mail.to_string()).and_then(|mut response| response.body_mut().read_to_string());
        answer.map(drop).map_err(|error| format!("receipt {}: {error}", invoice.id).into())
    }

    /// Asks whether an invoice has been charged.
    pub fn is_charged(&self, invoice: &Invoice) -> Result<bool> {
        Ok(!self.charges_of(invoice)?.is_empty())
    }

    /// The ids of all charges for an invoice, the oldest first.
    pub fn charges_of(&self, invoice: &Invoice) -> Result<Vec<String>> {
        let request = self.agent.get(format!("{}/v1/charges/search", self.base));
        let request = request.query("query", format!("metadata['invoice']:'{}'", invoice.id));
        let text = request.call().and_then(|mut response| response.body_mut().read_to_string());
        let text = text.map_err(|error| format!("search {}: {error}", invoice.id))?;
        let page: serde_json::Value = serde_json::from_str(&text).map_err(|error| format!("search {}: {error}", invoice.id))?;
        let charges = page["data"].as_array().ok_or_else(|| format!("search {}: no list in the answer", invoice.id))?;
        // The newest stand first.
        Ok(charges.iter().rev().filter_map(|charge| charge["id"].as_str()).map(str::to_owned).collect())
    }

    /// Gives a charge back whole.
    pub fn refund(&self, charge: &str) -> Result<()> {
        let request = self.agent.post(format!("{}/v1/refunds", self.base)).header("Idempotency-Key", format!("refund-{charge}"));
        let answer = request.send_form([("charge", charge)]).and_then(|mut response| response.body_mut().read_to_string());
        answer.map(drop).map_err(|error| format!("refund {charge}: {error}").into())
    }
}
