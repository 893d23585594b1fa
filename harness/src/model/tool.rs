//! Tools: what the schema of an MCP tool says about being called twice.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An MCP tool, as far as its schema speaks of repetition. Its hints are what its server says of it, not what it does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its argument that takes an idempotency key, as a path of names (`payment.idempotency_key`); `None`: it takes none.
    pub key: Option<String>,
    /// Whether it refuses a call without the key.
    pub key_is_required: bool,
    /// `readOnlyHint`: it changes nothing.
    pub read_only_hint: Option<bool>,
    /// `idempotentHint`: a call with the same arguments changes nothing further.
    pub idempotent_hint: Option<bool>,
}

/// An MCP server that was asked for its tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolServer {
    /// The command that starts it, or its address, as it was given.
    pub command: String,
    /// Its tools.
    pub tools: Vec<Tool>,
    /// Why it could not be asked, where that is so.
    pub trouble: Option<String>,
}

/// Names of arguments that take a key, without case and separators. `idempotency` is one wherever it stands in a name.
const KEYS: [&str; 4] = ["dedupkey", "deduplicationkey", "requestkey", "clienttoken"];

impl Tool {
    /// The tools of a server, from the result of `tools/list`. What is not a tool is left out.
    #[must_use]
    pub fn listed(result: &Value) -> Vec<Self> {
        result["tools"].as_array().into_iter().flatten().filter_map(Self::read).collect()
    }

    fn read(tool: &Value) -> Option<Self> {
        let hint = |name: &str| tool["annotations"][name].as_bool();
        let key = key(&tool["inputSchema"]);
        Some(Self {
            name: tool["name"].as_str()?.to_owned(),
            key_is_required: key.as_ref().is_some_and(|(_, is_required)| *is_required),
            key: key.map(|(path, _)| path),
            read_only_hint: hint("readOnlyHint"),
            idempotent_hint: hint("idempotentHint"),
        })
    }

    /// Whether a call can change something, as far as its server says. Where it says nothing, it can: that is the protocol's default.
    #[must_use]
    pub fn has_side_effect(&self) -> bool {
        self.read_only_hint != Some(true)
    }

    /// Whether it changes something and gives its caller no way to say that two calls are one.
    #[must_use]
    pub fn is_unkeyed(&self) -> bool {
        self.has_side_effect() && self.key.is_none()
    }
}

/// The first argument that takes a key, in the object itself before those inside of it, and whether it must be there.
fn key(schema: &Value) -> Option<(String, bool)> {
    let arguments = schema["properties"].as_object()?;
    let is_required = |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let here = arguments.keys().find(|name| takes_key(name)).map(|name| (name.clone(), is_required(name)));
    let inside = || {
        arguments.iter().find_map(|(name, argument)| {
            key(argument).map(|(path, required)| (format!("{name}.{path}"), required && is_required(name)))
        })
    };
    here.or_else(inside)
}

fn takes_key(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    plain.contains("idempotency") || KEYS.contains(&plain.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(schema: Value, annotations: Value) -> Tool {
        let list = json!({"tools": [{"name": "t", "inputSchema": schema, "annotations": annotations}, {"no": "tool"}]});
        let mut tools = Tool::listed(&list);
        assert_eq!(tools.len(), 1);
        tools.remove(0)
    }

    #[test]
    fn a_tool_that_writes_and_takes_no_key_is_unkeyed() {
        let amount = json!({"type": "object", "properties": {"amount": {"type": "integer"}}});
        assert!(tool(amount.clone(), json!(null)).is_unkeyed());
        assert!(tool(amount.clone(), json!({"idempotentHint": true})).is_unkeyed(), "a hint is no key");
        assert!(!tool(amount, json!({"readOnlyHint": true})).is_unkeyed());
        assert!(tool(json!({}), json!({"readOnlyHint": false})).is_unkeyed());
    }

    #[test]
    fn a_key_is_known_by_its_name_in_any_spelling_and_at_any_depth() {
        for name in ["idempotency_key", "idempotencyKey", "Idempotency-Key", "x_idempotency", "client_token"] {
            let found = tool(json!({"properties": {"amount": {}, name: {}}, "required": [name]}), json!({}));
            assert_eq!((found.key.as_deref(), found.key_is_required), (Some(name), true));
        }
        let inside = json!({"properties": {"payment": {"properties": {"idempotency_key": {}}, "required": ["idempotency_key"]}}});
        let found = tool(inside, json!({}));
        assert_eq!((found.key.as_deref(), found.key_is_required), (Some("payment.idempotency_key"), false));
        assert_eq!(tool(json!({"properties": {"key": {}, "token": {}}}), json!({})).key, None);
    }
}
