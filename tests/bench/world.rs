//! What the other side of a comparison runs in: the same sandbox, a folder, and lives that are started and killed by plain means.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use killpoint::model::ledger::Request;
use killpoint::model::limits;
use killpoint::model::scenario::SandboxSpec;
use killpoint::sandbox::{BoxFuture, Go, NoWatch, Sandbox, SandboxConfig, Seen, Watch, Written};

/// A folder and a sandbox, as a trial has them.
pub struct World {
    folder: tempfile::TempDir,
    sandbox: Sandbox,
    runtime: tokio::runtime::Runtime,
    executed: mpsc::Receiver<()>,
}

/// Says when a request has had its effect.
struct Bell(mpsc::Sender<()>);

impl Watch for Bell {
    fn received<'a>(&'a self, request: &'a Seen) -> BoxFuture<'a, Go> {
        NoWatch.received(request)
    }
    fn executed<'a>(&'a self, request: &'a Seen) -> BoxFuture<'a, Go> {
        // Nobody listens any more once the world is given up.
        _ = self.0.send(());
        NoWatch.executed(request)
    }
    fn answering<'a>(&'a self, request: &'a Seen) -> BoxFuture<'a, Go> {
        NoWatch.answering(request)
    }
    fn answer(&self, request: &Seen, write: &mut dyn FnMut() -> Written) {
        NoWatch.answer(request, write);
    }
    fn probe<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Go> {
        NoWatch.probe(name)
    }
}

impl World {
    /// A new one, empty.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        std::fs::create_dir(folder.path().join("state")).expect("a new folder can be written to");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("tokio starts");
        let config = SandboxConfig {
            spec: SandboxSpec::default(),
            rules: Vec::new(),
            ledger_path: folder.path().join("ledger"),
            epoch: Instant::now(),
        };
        let (bell, executed) = mpsc::channel();
        let sandbox = runtime.block_on(Sandbox::start(config, Arc::new(Bell(bell)))).expect("the sandbox starts");
        Self { folder, sandbox, runtime, executed }
    }

    /// The state folder.
    pub fn state(&self) -> std::path::PathBuf {
        self.folder.path().join("state")
    }

    /// A command that finds state and sandbox.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.env("STATE_DIR", self.state()).env("BILLING_URL", self.sandbox.url());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Waits until a request has had its effect.
    pub fn await_effect(&self) {
        self.executed.recv().expect("the sandbox lives as long as its world");
    }

    /// A second life: requests from now on are its own.
    pub fn begin_life(&self) {
        let settled = self.runtime.block_on(self.sandbox.settle(Duration::from_millis(limits::REQUEST_READ_TIMEOUT_MS)));
        assert!(settled, "a killed workflow holds a connection");
        self.sandbox.begin_life(2);
    }

    /// How many requests to a path had an effect.
    pub fn effects(&self, path: &str) -> usize {
        let ledger = self.sandbox.ledger().expect("the ledger is whole");
        ledger.iter().filter(|request: &&Request| request.path == path && request.had_effect()).count()
    }
}

/// Kills a life and waits until it is gone.
pub fn kill(mut child: Child) {
    // One that has ended by itself cannot be killed, and need not be.
    drop(child.kill());
    child.wait().expect("a child can be waited for");
}
