//! The parameters of a request: reading them out of its body or query, with Stripe's complaints.

use serde_json::{Map, Value, json};

use super::refusal::Refusal;

/// The parameters of one request.
pub(super) struct Params(Map<String, Value>);

impl Params {
    /// The parameters in a body or a query; `null` holds none.
    pub fn new(value: &Value) -> Result<Self, Refusal> {
        match value {
            Value::Object(fields) => Ok(Self(fields.clone())),
            Value::Null => Ok(Self(Map::new())),
            _ => Err(Refusal::invalid("the body is neither a form nor a JSON object")),
        }
    }

    /// A text, or a number or truth value as a text; nothing where it is absent, `null` or empty.
    pub fn text(&self, name: &str) -> Option<String> {
        match self.0.get(name)? {
            Value::String(text) if text.is_empty() => None,
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(truth) => Some(truth.to_string()),
            _ => None,
        }
    }

    /// The same as JSON.
    pub fn value(&self, name: &str) -> Value {
        self.text(name).map_or(Value::Null, Value::String)
    }

    /// What was sent by that name, whatever it is.
    pub fn raw(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// A text that must be there.
    pub fn required(&self, name: &str) -> Result<String, Refusal> {
        self.text(name).ok_or_else(|| Refusal::param(name, "parameter_missing", format!("Missing required param: {name}.")))
    }

    /// A positive whole number, in the smallest unit of its currency.
    pub fn amount(&self, name: &str) -> Result<Option<i64>, Refusal> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.parse::<i64>() {
            Ok(number) if number > 0 => Ok(Some(number)),
            Ok(_) => Err(Refusal::param(name, "parameter_invalid_integer", format!("{name} must be at least 1"))),
            Err(_) => Err(Refusal::param(name, "parameter_invalid_integer", format!("Invalid integer: {text}"))),
        }
    }

    /// The same, where it must be there.
    pub fn required_amount(&self) -> Result<i64, Refusal> {
        self.required("amount")?;
        self.amount("amount")?.ok_or_else(|| Refusal::param("amount", "parameter_missing", "Missing required param: amount."))
    }

    /// A truth value.
    pub fn flag(&self, name: &str, default: bool) -> Result<bool, Refusal> {
        match self.text(name).as_deref() {
            None => Ok(default),
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            Some(other) => Err(Refusal::param(name, "parameter_invalid_boolean", format!("Invalid boolean: {other}"))),
        }
    }

    /// The metadata: names and texts.
    pub fn metadata(&self) -> Result<Map<String, Value>, Refusal> {
        let texts = |fields: &Map<String, Value>| {
            let text = |value: &Value| value.as_str().map_or_else(|| json!(value.to_string()), |text| json!(text));
            fields.iter().map(|(name, value)| (name.clone(), text(value))).collect()
        };
        match self.0.get("metadata") {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(Value::Object(fields)) => Ok(texts(fields)),
            Some(Value::String(text)) if text.is_empty() => Ok(Map::new()),
            Some(_) => Err(Refusal::param("metadata", "parameter_invalid_map", "metadata must be a map of names and texts")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(value: Value) -> Result<i64, Option<&'static str>> {
        Params::new(&json!({ "amount": value })).expect("an object").required_amount().map_err(|refusal| refusal.code)
    }

    #[test]
    fn an_amount_is_a_positive_whole_number() {
        assert_eq!(amount(json!(2900)), Ok(2900));
        assert_eq!(amount(json!("2900")), Ok(2900));
        for bad in [json!(0), json!(-1), json!(29.5), json!("29 USD"), json!("99999999999999999999")] {
            assert_eq!(amount(bad), Err(Some("parameter_invalid_integer")));
        }
        for missing in [Value::Null, json!(""), json!([1])] {
            assert_eq!(amount(missing), Err(Some("parameter_missing")));
        }
    }
}
