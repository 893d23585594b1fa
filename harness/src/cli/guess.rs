//! Guesses promises from the ledger of one clean run: what the effects are called, and where each names its intent. Pure.

use std::collections::BTreeMap;

use serde_json::Value;

use killpoint::model::ledger::Request;
use killpoint::model::point::is_name;
use killpoint::model::promise::{Count, Endpoint, IntentSource, Promise};

/// Fields that name an intent, the likeliest first; also with `_id` or `_number` behind them.
const INTENT_FIELDS: [&str; 5] = ["invoice", "order", "id", "reference", "to"];
/// Fields that differ from try to try, so that they can be no intent.
const VOLATILE_PARTS: [&str; 9] = ["attempt", "retry", "try", "time", "date", "nonce", "trace", "pid", "request_id"];

/// One promise for each kind of effect, in the order in which they came.
pub fn promises(ledger: &[Request]) -> Vec<Promise> {
    let mut kinds: Vec<(Endpoint, Vec<&Request>)> = Vec::new();
    for request in ledger.iter().filter(|request| request.had_effect()) {
        let endpoint = endpoint(request);
        match kinds.iter_mut().find(|(known, _)| *known == endpoint) {
            Some((_, requests)) => requests.push(request),
            None => kinds.push((endpoint, vec![request])),
        }
    }
    let mut promises: Vec<Promise> = Vec::new();
    for (endpoint, requests) in kinds {
        let taken = |name: &str| promises.iter().any(|promise| promise.name == name);
        let name = unused(&name(&endpoint), taken);
        promises.push(promise(name, endpoint, &requests));
    }
    promises
}

fn promise(name: String, endpoint: Endpoint, requests: &[&Request]) -> Promise {
    let candidates = candidates(&requests[0].body);
    let read = |pointer: &Vec<String>| -> Option<Vec<String>> {
        requests.iter().map(|request| field(&request.body, pointer).and_then(scalar)).collect()
    };
    // The best one has another value for each effect; else the likeliest that all of them have.
    let readable: Vec<(&Vec<String>, Vec<String>)> = candidates.iter().filter_map(|c| Some((c, read(c)?))).collect();
    let found = readable.iter().find(|(_, values)| most(values) == 1).or(readable.first());
    let (intent, count, counts) = match found {
        Some((pointer, values)) => {
            let (count, counts) = numbers(values);
            (IntentSource::Body(json_path(pointer)), count, counts)
        }
        None => (IntentSource::Auto, Count::exactly(1), BTreeMap::new()),
    };
    let has_amount = requests.iter().all(|request| request.body.get("amount").and_then(scalar).is_some());
    let amount = has_amount.then(|| "$.amount".to_owned());
    Promise { intent, count, counts, amount, ..Promise::once(name, endpoint) }
}

/// The endpoint of a request; a segment that looks like an id stands for any, except in the name of a tool.
fn endpoint(request: &Request) -> Endpoint {
    let is_open = |segment: &str| request.method != Endpoint::MCP && is_id(segment);
    let segments = request.path.split('/').map(|segment| if is_open(segment) { "*" } else { segment });
    Endpoint { method: request.method.clone(), path: segments.collect::<Vec<_>>().join("/") }
}

/// A segment with a digit in it is an id, except a version (`v1`); so is one that a pattern could not hold.
fn is_id(segment: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let version = segment.strip_prefix('v').is_some_and(digits);
    segment.contains(['*', '{', '}']) || (!version && segment.bytes().any(|b| b.is_ascii_digit()))
}

/// `charge` for `POST /v1/charges`, `pause` for `POST /v1/subscriptions/*/pause`.
fn name(endpoint: &Endpoint) -> String {
    if endpoint.method == Endpoint::MAIL {
        return "mail".to_owned();
    }
    let last = endpoint.path.rsplit('/').find(|segment| !segment.is_empty() && *segment != "*").unwrap_or("effect");
    let plain: String = last.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    let one = match plain.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None if plain.ends_with("ss") => plain,
        None => plain.strip_suffix('s').map_or(plain.clone(), str::to_owned),
    };
    if is_name(&one) { one } else { "effect".to_owned() }
}

fn unused(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2_u32..).map(|number| format!("{name}-{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|name| !taken(name)).expect("the numbers do not run out")
}

/// Fields that may name the intent, the likeliest first: those in `metadata`, then those on top.
fn candidates(body: &Value) -> Vec<Vec<String>> {
    let keys = |value: Option<&Value>| -> Vec<String> {
        value.and_then(Value::as_object).map(|fields| fields.keys().cloned().collect()).unwrap_or_default()
    };
    let mut metadata: Vec<String> = keys(body.get("metadata")).into_iter().filter(|key| !is_volatile(key)).collect();
    metadata.sort_by_key(|key| rank(key).unwrap_or(INTENT_FIELDS.len()));
    let mut top: Vec<String> = keys(Some(body)).into_iter().filter(|key| rank(key).is_some()).collect();
    top.sort_by_key(|key| rank(key));
    let metadata = metadata.into_iter().map(|key| vec!["metadata".to_owned(), key]);
    metadata.chain(top.into_iter().map(|key| vec![key])).collect()
}

fn rank(key: &str) -> Option<usize> {
    let key = key.to_lowercase();
    let stem = key.strip_suffix("_id").or_else(|| key.strip_suffix("_number")).unwrap_or(&key);
    INTENT_FIELDS.iter().position(|field| *field == stem)
}

fn is_volatile(key: &str) -> bool {
    let key = key.to_lowercase();
    VOLATILE_PARTS.iter().any(|part| key.split('_').any(|word| word == *part) || key == *part)
}

fn field<'a>(body: &'a Value, pointer: &[String]) -> Option<&'a Value> {
    pointer.iter().try_fold(body, |value, key| value.get(key))
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// How often the commonest value stands there.
fn most(values: &[String]) -> usize {
    counted(values).into_values().max().unwrap_or(0) as usize
}

fn counted(values: &[String]) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    values.iter().for_each(|value| *counts.entry(value.clone()).or_default() += 1);
    counts
}

/// The count that most intents have, and the intents that differ.
fn numbers(values: &[String]) -> (Count, BTreeMap<String, Count>) {
    let counts = counted(values);
    let mut usual: BTreeMap<u32, usize> = BTreeMap::new();
    counts.values().for_each(|count| *usual.entry(*count).or_default() += 1);
    let usual = usual.into_iter().max_by_key(|(count, often)| (*often, std::cmp::Reverse(*count))).map_or(1, |(count, _)| count);
    let others = counts.into_iter().filter(|(_, count)| *count != usual).map(|(intent, n)| (intent, Count::exactly(n)));
    (Count::exactly(usual), others.collect())
}

/// The path of a field, by RFC 9535.
fn json_path(pointer: &[String]) -> String {
    let plain = |key: &str| {
        key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let segment = |key: &String| {
        if plain(key) {
            return format!(".{key}");
        }
        // A JSON string is a name selector of RFC 9535 as it stands.
        format!("[{}]", Value::String(key.clone()))
    };
    std::iter::once("$".to_owned()).chain(pointer.iter().map(segment)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::samples::request;
    use super::*;
    use serde_json::json;

    fn guess(bodies: &[(&str, Value)]) -> Vec<Promise> {
        let ledger: Vec<Request> = bodies.iter().map(|(path, body)| Request { body: body.clone(), ..request(1, path) }).collect();
        promises(&ledger)
    }

    fn intent(body: Value) -> IntentSource {
        guess(&[("/v1/charges", body)]).remove(0).intent
    }

    #[test]
    fn an_effect_is_named_by_its_path_and_ids_stand_for_any() {
        let seen = guess(&[
            ("/v1/charges", json!({})),
            ("/v1/subscriptions/sub_1/pause", json!({})),
            ("/v1/subscriptions/sub_2/pause", json!({})),
            ("/v2/charges", json!({})),
            ("/entries", json!({})),
            ("/", json!({})),
        ]);
        let told: Vec<String> = seen.iter().map(|promise| format!("{}: {}", promise.name, promise.endpoint)).collect();
        assert_eq!(
            told,
            [
                "charge: POST /v1/charges",
                "pause: POST /v1/subscriptions/*/pause",
                "charge-2: POST /v2/charges",
                "entry: POST /entries",
                "effect: POST /"
            ]
        );
    }

    #[test]
    fn a_mail_and_the_calls_of_each_tool_are_effects_of_their_own() {
        let of = |method: &str, path: &str| Request { method: method.to_owned(), ..request(1, path) };
        let seen = promises(&[of("MAIL", "/"), of("MCP", "/charge_v2"), of("MCP", "/charge_v3")]);
        let told: Vec<String> = seen.iter().map(|promise| format!("{}: {}", promise.name, promise.endpoint)).collect();
        assert_eq!(told, ["mail: mail", "charge_v2: mcp charge_v2", "charge_v3: mcp charge_v3"]);
    }

    #[test]
    fn the_intent_is_looked_for_in_the_metadata_first_and_then_on_top() {
        let body = |path: &str| IntentSource::Body(path.to_owned());
        assert_eq!(
            intent(json!({ "to": "a", "metadata": { "run": "r", "invoice": "inv_9", "attempt": "1" } })),
            body("$.metadata.invoice")
        );
        assert_eq!(intent(json!({ "to": "a", "order_id": "o" })), body("$.order_id"));
        assert_eq!(intent(json!({ "metadata": { "attempt": "1" }, "to": "a@b" })), body("$.to"));
        assert_eq!(intent(json!({ "metadata": { "my key": "1" } })), body("$.metadata[\"my key\"]"));
        assert_eq!(intent(json!({ "amount": 5 })), IntentSource::Auto);
        assert_eq!(intent(json!("no fields")), IntentSource::Auto);
    }

    #[test]
    fn the_field_that_tells_the_effects_apart_is_taken_before_a_likelier_one() {
        let charge = |order: &str, batch: &str| ("/v1/charges", json!({ "invoice": batch, "order": order, "amount": "29" }));
        let seen = guess(&[charge("o1", "b"), charge("o2", "b")]).remove(0);
        assert_eq!((seen.intent, seen.count), (IntentSource::Body("$.order".to_owned()), Count::exactly(1)));
        assert_eq!(seen.amount.as_deref(), Some("$.amount"));
    }

    #[test]
    fn intents_that_have_several_effects_in_the_clean_run_keep_their_number() {
        let charge = |order: &str| ("/v1/charges", json!({ "order": order }));
        let seen = guess(&[charge("a"), charge("b"), charge("b"), charge("c")]).remove(0);
        assert_eq!(seen.count, Count::exactly(1));
        assert_eq!(seen.counts, BTreeMap::from([("b".to_owned(), Count::exactly(2))]));
    }
}
