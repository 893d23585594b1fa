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
