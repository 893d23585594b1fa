//! The objects of the API, and how a request stands in the ledger.

use super::*;
use serde_json::json;

#[tokio::test]
async fn a_charge_looks_like_a_charge_and_can_be_found_again() {
    let stage = Stage::new().await;
    let charge = stage.post("/v1/charges", None, CHARGE).await;
    assert!(charge.id().starts_with("ch_"));
    assert_eq!(
        (&charge.body["object"], &charge.body["amount"], &charge.body["currency"]),
        (&json!("charge"), &json!(2900), &json!("usd"))
    );
    assert_eq!((&charge.body["status"], &charge.body["metadata"]), (&json!("succeeded"), &json!({"invoice": "inv_9"})));
    assert_eq!(stage.ask("GET", &format!("/v1/charges/{}", charge.id()), None, "").await.body, charge.body);
    assert_eq!(stage.ask("GET", &format!("/v1/refunds/{}", charge.id()), None, "").await.status, 404);
}

#[tokio::test]
async fn a_body_of_json_does_the_same_as_a_form() {
    let stage = Stage::new().await;
    let charge =
        stage.post("/v1/charges", None, r#"{"amount": 2900, "currency": "USD", "metadata": {"invoice": "inv_9"}}"#).await;
    assert_eq!((&charge.body["amount"], &charge.body["currency"]), (&json!(2900), &json!("usd")));
    stage.post("/v1/charges", None, CHARGE).await;
    let ledger = stage.settled().await;
    assert_eq!(ledger[1].body, json!({"amount": 2900, "currency": "usd", "metadata": {"invoice": "inv_9"}}));
    assert_eq!(ledger[0].body["amount"], ledger[1].body["amount"]);
    assert_ne!(ledger[0].body_sha256, ledger[1].body_sha256);
}

#[tokio::test]
async fn a_payment_intent_goes_from_its_announcement_to_its_refund() {
    let stage = Stage::new().await;
    let intent = stage.post("/v1/payment_intents", None, &format!("{CHARGE}&capture_method=manual&customer=cus_1")).await;
    assert_eq!(intent.body["status"], "requires_payment_method");
    let path = |action: &str| format!("/v1/payment_intents/{}{action}", intent.id());
    assert_eq!(stage.post(&path("/capture"), None, "").await.error("code"), "payment_intent_unexpected_state");
    assert_eq!(stage.post(&path("/confirm"), None, "payment_method=pm_card_visa").await.body["status"], "requires_capture");
    let captured = stage.post(&path("/capture"), None, "amount_to_capture=2000").await;
    assert_eq!((&captured.body["status"], &captured.body["amount_received"]), (&json!("succeeded"), &json!(2000)));
    assert_eq!(stage.post(&path("/cancel"), None, "").await.status, 400);
    let refund = stage.post("/v1/refunds", None, &format!("payment_intent={}&amount=500", intent.id())).await;
    assert_eq!((&refund.body["amount"], &refund.body["charge"]), (&json!(500), &captured.body["latest_charge"]));
    let rest = stage.post("/v1/refunds", None, &format!("payment_intent={}", intent.id())).await;
    assert_eq!(rest.body["amount"], 1500);
    assert_eq!(
        stage.post("/v1/refunds", None, &format!("payment_intent={}", intent.id())).await.error("code"),
        "charge_already_refunded"
    );
    let refunds = stage.ask("GET", &format!("/v1/refunds?payment_intent={}", intent.id()), None, "").await;
    assert_eq!(refunds.body["data"], json!([rest.body, refund.body]));
}

#[tokio::test]
async fn a_payment_intent_can_be_confirmed_at_once_or_cancelled() {
    let stage = Stage::new().await;
    let paid = stage.post("/v1/payment_intents", None, &format!("{CHARGE}&confirm=true&payment_method=pm_card_visa")).await;
    assert_eq!(paid.body["status"], "succeeded");
    let charge =
        stage.ask("GET", &format!("/v1/charges/{}", paid.body["latest_charge"].as_str().expect("a charge")), None, "").await;
    assert_eq!((&charge.body["payment_intent"], &charge.body["metadata"]), (&paid.body["id"], &paid.body["metadata"]));
    let open = stage.post("/v1/payment_intents", None, CHARGE).await;
    assert_eq!(stage.post(&format!("/v1/payment_intents/{}/cancel", open.id()), None, "").await.body["status"], "canceled");
    assert_eq!(stage.post(&format!("/v1/payment_intents/{}/confirm", open.id()), None, "").await.status, 400);
    assert_eq!(stage.post("/v1/payment_intents/pi_none/confirm", None, "").await.status, 404);
}

#[tokio::test]
async fn lists_are_newest_first_and_paged() {
    let stage = Stage::new().await;
    let mut ids = Vec::new();
    for n in 1..=5 {
        let body = format!("amount={n}&currency=usd&customer=cus_{}", n % 2);
        ids.insert(0, stage.post("/v1/charges", None, &body).await.id().to_owned());
    }
    let page = |query: String| {
        let stage = &stage;
        async move {
            let list = stage.ask("GET", &format!("/v1/charges?{query}"), None, "").await.body;
            let ids = list["data"].as_array().expect("a list").iter().map(|c| c["id"].as_str().expect("an id").to_owned());
            (ids.collect::<Vec<_>>(), list["has_more"].as_bool().expect("a flag"))
        }
    };
    assert_eq!(page(String::new()).await, (ids.clone(), false));
    assert_eq!(page("limit=2".to_owned()).await, (ids[..2].to_vec(), true));
    assert_eq!(page(format!("limit=3&starting_after={}", ids[1])).await, (ids[2..].to_vec(), false));
    assert_eq!(page("customer=cus_0".to_owned()).await, (vec![ids[1].clone(), ids[3].clone()], false));
    for bad in ["limit=0", "limit=101", "limit=x", "starting_after=ch_none"] {
        assert_eq!(stage.ask("GET", &format!("/v1/charges?{bad}"), None, "").await.status, 400, "{bad}");
    }
}

#[tokio::test]
async fn a_search_finds_by_metadata() {
    let stage = Stage::new().await;
    for (invoice, order) in [("inv_1", "a"), ("inv_2", "a"), ("inv_2", "b")] {
        let body = format!("amount=5&currency=usd&metadata[invoice]={invoice}&metadata[order]={order}");
        stage.post("/v1/charges", None, &body).await;
    }
    let query = "metadata%5B%27invoice%27%5D%3A%27inv_2%27%20AND%20metadata['order']:'a'";
    let found = stage.ask("GET", &format!("/v1/charges/search?query={query}"), None, "").await;
    assert_eq!(found.body["object"], "search_result");
    let data = found.body["data"].as_array().expect("a list");
    assert_eq!(data.iter().map(|c| &c["metadata"]).collect::<Vec<_>>(), [&json!({"invoice": "inv_2", "order": "a"})]);
    assert_eq!(stage.ask("GET", "/v1/charges/search?query=nonsense", None, "").await.status, 400);
    assert_eq!(stage.ask("GET", "/v1/payment_intents/search?query=amount:5", None, "").await.body["data"], json!([]));
}

#[tokio::test]
async fn an_update_changes_metadata_and_takes_away_what_is_empty() {
    let stage = Stage::new().await;
    let customer = stage.post("/v1/customers", None, "email=a%40b&metadata[a]=1&metadata[b]=2").await;
    assert_eq!(customer.body["email"], "a@b");
    let changed = stage.post(&format!("/v1/customers/{}", customer.id()), None, "metadata[a]=&metadata[c]=3").await;
    assert_eq!(changed.body["metadata"], json!({"b": "2", "c": "3"}));
    assert_eq!(stage.effects().await, 2);
}

#[tokio::test]
async fn every_other_path_that_is_written_to_is_an_effect() {
    let stage = Stage::new().await;
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        assert_eq!(stage.ask(method, "/v2/things/7", None, "a=b").await.body["object"], "effect");
    }
    assert_eq!(stage.ask("GET", "/v2/things/7", None, "").await.error("type"), "invalid_request_error");
    assert_eq!(stage.ask("OPTIONS", "/v2/things/7", None, "").await.status, 404);
    assert_eq!(stage.effects().await, 4);
}

#[tokio::test]
async fn the_ledger_keeps_what_was_asked_but_no_secret() {
    let stage = Stage::new().await;
    let mut client = stage.client().await;
    let head = "POST /v1/mails?to=a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk_1\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 5\r\n\r\nhello";
    client.send(head.as_bytes()).await;
    client.read().await.expect("an answer");
    drop(client);
    let request = stage.settled().await.remove(0);
    assert_eq!((&*request.path, request.query.as_deref(), request.body), ("/v1/mails", Some("to=a"), json!("hello")));
    assert_eq!(request.headers["x-a"], "1, 2");
    assert_eq!(request.body_sha256, "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
    let raw = std::fs::read(stage.folder.path().join("ledger.db-wal")).expect("a ledger");
    assert!(raw.windows(5).any(|five| five == b"hello"));
    assert!(!raw.windows(4).any(|four| four == b"sk_1"));
}

#[tokio::test]
async fn a_subscription_is_paused_resumed_and_cancelled_once() {
    let stage = Stage::new().await;
    let made = stage.post("/v1/subscriptions", None, "customer=cus_1&metadata[plan]=pro").await;
    let path = format!("/v1/subscriptions/{}", made.id());
    let paused = stage.post(&path, None, "pause_collection[behavior]=void").await;
    assert_eq!((paused.status, &paused.body["pause_collection"]["behavior"]), (200, &"void".into()));
    let wrong = stage.post(&path, None, "pause_collection[behavior]=maybe").await;
    assert_eq!((wrong.status, wrong.error("param")), (400, "pause_collection[behavior]"));
    assert_eq!(stage.post(&path, None, "pause_collection=").await.body["pause_collection"], Value::Null);
    assert_eq!(stage.post(&format!("{path}/resume"), None, "").await.body["status"], "active");
    assert_eq!(stage.ask("DELETE", &path, None, "").await.body["status"], "canceled");
    assert_eq!(stage.ask("DELETE", &path, None, "").await.status, 404, "it is gone");
    assert_eq!(stage.ask("GET", &path, None, "").await.body["status"], "canceled", "and can be looked at");
}

#[tokio::test]
async fn a_subscription_of_before_is_taken_as_an_active_one() {
    let stage = Stage::new().await;
    let cancelled = stage.post("/v1/subscriptions/sub_9/cancel", None, "").await;
    assert_eq!((cancelled.status, cancelled.id(), &cancelled.body["status"]), (200, "sub_9", &"canceled".into()));
    assert_eq!(stage.post("/v1/subscriptions/sub_9", None, "pause_collection[behavior]=void").await.status, 404);
    assert_eq!(stage.effects().await, 1);
}

#[tokio::test]
async fn an_empty_value_takes_a_name_out_of_a_subscriptions_metadata() {
    let stage = Stage::new().await;
    let made = stage.post("/v1/subscriptions", None, "customer=cus_1&metadata[a]=1&metadata[b]=2").await;
    let changed = stage.post(&format!("/v1/subscriptions/{}", made.id()), None, "metadata[a]=").await;
    assert_eq!(changed.body["metadata"], serde_json::json!({"b": "2"}));
}
