//! The sandbox from outside: a raw client on one side, a keeper that holds and drops on the other.

mod api;
mod faults;
mod floods;
mod hostile;
mod keys;
mod mail;
mod mcp;
mod moments;
mod pictures;
mod profiles;
mod properties;
mod proxy;
mod wires;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::*;
use crate::model::ledger::Outcome;
use crate::model::promise::Endpoint;
use crate::model::scenario::Profile;

/// Far more than anything here takes; only a test that fails waits for it.
const LONG: Duration = Duration::from_secs(60);

/// A sandbox with its ledger's folder and its keeper.
struct Stage {
    sandbox: Sandbox,
    keeper: Arc<Keeper>,
    folder: tempfile::TempDir,
}

impl Stage {
    async fn new() -> Self {
        Self::with(Keeper::default()).await
    }

    async fn with(keeper: Keeper) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let keeper = Arc::new(keeper);
        let sandbox = Sandbox::start(config(&folder), Arc::clone(&keeper) as Arc<dyn Watch>).await.expect("a sandbox");
        Self { sandbox, keeper, folder }
    }

    async fn client(&self) -> Client {
        Client(BufReader::new(TcpStream::connect(self.sandbox.addr()).await.expect("a connection")))
    }

    /// One request on a connection of its own.
    async fn ask(&self, method: &str, path: &str, key: Option<&str>, body: &str) -> Reply {
        let mut client = self.client().await;
        client.send(&request(method, path, key, body)).await;
        client.read().await.expect("an answer")
    }

    async fn post(&self, path: &str, key: Option<&str>, body: &str) -> Reply {
        self.ask("POST", path, key, body).await
    }

    async fn settled(&self) -> Vec<Request> {
        assert!(self.sandbox.settle(LONG).await, "the sandbox does not settle");
        self.sandbox.ledger().expect("a ledger")
    }

    fn effects_without_settling(&self) -> usize {
        let ledger = self.sandbox.ledger().expect("a ledger");
        ledger.iter().filter(|request| request.had_effect()).count()
    }

    async fn effects(&self) -> usize {
        self.settled().await.iter().filter(|request| request.had_effect()).count()
    }
}

fn config(folder: &tempfile::TempDir) -> SandboxConfig {
    let rule = |name: &str, method: &str, path: &str| EffectRule {
        name: name.to_owned(),
        endpoint: Endpoint { method: method.to_owned(), path: path.to_owned() },
    };
    SandboxConfig {
        spec: SandboxSpec::default(),
        rules: vec![rule("charge", "POST", "/v1/charges"), rule("look", "GET", "/v1/charges/{id}")],
        ledger_path: folder.path().join("ledger.db"),
        epoch: Instant::now(),
    }
}

/// A form, as a request's bytes.
fn request(method: &str, path: &str, key: Option<&str>, body: &str) -> Vec<u8> {
    let key = key.map_or_else(String::new, |key| format!("Idempotency-Key: {key}\r\n"));
    let kind = "Content-Type: application/x-www-form-urlencoded";
    format!("{method} {path} HTTP/1.1\r\nHost: x\r\n{kind}\r\n{key}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

const CHARGE: &str = "amount=2900&currency=usd&metadata[invoice]=inv_9";

/// One connection.
struct Client(BufReader<TcpStream>);

/// An answer.
struct Reply {
    status: u16,
    headers: BTreeMap<String, String>,
    body: Value,
}

impl Reply {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    fn error(&self, field: &str) -> &str {
        self.body["error"][field].as_str().unwrap_or("")
    }

    fn id(&self) -> &str {
        self.body["id"].as_str().expect("an id")
    }
}

impl Client {
    async fn send(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).await.expect("the sandbox reads");
    }

    /// The next answer; nothing where the connection was closed before its first byte.
    async fn read(&mut self) -> Option<Reply> {
        tokio::time::timeout(LONG, self.read_now()).await.expect("an answer in time")
    }

    async fn read_now(&mut self) -> Option<Reply> {
        let first = self.line().await?;
        let status = first.split(' ').nth(1).expect("a status").parse().expect("a number");
        let mut headers = BTreeMap::new();
        loop {
            let line = self.line().await.expect("a whole head");
            let Some((name, value)) = line.split_once(": ") else { break };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        let length = headers.get("content-length").map_or(0, |length| length.parse().expect("a length"));
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).await.expect("a whole body");
        Some(Reply { status, headers, body: serde_json::from_slice(&body).unwrap_or(Value::Null) })
    }

    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.0.read_line(&mut line).await {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line.trim_end().to_owned()),
        }
    }
}

/// A keeper that writes down what it is told, and can hold a request at a moment.
#[derive(Default)]
struct Keeper {
    log: Mutex<Vec<String>>,
    holds: Mutex<HashMap<String, Held>>,
}

struct Held {
    reached: oneshot::Sender<()>,
    go: oneshot::Receiver<Go>,
}

/// The test's end of a hold.
struct Hold {
    reached: oneshot::Receiver<()>,
    go: oneshot::Sender<Go>,
}

impl Hold {
    async fn reached(&mut self) {
        tokio::time::timeout(LONG, &mut self.reached).await.expect("reached in time").expect("reached");
    }

    fn go(self, go: Go) {
        self.go.send(go).expect("the request is held");
    }
}

impl Keeper {
    /// Holds the request with this moment, effect and ordinal: `received charge#1`.
    fn hold(&self, moment: &str) -> Hold {
        let ((reached, was_reached), (say_go, go)) = (oneshot::channel(), oneshot::channel());
        self.holds.lock().expect("unpoisoned").insert(moment.to_owned(), Held { reached, go });
        Hold { reached: was_reached, go: say_go }
    }

    fn note(&self, moment: &str) {
        self.log.lock().expect("unpoisoned").push(moment.to_owned());
    }

    fn log(&self) -> Vec<String> {
        self.log.lock().expect("unpoisoned").clone()
    }

    fn moment(&self, moment: String) -> BoxFuture<'_, Go> {
        self.note(&moment);
        let held = self.holds.lock().expect("unpoisoned").remove(&moment);
        Box::pin(async move {
            let Some(held) = held else { return Go::On };
            // A test that knows its answer beforehand does not wait.
            let _ = held.reached.send(());
            held.go.await.unwrap_or(Go::On)
        })
    }
}

impl Watch for Keeper {
    fn received<'a>(&'a self, request: &'a Seen) -> BoxFuture<'a, Go> {
        self.moment(format!("received {}#{}", request.effect, request.ordinal))
    }
    fn executed<'a>(&'a self, request: &'a Seen) -> BoxFuture<'a, Go> {
        self.moment(format!("executed {}#{}", request.effect, request.ordinal))
    }
    fn answering<'a>(&'a self, request: &'a Seen) -> BoxFuture<'a, Go> {
        self.moment(format!("answering {}#{}", request.effect, request.ordinal))
    }
    fn answer(&self, request: &Seen, write: &mut dyn FnMut() -> Written) {
        match write() {
            Written::Pending => {}
            word => self.note(&format!("{word:?} {}#{}", request.effect, request.ordinal)),
        }
    }
    fn probe<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Go> {
        self.moment(format!("probe {name}"))
    }
}
