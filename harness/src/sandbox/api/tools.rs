//! Tools: the same objects as the paths make, asked for by name. What a tool does not know among its arguments it leaves alone, as MCP
//! servers commonly do; so a key does nothing where a tool takes none.

use serde_json::{Value, json};

use super::desk::{Desk, now};
use super::params::Params;
use super::refusal::{Refusal, Stop};
use super::{charges, refunds};

/// Does what a tool does.
pub(super) fn call(desk: &Desk<'_>, tool: &str, params: &Params) -> Result<Value, Stop> {
    match tool {
        "create_charge" => charges::create(desk, params),
        "create_refund" => refunds::create(desk, params),
        "send_email" => send_email(desk, params),
        _ => Err(Refusal::no_such("tool", tool).into()),
    }
}

fn send_email(desk: &Desk<'_>, params: &Params) -> Result<Value, Stop> {
    let email = json!({
        "id": desk.new_id("em")?, "object": "email", "created": now(), "to": params.required("to")?,
        "subject": params.required("subject")?, "text": params.value("text"), "metadata": params.metadata()?, "status": "sent",
    });
    desk.add(&email)?;
    Ok(email)
}
