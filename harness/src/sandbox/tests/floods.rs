//! Clients that never come to an end, come by the thousand, or nest too deep: none makes the sandbox read or keep more than its limits.

use super::*;
use crate::model::limits;

/// Sends until the sandbox has had enough; how many bytes it took, and the status it answered with, if it answered.
async fn flood(stage: &Stage, head: &[u8], piece: &[u8]) -> (usize, Option<u16>) {
    let stream = TcpStream::connect(stage.sandbox.addr()).await.expect("a connection");
    let (read, mut write) = stream.into_split();
    let answer = tokio::spawn(async move {
        let mut line = String::new();
        let _ = BufReader::new(read).read_line(&mut line).await;
        line.split(' ').nth(1).and_then(|status| status.parse().ok())
    });
    let endless = async {
        let mut sent = 0;
        if write.write_all(head).await.is_err() {
            return sent;
        }
        // Whole pieces only: half a chunk would make rubbish of the flood.
        while write.write_all(piece).await.is_ok() {
            sent += piece.len();
        }
        sent
    };
    let sent = tokio::time::timeout(LONG, endless).await.expect("it is cut off");
    (sent, answer.await.expect("no panic"))
}

/// What lies in the buffers of the two sockets, at most.
const IN_SOCKETS: usize = 16 * 1024 * 1024;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endless_head_is_cut_off() {
    let stage = Stage::new().await;
    // One header without an end: the number of headers is bounded as well.
    let (sent, status) = flood(&stage, b"GET / HTTP/1.1\r\nx: ", &[b'y'; 4_096]).await;
    assert!(matches!(status, None | Some(431)), "{status:?}");
    assert!(sent < limits::HEAD_MAX_BYTES + IN_SOCKETS, "{sent}");
    assert!(stage.settled().await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endless_chunked_body_is_cut_off_and_not_executed() {
    let stage = Stage::new().await;
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let head = b"POST /v1/charges HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    let (sent, status) = flood(&stage, head, chunk.as_bytes()).await;
    assert!(matches!(status, None | Some(413)), "{status:?}");
    assert!(sent < limits::BODY_MAX_BYTES + IN_SOCKETS, "{sent}");
    assert!(stage.settled().await.is_empty());
}

#[tokio::test]
async fn a_client_that_drips_is_refused_although_it_never_pauses_for_long() {
    let folder = tempfile::tempdir().expect("a folder");
    let doors = Doors::free().expect("ports");
    let server = Server::start(doors, config(&folder), Arc::new(NoWatch), Duration::from_millis(200)).expect("a server");
    let stage = Stage { sandbox: Sandbox { server }, keeper: Arc::default(), folder };
    for whole in [
        format!("POST /v1/charges HTTP/1.1\r\nx: {}", "y".repeat(60_000)),
        format!("POST /v1/charges HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n{}", "y".repeat(59_999)),
    ] {
        let stream = TcpStream::connect(stage.sandbox.addr()).await.expect("a connection");
        let (read, mut write) = stream.into_split();
        let drip = async {
            let mut tick = tokio::time::interval(Duration::from_millis(10));
            for byte in whole.as_bytes() {
                tick.tick().await;
                if write.write_all(&[*byte]).await.is_err() {
                    break;
                }
            }
        };
        let mut line = String::new();
        let mut read = BufReader::new(read);
        tokio::select! {
            () = drip => {}
            _ = read.read_line(&mut line) => {}
        }
        assert!(line.starts_with("HTTP/1.1 408"), "{line}");
    }
    assert!(stage.settled().await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_thousand_connections_that_say_nothing_keep_nobody_from_being_served() {
    crate::sys::descriptors::allow_most().expect("enough open sockets");
    let stage = Stage::new().await;
    let mut idle = Vec::new();
    for _ in 0..2_000 {
        idle.push(stage.client().await);
    }
    assert_eq!(stage.post("/v1/charges", Some("k"), CHARGE).await.status, 200);
    drop(idle);
    assert_eq!(stage.effects().await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_in_a_pipeline_are_answered_in_order_and_each_once() {
    let stage = Stage::new().await;
    let stream = TcpStream::connect(stage.sandbox.addr()).await.expect("a connection");
    let (read, mut write) = stream.into_split();
    let sender = tokio::spawn(async move {
        for n in 0..500 {
            let body = format!("amount={}&currency=usd", n + 1);
            write.write_all(&request("POST", "/v1/charges", None, &body)).await.expect("the sandbox reads");
        }
        write
    });
    let mut read = BufReader::new(read);
    for n in 0..500 {
        let mut length = 0;
        loop {
            let mut line = String::new();
            read.read_line(&mut line).await.expect("a line");
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                length = value.trim().parse().expect("a number");
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        read.read_exact(&mut body).await.expect("a body");
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(body["amount"], n + 1);
    }
    drop(sender.await.expect("no panic"));
    assert_eq!(stage.effects().await, 500);
}

#[tokio::test]
async fn json_that_nests_too_deep_and_forms_of_many_fields_are_read_or_refused_and_harm_nothing() {
    let stage = Stage::new().await;
    let deep = format!("{}1{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let nested = format!("a{}=1", "[b]".repeat(100_000));
    let sparse = "a[4294967295]=1&a[0]=2&amount=1&currency=usd".to_owned();
    let many = (0..200_000).map(|n| format!("f{n}=1")).collect::<Vec<_>>().join("&");
    let same = "a[]=1&".repeat(200_000);
    for body in [deep, nested, sparse, many, same] {
        let reply = stage.post("/v1/charges", None, &body).await;
        assert!(matches!(reply.status, 200 | 400), "{}", reply.status);
    }
    assert_eq!(stage.post("/v1/charges", None, CHARGE).await.status, 200);
}
