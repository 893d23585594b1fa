//! A mail as the ledger keeps it: who it is from and for, what it says, and by which of its headers it can be told from others.

use std::collections::BTreeMap;

use mail_parser::{Address, Message, MessageParser, MimeHeaders, PartType};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::super::request::Arrived;
use super::{METHOD, Mail, PATH};

/// A mail as a request that has arrived. It has no key: no server knows a mail again that it has delivered.
pub(super) fn arrived(mail: &Mail) -> Arrived {
    let message = MessageParser::default().parse(&mail.raw);
    Arrived {
        method: METHOD.to_owned(),
        path: PATH.to_owned(),
        query: None,
        headers: message.as_ref().map(headers).unwrap_or_default(),
        body: body(mail, message.as_ref()),
        body_sha256: hex::encode(Sha256::digest(&mail.raw)),
        key: None,
        key_at: None,
        key_is_plain: true,
        raw: None,
    }
}

/// All headers by their names in small letters; those of one name in one line.
fn headers(message: &Message<'_>) -> BTreeMap<String, String> {
    let mut headers: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in message.headers_raw() {
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        headers
            .entry(name.to_ascii_lowercase())
            .and_modify(|values| {
                values.push_str(", ");
                values.push_str(&value);
            })
            .or_insert(value);
    }
    headers
}

/// What a mail says. What every sending makes anew (dates, boundaries) is not in it, except for its Message-ID.
fn body(mail: &Mail, message: Option<&Message<'_>>) -> Value {
    let mut body = Map::new();
    body.insert("from".to_owned(), mail.from.as_str().into());
    body.insert("to".to_owned(), mail.to.clone().into());
    let Some(message) = message else {
        body.insert("text".to_owned(), plain(&String::from_utf8_lossy(&mail.raw)).into());
        return Value::Object(body);
    };
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            body.insert(name.to_owned(), value);
        }
    };
    set("header_from", message.from().and_then(addresses).and_then(|all| all.into_iter().next()).map(Value::from));
    set("header_to", message.to().and_then(addresses).map(Value::from));
    set("cc", message.cc().and_then(addresses).map(Value::from));
    set("subject", message.subject().map(Value::from));
    set("message_id", message.message_id().map(|id| format!("<{id}>").into()));
    let own: BTreeMap<String, String> = headers(message).into_iter().filter(|(name, _)| name.starts_with("x-")).collect();
    let template = own.iter().find(|(name, _)| name.contains("template")).map(|(_, value)| value.as_str().into());
    set("template", template);
    set("headers", (!own.is_empty()).then(|| json!(own)));
    set("text", message.body_text(0).map(|text| plain(&text).into()));
    let html =
        message.html_part(0).and_then(|part| if let PartType::Html(html) = &part.body { Some(plain(html).into()) } else { None });
    set("html", html);
    let attachments: Vec<Value> = message
        .attachments()
        .map(|part| json!({ "name": part.attachment_name(), "sha256": hex::encode(Sha256::digest(part.contents())) }))
        .collect();
    set("attachments", (!attachments.is_empty()).then(|| attachments.into()));
    Value::Object(body)
}

fn addresses(header: &Address<'_>) -> Option<Vec<String>> {
    let all: Vec<String> = header.iter().filter_map(|one| one.address.as_deref().map(str::to_owned)).collect();
    (!all.is_empty()).then_some(all)
}

/// A text with line ends as files have them.
fn plain(text: &str) -> String {
    text.replace("\r\n", "\n").trim_end_matches('\n').to_owned()
}
