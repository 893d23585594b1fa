//! Bytes on the wire: what arrives in part, and answers that leave in parts.

use super::*;

#[tokio::test]
async fn a_request_whose_body_did_not_arrive_whole_is_not_executed() {
    let stage = Stage::new().await;
    let whole = request("POST", "/v1/charges", Some("k1"), CHARGE);
    let chunked =
        b"POST /v1/charges HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1a\r\namount=2900&currency=usd&\r\n".to_vec();
    for part in [&whole[..20], &whole[..whole.len() - CHARGE.len()], &whole[..whole.len() - 1], &chunked] {
        let mut client = stage.client().await;
        client.send(part).await;
    }
    assert!(stage.settled().await.is_empty());
    assert!(stage.keeper.log().is_empty());
}

#[tokio::test]
async fn a_chunked_body_is_a_body() {
    let stage = Stage::new().await;
    let mut client = stage.client().await;
    let head = "POST /v1/charges HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n";
    client.send(head.as_bytes()).await;
    assert_eq!(client.read().await.map(|reply| reply.status), Some(100));
    client.send(b"c\r\namount=2900&\r\n").await;
    client.send(b"c\r\ncurrency=usd\r\n0\r\n\r\n").await;
    assert_eq!(client.read().await.map(|reply| reply.status), Some(200));
    drop(client);
    assert_eq!(stage.settled().await[0].body, serde_json::json!({"amount": 2900, "currency": "usd"}));
    assert_eq!(stage.keeper.log().last().map(String::as_str), Some("Last charge#1"));
}

#[tokio::test]
async fn one_connection_carries_request_after_request() {
    let stage = Stage::new().await;
    let mut client = stage.client().await;
    for _ in 0..3 {
        client.send(&request("POST", "/v1/charges", None, CHARGE)).await;
        assert_eq!(client.read().await.map(|reply| reply.status), Some(200));
    }
    assert!(!stage.sandbox.settle(Duration::ZERO).await, "an open connection is not settled");
    drop(client);
    let ledger = stage.settled().await;
    assert_eq!(ledger.iter().filter(|request| request.answered_us.is_some()).count(), 3);
}

#[tokio::test]
async fn requests_sent_in_one_go_are_answered_in_order() {
    let stage = Stage::new().await;
    let mut client = stage.client().await;
    let requests: Vec<_> =
        (1..=3).flat_map(|n| request("POST", "/v1/charges", None, &format!("amount={n}&currency=usd"))).collect();
    client.send(&requests).await;
    for n in 1..=3 {
        assert_eq!(client.read().await.map(|reply| reply.body["amount"].clone()), Some(n.into()));
    }
    drop(client);
    stage.settled().await;
    let last: Vec<_> = stage.keeper.log().into_iter().filter(|line| line.starts_with("Last")).collect();
    assert_eq!(last, ["Last charge#1", "Last charge#2", "Last charge#3"]);
}

#[tokio::test]
async fn answers_that_wait_behind_each_other_are_told_apart() {
    let stage = Stage::new().await;
    let note = "x".repeat(4_000_000);
    let charge = stage.post("/v1/charges", None, &format!("{CHARGE}&description={note}")).await;
    let mut client = stage.client().await;
    let look = request("GET", &format!("/v1/charges/{}", charge.id()), None, "");
    client.send(&look.repeat(3)).await;
    for _ in 0..3 {
        assert_eq!(client.read().await.map(|reply| reply.body), Some(charge.body.clone()));
    }
    drop(client);
    stage.settled().await;
    let log = stage.keeper.log();
    let at = |line: &str| log.iter().position(|other| other == line).expect(line);
    assert!(at("Last look#1") < log.iter().position(|line| line == "Part look#2").unwrap_or_else(|| at("Last look#2")));
    assert!(at("Last look#2") < at("Last look#3"));
}

#[tokio::test]
async fn a_large_answer_leaves_in_parts_and_its_last_byte_is_told_once() {
    let stage = Stage::new().await;
    let note = "x".repeat(4_000_000);
    let mut client = stage.client().await;
    // The answer holds the description; the client does not read before it has been written as far as the socket takes it.
    let body = format!("{CHARGE}&description={note}");
    client.send(&request("POST", "/v1/charges", None, &body)).await;
    let reply = client.read().await.expect("an answer");
    assert_eq!(reply.body["description"].as_str().map(str::len), Some(note.len()));
    drop(client);
    stage.settled().await;
    let log = stage.keeper.log();
    assert!(log.iter().any(|line| line == "Part charge#1"), "{log:?}");
    assert_eq!(log.iter().filter(|line| line.starts_with("Last")).count(), 1);
    assert_eq!(log.last().map(String::as_str), Some("Last charge#1"));
}

#[tokio::test]
async fn a_long_list_comes_whole() {
    let stage = Stage::new().await;
    let note = "x".repeat(30_000);
    for _ in 0..100 {
        stage.post("/v1/charges", None, &format!("{CHARGE}&description={note}")).await;
    }
    let list = stage.ask("GET", "/v1/charges?limit=100", None, "").await;
    assert_eq!(list.body["data"].as_array().map(Vec::len), Some(100));
    assert_eq!(stage.settled().await.last().map(|request| request.answered_us.is_some()), Some(true));
}

#[tokio::test]
async fn a_head_request_is_answered_without_a_body() {
    let stage = Stage::new().await;
    let charge = stage.post("/v1/charges", None, CHARGE).await;
    let mut client = stage.client().await;
    client.send(&request("HEAD", &format!("/v1/charges/{}", charge.id()), None, "")).await;
    client.send(&request("GET", "/v1/charges", None, "")).await;
    assert!(client.line().await.expect("a head").contains("200"));
    while client.line().await.is_some_and(|line| !line.is_empty()) {}
    assert_eq!(client.read().await.map(|reply| reply.status), Some(200));
    drop(client);
    assert!(stage.settled().await.iter().all(|request| request.answered_us.is_some()));
}

/// A keeper that does not write.
struct Mute;

impl Watch for Mute {
    fn received<'a>(&'a self, request: &'a Seen) -> BoxFuture<'a, Go> {
        NoWatch.received(request)
    }
    fn executed<'a>(&'a self, request: &'a Seen) -> BoxFuture<'a, Go> {
        NoWatch.executed(request)
    }
    fn answering<'a>(&'a self, request: &'a Seen) -> BoxFuture<'a, Go> {
        NoWatch.answering(request)
    }
    fn answer(&self, _: &Seen, _: &mut dyn FnMut() -> Written) {}
    fn probe<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Go> {
        NoWatch.probe(name)
    }
}

#[tokio::test]
async fn an_answer_that_the_keeper_withholds_closes_the_connection() {
    let folder = tempfile::tempdir().expect("a folder");
    let sandbox = Sandbox::start(config(&folder), Arc::new(Mute)).await.expect("a sandbox");
    let stage = Stage { sandbox, keeper: Arc::default(), folder };
    let mut client = stage.client().await;
    client.send(&request("POST", "/v1/charges", None, CHARGE)).await;
    assert!(client.read().await.is_none());
    let ledger = stage.settled().await;
    assert_eq!((ledger[0].outcome, ledger[0].answered_us), (Outcome::Executed, None));
}

#[tokio::test]
async fn a_stopped_sandbox_takes_no_connection() {
    let stage = Stage::new().await;
    let addr = stage.sandbox.addr();
    let mut client = stage.client().await;
    client.send(&request("GET", "/v1/charges", None, "")).await;
    assert!(client.read().await.is_some());
    stage.sandbox.stop().await;
    assert!(client.read().await.is_none());
    assert!(TcpStream::connect(addr).await.is_err());
}
