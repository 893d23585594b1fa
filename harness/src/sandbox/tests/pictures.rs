//! Pictures of the ledger while requests are under way, and when the sandbox is quiet.

use rusqlite::Connection;

use super::*;

/// How many effects a picture shows.
fn effects(bytes: &[u8]) -> i64 {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.db");
    std::fs::write(&path, bytes).expect("it can be written");
    let db = Connection::open(path).expect("a database");
    db.query_row("SELECT count(*) FROM effects", [], |row| row.get(0)).expect("a count")
}

#[tokio::test]
async fn a_request_that_has_arrived_gives_two_pictures_and_at_its_own_arrival_one() {
    let stage = Stage::new().await;
    let lens = stage.sandbox.lens();
    let mut hold = stage.keeper.hold("received charge#1");
    let mut client = stage.client().await;
    client.send(&request("POST", "/v1/charges", Some("k1"), CHARGE)).await;
    hold.reached().await;
    let picture = lens.picture(None).expect("a picture");
    assert_eq!((effects(&picture.as_is), picture.settled.as_deref().map(effects)), (0, Some(1)));
    assert_eq!(lens.picture(Some(1)).expect("a picture").settled, None);
    assert!(lens.is_quiet() && !lens.is_idle(), "it has arrived, and waits for its answer");
    hold.go(Go::On);
    client.read().await.expect("an answer");
    let picture = lens.picture(None).expect("a picture");
    assert_eq!((effects(&picture.as_is), picture.settled), (1, None));
    // What was only looked at has changed nothing.
    assert_eq!(stage.effects_without_settling(), 1);
}

#[tokio::test]
async fn a_sandbox_goes_on_from_a_picture() {
    let stage = Stage::new().await;
    stage.post("/v1/charges", Some("k1"), CHARGE).await;
    let picture = stage.sandbox.lens().picture(None).expect("a picture");
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("ledger.db"), &picture.as_is).expect("it can be written");
    let again = Sandbox::start(config(&folder), Arc::new(NoWatch)).await.expect("a sandbox");
    again.begin_life(2);
    let mut client = Client(BufReader::new(TcpStream::connect(again.addr()).await.expect("a connection")));
    client.send(&request("POST", "/v1/charges", Some("k1"), CHARGE)).await;
    assert_eq!(client.read().await.expect("an answer").header("idempotent-replayed"), Some("true"));
    let ledger = again.ledger().expect("a ledger");
    assert_eq!((ledger.len(), ledger[1].life, ledger[1].seq), (2, 2, 2));
}

#[tokio::test]
async fn it_is_not_quiet_while_a_body_is_on_its_way() {
    let stage = Stage::new().await;
    let lens = stage.sandbox.lens();
    assert!(lens.is_quiet() && lens.is_idle());
    let mut hold = stage.keeper.hold("received charge#1");
    let mut client = stage.client().await;
    let whole = request("POST", "/v1/charges", None, CHARGE);
    client.send(&whole[..whole.len() - 5]).await;
    // Until the head is read the connection or its bytes wait; from then on the request is on its way.
    assert!(!lens.is_quiet());
    client.send(&whole[whole.len() - 5..]).await;
    hold.reached().await;
    assert!(lens.is_quiet());
    hold.go(Go::On);
    client.read().await.expect("an answer");
}
