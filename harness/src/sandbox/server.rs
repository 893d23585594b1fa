//! The server: its two ports, for HTTP and for mails, their connections, and the knowledge of when nothing is under way any more.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot, watch};

use super::carry::{Close, Outgoing, carry};
use super::error::SandboxError;
use super::ledger::Ledger;
use super::line::{Line, Socket};
use super::mcp::Front;
use super::moments::Held;
use super::naming::EffectRule;
use super::proxy::Proxy;
use super::watch::Watch;
use super::wire::Wire;
use super::{SandboxConfig, mail, profile};
use crate::model::limits;
use crate::model::scenario::KeyPlace;
use crate::sys::socket::has_visitor;

/// What all connections share.
pub(super) struct World {
    pub ledger: Ledger,
    pub rules: Vec<EffectRule>,
    pub mcp: Front,
    pub watch: Arc<dyn Watch>,
    /// The server behind the sandbox, where there is one.
    pub upstream: Option<Proxy>,
    /// Where the scenario says that keys stand.
    pub key: Option<KeyPlace>,
    /// How long a client may take to send one request.
    pub read_timeout: Duration,
    /// Connections that are open and requests that are under way.
    busy: watch::Sender<usize>,
    stopping: watch::Sender<bool>,
    connections: AtomicUsize,
    /// Requests whose head is there and that are not in the ledger yet.
    arriving: AtomicUsize,
    /// The open connections, and some that have closed since the last one was opened.
    lines: Mutex<Vec<Weak<Line>>>,
    /// Requests that are held on their way.
    held: Mutex<Vec<Held>>,
    /// The listeners once more, to see whether a connection waits to be taken.
    doors: Vec<OwnedFd>,
}

impl World {
    /// Whether everything that was sent has arrived where it was going: no connection waits, no byte is unread, and no request is
    /// between its head and the ledger.
    pub fn is_quiet(&self) -> bool {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        !self.doors.iter().any(|door| has_visitor(door.as_fd()))
            && lines.iter().filter_map(Weak::upgrade).all(|line| line.is_quiet())
            && self.arriving.load(Ordering::SeqCst) == 0
    }

    /// Whether it is quiet and no request waits for its answer.
    pub fn is_idle(&self) -> bool {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let is_serving = lines.iter().filter_map(Weak::upgrade).any(|line| line.is_serving());
        drop(lines);
        !is_serving && self.is_quiet()
    }

    pub fn held(&self) -> MutexGuard<'_, Vec<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn has_line(&self, line: &Arc<Line>) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.retain(|old| old.strong_count() > 0);
        lines.push(Arc::downgrade(line));
    }

    /// Waits until the sandbox is stopped.
    pub async fn stopped(&self) {
        let _ = self.stopping.subscribe().wait_for(|stopping| *stopping).await;
    }
}

/// Counts as busy for as long as it lives.
pub(super) struct Busy(pub Arc<World>);

impl Busy {
    pub fn new(world: &Arc<World>) -> Self {
        world.busy.send_modify(|count| *count += 1);
        Self(Arc::clone(world))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.send_modify(|count| *count -= 1);
    }
}

/// A request whose head is there, until it is in the ledger or will never be.
pub(super) struct Arriving(Arc<World>);

impl Arriving {
    fn new(world: &Arc<World>) -> Self {
        world.arriving.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(world))
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        self.0.arriving.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Counts as an open connection for as long as it lives.
struct Open(Arc<World>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What is spoken at a port.
#[derive(Clone, Copy)]
enum Tongue {
    Http,
    Smtp,
}

/// Listeners on which a sandbox is to be found.
#[derive(Debug)]
pub struct Doors {
    /// For the billing API.
    pub http: std::net::TcpListener,
    /// For mails.
    pub smtp: std::net::TcpListener,
}

impl Doors {
    /// Free ports of the loopback interface.
    ///
    /// # Errors
    /// There are none.
    pub fn free() -> Result<Self, SandboxError> {
        Ok(Self { http: free_port()?, smtp: free_port()? })
    }
}

/// A port, and the loop that takes connections from it.
struct Port {
    addr: SocketAddr,
    sweeps: mpsc::UnboundedSender<oneshot::Sender<()>>,
}

/// The ports, and what their connections share.
pub(super) struct Server {
    pub world: Arc<World>,
    http: Port,
    smtp: Port,
}

/// A listener on a free port of the loopback interface.
fn free_port() -> Result<std::net::TcpListener, SandboxError> {
    let asked = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    std::net::TcpListener::bind(asked).map_err(|source| SandboxError::Listen { addr: asked.to_string(), source })
}

impl Server {
    /// Takes connections from listeners.
    pub fn start(
        doors: Doors,
        config: SandboxConfig,
        watch: Arc<dyn Watch>,
        read_timeout: Duration,
    ) -> Result<Self, SandboxError> {
        let age_us = config.spec.key_age_ms.saturating_mul(1_000);
        let ledger = Ledger::open(&config.ledger_path, config.epoch, profile::rules(config.spec.profile), age_us)?;
        let failed = |source| SandboxError::Listen { addr: "127.0.0.1".to_owned(), source };
        let copies = || -> io::Result<Vec<OwnedFd>> { Ok(vec![doors.http.try_clone()?.into(), doors.smtp.try_clone()?.into()]) };
        let world = Arc::new(World {
            ledger,
            rules: config.rules,
            mcp: Front::new(config.spec.mcp_keys),
            watch,
            upstream: config.spec.upstream.as_deref().map(Proxy::new),
            key: config.spec.key,
            read_timeout,
            busy: watch::Sender::new(0),
            stopping: watch::Sender::new(false),
            connections: AtomicUsize::new(0),
            arriving: AtomicUsize::new(0),
            lines: Mutex::default(),
            held: Mutex::default(),
            doors: copies().map_err(failed)?,
        });
        let http = open(&world, doors.http, Tongue::Http).map_err(failed)?;
        let smtp = open(&world, doors.smtp, Tongue::Smtp).map_err(failed)?;
        Ok(Self { world, http, smtp })
    }

    /// Where HTTP is spoken.
    pub fn addr(&self) -> SocketAddr {
        self.http.addr
    }

    /// Where mails are taken.
    pub fn mail_addr(&self) -> SocketAddr {
        self.smtp.addr
    }

    /// Waits until no connection is open, none waits to be taken, and no request is under way; `false` where that takes too long.
    pub async fn settle(&self, limit: Duration) -> bool {
        let settled = async {
            for port in [&self.http, &self.smtp] {
                let (swept, done) = oneshot::channel();
                // A loop that has ended takes no connections.
                if port.sweeps.send(swept).is_ok() {
                    let _ = done.await;
                }
            }
            let _ = self.world.busy.subscribe().wait_for(|busy| *busy == 0).await;
        };
        tokio::time::timeout(limit, settled).await.is_ok()
    }

    /// Closes the ports and all connections.
    pub async fn stop(&self) {
        self.world.stopping.send_replace(true);
        self.http.sweeps.closed().await;
        self.smtp.sweeps.closed().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.world.stopping.send_replace(true);
    }
}

/// Begins to take connections from a listener.
fn open(world: &Arc<World>, listener: std::net::TcpListener, tongue: Tongue) -> io::Result<Port> {
    listener.set_nonblocking(true)?;
    let (raw, addr) = (listener.try_clone()?, listener.local_addr()?);
    let (sweeps, requests) = mpsc::unbounded_channel();
    tokio::spawn(accept(Arc::clone(world), tongue, raw, TcpListener::from_std(listener)?, requests));
    Ok(Port { addr, sweeps })
}

async fn accept(
    world: Arc<World>,
    tongue: Tongue,
    raw: std::net::TcpListener,
    listener: TcpListener,
    mut sweeps: mpsc::UnboundedReceiver<oneshot::Sender<()>>,
) {
    let stopped = world.stopped();
    tokio::pin!(stopped);
    loop {
        tokio::select! {
            biased;
            () = &mut stopped => return,
            Some(swept) = sweeps.recv() => {
                // Asked of the system itself: tokio may not have heard yet of a connection that is there.
                while let Ok((stream, peer)) = raw.accept() {
                    let stream = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
                    take(&world, tongue, stream.map(|stream| (stream, peer)));
                }
                let _ = swept.send(());
            }
            connection = listener.accept() => {
                if !take(&world, tongue, connection) {
                    tokio::time::sleep(Duration::from_millis(limits::ACCEPT_PAUSE_MS)).await;
                }
            }
        }
    }
}

/// Takes a connection; `false` where the system gave none.
fn take(world: &Arc<World>, tongue: Tongue, connection: io::Result<(TcpStream, SocketAddr)>) -> bool {
    match connection {
        Ok((stream, peer)) => {
            let open = world.connections.fetch_add(1, Ordering::Relaxed) + 1;
            let counted = Open(Arc::clone(world));
            if open > limits::CONNECTIONS_MAX {
                world.ledger.incomplete(format!("more than {} open connections", limits::CONNECTIONS_MAX));
            } else {
                // Only costs time where it fails.
                let _ = stream.set_nodelay(true);
                let socket = Socket::new(stream, Arc::default());
                world.has_line(&socket.line);
                let busy = Busy::new(world);
                match tongue {
                    Tongue::Http => tokio::spawn(serve(busy, counted, socket, peer)),
                    Tongue::Smtp => tokio::spawn(serve_mail(busy, counted, socket, peer)),
                };
            }
            true
        }
        // The client gave up before it was taken: it has asked for nothing.
        Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => true,
        Err(error) => {
            world.ledger.incomplete(format!("a connection could not be taken: {error}"));
            false
        }
    }
}

async fn serve_mail(busy: Busy, _open: Open, socket: Socket, peer: SocketAddr) {
    mail::serve(&busy.0, socket, peer).await;
}

async fn serve(busy: Busy, _open: Open, socket: Socket, peer: SocketAddr) {
    let world = &busy.0;
    let line = Arc::clone(&socket.line);
    let wire = Wire::new(socket, Arc::clone(&world.watch), world.read_timeout);
    let service = service_fn(|request| {
        let (outlet, outgoing) = oneshot::channel();
        let arriving = Arriving::new(world);
        let began = line.request_arrived();
        let (busy, line) = (Busy::new(world), Arc::clone(&line));
        tokio::spawn(async move { carry(Arc::clone(&busy.0), request, peer, began, arriving, outlet).await });
        async move {
            match outgoing.await.map_err(|_| Close)? {
                Outgoing::Answer { response, answer, linger } => {
                    line.expect(answer, linger);
                    Ok::<_, Close>(response)
                }
                Outgoing::Reset => {
                    line.reset();
                    Err(Close)
                }
            }
        }
    });
    let mut connection = http1::Builder::new()
        .max_header_size(limits::HEAD_MAX_BYTES)
        .max_buf_size(limits::HEAD_MAX_BYTES)
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(wire), service);
    tokio::select! {
        end = &mut connection => {
            // How a connection ends is not of interest, what arrived on it is in the ledger; but rubbish is told that it is rubbish.
            let rubbish = end.is_err_and(|error| error.is_parse() && !error.is_incomplete_message());
            connection.into_parts().io.into_inner().finish(rubbish).await;
        }
        () = world.stopped() => {}
    }
}
