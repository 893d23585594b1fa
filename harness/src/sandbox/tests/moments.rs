//! The moments of a request: their order, and what stays undone where the keeper drops it.

use super::*;

#[tokio::test]
async fn the_moments_come_in_order_and_the_last_byte_once() {
    let stage = Stage::new().await;
    stage.post("/v1/charges", None, CHARGE).await;
    let ledger = stage.settled().await;
    assert_eq!(stage.keeper.log(), ["received charge#1", "executed charge#1", "answering charge#1", "Last charge#1"]);
    let times = (ledger[0].received_us, ledger[0].executed_us.expect("executed"), ledger[0].answered_us.expect("answered"));
    assert!(times.0 <= times.1 && times.1 <= times.2, "{times:?}");
}

#[tokio::test]
async fn a_replay_and_a_mistake_are_received_and_answered_but_not_executed() {
    let stage = Stage::new().await;
    stage.post("/v1/charges", Some("k1"), CHARGE).await;
    stage.post("/v1/charges", Some("k1"), CHARGE).await;
    stage.post("/v1/charges", None, "").await;
    stage.settled().await;
    let log = stage.keeper.log();
    let [replay, mistake] = [2, 3].map(|n| ["received", "answering", "Last"].map(|moment| format!("{moment} charge#{n}")));
    assert_eq!(log[4..], [replay, mistake].concat());
}

#[tokio::test]
async fn a_reading_request_is_watched_only_where_a_rule_names_it() {
    let stage = Stage::new().await;
    assert_eq!(stage.ask("GET", "/v1/charges", None, "").await.status, 200);
    assert_eq!(stage.ask("GET", "/v1/charges/ch_none", None, "").await.status, 404);
    let ledger = stage.settled().await;
    assert_eq!(stage.keeper.log(), ["received look#1", "answering look#1", "Last look#1"]);
    assert_eq!((&*ledger[0].effect, ledger[0].outcome), ("get_v1_charges", Outcome::Read));
    assert_eq!((&*ledger[1].effect, ledger[1].outcome, ledger[1].status), ("look", Outcome::Rejected, 404));
    assert!(ledger.iter().all(|request| request.answered_us.is_some()));
}

#[tokio::test]
async fn what_is_received_and_not_executed_is_only_received_in_the_ledger() {
    let stage = Stage::new().await;
    let mut hold = stage.keeper.hold("received charge#1");
    let mut client = stage.client().await;
    client.send(&request("POST", "/v1/charges", Some("k1"), CHARGE)).await;
    hold.reached().await;
    let ledger = stage.sandbox.ledger().expect("a ledger");
    assert_eq!((ledger[0].outcome, ledger[0].status, ledger[0].executed_us), (Outcome::Received, 0, None));
    assert!(!stage.sandbox.settle(Duration::ZERO).await, "a held request is under way");
    hold.go(Go::On);
    assert_eq!(client.read().await.map(|reply| reply.status), Some(200));
}

#[tokio::test]
async fn a_request_dropped_when_received_is_not_executed_and_its_retry_is() {
    let stage = Stage::new().await;
    let mut hold = stage.keeper.hold("received charge#1");
    let mut client = stage.client().await;
    client.send(&request("POST", "/v1/charges", Some("k1"), CHARGE)).await;
    hold.reached().await;
    hold.go(Go::Drop);
    assert!(client.read().await.is_none(), "the connection is closed without a byte");
    assert_eq!(stage.effects().await, 0);
    stage.sandbox.begin_life(2);
    let retry = stage.post("/v1/charges", Some("k1"), CHARGE).await;
    assert_eq!((retry.status, retry.header("idempotent-replayed")), (200, None));
    let ledger = stage.settled().await;
    let lives: Vec<_> = ledger.iter().map(|r| (r.life, r.ordinal, r.outcome)).collect();
    assert_eq!(lives, [(1, 1, Outcome::Received), (2, 1, Outcome::Executed)]);
}

#[tokio::test]
async fn a_request_dropped_after_its_effect_has_it_and_its_retry_is_a_replay() {
    for moment in ["executed charge#1", "answering charge#1"] {
        let stage = Stage::new().await;
        let mut hold = stage.keeper.hold(moment);
        let mut client = stage.client().await;
        client.send(&request("POST", "/v1/charges", Some("k1"), CHARGE)).await;
        hold.reached().await;
        hold.go(Go::Drop);
        assert!(client.read().await.is_none(), "the connection is closed without a byte");
        let ledger = stage.settled().await;
        assert_eq!((ledger[0].outcome, ledger[0].answered_us), (Outcome::Executed, None));
        let retry = stage.post("/v1/charges", Some("k1"), CHARGE).await;
        assert_eq!((retry.status, retry.header("idempotent-replayed")), (200, Some("true")));
        assert_eq!(Some(retry.id()), ledger[0].object.as_deref());
        assert_eq!(stage.effects().await, 1);
    }
}

#[tokio::test]
async fn a_request_whose_client_is_gone_is_carried_through() {
    let stage = Stage::new().await;
    let mut client = stage.client().await;
    client.send(&request("POST", "/v1/charges", None, CHARGE)).await;
    drop(client);
    let ledger = stage.settled().await;
    assert_eq!((ledger.len(), ledger[0].outcome), (1, Outcome::Executed));
    assert_eq!(stage.keeper.log()[..3], ["received charge#1", "executed charge#1", "answering charge#1"]);
}

#[tokio::test]
async fn a_client_that_goes_while_its_request_is_held_does_not_stop_it() {
    let stage = Stage::new().await;
    let mut hold = stage.keeper.hold("received charge#1");
    let mut client = stage.client().await;
    client.send(&request("POST", "/v1/charges", None, CHARGE)).await;
    hold.reached().await;
    drop(client);
    // The connection is gone soon, the request is not.
    assert!(!stage.sandbox.settle(Duration::from_millis(100)).await, "a held request is under way");
    hold.go(Go::On);
    let ledger = stage.settled().await;
    assert_eq!((ledger[0].outcome, ledger[0].answered_us), (Outcome::Executed, None));
    assert_eq!(stage.keeper.log(), ["received charge#1", "executed charge#1", "answering charge#1"]);
}

#[tokio::test]
async fn ordinals_are_counted_per_effect_and_life() {
    let stage = Stage::new().await;
    for life in 1..=2 {
        stage.sandbox.begin_life(life);
        stage.post("/v1/charges", None, CHARGE).await;
        stage.post("/v1/payment_intents/pi_000001x/confirm", None, "").await;
        stage.post("/v1/charges", None, CHARGE).await;
    }
    let seen: Vec<_> = stage.settled().await.into_iter().map(|r| (r.seq, r.life, r.effect, r.ordinal)).collect();
    let confirm = "post_v1_payment_intents_id_confirm";
    let of = |seq, life, effect: &str, ordinal| (seq, life, effect.to_owned(), ordinal);
    let first = [of(1, 1, "charge", 1), of(2, 1, confirm, 1), of(3, 1, "charge", 2)];
    let second = [of(4, 2, "charge", 1), of(5, 2, confirm, 1), of(6, 2, "charge", 2)];
    assert_eq!(seen, [first, second].concat());
}

#[tokio::test]
async fn a_probe_is_told_and_has_no_row() {
    let stage = Stage::new().await;
    let mut hold = stage.keeper.hold("probe after_charge");
    let mut client = stage.client().await;
    client.send(&request("POST", "/_killpoint/probe/after_charge", None, "")).await;
    hold.reached().await;
    hold.go(Go::Drop);
    assert!(client.read().await.is_none());
    assert_eq!(stage.post("/_killpoint/probe/after_charge", None, "").await.status, 200);
    for (method, path) in [("POST", "/_killpoint/other"), ("GET", "/_killpoint/probe/x"), ("POST", "/_killpoint/probe/a%20b")] {
        assert_eq!(stage.ask(method, path, None, "").await.status, 404, "{method} {path}");
    }
    assert_eq!(stage.keeper.log(), ["probe after_charge", "probe after_charge"]);
    assert!(stage.settled().await.is_empty());
}
