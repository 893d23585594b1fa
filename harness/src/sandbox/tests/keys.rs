//! The rules of idempotency keys, one test each.

use super::*;

#[tokio::test]
async fn the_first_answer_is_given_again_for_the_same_key() {
    let stage = Stage::new().await;
    let first = stage.post("/v1/charges", Some("k1"), CHARGE).await;
    let again = stage.post("/v1/charges", Some("k1"), "metadata%5Binvoice%5D=inv_9&currency=usd&amount=2900").await;
    assert_eq!((first.status, again.status), (200, 200));
    assert_eq!(first.body, again.body);
    assert_eq!((first.header("idempotent-replayed"), again.header("idempotent-replayed")), (None, Some("true")));
    assert_eq!((first.header("idempotency-key"), again.header("idempotency-key")), (Some("k1"), Some("k1")));
    let ledger = stage.settled().await;
    assert_eq!(ledger.iter().map(|r| r.outcome).collect::<Vec<_>>(), [Outcome::Executed, Outcome::Replayed]);
    assert_eq!(ledger[0].object.as_deref(), Some(first.id()));
    assert_eq!(ledger[1].object, None);
}

#[tokio::test]
async fn without_a_key_every_request_is_a_charge() {
    let stage = Stage::new().await;
    let (first, second) = (stage.post("/v1/charges", None, CHARGE).await, stage.post("/v1/charges", None, CHARGE).await);
    assert_ne!(first.id(), second.id());
    assert_eq!(stage.effects().await, 2);
}

#[tokio::test]
async fn other_parameters_under_a_key_are_an_error_and_no_effect() {
    let stage = Stage::new().await;
    stage.post("/v1/charges", Some("k1"), CHARGE).await;
    let other = stage.post("/v1/charges", Some("k1"), "amount=1&currency=usd").await;
    assert_eq!((other.status, other.error("type"), other.error("code")), (400, "idempotency_error", ""));
    assert_eq!(
        other.error("message"),
        "Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other \
         than 'k1' if you meant to execute a different request."
    );
    let ledger = stage.settled().await;
    assert_eq!(ledger[1].outcome, Outcome::Mismatch);
    assert_eq!(stage.post("/v1/charges", Some("k1"), CHARGE).await.header("idempotent-replayed"), Some("true"));
}

#[tokio::test]
async fn another_endpoint_under_a_key_is_an_error_that_names_both() {
    let stage = Stage::new().await;
    stage.post("/v1/charges", Some("k1"), CHARGE).await;
    let other = stage.post("/v1/customers", Some("k1"), CHARGE).await;
    assert_eq!((other.status, other.error("type")), (400, "idempotency_error"));
    assert!(other.error("message").contains("('/v1/customers' vs '/v1/charges')"), "{}", other.error("message"));
    assert_eq!(stage.effects().await, 1);
}

#[tokio::test]
async fn a_key_in_use_is_a_conflict_until_its_first_answer_is_on_its_way() {
    let stage = Stage::new().await;
    let mut hold = stage.keeper.hold("executed charge#1");
    let mut first = stage.client().await;
    first.send(&request("POST", "/v1/charges", Some("k1"), CHARGE)).await;
    hold.reached().await;
    let second = stage.post("/v1/charges", Some("k1"), CHARGE).await;
    assert_eq!((second.status, second.error("code")), (409, "idempotency_key_in_use"));
    assert!(second.error("message").contains("in-progress request using this Idempotent Key"));
    hold.go(Go::On);
    assert_eq!(first.read().await.map(|reply| reply.status), Some(200));
    drop(first);
    let third = stage.post("/v1/charges", Some("k1"), CHARGE).await;
    assert_eq!((third.status, third.header("idempotent-replayed")), (200, Some("true")));
    let outcomes: Vec<_> = stage.settled().await.iter().map(|r| r.outcome).collect();
    assert_eq!(outcomes, [Outcome::Executed, Outcome::Conflict, Outcome::Replayed]);
}

#[tokio::test]
async fn a_request_that_is_not_valid_does_not_use_up_its_key() {
    let stage = Stage::new().await;
    for bad in ["currency=usd", "amount=0&currency=usd", "amount=-5&currency=usd", "amount=2.5&currency=usd", "amount=5", ""] {
        let reply = stage.post("/v1/charges", Some("k1"), bad).await;
        assert_eq!((reply.status, reply.error("type")), (400, "invalid_request_error"), "{bad}");
    }
    let refund = stage.post("/v1/refunds", Some("k1"), "charge=ch_none").await;
    assert_eq!((refund.status, refund.error("code")), (400, "resource_missing"));
    let good = stage.post("/v1/charges", Some("k1"), CHARGE).await;
    assert_eq!((good.status, good.header("idempotent-replayed")), (200, None));
    let ledger = stage.settled().await;
    assert!(ledger[..7].iter().all(|request| request.outcome == Outcome::Rejected && request.object.is_none()));
    assert_eq!(ledger[7].outcome, Outcome::Executed);
}

#[tokio::test]
async fn an_error_found_by_executing_is_given_again() {
    let stage = Stage::new().await;
    let charge = stage.post("/v1/charges", None, CHARGE).await;
    let body = format!("charge={}&amount=9999", charge.id());
    let first = stage.post("/v1/refunds", Some("k1"), &body).await;
    let again = stage.post("/v1/refunds", Some("k1"), &body).await;
    assert_eq!((first.status, first.header("idempotent-replayed")), (400, None));
    assert_eq!((again.status, again.header("idempotent-replayed")), (400, Some("true")));
    assert_eq!(first.body, again.body);
    assert_eq!(stage.effects().await, 1);
}

#[tokio::test]
async fn a_key_has_255_characters_at_most() {
    let stage = Stage::new().await;
    let (longest, longer) = ("k".repeat(255), "k".repeat(256));
    assert_eq!(stage.post("/v1/charges", Some(&longest), CHARGE).await.status, 200);
    let reply = stage.post("/v1/charges", Some(&longer), CHARGE).await;
    assert_eq!((reply.status, reply.error("type")), (400, "invalid_request_error"));
    assert_eq!(stage.effects().await, 1);
}

#[tokio::test]
async fn a_key_on_anything_but_a_post_does_nothing() {
    let stage = Stage::new().await;
    for _ in 0..2 {
        let reply = stage.ask("DELETE", "/v1/things/7", Some("k1"), "").await;
        assert_eq!((reply.status, reply.header("idempotency-key")), (200, None));
    }
    assert_eq!(stage.ask("GET", "/v1/charges", Some("k1"), "").await.status, 200);
    assert_eq!(stage.post("/v1/charges", Some("k1"), CHARGE).await.header("idempotent-replayed"), None);
    let ledger = stage.settled().await;
    assert_eq!(ledger.iter().filter(|request| request.had_effect()).count(), 3);
    assert!(ledger.iter().all(|request| request.key.as_deref() == Some("k1")));
}

#[tokio::test]
async fn the_same_rules_hold_for_paths_that_the_sandbox_does_not_know() {
    let stage = Stage::new().await;
    let first = stage.post("/v1/mails", Some("k1"), "to=a").await;
    let again = stage.post("/v1/mails", Some("k1"), "to=a").await;
    let other = stage.post("/v1/mails", Some("k1"), "to=b").await;
    assert!(first.id().starts_with("eff_") && first.body["object"] == "effect");
    assert_eq!((again.id(), again.header("idempotent-replayed"), other.status), (first.id(), Some("true"), 400));
    assert_eq!(stage.effects().await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_hundred_requests_at_once_under_one_key_are_one_effect() {
    let stage = Arc::new(Stage::new().await);
    let asks: Vec<_> = (0..200)
        .map(|_| {
            let stage = Arc::clone(&stage);
            tokio::spawn(async move { stage.post("/v1/charges", Some("k1"), CHARGE).await })
        })
        .collect();
    let mut ids = std::collections::BTreeSet::new();
    for ask in asks {
        let reply = ask.await.expect("no panic");
        match reply.status {
            200 => _ = ids.insert(reply.id().to_owned()),
            409 => assert_eq!(reply.error("code"), "idempotency_key_in_use"),
            other => panic!("{other}: {}", reply.body),
        }
    }
    assert_eq!(ids.len(), 1);
    let ledger = stage.settled().await;
    assert_eq!((ledger.len(), ledger.iter().filter(|request| request.had_effect()).count()), (200, 1));
    assert_eq!(ledger.iter().map(|request| request.ordinal).collect::<Vec<_>>(), (1..=200).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_keys_stand_in_the_ledger_and_hold_for_the_sandbox_that_continues_it() {
    let stage = Stage::new().await;
    // The image of a crash: a copy of the ledger while a request is under way.
    let mut hold = stage.keeper.hold("executed charge#1");
    let mut client = stage.client().await;
    client.send(&request("POST", "/v1/charges", Some("k1"), CHARGE)).await;
    hold.reached().await;
    let image = tempfile::tempdir().expect("a folder");
    for file in std::fs::read_dir(stage.folder.path()).expect("a folder") {
        let file = file.expect("a file");
        std::fs::copy(file.path(), image.path().join(file.file_name())).expect("a copy");
    }
    hold.go(Go::Drop);
    let later = Sandbox::start(config(&image), Arc::new(NoWatch)).await.expect("a sandbox");
    let stage = Stage { sandbox: later, keeper: Arc::default(), folder: image };
    let again = stage.post("/v1/charges", Some("k1"), CHARGE).await;
    assert_eq!((again.status, again.header("idempotent-replayed")), (200, Some("true")));
    let seqs: Vec<_> = stage.settled().await.iter().map(|request| (request.seq, request.outcome)).collect();
    assert_eq!(seqs, [(1, Outcome::Executed), (2, Outcome::Replayed)]);
}

#[tokio::test]
async fn a_declined_card_charges_nothing_and_its_decline_is_the_answer_for_good() {
    let stage = Stage::new().await;
    let declined = "amount=2900&currency=usd&source=tok_chargeDeclined";
    let first = stage.post("/v1/charges", Some("k1"), declined).await;
    assert_eq!((first.status, first.error("type"), first.error("code")), (402, "card_error", "card_declined"));
    let again = stage.post("/v1/charges", Some("k1"), declined).await;
    assert_eq!((again.status, &again.body, again.header("idempotent-replayed")), (402, &first.body, Some("true")));
    let intent = "amount=2900&currency=usd&confirm=true&payment_method=pm_card_chargeDeclined";
    assert_eq!(stage.post("/v1/payment_intents", None, intent).await.status, 402);
    assert_eq!(stage.effects().await, 0);
}
