//! Bodies: from a form or JSON to the JSON that the ledger keeps.

use serde_json::Value;

use crate::model::limits;

/// A body as JSON; a string where it is neither a form nor JSON, and `null` where there is none.
///
/// A body that is JSON by its looks is JSON whatever its `content-type` says: `curl -d` and Python's urllib call everything a form.
pub(super) fn decode(content_type: Option<&str>, bytes: &[u8]) -> Value {
    if bytes.is_empty() {
        return Value::Null;
    }
    let kind = content_type.unwrap_or_default().to_ascii_lowercase();
    let looks_like_json = matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'['));
    if (looks_like_json || kind.contains("json"))
        && let Ok(value) = serde_json::from_slice(bytes)
    {
        return value;
    }
    let raw = String::from_utf8_lossy(bytes);
    let form = (kind.is_empty() || kind.starts_with("application/x-www-form-urlencoded")) && !looks_like_json;
    if form && raw.contains('=') {
        return decode_form(&raw).unwrap_or_else(|| Value::String(raw.into_owned()));
    }
    Value::String(raw.into_owned())
}

/// A form or a query as JSON. Whole numbers become numbers, except within `metadata`, whose values are strings at Stripe.
pub(super) fn decode_form(text: &str) -> Option<Value> {
    if text.is_empty() {
        return Some(Value::Object(serde_json::Map::new()));
    }
    let config = serde_qs::Config::new().use_form_encoding(true).max_depth(limits::FORM_DEPTH_MAX);
    let mut value: Value = config.deserialize_str(text).ok()?;
    numbers(&mut value);
    value.is_object().then_some(value)
}

fn numbers(value: &mut Value) {
    match value {
        Value::String(text) => {
            // Only what reads back as the same text: `007`, `+1` and `1e3` are names, not numbers.
            if let Ok(number) = text.parse::<i64>()
                && number.to_string() == *text
            {
                *value = number.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(numbers),
        Value::Object(fields) => fields.iter_mut().filter(|(name, _)| *name != "metadata").for_each(|(_, field)| numbers(field)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const FORM: Option<&str> = Some("application/x-www-form-urlencoded");

    #[test]
    fn a_form_with_nested_keys_is_json() {
        let body = b"amount=2900&currency=usd&metadata[invoice]=inv_9&metadata%5Bn%5D=12&expand[]=customer&items[0][price]=p1&note=a+b%21";
        assert_eq!(
            decode(FORM, body),
            json!({"amount": 2900, "currency": "usd", "metadata": {"invoice": "inv_9", "n": "12"}, "expand": ["customer"],
                   "items": [{"price": "p1"}], "note": "a b!"})
        );
    }

    #[test]
    fn what_only_looks_like_a_number_stays_a_text() {
        assert_eq!(decode(FORM, b"a=007&b=+1&c=1e3&d=-5"), json!({"a": "007", "b": " 1", "c": "1e3", "d": -5}));
    }

    #[test]
    fn json_is_json_whatever_its_content_type_says() {
        assert_eq!(decode(FORM, b" {\"amount\": 1.0}"), json!({"amount": 1.0}));
        assert_eq!(decode(Some("application/json; charset=utf-8"), b"[1]"), json!([1]));
        assert_eq!(decode(Some("application/json"), b"{\"amount\":"), json!("{\"amount\":"));
        assert_eq!(decode(None, b""), Value::Null);
        assert_eq!(decode(Some("text/plain"), b"a=b"), json!("a=b"));
    }

    proptest! {
        #[test]
        fn any_body_is_decoded_without_a_panic(kind in prop::option::of(".{0,40}"), body in any::<Vec<u8>>()) {
            decode(kind.as_deref(), &body);
            decode(FORM, &body);
        }

        #[test]
        fn any_form_is_decoded_without_a_panic(body in "[a-c\\[\\]=&%0-9+]{0,60}") {
            decode(FORM, body.as_bytes());
        }
    }
}
