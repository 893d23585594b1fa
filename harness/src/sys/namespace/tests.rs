//! Namespaces: made, joined, told apart, and asked about their connections. Where this machine makes none, nothing can be seen.

use std::io::Read;
use std::os::unix::fs::MetadataExt;

use super::*;

const PORTS: [u16; 2] = [26_926, 26_925];

fn text(path: &Path) -> CString {
    CString::new(path.to_str().expect("a plain path")).expect("no zero byte")
}

/// One with a folder seen at `/tmp`.
fn with_tmp(folder: &Path) -> Option<Made> {
    match create(&[(text(folder), c"/tmp".to_owned())], PORTS) {
        Ok(made) => Some(made),
        Err((step, error)) => {
            eprintln!("nothing is shown: this machine makes no namespaces: {step:?}: {error}");
            None
        }
    }
}

#[test]
fn two_at_once_listen_on_one_port_and_see_their_own_folders() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(one.path().join("mark"), "").unwrap();
    let (Some(first), Some(second)) = (with_tmp(one.path()), with_tmp(two.path())) else { return };
    for made in [&first, &second] {
        for (listener, port) in made.listeners.iter().zip(PORTS) {
            assert_eq!(listener.local_addr().unwrap().port(), port);
            assert_eq!(made.connections.has_listener(listener.local_addr().unwrap()), Some(true));
        }
        assert_eq!(made.connections.has_listener("127.0.0.1:5432".parse().unwrap()), Some(false));
        made.namespaces.try_join().unwrap();
    }
    assert_eq!(first.namespaces.resolve(Path::new("/tmp/mark"), true).as_deref(), Some(Path::new("/tmp/mark")));
    assert_eq!(second.namespaces.resolve(Path::new("/tmp/mark"), true), None);
    assert!(!Path::new("/tmp/mark").exists(), "nothing of it is seen outside");
}

#[test]
fn links_are_resolved_inside() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mark"), "").unwrap();
    std::os::unix::fs::symlink("/tmp/mark", folder.path().join("link")).unwrap();
    std::os::unix::fs::symlink("/tmp/nowhere", folder.path().join("dangling")).unwrap();
    let Some(made) = with_tmp(folder.path()) else { return };
    let found = |path: &str, follows| made.namespaces.resolve(Path::new(path), follows);
    assert_eq!(found("/tmp/link", true), Some("/tmp/mark".into()));
    assert_eq!(found("/tmp/link", false), Some("/tmp/link".into()));
    assert_eq!(found("/tmp/dangling", true), None);
    assert_eq!(found("/tmp/dangling", false), Some("/tmp/dangling".into()));
}

#[test]
fn a_program_that_joins_reaches_the_listener_and_nobody_outside() {
    let folder = tempfile::tempdir().unwrap();
    let Some(made) = with_tmp(folder.path()) else { return };
    let script =
        "import socket, os\nopen('/tmp/joined', 'w').close()\ns = socket.create_connection(('127.0.0.1', 26926))\ns.send(b'x')";
    let fds: Vec<RawFd> = made.namespaces.joins.iter().map(AsRawFd::as_raw_fd).collect();
    let mut command = std::process::Command::new("python3");
    command.args(["-c", script]);
    // SAFETY: setns alone between fork and exec.
    unsafe {
        use std::os::unix::process::CommandExt;
        command.pre_exec(
            move || if fds.iter().all(|fd| libc::setns(*fd, 0) == 0) { Ok(()) } else { Err(io::Error::last_os_error()) },
        );
    }
    let mut child = command.spawn().unwrap();
    let (mut accepted, peer) = made.listeners[0].accept().unwrap();
    let mut byte = [0];
    accepted.read_exact(&mut byte).unwrap();
    assert!(child.wait().unwrap().success());
    let file = folder.path().join("joined").metadata().unwrap();
    // SAFETY: reads a number.
    assert_eq!(file.uid(), unsafe { libc::geteuid() });
    let server = made.listeners[0].local_addr().unwrap();
    assert_eq!(Connections::own().unread_bytes(peer, server), None, "it is not a connection of this namespace");
}

#[test]
fn what_cannot_be_bound_is_told_with_its_step() {
    let missing = (c"/nowhere/at/all".to_owned(), c"/tmp".to_owned());
    let (step, error) = create(&[missing], PORTS).expect_err("there is no such folder");
    if step == Step::Bind {
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
    }
}
