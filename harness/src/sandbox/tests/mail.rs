//! The mail server as clients see it: the protocol, the row of a mail, its moments, and what goes wrong with the reply to its last dot.

use super::*;
use crate::model::fault::WireFault;
use crate::model::limits;
use proptest::prelude::*;

/// A conversation with the mail server.
struct Post(BufReader<TcpStream>);

const RECEIPT: &str = "From: shop@example.com\r\nTo: a@example.com\r\nSubject: Receipt inv_9\r\nMessage-ID: <inv_9@shop>\r\n\
                       X-Template: receipt\r\nX-Invoice: inv_9\r\n\r\nPaid.\r\n.. with a dot\r\n";

impl Post {
    async fn new(sandbox: &Sandbox) -> Self {
        let mut post = Self(BufReader::new(TcpStream::connect(sandbox.mail_addr()).await.expect("a connection")));
        assert!(post.hear().await.starts_with("220 "));
        post
    }

    async fn send(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).await.expect("the server reads");
    }

    /// The last line of the next reply; nothing where the connection was closed or reset before a whole one.
    async fn hear_or_close(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            let read = tokio::time::timeout(LONG, self.0.read_line(&mut line)).await.expect("a reply in time");
            match read {
                Ok(_) if line.ends_with("\r\n") && line.as_bytes().get(3) == Some(&b' ') => {
                    return Some(line.trim_end().to_owned());
                }
                Ok(length) if length > 0 && line.ends_with("\r\n") => {}
                _ => return None,
            }
        }
    }

    async fn hear(&mut self) -> String {
        self.hear_or_close().await.expect("a reply")
    }

    async fn ask(&mut self, text: &str) -> String {
        self.send(text).await;
        self.hear().await
    }

    /// Everything up to the text of a mail.
    async fn begin(&mut self) {
        for (text, code) in [
            ("EHLO test\r\n", "250"),
            ("MAIL FROM:<shop@example.com>\r\n", "250"),
            ("RCPT TO:<a@example.com>\r\n", "250"),
            ("DATA\r\n", "354"),
        ] {
            let heard = self.ask(text).await;
            assert!(heard.starts_with(code), "{text}: {heard}");
        }
    }

    async fn mail(&mut self, text: &str) -> Option<String> {
        self.begin().await;
        self.send(&format!("{text}.\r\n")).await;
        self.hear_or_close().await
    }
}

#[tokio::test]
async fn a_mail_is_a_row_and_an_effect_with_its_moments_in_order() {
    let stage = Stage::new().await;
    let mut post = Post::new(&stage.sandbox).await;
    assert_eq!(post.mail(RECEIPT).await.as_deref().map(|reply| &reply[..3]), Some("250"));
    assert!(post.ask("QUIT\r\n").await.starts_with("221"));
    let ledger = stage.settled().await;
    let [mail] = &ledger[..] else { panic!("one row: {ledger:?}") };
    assert_eq!((&*mail.method, &*mail.path, &*mail.effect, mail.outcome), ("MAIL", "/", "mail", Outcome::Executed));
    assert_eq!((mail.key.as_deref(), mail.status), (None, 200));
    assert!(mail.answered_us >= mail.executed_us && mail.executed_us.is_some());
    let body = serde_json::json!({
        "from": "shop@example.com", "to": ["a@example.com"], "header_from": "shop@example.com", "header_to": ["a@example.com"],
        "subject": "Receipt inv_9", "message_id": "<inv_9@shop>", "template": "receipt", "text": "Paid.\n. with a dot",
        "headers": { "x-template": "receipt", "x-invoice": "inv_9" },
    });
    assert_eq!(mail.body, body);
    assert_eq!(mail.headers.get("x-invoice").map(String::as_str), Some("inv_9"));
    assert_eq!(stage.keeper.log(), ["received mail#1", "executed mail#1", "answering mail#1", "Last mail#1"]);
}

#[tokio::test]
async fn two_mails_with_one_message_id_are_two_effects() {
    let stage = Stage::new().await;
    let mut post = Post::new(&stage.sandbox).await;
    post.mail(RECEIPT).await.expect("a reply");
    post.send("RSET\r\n").await;
    post.hear().await;
    post.mail(RECEIPT).await.expect("a reply");
    assert_eq!(stage.effects_without_settling(), 2);
    let ordinals: Vec<u32> = stage.sandbox.ledger().expect("a ledger").iter().map(|mail| mail.ordinal).collect();
    assert_eq!(ordinals, [1, 2]);
}

#[tokio::test]
async fn a_reply_is_lost_reset_halved_late_or_a_failure_and_the_mail_is_there_all_the_same() {
    let faults = [
        (WireFault::DropAck, None),
        (WireFault::ResetAck, None),
        (WireFault::HalfAck, None),
        (WireFault::SlowAck { delay_ms: 1 }, Some("250")),
        (WireFault::ErrorAfterCommit { status: 500 }, Some("451")),
        (WireFault::ErrorAfterCommit { status: 429 }, Some("450")),
        (WireFault::ErrorAfterCommit { status: 554 }, Some("554")),
        (WireFault::Pending, Some("250")),
    ];
    for (fault, expected) in faults {
        let stage = Stage::new().await;
        stage.keeper.hold("executed mail#1").go(Go::Fault(fault));
        let heard = Post::new(&stage.sandbox).await.mail(RECEIPT).await;
        assert_eq!(heard.as_deref().map(|reply| &reply[..3]), expected, "{fault}");
        let ledger = stage.settled().await;
        assert_eq!((ledger.len(), ledger[0].had_effect()), (1, true), "{fault}");
        assert_eq!(ledger[0].fault, Some(fault.to_string()));
    }
}

#[tokio::test]
async fn a_mail_that_the_server_refused_is_no_effect_one_delivered_twice_is_two_and_one_held_comes_when_it_is_let_go() {
    let stage = Stage::new().await;
    stage.keeper.hold("received mail#1").go(Go::Fault(WireFault::ErrorBeforeCommit { status: 503 }));
    stage.keeper.hold("received mail#2").go(Go::Fault(WireFault::Duplicate));
    stage.keeper.hold("received mail#4").go(Go::Fault(WireFault::Hold));
    assert!(Post::new(&stage.sandbox).await.mail(RECEIPT).await.is_some_and(|reply| reply.starts_with("451")));
    assert_eq!(stage.effects_without_settling(), 0);
    assert!(Post::new(&stage.sandbox).await.mail(RECEIPT).await.is_some_and(|reply| reply.starts_with("250")));
    assert_eq!(stage.effects_without_settling(), 2);
    let mut post = Post::new(&stage.sandbox).await;
    post.begin().await;
    post.send(&format!("{RECEIPT}.\r\n")).await;
    drop(post);
    assert_eq!(stage.effects().await, 2, "held, and its client is gone");
    stage.sandbox.release_held().await.expect("let go");
    assert_eq!(stage.effects().await, 3);
}

#[tokio::test]
async fn a_mail_whose_client_died_after_the_dot_goes_on_and_one_without_its_dot_never_arrived() {
    let stage = Stage::new().await;
    let mut hold = stage.keeper.hold("received mail#1");
    let mut post = Post::new(&stage.sandbox).await;
    post.begin().await;
    post.send(&format!("{RECEIPT}.\r\n")).await;
    hold.reached().await;
    drop(post);
    hold.go(Go::On);
    let mut cut = Post::new(&stage.sandbox).await;
    cut.begin().await;
    cut.send(&RECEIPT[..RECEIPT.len() - 2]).await;
    cut.send(".\r\n").await;
    drop(cut);
    assert_eq!(stage.effects().await, 1);
}

#[tokio::test]
async fn the_protocol_keeps_its_order_and_anybody_may_log_in() {
    let stage = Stage::new().await;
    let mut post = Post::new(&stage.sandbox).await;
    for (text, reply) in [
        ("MAIL FROM:<a@x>\r\n", "503"),
        ("HELO test\r\n", "250"),
        ("RCPT TO:<a@x>\r\n", "503"),
        ("DATA\r\n", "503"),
        ("AUTH LOGIN\r\n", "334 VXNlcm5hbWU6"),
        ("dXNlcg==\r\n", "334 UGFzc3dvcmQ6"),
        ("cGFzcw==\r\n", "235"),
        ("AUTH PLAIN AHVzZXIAcGFzcw==\r\n", "235"),
        ("AUTH CRAM-MD5\r\n", "504"),
        ("STARTTLS\r\n", "502"),
        ("NONSENSE\r\n", "500"),
        ("NOOP\r\n", "250"),
        ("VRFY a@x\r\n", "252"),
        ("MAIL FROM:<>\r\n", "250"),
        ("MAIL FROM:<a@x>\r\n", "503"),
        ("RSET\r\n", "250"),
        ("MAIL FROM:<a@x> SIZE=999999999\r\n", "552"),
        ("MAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\nRCPT TO:<c@x>\r\n", "250"),
    ] {
        let heard = post.ask(text).await;
        assert!(heard.starts_with(reply), "{text}: {heard}");
    }
    assert!(post.hear().await.starts_with("250") && post.hear().await.starts_with("250"), "commands may come all at once");
    // An empty text, whose only line is the dot.
    assert!(post.ask("DATA\r\n").await.starts_with("354"));
    assert!(post.ask(".\r\n").await.starts_with("250"));
    assert_eq!(stage.settled_but(post).await[0].body["to"], serde_json::json!(["b@x", "c@x"]));
}

impl Stage {
    /// The ledger once a client is gone.
    async fn settled_but(&self, client: Post) -> Vec<Request> {
        drop(client);
        self.settled().await
    }
}

#[tokio::test]
async fn a_mail_of_many_parts_is_read_by_what_it_says() {
    let text = "From: =?utf-8?q?B=C3=BCro?= <shop@example.com>\r\nTo: A <a@example.com>, b@example.com\r\nCc: c@example.com\r\n\
                Date: Mon, 30 Nov 2026 10:00:00 +0000\r\nSubject: =?utf-8?b?w7xiZXI=?=\r\nMIME-Version: 1.0\r\n\
                Content-Type: multipart/mixed; boundary=\"b1\"\r\n\r\n--b1\r\nContent-Type: multipart/alternative; boundary=\"b2\"\r\n\r\n\
                --b2\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n=C3=BCber\r\n\
                --b2\r\nContent-Type: text/html\r\n\r\n<b>over</b>\r\n--b2--\r\n--b1\r\nContent-Type: application/pdf\r\n\
                Content-Disposition: attachment; filename=\"r.pdf\"\r\nContent-Transfer-Encoding: base64\r\n\r\nAAAA\r\n--b1--\r\n";
    let stage = Stage::new().await;
    Post::new(&stage.sandbox).await.mail(text).await.expect("a reply");
    let body = &stage.settled().await[0].body;
    assert_eq!((&body["subject"], &body["text"], &body["html"]), (&"über".into(), &"über".into(), &"<b>over</b>".into()));
    assert_eq!((&body["cc"], &body["attachments"][0]["name"]), (&serde_json::json!(["c@example.com"]), &"r.pdf".into()));
    assert_eq!(body["header_to"], serde_json::json!(["a@example.com", "b@example.com"]));
    assert!(body.get("message_id").is_none() && body.get("headers").is_none() && !body.to_string().contains("2026"));
}

#[tokio::test]
async fn a_hostile_client_is_refused_and_costs_no_more_than_the_limits() {
    let stage = Stage::new().await;
    let mut post = Post::new(&stage.sandbox).await;
    assert!(post.ask(&format!("NOOP {}\r\n", "x".repeat(100_000))).await.starts_with("500"));
    drop(post);
    let mut post = Post::new(&stage.sandbox).await;
    post.begin().await;
    let line = format!("{}\r\n", "x".repeat(64 * 1024));
    for _ in 0..=limits::BODY_MAX_BYTES / line.len() {
        post.send(&line).await;
    }
    assert!(post.ask(".\r\n").await.starts_with("552"));
    assert!(post.ask("MAIL FROM:<a@x>\r\n").await.starts_with("250"), "the next mail may come");
    for number in 0..limits::MAIL_RECIPIENTS_MAX {
        assert!(post.ask(&format!("RCPT TO:<r{number}@x>\r\n")).await.starts_with("250"));
    }
    assert!(post.ask("RCPT TO:<one-more@x>\r\n").await.starts_with("452"));
    assert!(stage.settled_but(post).await.is_empty());
}

#[tokio::test]
async fn a_client_that_does_not_come_to_the_end_of_its_mail_is_told_so_and_closed() {
    let folder = tempfile::tempdir().expect("a folder");
    let doors = Doors::free().expect("ports");
    let server = Server::start(doors, config(&folder), Arc::new(NoWatch), Duration::from_millis(20)).expect("a server");
    let sandbox = Sandbox { server };
    let mut post = Post::new(&sandbox).await;
    post.begin().await;
    post.send("From: a@x\r\n").await;
    assert!(post.hear().await.starts_with("421"));
    assert_eq!(post.hear_or_close().await, None);
    assert!(sandbox.settle(LONG).await && sandbox.ledger().expect("a ledger").is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever lines a mail has, and wherever the wire cuts it, the ledger has those lines.
    #[test]
    fn a_mail_arrives_as_it_was_however_it_is_cut(lines in prop::collection::vec("[.a]{0,4}", 0..6), cut in 1_usize..40) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let said = runtime.block_on(async {
            let stage = Stage::new().await;
            let mut post = Post::new(&stage.sandbox).await;
            post.begin().await;
            let stuffed: String = lines.iter().map(|line| format!("{}{line}\r\n", if line.starts_with('.') { "." } else { "" })).collect();
            let whole = format!("Subject: s\r\n\r\n{stuffed}.\r\n");
            for piece in whole.as_bytes().chunks(cut) {
                post.send(std::str::from_utf8(piece).expect("ASCII")).await;
            }
            assert!(post.hear().await.starts_with("250"));
            stage.settled_but(post).await[0].body["text"].as_str().unwrap_or_default().to_owned()
        });
        let meant = lines.join("\n");
        prop_assert_eq!(said, meant.trim_end_matches('\n'));
    }

    #[test]
    fn no_bytes_make_the_server_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let stage = Stage::new().await;
            let mut post = Post::new(&stage.sandbox).await;
            post.begin().await;
            // The server may have closed the connection by then.
            let _ = post.0.get_mut().write_all(&bytes).await;
            drop(post);
            assert!(stage.sandbox.settle(LONG).await);
            assert!(stage.sandbox.ledger().is_ok());
            assert!(Post::new(&stage.sandbox).await.ask("NOOP\r\n").await.starts_with("250"));
        });
    }
}
