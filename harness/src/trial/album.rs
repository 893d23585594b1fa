//! The album of one recorded life: at each crash point, with the tree stopped, it keeps the durable world.
//!
//! What a stopped tree has sent and what the sandbox has not yet taken in is waited for, because a dying client does not take it
//! back. A request that has arrived and is not executed gives two shots: without its effect, and with it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::layout::Layout;
use crate::model::call::Object;
use crate::model::limits::QUIET_MAX_MS;
use crate::model::shot::Shot;
use crate::sandbox::Lens;
use crate::state::{Camera, ImageError, ImageStore, Root};

/// The shots of one life.
#[derive(Debug)]
pub struct Album {
    lens: Lens,
    store: Arc<ImageStore>,
    /// Where the folders are that the workflow sees.
    layout: Layout,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    camera: Camera,
    started: Instant,
    shots: Vec<Shot>,
    trouble: Option<String>,
}

/// How often a look is taken whether the sandbox has become quiet.
const LOOK_EVERY: Duration = Duration::from_micros(200);

impl Album {
    /// An empty album. `roots` are the folders that are kept; `layout` says where a path that the workflow sees stands.
    #[must_use]
    pub fn new(store: Arc<ImageStore>, roots: Vec<Root>, layout: Layout, lens: Lens) -> Self {
        let camera = Camera::new(store.clone(), roots);
        let inner = Inner { camera, started: Instant::now(), shots: Vec::new(), trouble: None };
        Self { lens, store, layout, inner: Mutex::new(inner) }
    }

    /// A call is about to change this.
    pub fn touch(&self, object: &Object) {
        let mut inner = self.lock();
        match object {
            Object::Path(path) => inner.camera.touch(&self.layout.outside(path)),
            Object::Paths(from, to) => {
                inner.camera.touch(&self.layout.outside(from));
                inner.camera.touch(&self.layout.outside(to));
            }
            _ => {}
        }
    }

    /// A file was mapped shared and writable.
    pub fn touch_mapped(&self, object: &Object) {
        if let Object::Path(path) = object {
            self.lock().camera.touch_mapped(&self.layout.outside(path));
        }
    }

    /// Anything may have changed.
    pub fn touch_all(&self) {
        self.lock().camera.touch_all();
    }

    /// Waits, on a thread that may block, until what was sent has arrived.
    pub fn wait_until_quiet(&self) {
        let began = Instant::now();
        while !self.lens.is_quiet() && began.elapsed() < Duration::from_millis(QUIET_MAX_MS) {
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// The same where tasks run.
    pub async fn until_quiet(&self) {
        let began = Instant::now();
        while !self.lens.is_quiet() && began.elapsed() < Duration::from_millis(QUIET_MAX_MS) {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Keeps the world as it stands, with the tree stopped, for these points. `but`: the request whose arrival is the point.
    pub fn shoot(&self, points: impl IntoIterator<Item = usize>, but: Option<u64>) {
        let mut inner = self.lock();
        match self.picture(&mut inner, but) {
            Ok((files, ledgers)) => {
                let at_us = u64::try_from(inner.started.elapsed().as_micros()).unwrap_or(u64::MAX);
                for point in points {
                    let shots = ledgers.iter().map(|(ledger, is_settled)| Shot {
                        point,
                        files: files.clone(),
                        ledger: ledger.clone(),
                        is_settled: *is_settled,
                        at_us,
                    });
                    inner.shots.extend(shots);
                }
            }
            Err(trouble) => {
                inner.trouble.get_or_insert(trouble);
            }
        }
    }

    fn picture(&self, inner: &mut Inner, but: Option<u64>) -> Result<(String, Vec<(String, bool)>), String> {
        let files = inner.camera.shoot().map_err(|error| told(&error))?;
        let ledger = self.lens.picture(but).map_err(|error| told(&error))?;
        let put = |bytes: &[u8]| self.store.put(bytes).map_err(|error: ImageError| told(&error));
        let mut ledgers = vec![(put(&ledger.as_is)?, false)];
        if let Some(settled) = &ledger.settled {
            ledgers.push((put(settled)?, true));
        }
        Ok((files.to_string(), ledgers))
    }

    /// What was kept, and the first thing that kept a shot from being taken.
    #[must_use]
    pub fn take(&self) -> (Vec<Shot>, Option<String>) {
        let mut inner = self.lock();
        (std::mem::take(&mut inner.shots), inner.trouble.take())
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An error with what is behind it, on one line.
fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use tokio::sync::Semaphore;

    use super::*;
    use crate::model::scenario::SandboxSpec;
    use crate::sandbox::{BoxFuture, Go, Sandbox, SandboxConfig, Seen, Watch, Written};
    use crate::scenario::from_command;
    use crate::state::Worlds;

    /// Holds every request at its arrival, and says so.
    struct Holder(Semaphore);

    impl Watch for Holder {
        fn received<'a>(&'a self, _: &'a Seen) -> BoxFuture<'a, Go> {
            self.0.add_permits(1);
            Box::pin(std::future::pending())
        }
        fn executed<'a>(&'a self, _: &'a Seen) -> BoxFuture<'a, Go> {
            Box::pin(std::future::ready(Go::On))
        }
        fn answering<'a>(&'a self, _: &'a Seen) -> BoxFuture<'a, Go> {
            Box::pin(std::future::ready(Go::On))
        }
        fn answer(&self, _: &Seen, write: &mut dyn FnMut() -> Written) {
            write();
        }
        fn probe<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Go> {
            Box::pin(std::future::ready(Go::On))
        }
    }

    #[tokio::test]
    async fn a_request_in_flight_gives_a_point_two_worlds_and_at_its_own_arrival_one() {
        let worlds = Worlds::create().unwrap();
        let world = worlds.world("t", None).unwrap();
        let store = Arc::new(ImageStore::open(&worlds.path().join("images")).unwrap());
        let holder = Arc::new(Holder(Semaphore::new(0)));
        let config =
            SandboxConfig { spec: SandboxSpec::default(), rules: Vec::new(), ledger_path: world.ledger(), epoch: Instant::now() };
        let sandbox = Sandbox::start(config, holder.clone()).await.unwrap();
        let role = from_command(&["true".to_owned()], std::path::Path::new("/usr")).roles.remove(0);
        let album = Album::new(store, world.roots(&[]), Layout::plain(&world, &role), sandbox.lens());
        let mut client = std::net::TcpStream::connect(sandbox.addr()).unwrap();
        client.write_all(b"POST /email HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}").unwrap();
        holder.0.acquire().await.unwrap().forget();
        album.shoot([0], None);
        album.shoot([1], Some(1));
        let (shots, trouble) = album.take();
        let told: Vec<_> = shots.iter().map(|shot| (shot.point, shot.is_settled)).collect();
        assert_eq!((told, trouble), (vec![(0, false), (0, true), (1, false)], None));
        assert_ne!(shots[0].ledger, shots[1].ledger);
    }
}
