//! The sandbox in front of another server, which is a second sandbox here: what reaches it, what comes back, and what goes wrong between.

use super::*;
use crate::model::fault::WireFault;

/// A sandbox behind another one.
async fn pair() -> (Stage, Stage) {
    let behind = Stage::new().await;
    let folder = tempfile::tempdir().expect("a folder");
    let keeper = Arc::new(Keeper::default());
    let config =
        SandboxConfig { spec: SandboxSpec { upstream: Some(behind.sandbox.url()), ..SandboxSpec::default() }, ..config(&folder) };
    let sandbox = Sandbox::start(config, Arc::clone(&keeper) as Arc<dyn Watch>).await.expect("a sandbox");
    (Stage { sandbox, keeper, folder }, behind)
}

#[tokio::test]
async fn an_answer_comes_through_with_its_headers_and_is_an_effect() {
    let (front, behind) = pair().await;
    let first = front.post("/v1/charges?expand=x", Some("k"), CHARGE).await;
    assert_eq!((first.status, first.header("request-id")), (200, Some("req_000001")), "{}", first.body);
    assert!(first.id().starts_with("ch_"));
    let again = front.post("/v1/charges?expand=x", Some("k"), CHARGE).await;
    assert_eq!((again.status, again.header("idempotent-replayed")), (200, Some("true")));
    let list = front.ask("GET", "/v1/charges", None, "").await;
    assert_eq!(list.body["data"].as_array().map(Vec::len), Some(1));
    let ledger = front.settled().await;
    assert_eq!(
        ledger.iter().map(|request| request.outcome).collect::<Vec<_>>(),
        [Outcome::Executed, Outcome::Replayed, Outcome::Read]
    );
    assert_eq!(ledger[0].object.as_deref(), Some(first.id()));
    let beyond = behind.sandbox.ledger().expect("a ledger");
    assert_eq!((beyond.len(), beyond[0].query.as_deref(), beyond[0].key.as_deref()), (3, Some("expand=x"), Some("k")));
    assert_eq!(beyond[0].body_sha256, ledger[0].body_sha256, "the body is passed on byte by byte");
}

#[tokio::test]
async fn credentials_reach_the_other_server_and_what_is_about_the_connection_does_not() {
    let (front, behind) = pair().await;
    let mut client = front.client().await;
    let head = "POST /v1/customers HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer s\r\nX-Own: 1\r\nConnection: X-Own\r\nContent-Length: 0\r\n\r\n";
    client.send(head.as_bytes()).await;
    assert_eq!(client.read().await.expect("an answer").status, 200);
    let seen = behind.sandbox.ledger().expect("a ledger").swap_remove(0);
    assert_eq!((seen.headers.contains_key("authorization"), seen.headers.contains_key("x-own")), (true, false));
}

#[tokio::test]
async fn a_lost_answer_leaves_the_effect_at_the_other_server() {
    let (front, behind) = pair().await;
    front.keeper.hold("executed charge#1").go(Go::Fault(WireFault::DropAck));
    let mut client = front.client().await;
    client.send(&request("POST", "/v1/charges", None, CHARGE)).await;
    assert!(client.read().await.is_none());
    assert_eq!(behind.effects_without_settling(), 1);
    let ledger = front.settled().await;
    assert_eq!((ledger[0].had_effect(), ledger[0].fault.as_deref()), (true, Some("drop-ack")));
}

#[tokio::test]
async fn a_second_delivery_and_a_held_request_reach_the_other_server_as_well() {
    let (front, behind) = pair().await;
    front.keeper.hold("received charge#1").go(Go::Fault(WireFault::Duplicate));
    assert_eq!(front.post("/v1/charges", None, CHARGE).await.status, 200);
    assert_eq!(behind.effects_without_settling(), 2);
    front.keeper.hold("received charge#3").go(Go::Fault(WireFault::Hold));
    let mut client = front.client().await;
    client.send(&request("POST", "/v1/charges", None, CHARGE)).await;
    while front.sandbox.ledger().expect("a ledger").iter().all(|request| request.fault.as_deref() != Some("hold")) {
        tokio::task::yield_now().await;
    }
    drop(client);
    assert_eq!(front.effects().await, 2);
    front.sandbox.release_held().await.expect("the other server is there");
    assert_eq!((front.effects_without_settling(), behind.effects_without_settling()), (3, 3));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_answered_for_and_is_no_effect() {
    let (front, behind) = pair().await;
    let url = behind.sandbox.url();
    behind.sandbox.stop().await;
    let answer = front.post("/v1/charges", None, CHARGE).await;
    assert_eq!(answer.status, 502);
    assert!(answer.error("message").starts_with(&url), "{}", answer.body);
    assert_eq!(front.settled().await[0].outcome, Outcome::Rejected);
}
