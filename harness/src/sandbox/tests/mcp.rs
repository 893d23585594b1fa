//! Tools over HTTP: the protocol as a client meets it, and a call as the request that it is.

use serde_json::json;

use super::*;
use crate::model::fault::WireFault;
use crate::model::tool::Tool;

const ARGUMENTS: &str = r#"{"amount": 2900, "currency": "usd", "metadata": {"invoice": "inv_9"}}"#;

impl Stage {
    /// A sandbox whose tools take a key.
    async fn keyed() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let keeper = Arc::new(Keeper::default());
        let config = SandboxConfig { spec: SandboxSpec { mcp_keys: true, ..SandboxSpec::default() }, ..config(&folder) };
        let sandbox = Sandbox::start(config, Arc::clone(&keeper) as Arc<dyn Watch>).await.expect("a sandbox");
        Self { sandbox, keeper, folder }
    }

    async fn rpc(&self, message: &str) -> Option<Reply> {
        let mut client = self.client().await;
        client.send(&rpc(message)).await;
        client.read().await
    }

    /// Calls a tool: its result.
    async fn call(&self, tool: &str, arguments: &str) -> Value {
        let reply = self.rpc(&call(tool, arguments)).await.expect("an answer");
        assert_eq!((reply.status, &reply.body["id"]), (200, &json!(7)), "{}", reply.body);
        reply.body["result"].clone()
    }
}

/// A message of JSON-RPC, as a request's bytes.
fn rpc(message: &str) -> Vec<u8> {
    let accept = "Accept: application/json, text/event-stream\r\nContent-Type: application/json";
    format!("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n{accept}\r\nContent-Length: {}\r\n\r\n{message}", message.len())
        .into_bytes()
}

fn call(tool: &str, arguments: &str) -> String {
    format!(r#"{{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {{"name": "{tool}", "arguments": {arguments}}}}}"#)
}

#[tokio::test]
async fn a_tool_call_is_a_request_with_its_moments_and_makes_what_the_path_makes() {
    let stage = Stage::new().await;
    let result = stage.call("create_charge", ARGUMENTS).await;
    let charge = result["structuredContent"].clone();
    assert_eq!(
        (&result["isError"], &charge["amount"], &charge["metadata"]["invoice"]),
        (&json!(false), &json!(2900), &json!("inv_9"))
    );
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert_eq!(serde_json::from_str::<Value>(text).ok(), Some(charge.clone()), "the text says the same");
    let listed = stage.ask("GET", "/v1/charges", None, "").await;
    assert_eq!(listed.body["data"], json!([charge]));
    let ledger = stage.settled().await;
    let [request, _] = ledger.as_slice() else { panic!("{ledger:?}") };
    assert_eq!((&*request.method, &*request.path, &*request.effect), ("MCP", "/create_charge", "mcp_create_charge"));
    assert_eq!((request.outcome, request.object.as_deref()), (Outcome::Executed, charge["id"].as_str()));
    assert_eq!(request.body, serde_json::from_str::<Value>(ARGUMENTS).expect("JSON"));
    assert!(request.answered_us.is_some());
    let moments = ["received", "executed", "answering", "Last"].map(|moment| format!("{moment} mcp_create_charge#1"));
    assert_eq!(stage.keeper.log(), moments);
}

#[tokio::test]
async fn what_is_only_protocol_is_answered_and_is_no_request_of_the_ledger() {
    let stage = Stage::new().await;
    let begin = r#"{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                   "clientInfo": {"name": "c", "version": "1"}}}"#;
    let reply = stage.rpc(begin).await.expect("an answer");
    assert_eq!(reply.body["result"]["serverInfo"]["name"], "killpoint-sandbox");
    assert_eq!(reply.header("mcp-session-id"), None, "no session that could be lost");
    let began = stage.rpc(r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#).await.expect("an answer");
    assert_eq!(began.status, 202);
    let ping = stage.rpc(r#"{"jsonrpc": "2.0", "id": 2, "method": "ping"}"#).await.expect("an answer");
    assert_eq!(ping.body["result"], json!({}));
    assert_eq!(stage.ask("GET", "/mcp", None, "").await.status, 403, "the host is not one of this machine");
    let mut client = stage.client().await;
    client.send(b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n").await;
    assert_eq!(client.read().await.map(|reply| reply.status), Some(405), "nothing is pushed to clients");
    drop(client);
    let unknown = stage.rpc(&call("create_money", ARGUMENTS)).await.expect("an answer");
    let message = unknown.body["error"]["message"].as_str().unwrap_or_default();
    assert_eq!(message, "Unknown tool: create_money; the tools are create_charge, create_refund, send_email");
    assert!(stage.settled().await.is_empty());
    assert!(stage.keeper.log().is_empty());
}

#[tokio::test]
async fn the_tools_that_are_listed_are_those_that_can_be_called_with_or_without_a_key() {
    let list = r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}"#;
    for (stage, keys) in [(Stage::new().await, false), (Stage::keyed().await, true)] {
        let reply = stage.rpc(list).await.expect("an answer");
        let tools = Tool::listed(&reply.body["result"]);
        assert_eq!(tools, crate::sandbox::mcp::facts(keys));
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["create_charge", "create_refund", "send_email"]);
        for tool in &tools {
            assert_eq!(tool.key.as_deref(), keys.then_some("idempotency_key"));
            assert_eq!((tool.is_unkeyed(), tool.key_is_required, tool.idempotent_hint), (!keys, false, Some(false)));
        }
        let schema = &reply.body["result"]["tools"][0]["inputSchema"];
        assert_eq!((&schema["type"], &schema["required"]), (&json!("object"), &json!(["amount", "currency"])));
    }
}

#[tokio::test]
async fn a_key_among_the_arguments_makes_two_calls_one_where_the_tool_takes_it_and_nothing_where_it_does_not() {
    let keyed = ARGUMENTS.replace('}', "").replacen('{', r#"{"idempotency_key": "k1", "#, 1).replace("\"inv_9\"", "\"inv_9\"}}");
    for (stage, effects) in [(Stage::keyed().await, 1), (Stage::new().await, 2)] {
        let (first, second) = (stage.call("create_charge", &keyed).await, stage.call("create_charge", &keyed).await);
        assert_eq!(first == second, effects == 1);
        assert_eq!(stage.effects().await, effects);
        let ledger = stage.settled().await;
        assert_eq!(ledger[0].key.as_deref(), (effects == 1).then_some("k1"));
    }
    let stage = Stage::keyed().await;
    stage.call("create_charge", &keyed).await;
    let other = stage.call("create_charge", &keyed.replace("2900", "2901")).await;
    assert_eq!((&other["isError"], &other["structuredContent"]["error"]["type"]), (&json!(true), &json!("idempotency_error")));
    assert_eq!(stage.settled().await[1].outcome, Outcome::Mismatch);
}

#[tokio::test]
async fn a_call_that_is_not_valid_is_an_error_of_the_tool_and_stands_in_the_ledger() {
    let stage = Stage::new().await;
    let result = stage.call("create_charge", r#"{"amount": 2900}"#).await;
    assert_eq!((&result["isError"], &result["structuredContent"]["error"]["param"]), (&json!(true), &json!("currency")));
    let none = stage.call("create_refund", r#"{"charge": "ch_none"}"#).await;
    assert_eq!(none["structuredContent"]["error"]["code"], "resource_missing");
    let outcomes: Vec<_> = stage.settled().await.iter().map(|request| (request.outcome, request.status)).collect();
    assert_eq!(outcomes, [(Outcome::Rejected, 400); 2]);
}

#[tokio::test]
async fn refunds_and_emails_are_made_by_tools_as_well() {
    let stage = Stage::new().await;
    let charge = stage.post("/v1/charges", None, CHARGE).await;
    let refund = stage.call("create_refund", &format!(r#"{{"charge": "{}", "amount": 900}}"#, charge.id())).await;
    assert_eq!((&refund["structuredContent"]["object"], &refund["structuredContent"]["amount"]), (&json!("refund"), &json!(900)));
    let email = stage.call("send_email", r#"{"to": "ada@example.com", "subject": "Your refund"}"#).await;
    assert_eq!(email["structuredContent"]["to"], "ada@example.com");
    assert_eq!(stage.effects().await, 3);
}

/// What a client sees of a call to which something is done when it has been executed.
async fn injured(fault: WireFault) -> (Option<Reply>, Stage) {
    let stage = Stage::new().await;
    let mut hold = stage.keeper.hold("executed mcp_create_charge#1");
    let mut client = stage.client().await;
    client.send(&rpc(&call("create_charge", ARGUMENTS))).await;
    hold.reached().await;
    hold.go(Go::Fault(fault));
    // An answer that is cut off cannot be read whole.
    let whole = match fault {
        WireFault::HalfAck => None,
        _ => client.read().await,
    };
    drop(client);
    (whole, stage)
}

#[tokio::test]
async fn an_answer_to_a_call_can_get_lost_after_the_money_has_moved() {
    for fault in [WireFault::DropAck, WireFault::ResetAck, WireFault::HalfAck] {
        let (reply, stage) = injured(fault).await;
        assert!(reply.is_none());
        let ledger = stage.settled().await;
        assert_eq!((ledger[0].outcome, ledger[0].fault.clone()), (Outcome::Executed, Some(fault.to_string())));
        assert_eq!(ledger[0].answered_us, None, "{fault}");
    }
}

#[tokio::test]
async fn a_server_that_fails_after_the_commit_answers_for_itself() {
    let (reply, stage) = injured(WireFault::ErrorAfterCommit { status: 502 }).await;
    let reply = reply.expect("an answer");
    assert_eq!((reply.status, reply.error("type")), (502, "api_error"));
    assert_eq!(stage.effects().await, 1);
    assert_eq!(stage.settled().await[0].status, 502);
}

#[tokio::test]
async fn a_slow_answer_comes_when_its_time_has_come() {
    let (reply, stage) = injured(WireFault::SlowAck { delay_ms: 30 }).await;
    assert_eq!(reply.map(|reply| reply.status), Some(200));
    let request = &stage.settled().await[0];
    let (executed, answered) = (request.executed_us.expect("executed"), request.answered_us.expect("answered"));
    assert!(answered >= executed + 30_000, "{executed} {answered}");
}

#[tokio::test]
async fn a_call_that_fails_before_the_commit_has_no_effect_and_one_that_is_delivered_twice_has_two() {
    for (fault, status, effects) in [(WireFault::ErrorBeforeCommit { status: 429 }, 429, 0), (WireFault::Duplicate, 200, 2)] {
        let stage = Stage::new().await;
        let mut hold = stage.keeper.hold("received mcp_create_charge#1");
        let mut client = stage.client().await;
        client.send(&rpc(&call("create_charge", ARGUMENTS))).await;
        hold.reached().await;
        hold.go(Go::Fault(fault));
        assert_eq!(client.read().await.map(|reply| reply.status), Some(status));
        drop(client);
        assert_eq!(stage.effects().await, effects, "{fault}");
    }
}

#[tokio::test]
async fn a_call_whose_client_is_gone_is_carried_through_all_the_same() {
    let stage = Stage::new().await;
    let mut hold = stage.keeper.hold("received mcp_create_charge#1");
    let mut client = stage.client().await;
    client.send(&rpc(&call("create_charge", ARGUMENTS))).await;
    hold.reached().await;
    drop(client);
    hold.go(Go::On);
    assert_eq!(stage.settled().await[0].outcome, Outcome::Executed);
}

#[tokio::test]
async fn a_call_that_did_not_arrive_whole_is_none() {
    let stage = Stage::new().await;
    let whole = rpc(&call("create_charge", ARGUMENTS));
    let mut client = stage.client().await;
    client.send(&whole[..whole.len() - 1]).await;
    drop(client);
    assert!(stage.settled().await.is_empty());
}

#[tokio::test]
async fn the_name_of_a_method_that_is_none_of_http_is_no_way_in() {
    let stage = Stage::new().await;
    assert_eq!(stage.ask("MCP", "/create_charge", None, "amount=1&currency=usd").await.status, 404);
    assert!(stage.settled().await.is_empty());
}
