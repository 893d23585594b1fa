//! Gives the objects of calls their names in points: paths relative to the trial's folders, sockets by role, volatile parts masked.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use globset::GlobSet;
use regex::Regex;

use crate::model::call::{Object, is_loopback};
use crate::sys::diag::Connections;

/// Where a call acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the trial's world, or on a socket.
    Inside,
    /// On a file that is not the trial's own.
    Outside(PathBuf),
    /// On something outside of the tree that is not the sandbox.
    Elsewhere,
    /// On a path that the scenario, or everybody, calls harmless.
    Harmless,
}

/// Names objects in one trial.
#[derive(Debug)]
pub struct Namer {
    /// Folders with the prefix that stands for them, the deepest first; the flag says whether it is the trial's own.
    roots: Vec<(PathBuf, String, bool)>,
    /// The sandbox's addresses, with the roles by which sockets to them are named.
    sandbox: [(SocketAddr, &'static str); 2],
    connections: Arc<Connections>,
    /// Whether the trial has a network of its own.
    is_private: bool,
    ignore: GlobSet,
}

/// From here on ports of loopback peers are taken as given out by the kernel (Linux' default ip_local_port_range).
const EPHEMERAL_PORT_MIN: u16 = 32_768;

impl Namer {
    /// A namer for a trial with these roots: folders, absolute and without links, with the prefix that stands for them in names, and
    /// whether each is the trial's own. The first that holds a path counts. Two addresses are the sandbox's: its API's and its mail server's. `connections` are those of the network that it is in.
    #[must_use]
    pub fn new(
        roots: Vec<(PathBuf, String, bool)>,
        [http, smtp]: [SocketAddr; 2],
        connections: Arc<Connections>,
        is_private: bool,
        ignore: GlobSet,
    ) -> Self {
        Self { roots, sandbox: [(http, "sandbox"), (smtp, "smtp")], connections, is_private, ignore }
    }

    /// The role that a peer has in the sandbox.
    fn role(&self, peer: SocketAddr) -> Option<&'static str> {
        self.sandbox.iter().find(|(own, _)| *own == peer).map(|(_, role)| *role)
    }

    /// Whether this is the sandbox.
    #[must_use]
    pub fn is_sandbox(&self, object: &Object) -> bool {
        matches!(object, Object::Tcp(peer) if self.role(*peer).is_some())
    }

    /// Bytes of the sandbox's answers that a client of it has not read; `None`: it cannot be told.
    #[must_use]
    pub fn unread_bytes(&self, client: SocketAddr) -> Option<u64> {
        self.sandbox.iter().find_map(|(own, _)| self.connections.unread_bytes(client, *own))
    }

    /// Whether the kernel refuses a call because the trial has a network of its own: the address is beyond it, or nobody is there.
    #[must_use]
    pub fn is_refused(&self, syscall: &str, object: &Object) -> bool {
        const NAME_SERVICE_PORT: u16 = 53;
        let Some(peer) = object.peer().filter(|peer| self.is_private && self.role(*peer).is_none()) else { return false };
        if !is_loopback(peer) {
            return true;
        }
        match object {
            Object::Udp(_) => peer.port() == NAME_SERVICE_PORT,
            _ => syscall == "connect" && self.connections.has_listener(peer) == Some(false),
        }
    }

    /// The name of an object, and where it is. `pids` are the processes of the life, whose numbers are volatile.
    #[must_use]
    pub fn name(&self, object: &Object, pids: &[i32]) -> (String, Place) {
        match object {
            Object::Path(path) => self.path(path, pids),
            Object::Paths(from, to) => {
                let ((from, from_place), (to, to_place)) = (self.path(from, pids), self.path(to, pids));
                let place = if from_place == Place::Harmless { to_place } else { from_place };
                (format!("{from}->{to}"), place)
            }
            Object::Tcp(peer) => match self.role(*peer) {
                Some(role) => (role.to_owned(), Place::Inside),
                None => (format!("tcp:{}", socket(*peer)), self.beside()),
            },
            Object::Udp(peer) => (format!("udp:{}", socket(*peer)), self.beside()),
            Object::Unix(path) => {
                let (name, _) = self.path(path, pids);
                (format!("unix:{name}"), Place::Elsewhere)
            }
            Object::Process(name) => (name.clone(), Place::Inside),
            Object::System => ("*".to_owned(), Place::Inside),
            Object::Output(_) => ("output".to_owned(), Place::Inside),
        }
    }

    /// Where a peer is that is not the sandbox: a network of the trial's own holds nothing but its tree.
    fn beside(&self) -> Place {
        if self.is_private { Place::Inside } else { Place::Elsewhere }
    }

    fn path(&self, path: &Path, pids: &[i32]) -> (String, Place) {
        let inside = self
            .roots
            .iter()
            .find_map(|(root, prefix, own)| path.strip_prefix(root).ok().map(|rest| (rest, prefix.as_str(), *own)));
        let is_own = inside.is_some_and(|(_, _, own)| own);
        let (rest, prefix) = inside.map_or((path, ""), |(rest, prefix, _)| (rest, prefix));
        let text = rest.to_string_lossy();
        let parts: Vec<_> = text.split('/').map(|part| mask(part, pids)).collect();
        let joined = parts.join("/");
        let name = format!("{prefix}{}", if joined.is_empty() { "." } else { &joined });
        let place = if self.ignore.is_match(path) || self.ignore.is_match(rest) || (!is_own && is_bytecode(path)) {
            Place::Harmless
        } else if is_own {
            Place::Inside
        } else {
            Place::Outside(path.to_owned())
        };
        (name, place)
    }
}

/// Letters of a part of a name that could be random; `mkstemp` and its like make six.
const OPEN_MIN_CHARS: usize = 6;

static OPEN: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(&format!("[0-9A-Za-z_]{{{OPEN_MIN_CHARS},}}")).expect("a constant pattern"));

/// The name of a path with every part left open that could be random, whatever it looks like: nobody can tell the name of a
/// semaphore that Python made (`mp-bjksyngf`) from a word. `None`: it has no such part.
pub fn open(object: &Object, name: &str) -> Option<String> {
    let is_path = matches!(object, Object::Path(_) | Object::Paths(..));
    (is_path && OPEN.is_match(name)).then(|| OPEN.replace_all(name, "{any}").into_owned())
}

/// Python's compiled modules: a cache that is written when it is missing and changes nothing else.
fn is_bytecode(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "__pycache__") || path.extension().is_some_and(|ending| ending == "pyc")
}

fn socket(peer: SocketAddr) -> String {
    if peer.ip().is_loopback() && peer.port() >= EPHEMERAL_PORT_MIN {
        format!("{}:{{port}}", peer.ip())
    } else {
        peer.to_string()
    }
}

static MASKS: LazyLock<[(Regex, &str); 5]> = LazyLock::new(|| {
    let regex = |text| Regex::new(text).expect("a constant pattern");
    [
        (regex("[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}"), "{uuid}"),
        (regex("\\d{4}-?\\d{2}-?\\d{2}[T_ -]?\\d{2}[:_.-]?\\d{2}(?:[:_.-]?\\d{2})?(?:[.,:_-]?\\d+)?Z?"), "{time}"),
        // Python's tempfile and named semaphores (eight of a-z, 0-9, _), mktemp (ten letters and digits), Rust's tempfile and glibc's
        // semaphores before they have their name (six).
        (
            regex("(?P<head>tmp[._-]?|\\bsem[.]|\\bmp-)(?:[a-z0-9_]{8}|[A-Za-z0-9]{10}|[A-Za-z0-9]{6})(?P<tail>$|[.-])"),
            "${head}{rand}${tail}",
        ),
        (regex("(?:\\b|_)[0-9a-f]{16,}\\b"), "{rand}"),
        (regex("\\d{10,}"), "{time}"),
    ]
});

/// Masks what is volatile in one part of a path.
fn mask(part: &str, pids: &[i32]) -> String {
    // Most names hold nothing that could be volatile.
    if part.len() < 6 && !part.bytes().any(|byte| byte.is_ascii_digit()) {
        return part.to_owned();
    }
    let mut out = part.to_owned();
    for (pattern, replacement) in MASKS.iter() {
        out = pattern.replace_all(&out, *replacement).into_owned();
    }
    let mut masked = String::with_capacity(out.len());
    let mut rest = out.as_str();
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let end = rest[start..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |length| start + length);
        let number = &rest[start..end];
        masked.push_str(&rest[..start]);
        masked.push_str(if number.parse().is_ok_and(|number: i32| pids.contains(&number)) { "{pid}" } else { number });
        rest = &rest[end..];
    }
    masked.push_str(rest);
    shuffled(&masked)
}

/// A part that mixes capitals, small letters and digits (`q7Xw2LpZ`) is taken as random.
fn shuffled(part: &str) -> String {
    let pieces: Vec<_> = part.split('.').map(|piece| if looks_random(piece) { "{rand}" } else { piece }).collect();
    pieces.join(".")
}

fn looks_random(piece: &str) -> bool {
    let has = |test: fn(&char) -> bool| piece.chars().filter(test).count();
    piece.len() >= 8
        && piece.chars().all(|c| c.is_ascii_alphanumeric())
        && has(char::is_ascii_uppercase) >= 2
        && has(char::is_ascii_digit) >= 2
        && (has(char::is_ascii_lowercase) >= 2 || piece.len() == 26)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namer() -> Namer {
        let ignore = globset::GlobSetBuilder::new().add(globset::Glob::new("**/*.lock").unwrap()).build().unwrap();
        let roots = [("/w/state", "", true), ("/w/tmp", "tmp:", true), ("/srv/app", "dir:", false)];
        let roots = roots.map(|(root, prefix, own)| (root.into(), prefix.to_owned(), own)).to_vec();
        Namer::new(
            roots,
            ["127.0.0.1:4000", "127.0.0.1:4001"].map(|own| own.parse().unwrap()),
            Arc::new(Connections::own()),
            false,
            ignore,
        )
    }

    fn of(path: &str) -> (String, Place) {
        namer().name(&Object::Path(path.into()), &[4242])
    }

    #[test]
    fn a_path_is_relative_to_the_trials_folders() {
        assert_eq!(of("/w/state/checkpoints.db-wal"), ("checkpoints.db-wal".to_owned(), Place::Inside));
        assert_eq!(of("/w/state"), (".".to_owned(), Place::Inside));
        assert_eq!(of("/w/tmp/x/y"), ("tmp:x/y".to_owned(), Place::Inside));
        assert_eq!(of("/srv/app/journal"), ("dir:journal".to_owned(), Place::Outside("/srv/app/journal".into())));
        assert_eq!(of("/var/lib/x"), ("/var/lib/x".to_owned(), Place::Outside("/var/lib/x".into())));
        assert_eq!(of("/w/state/a.lock").1, Place::Harmless);
        assert_eq!(of("/srv/app/__pycache__/m.cpython-311.pyc").1, Place::Harmless);
        assert_eq!(of("/w/state/m.pyc").1, Place::Inside);
    }

    #[test]
    fn what_changes_from_run_to_run_is_masked_and_what_does_not_is_not() {
        for (name, masked) in [
            ("tmpab12cd_9.json", "tmp{rand}.json"),
            (".tmpA1b2C3", ".tmp{rand}"),
            ("tmp.4T8zsaF8Xg", "tmp.{rand}"),
            ("8f14e45f-ceea-467f-a0e6-1b2c3d4e5f60.out", "{uuid}.out"),
            ("lock-4242", "lock-{pid}"),
            ("run-1764563200123", "run-{time}"),
            ("2026-12-01T05:10:12Z.log", "{time}.log"),
            ("sem.mp-bjksyngf", "sem.mp-{rand}"),
            ("sem.4Gxz8K", "sem.{rand}"),
            // npm's logs.
            ("2026-12-01T07_18_19_602Z-debug-0.log", "{time}-debug-0.log"),
            ("checkpoints.db-wal", "checkpoints.db-wal"),
            ("checkpoint12.json", "checkpoint12.json"),
            ("invoice_0001", "invoice_0001"),
            ("q7Xw2LpZ", "{rand}"),
            ("tmp", "tmp"),
        ] {
            assert_eq!(mask(name, &[4242]), masked);
        }
    }

    #[test]
    fn what_could_be_random_is_left_open_in_paths_alone() {
        let path = Object::Path("/x".into());
        assert_eq!(open(&path, "/dev/shm/sem.mp-bjksyngf").as_deref(), Some("/dev/shm/sem.mp-{any}"));
        assert_eq!(open(&path, "checkpoints.db-wal").as_deref(), Some("{any}.db-wal"));
        assert_eq!(open(&path, "done"), None);
        assert_eq!(open(&path, "{time}.log"), None);
        assert_eq!(open(&Object::Tcp("127.0.0.1:4000".parse().unwrap()), "sandbox"), None);
    }

    #[test]
    fn a_socket_is_named_by_its_role() {
        let name = |object| namer().name(&object, &[]);
        assert_eq!(name(Object::Tcp("127.0.0.1:4000".parse().unwrap())), ("sandbox".to_owned(), Place::Inside));
        assert_eq!(name(Object::Tcp("127.0.0.1:5432".parse().unwrap())), ("tcp:127.0.0.1:5432".to_owned(), Place::Elsewhere));
        assert_eq!(name(Object::Tcp("127.0.0.1:40123".parse().unwrap())), ("tcp:127.0.0.1:{port}".to_owned(), Place::Elsewhere));
    }
}
