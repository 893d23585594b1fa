//! What goes wrong with a request on its way: what its client sees, and what the ledger says of it.

use super::*;
use crate::model::fault::WireFault;

/// A sandbox in which the first charge has a fault, and a client that has sent it.
async fn charged(fault: WireFault, key: Option<&str>) -> (Stage, Client) {
    let stage = Stage::new().await;
    let moment = if fault.moment() == crate::model::point::Moment::Received { "received" } else { "executed" };
    stage.keeper.hold(&format!("{moment} charge#1")).go(Go::Fault(fault));
    let mut client = stage.client().await;
    client.send(&request("POST", "/v1/charges", key, CHARGE)).await;
    (stage, client)
}

/// How the connection ended before a whole answer: the bytes that came, and the error.
async fn rest(client: &mut Client) -> (usize, Option<std::io::ErrorKind>) {
    let mut bytes = Vec::new();
    let read = tokio::time::timeout(LONG, client.0.read_to_end(&mut bytes)).await.expect("an end in time");
    (bytes.len(), read.err().map(|error| error.kind()))
}

async fn only(stage: &Stage) -> Request {
    let ledger = stage.settled().await;
    assert_eq!(ledger.len(), 1);
    ledger.into_iter().next().expect("one")
}

#[tokio::test]
async fn a_dropped_answer_is_a_closed_connection_after_the_effect() {
    let (stage, mut client) = charged(WireFault::DropAck, None).await;
    assert_eq!(rest(&mut client).await, (0, None));
    let charge = only(&stage).await;
    assert_eq!((charge.had_effect(), charge.answered_us, charge.fault.as_deref()), (true, None, Some("drop-ack")));
}

#[tokio::test]
async fn a_reset_answer_is_a_reset_after_the_effect() {
    let (stage, mut client) = charged(WireFault::ResetAck, None).await;
    assert_eq!(rest(&mut client).await, (0, Some(std::io::ErrorKind::ConnectionReset)));
    assert!(only(&stage).await.had_effect());
}

#[tokio::test]
async fn half_an_answer_is_some_of_its_bytes_and_the_end() {
    let (stage, mut client) = charged(WireFault::HalfAck, None).await;
    let (bytes, error) = rest(&mut client).await;
    assert_eq!(error, None);
    let whole = {
        let mut other = stage.client().await;
        other.send(&request("POST", "/v1/charges", None, CHARGE)).await;
        other.send(b"").await;
        other.0.get_mut().shutdown().await.expect("a half-closed connection");
        rest(&mut other).await.0
    };
    assert!(bytes > 0 && bytes < whole, "{bytes} of {whole}");
    let first = stage.settled().await.swap_remove(0);
    assert_eq!((first.had_effect(), first.answered_us), (true, None));
}

#[tokio::test]
async fn a_slow_answer_comes_later_and_whole() {
    let (stage, mut client) = charged(WireFault::SlowAck { delay_ms: 50 }, None).await;
    assert_eq!(client.read().await.expect("an answer").status, 200);
    drop(client);
    assert!(only(&stage).await.answered_us.is_some());
}

#[tokio::test]
async fn a_slow_answer_is_not_waited_for_once_its_client_is_gone() {
    let (stage, client) = charged(WireFault::SlowAck { delay_ms: limits::SLOW_ACK_MAX_MS }, None).await;
    let mut executed = stage.sandbox.lens();
    while executed.picture(None).is_ok() && stage.effects_without_settling() == 0 {
        tokio::task::yield_now().await;
        executed = stage.sandbox.lens();
    }
    drop(client);
    let charge = only(&stage).await;
    assert_eq!((charge.had_effect(), charge.answered_us), (true, None));
}

#[tokio::test]
async fn an_error_after_the_commit_leaves_the_effect() {
    let (stage, mut client) = charged(WireFault::ErrorAfterCommit { status: 502 }, Some("k")).await;
    assert_eq!(client.read().await.expect("an answer").status, 502);
    drop(client);
    // A 502 comes from in front of the endpoint: the endpoint's own answer is what the key brings back.
    let again = stage.post("/v1/charges", Some("k"), CHARGE).await;
    assert_eq!((again.status, again.header("idempotent-replayed")), (200, Some("true")));
    let ledger = stage.settled().await;
    assert_eq!((ledger[0].had_effect(), ledger[0].status), (true, 502));
    assert_eq!(ledger[1].outcome, Outcome::Replayed);
}

#[tokio::test]
async fn an_error_before_the_commit_leaves_nothing_and_frees_the_key() {
    let (stage, mut client) = charged(WireFault::ErrorBeforeCommit { status: 429 }, Some("k")).await;
    assert_eq!(client.read().await.expect("an answer").status, 429);
    drop(client);
    assert_eq!(stage.post("/v1/charges", Some("k"), CHARGE).await.status, 200);
    let ledger = stage.settled().await;
    assert_eq!((ledger[0].outcome, ledger[0].status), (Outcome::Rejected, 429));
    assert!(ledger[1].had_effect());
}

#[tokio::test]
async fn a_request_that_is_delivered_twice_is_executed_twice_without_a_key_only() {
    for (key, effects) in [(None, 2), (Some("k"), 1)] {
        let (stage, mut client) = charged(WireFault::Duplicate, key).await;
        assert_eq!(client.read().await.expect("an answer").status, 200);
        drop(client);
        let ledger = stage.settled().await;
        assert_eq!(ledger.len(), 2);
        assert_eq!(ledger.iter().filter(|request| request.had_effect()).count(), effects);
    }
}

#[tokio::test]
async fn a_held_request_arrives_after_the_next_life_has_asked_for_the_same() {
    for (key, effects) in [(None, 2), (Some("k"), 1)] {
        let (stage, client) = charged(WireFault::Hold, key).await;
        while stage.sandbox.ledger().expect("a ledger").is_empty() {
            tokio::task::yield_now().await;
        }
        drop(client);
        assert_eq!(stage.effects().await, 0);
        stage.sandbox.begin_life(2);
        assert_eq!(stage.post("/v1/charges", key, CHARGE).await.status, 200);
        let ledger = stage.settled().await;
        assert_eq!(ledger.iter().filter(|request| request.had_effect()).count(), effects);
        assert_eq!((ledger[0].life, ledger[0].fault.as_deref()), (1, Some("hold")));
    }
}

#[tokio::test]
async fn a_held_request_arrives_in_the_end_where_nobody_asks_again() {
    let (stage, client) = charged(WireFault::Hold, None).await;
    while stage.sandbox.ledger().expect("a ledger").is_empty() {
        tokio::task::yield_now().await;
    }
    drop(client);
    assert_eq!(stage.effects().await, 0);
    stage.sandbox.release_held().await.expect("a ledger");
    assert_eq!(stage.effects().await, 1);
}

#[tokio::test]
async fn a_pending_answer_is_a_success_for_whoever_looks_later() {
    let (stage, mut client) = charged(WireFault::Pending, Some("k")).await;
    let first = client.read().await.expect("an answer");
    drop(client);
    assert_eq!((first.status, &first.body["status"]), (200, &"pending".into()));
    assert_eq!(stage.post("/v1/charges", Some("k"), CHARGE).await.body["status"], "pending", "the first answer is given again");
    let looked = stage.ask("GET", &format!("/v1/charges/{}", first.id()), None, "").await;
    assert_eq!(looked.body["status"], "succeeded");
    assert_eq!(stage.effects().await, 1);
}
