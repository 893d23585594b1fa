//! Clients that send rubbish, too much, or too slowly.

use super::*;
use crate::model::limits;

async fn refusal(stage: &Stage, bytes: &[u8]) -> Reply {
    let mut client = stage.client().await;
    client.send(bytes).await;
    let reply = client.read().await.expect("a refusal");
    assert!(client.read().await.is_none(), "the connection is closed after a refusal");
    reply
}

#[tokio::test]
async fn rubbish_is_refused_in_the_form_of_the_api() {
    let stage = Stage::new().await;
    for rubbish in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let reply = refusal(&stage, rubbish).await;
        assert_eq!((reply.status, reply.error("type")), (400, "invalid_request_error"));
    }
    assert!(stage.settled().await.is_empty());
}

#[tokio::test]
async fn rubbish_after_a_request_does_not_harm_its_answer() {
    let stage = Stage::new().await;
    let mut client = stage.client().await;
    let mut bytes = request("POST", "/v1/charges", None, CHARGE);
    bytes.extend_from_slice(b"rubbish\r\n\r\n");
    client.send(&bytes).await;
    assert_eq!(client.read().await.map(|reply| reply.status), Some(200));
    assert_eq!(client.read().await.map(|reply| reply.status), Some(400));
    drop(client);
    assert_eq!(stage.effects().await, 1);
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let stage = Stage::new().await;
    let reply = refusal(&stage, format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "x".repeat(limits::HEAD_MAX_BYTES)).as_bytes()).await;
    assert_eq!((reply.status, reply.error("type")), (431, "invalid_request_error"));
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_and_not_executed() {
    let stage = Stage::new().await;
    let announced = format!("POST /v1/charges HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", limits::BODY_MAX_BYTES + 1);
    assert_eq!(refusal(&stage, announced.as_bytes()).await.status, 413);
    let mut chunked = b"POST /v1/charges HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    chunked.extend_from_slice(
        format!("{:x}\r\n{}\r\n", limits::BODY_MAX_BYTES + 1, "x".repeat(limits::BODY_MAX_BYTES + 1)).as_bytes(),
    );
    assert_eq!(refusal(&stage, &chunked).await.status, 413);
    assert!(stage.settled().await.is_empty());
}

#[tokio::test]
async fn a_request_that_does_not_come_to_its_end_in_time_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(&folder);
    let doors = Doors::free().expect("ports");
    let server = Server::start(doors, config, Arc::new(NoWatch), Duration::from_millis(20)).expect("a server");
    let stage = Stage { sandbox: Sandbox { server }, keeper: Arc::default(), folder };
    let whole = request("POST", "/v1/charges", None, CHARGE);
    for part in [&whole[..30], &whole[..whole.len() - 1]] {
        let reply = refusal(&stage, part).await;
        assert_eq!((reply.status, reply.error("message")), (408, "the request did not arrive within 20 ms"));
    }
    assert!(stage.settled().await.is_empty());
}

#[tokio::test]
async fn a_ledger_that_could_not_be_written_is_no_ledger() {
    let stage = Stage::new().await;
    let other = rusqlite::Connection::open(stage.folder.path().join("ledger.db")).expect("the ledger");
    other.execute_batch("DROP TABLE effects").expect("a broken ledger");
    let mut client = stage.client().await;
    client.send(&request("POST", "/v1/charges", None, CHARGE)).await;
    assert!(client.read().await.is_none(), "no answer without a row");
    assert!(stage.sandbox.settle(LONG).await);
    assert!(matches!(stage.sandbox.ledger(), Err(SandboxError::Incomplete { .. })));
}

#[tokio::test]
async fn a_ledger_that_cannot_be_opened_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("ledger.db"), "this is no database, and longer than a header is").expect("a file");
    let error = Sandbox::start(config(&folder), Arc::new(NoWatch)).await.err().expect("an error");
    assert!(matches!(error, SandboxError::Open { .. }), "{error}");
}
