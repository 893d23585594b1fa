//! The checks: each reads one thing of the machine, and judges it apart from reading it.

use std::path::Path;
use std::process::{Command, Stdio};

use killpoint::tracer::{Ability, probe};
use killpoint::trial::ability;

use super::{Check, Status};

/// The oldest kernel with PTRACE_GET_SYSCALL_INFO (5.3) and pidfd_getfd (5.6).
const KERNEL_MIN: (u32, u32) = (5, 6);
/// Less room than this in the temporary folder is a warning.
const ROOM_LOW_BYTES: u64 = 1024 * 1024 * 1024;
/// Less room than this and trials will fail.
const ROOM_MIN_BYTES: u64 = 64 * 1024 * 1024;

/// All checks, in the order in which they are told.
pub(super) fn all() -> Vec<Check> {
    vec![
        kernel(read("/proc/sys/kernel/osrelease").as_deref()),
        tracing(),
        enclosure(),
        yama(read("/proc/sys/kernel/yama/ptrace_scope").as_deref()),
        user_namespaces(
            read("/proc/sys/user/max_user_namespaces").as_deref(),
            read("/proc/sys/kernel/unprivileged_userns_clone").as_deref(),
            read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").as_deref(),
        ),
        cpus(std::thread::available_parallelism().map_or(1, std::num::NonZero::get)),
        room(),
        init_process(std::process::id()),
        python(),
        cargo(),
    ]
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn kernel(release: Option<&str>) -> Check {
    let Some(release) = release else {
        return Check::new("kernel", Status::Fail, "no Linux kernel found in /proc")
            .hint("killpoint needs Linux with /proc mounted");
    };
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major), Some(minor)) if (major, minor) < KERNEL_MIN => {
            let (major, minor) = KERNEL_MIN;
            Check::new("kernel", Status::Fail, format!("Linux {release}"))
                .hint(format!("Linux {major}.{minor} or newer is needed"))
        }
        _ => Check::ok("kernel", format!("Linux {release}, {}", std::env::consts::ARCH)),
    }
}

/// Does it: a shell is traced and killed before it creates a file.
fn tracing() -> Check {
    let scratch = tempfile::tempdir().and_then(|folder| Ok((folder.path().canonicalize()?, folder)));
    match scratch {
        Ok((path, _folder)) => traced(&probe(&path)),
        Err(error) => Check::new("tracing", Status::Fail, format!("no temporary folder for a try: {error}"))
            .hint("point TMPDIR to a folder that can be written"),
    }
}

fn traced(ability: &Ability) -> Check {
    match ability {
        Ability::Full => Check::ok("tracing", "ptrace with seccomp works: a shell was killed before the call it stood at"),
        Ability::None { reason } => Check::new("tracing", Status::Fail, format!("ptrace with seccomp does not work: {reason}"))
            .hint(
                "in a container: `docker run --cap-add=SYS_PTRACE --security-opt seccomp=unconfined`; elsewhere see yama below",
            ),
    }
}

/// Does it: namespaces are made and joined.
fn enclosure() -> Check {
    let scratch = tempfile::tempdir().map_err(|error| format!("no temporary folder for a try: {error}"));
    enclosed(&scratch.and_then(|folder| ability(folder.path())))
}

fn enclosed(ability: &Result<(), String>) -> Check {
    match ability {
        Ok(()) => Check::ok("namespaces", "each trial gets a network, /tmp, /dev/shm and a home of its own"),
        Err(reason) => Check::new("namespaces", Status::Warn, format!("{reason}; trials use the machine's network instead"))
            .hint("in a container: `docker run --cap-add=SYS_ADMIN --security-opt apparmor=unconfined`; elsewhere see user namespaces below"),
    }
}

/// The values are those of the kernel's Documentation/admin-guide/LSM/Yama.rst.
fn yama(scope: Option<&str>) -> Check {
    let change = "as root: `sysctl kernel.yama.ptrace_scope=1`";
    match scope {
        None => Check::ok("yama", "not there, so it forbids nothing"),
        Some(scope @ ("0" | "1")) => Check::ok("yama", format!("ptrace_scope is {scope}: a process may trace its children")),
        Some("2") => Check::new("yama", Status::Warn, "ptrace_scope is 2: only with CAP_SYS_PTRACE").hint(change),
        Some("3") => Check::new("yama", Status::Fail, "ptrace_scope is 3: nobody may trace")
            .hint("it cannot be changed back before a reboot: set kernel.yama.ptrace_scope to 1 in /etc/sysctl.d, then reboot"),
        Some(other) => Check::new("yama", Status::Warn, format!("ptrace_scope is {other}, which is not known")).hint(change),
    }
}

fn user_namespaces(max: Option<&str>, clone: Option<&str>, apparmor: Option<&str>) -> Check {
    let found = match (max, clone, apparmor) {
        (None, ..) => "not there",
        (Some("0"), ..) => "switched off (user.max_user_namespaces is 0)",
        (_, Some("0"), _) => "only for root (kernel.unprivileged_userns_clone is 0)",
        (_, _, Some("1")) => "restricted by AppArmor",
        _ => "available",
    };
    Check::ok("user namespaces", format!("{found} (for information)"))
}

fn cpus(count: usize) -> Check {
    let plural = if count == 1 { "" } else { "s" };
    Check::ok("CPUs", format!("{count}: `killpoint run` makes {count} trial{plural} side by side"))
}

fn room() -> Check {
    let folder = std::env::temp_dir();
    let free = nix::sys::statvfs::statvfs(&folder).map(|fs| fs.blocks_available().saturating_mul(fs.fragment_size()));
    room_in(&folder, free.map_err(std::io::Error::from))
}

fn room_in(folder: &Path, free: std::io::Result<u64>) -> Check {
    let name = "temporary folder";
    let folder = folder.display();
    let hint = "trials keep their worlds there: make room, or point TMPDIR to another disk";
    match free {
        Err(error) => {
            Check::new(name, Status::Fail, format!("{folder}: {error}")).hint("point TMPDIR to a folder that can be written")
        }
        Ok(bytes) => {
            let found = format!("{folder}, {} MiB free", bytes / (1024 * 1024));
            match bytes {
                0..ROOM_MIN_BYTES => Check::new(name, Status::Fail, found).hint(hint),
                ROOM_MIN_BYTES..ROOM_LOW_BYTES => Check::new(name, Status::Warn, found).hint(hint),
                _ => Check::ok(name, found),
            }
        }
    }
}

fn init_process(id: u32) -> Check {
    if id == 1 {
        return Check::new("process 1", Status::Warn, "killpoint is the first process of its container and inherits its orphans")
            .hint("start the container with an init process: `docker run --init`");
    }
    Check::ok("process 1", "killpoint is not the first process of a container")
}

/// Python makes a folder for the packages of a target; `ensurepip` is what a distribution leaves out of `venv`.
fn python() -> Check {
    let script = "import sys, venv, ensurepip; print('Python', sys.version.split()[0])";
    let hint = "only the LangGraph scenarios need it: on Debian `apt install python3 python3-venv`";
    match output_of("python3", &["-c", script]) {
        Said::Yes(version) => Check::ok("python3", format!("{version} with venv")),
        Said::No => Check::new("python3", Status::Warn, "there, but without its modules venv and ensurepip").hint(hint),
        Said::NotFound => Check::new("python3", Status::Warn, "not found").hint(hint),
    }
}

fn cargo() -> Check {
    let hint = "only the scenarios of the native targets need it: https://rustup.rs";
    match output_of("cargo", &["--version"]) {
        Said::Yes(version) => Check::ok("cargo", version),
        Said::No => Check::new("cargo", Status::Warn, "there, but it does not run").hint(hint),
        Said::NotFound => Check::new("cargo", Status::Warn, "not found").hint(hint),
    }
}

/// What came of a program.
enum Said {
    /// The first line of its output.
    Yes(String),
    /// It failed.
    No,
    /// It cannot be started.
    NotFound,
}

fn output_of(program: &str, args: &[&str]) -> Said {
    match Command::new(program).args(args).stdin(Stdio::null()).output() {
        Err(_) => Said::NotFound,
        Ok(output) if !output.status.success() => Said::No,
        Ok(output) => Said::Yes(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_judged_by_its_first_two_numbers() {
        assert_eq!(kernel(Some("6.12.0-rc1-amd64")).status, Status::Ok);
        assert_eq!(kernel(Some("5.6.0")).status, Status::Ok);
        assert_eq!(kernel(Some("5.4.0-150-generic")).status, Status::Fail);
        assert_eq!(kernel(Some("4.19")).status, Status::Fail);
        assert_eq!(kernel(None).status, Status::Fail);
    }

    #[test]
    fn what_keeps_killpoint_from_tracing_comes_with_what_to_change() {
        let broken = [traced(&Ability::None { reason: "EPERM".to_owned() }), yama(Some("3")), kernel(Some("3.10"))];
        assert!(broken.iter().all(|check| check.status == Status::Fail && check.hint.is_some()), "{broken:?}");
        assert_eq!(yama(Some("2")).status, Status::Warn);
        assert!(
            [yama(None), yama(Some("0")), yama(Some("1")), traced(&Ability::Full)].iter().all(|check| check.status == Status::Ok)
        );
    }

    #[test]
    fn namespaces_that_cannot_be_had_are_a_warning_with_what_to_change() {
        let refused = enclosed(&Err("no user namespace can be made: EPERM".to_owned()));
        assert_eq!((refused.status, refused.hint.is_some()), (Status::Warn, true));
        assert_eq!(enclosed(&Ok(())).status, Status::Ok);
    }

    #[test]
    fn little_room_is_a_warning_and_none_is_a_failure() {
        let of = |free| room_in(Path::new("/tmp"), free).status;
        assert_eq!(of(Ok(ROOM_LOW_BYTES)), Status::Ok);
        assert_eq!(of(Ok(ROOM_LOW_BYTES - 1)), Status::Warn);
        assert_eq!(of(Ok(ROOM_MIN_BYTES - 1)), Status::Fail);
        assert_eq!(of(Err(std::io::ErrorKind::NotFound.into())), Status::Fail);
        assert_eq!(init_process(1).status, Status::Warn);
    }

    #[test]
    fn user_namespaces_are_told_for_information_only() {
        assert!(user_namespaces(Some("0"), None, None).found.contains("switched off"));
        assert!(user_namespaces(Some("9"), Some("1"), Some("1")).found.contains("AppArmor"));
        assert_eq!(user_namespaces(None, None, None).status, Status::Ok);
    }
}
