//! The enclosure of a trial: the network and the mounts that its lives have for themselves, or that they do without them.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use super::layout::{Layout, shared_tmp};
use crate::model::report::Isolation;
use crate::model::scenario::{Network, Role};
use crate::sandbox::{Doors, Sandbox, SandboxConfig, SandboxError, Watch};
use crate::sys::diag::Connections;
use crate::sys::namespace::{self, Made, Namespaces, Step};

/// The sandbox's port in a network of its own: below the ports that the kernel gives out, and none that a service is known by.
pub const SANDBOX_PORT: u16 = 26_926;
/// Its port for mails there.
const MAIL_PORT: u16 = 26_925;
const PORTS: [u16; 2] = [SANDBOX_PORT, MAIL_PORT];

/// What the lives of a trial share, and no other trial sees.
#[derive(Debug)]
pub struct Enclosure {
    /// Where its folders are for its lives.
    pub layout: Layout,
    /// The namespaces; `None`: those of the machine.
    pub namespaces: Option<Arc<Namespaces>>,
    /// The connections of its network.
    pub connections: Arc<Connections>,
    doors: Option<Doors>,
}

/// The namespaces of a trial could not be made, although those of others could.
#[derive(Debug, thiserror::Error)]
#[error("a trial's own network could not be made: {what}; `--network host` does without")]
pub struct EnclosureError {
    what: String,
}

impl Enclosure {
    /// An enclosure with the network and the mounts of the machine.
    #[must_use]
    pub fn host(layout: Layout) -> Self {
        Self { layout, namespaces: None, connections: Arc::new(Connections::own()), doors: None }
    }

    /// One of its own.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn private(layout: Layout) -> Result<Self, EnclosureError> {
        let binds: Vec<_> = layout.binds.iter().map(|(from, to)| (text(from), text(to))).collect();
        let Made { namespaces, listeners: [http, smtp], connections } =
            namespace::create(&binds, PORTS).map_err(|(step, error)| EnclosureError { what: why(step, &error) })?;
        Ok(Self {
            layout,
            namespaces: Some(Arc::new(namespaces)),
            connections: Arc::new(connections),
            doors: Some(Doors { http, smtp }),
        })
    }

    /// Starts the sandbox in it.
    ///
    /// # Errors
    /// It cannot be started.
    pub async fn sandbox(&mut self, config: SandboxConfig, watch: Arc<dyn Watch>) -> Result<Sandbox, SandboxError> {
        match self.doors.take() {
            Some(doors) => Sandbox::start_on(doors, config, watch).await,
            None => Sandbox::start(config, watch).await,
        }
    }
}

/// What trials of a role will have: what it asks for, where this machine makes it. `scratch` is a folder that may be bound.
#[must_use]
pub fn isolation(role: &Role, scratch: &Path) -> Isolation {
    if role.network == Network::Host {
        return Isolation { network: Network::Host, reason: Some("it was asked for".to_owned()) };
    }
    match ability(scratch) {
        Ok(()) => Isolation { network: Network::Private, reason: shared_tmp(role) },
        Err(reason) => Isolation { network: Network::Host, reason: Some(reason) },
    }
}

/// Why addresses and paths are not the same in every trial, so that what a workflow has stored of them is not good in another one;
/// `None`: they are.
#[must_use]
pub fn wandering(role: &Role) -> Option<String> {
    match role.network {
        Network::Host => Some("trials have no network and folders of their own".to_owned()),
        Network::Private => shared_tmp(role),
    }
}

/// Whether this machine makes namespaces for a trial, found out by making and joining some; the error says why not.
///
/// # Errors
/// What was refused.
pub fn ability(scratch: &Path) -> Result<(), String> {
    let tried = namespace::create(&[(text(scratch), text(scratch))], PORTS).and_then(|made| made.namespaces.try_join());
    tried.map_err(|(step, error)| why(step, &error))
}

/// A path for the kernel; one with a zero byte leads nowhere.
fn text(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap_or_default()
}

/// What was refused, for people.
fn why(step: Step, error: &io::Error) -> String {
    let what = match step {
        Step::Fork => "the process that makes namespaces did not",
        Step::User => "no user namespace can be made",
        Step::Spaces => "no network and mount namespace can be made",
        Step::Mounts => "mounts cannot be kept apart",
        Step::Bind => "folders cannot be mounted at other places",
        Step::Loopback => "the loopback interface cannot be brought up",
        Step::Listen => "the sandbox's ports cannot be had",
        Step::Diag => "connections cannot be asked about",
        Step::Join => "the namespaces cannot be joined",
    };
    match error.raw_os_error() {
        // The kernel's word for a limit of namespaces is the one for a full disk.
        Some(libc::ENOSPC) => format!("{what}: a limit below /proc/sys/user (`max_*_namespaces`) is reached"),
        _ => format!("{what}: {error}"),
    }
}
