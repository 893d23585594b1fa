//! The start of a life: what was asked for, in the form the cellar takes, and what is said where it fails.

use std::ffi::{CString, OsStr};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use libc::pid_t;

use super::super::Launch;
use super::super::calls::Calls;
use crate::sys::launch::{self, Step};
use crate::sys::seccomp;

/// Starts the program under the tracer.
pub fn start(spec: &Launch) -> Result<(pid_t, OwnedFd), String> {
    let text =
        |value: &OsStr| CString::new(value.as_bytes()).map_err(|_| format!("`{}` holds a zero byte", value.to_string_lossy()));
    let open = |file: io::Result<File>, name: &str| file.map_err(|error| format!("cannot open {name}: {error}"));
    let stdin = open(File::open("/dev/null"), "/dev/null")?;
    let output = open(OpenOptions::new().append(true).create(true).open(&spec.output), &spec.output.to_string_lossy())?;
    let env = spec.env.iter().map(|(name, value)| {
        let mut pair = name.clone();
        pair.push("=");
        pair.push(value);
        text(&pair)
    });
    let filter = if spec.stop_at_calls {
        seccomp::compile(&Calls::new().rules(spec.stop_at_wakes || spec.pauses.is_some()))
    } else {
        Vec::new()
    };
    let launch = launch::Launch {
        program: text(spec.program.as_os_str())?,
        argv: spec.argv.iter().map(|argument| text(argument)).collect::<Result<_, _>>()?,
        env: env.collect::<Result<_, _>>()?,
        dir: text(spec.dir.as_os_str())?,
        stdin: stdin.as_fd(),
        output: output.as_fd(),
        inside: spec.inside.as_deref(),
        filter: &filter,
    };
    launch::launch(&launch).map_err(|(step, error)| start_trouble(spec, step, &error))
}

/// What is said of a start that failed.
pub fn start_trouble(spec: &Launch, step: Step, error: &io::Error) -> String {
    match step {
        Step::Fork => format!("cannot make a process: {error}"),
        Step::Trace => format!("cannot trace (ptrace): {error}; `killpoint doctor` says what to change"),
        Step::Join => format!("cannot join the trial's namespaces: {error}; `--network host` does without"),
        Step::Chdir => format!("cannot enter {}: {error}", spec.dir.display()),
        Step::Filter => format!("cannot install the seccomp filter: {error}; `killpoint doctor` says what to change"),
        Step::Exec => format!("cannot run {}: {error}", spec.program.display()),
    }
}
