//! What a traced call acts on, before anybody has given it a name.

use std::net::SocketAddr;
use std::path::PathBuf;

/// The object of a state-changing call, as the kernel knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Object {
    /// A file or folder, by absolute path.
    Path(PathBuf),
    /// Two paths: a rename or a link, from and to.
    Paths(PathBuf, PathBuf),
    /// A TCP peer.
    Tcp(SocketAddr),
    /// A UDP peer.
    Udp(SocketAddr),
    /// A named UNIX socket outside the tree; an abstract name starts with `@`.
    Unix(PathBuf),
    /// The life's own output, with the beginning of what is written.
    Output(Vec<u8>),
    /// The end of a process, by its program's name.
    Process(String),
    /// The system as a whole (`sync`).
    System,
}

impl Object {
    /// The network address that it is.
    #[must_use]
    pub fn peer(&self) -> Option<SocketAddr> {
        if let Self::Tcp(peer) | Self::Udp(peer) = self { Some(*peer) } else { None }
    }
}

/// Whether an address is that of the machine itself, as a program can write it: the unspecified one leads there too.
#[must_use]
pub fn is_loopback(address: SocketAddr) -> bool {
    let ip = address.ip().to_canonical();
    ip.is_loopback() || ip.is_unspecified()
}

/// What a life did that killpoint can see but not stop at, or that widens its world.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Notice {
    /// io_uring was set up: what goes through it makes no system call, so it is no point.
    IoUring,
    /// A file was mapped shared and writable: its pages change without a call.
    SharedMapping {
        /// Its name, in the form of a point's object.
        object: String,
    },
    /// A connection to something that is not the sandbox.
    Connect {
        /// Its name, in the form of a point's object.
        object: String,
    },
    /// Something outside of the trial's own network was asked for, or nobody listened there; the kernel refused it.
    Refused {
        /// Its name, in the form of a point's object.
        object: String,
    },
    /// A file outside the trial's own folders was changed; it is not reset between trials.
    OutsideWrite {
        /// Its absolute path.
        object: String,
    },
    /// Processes were still there when the first one of the life had exited and nothing moved any more; killpoint ended them.
    Lingering {
        /// How many.
        processes: u32,
    },
    /// A 32-bit program was run.
    Compat32,
}
