//! A policy made of closures, and Python programs that it watches.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use super::*;

type OnCall<'a> = Box<dyn FnMut(&Call) -> Action + Send + 'a>;
type OnImage<'a> = Box<dyn FnMut(bool) + Send + 'a>;
type Holds<'a> = Box<dyn FnMut(&Call) -> bool + Send + 'a>;
type Quiet<'a> = Box<dyn Fn() -> bool + Send + 'a>;

/// Does what each test says, and counts.
pub struct Hands<'a> {
    pub on_call: OnCall<'a>,
    pub on_image: OnImage<'a>,
    pub holds: Holds<'a>,
    pub quiet: Quiet<'a>,
    /// How often each call on a file was asked about.
    pub asked: HashMap<String, u32>,
    /// Of each image, whether all stood.
    pub images: Vec<bool>,
}

impl Default for Hands<'_> {
    fn default() -> Self {
        Self {
            on_call: Box::new(|_| Action::Continue),
            on_image: Box::new(|_| ()),
            holds: Box::new(|_| false),
            quiet: Box::new(|| true),
            asked: HashMap::new(),
            images: Vec::new(),
        }
    }
}

impl Hands<'_> {
    /// One that has an image made at every call.
    pub fn at_every_call() -> Self {
        Self { on_call: Box::new(|_| Action::Image), ..Self::default() }
    }

    /// How often a call on a file of this name was asked about.
    pub fn asked(&self, syscall: &str, file: &str) -> u32 {
        self.asked.get(&format!("{syscall}({file})")).copied().unwrap_or(0)
    }
}

/// The name of the file that a call acts on.
pub fn file(call: &Call) -> String {
    match &call.object {
        Object::Path(path) => path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        _ => String::new(),
    }
}

impl Policy for Hands<'_> {
    fn on_call(&mut self, call: &Call) -> Action {
        *self.asked.entry(format!("{}({})", call.syscall, file(call))).or_default() += 1;
        (self.on_call)(call)
    }
    fn on_image(&mut self, all_stand: bool) {
        self.images.push(all_stand);
        (self.on_image)(all_stand);
    }
    fn holds(&mut self, call: &Call) -> bool {
        (self.holds)(call)
    }
    fn is_quiet_outside(&self) -> bool {
        (self.quiet)()
    }
    fn on_notice(&mut self, _: Notice, _: Option<&Object>) {}
    fn on_first_exit(&mut self) {}
}

/// A Python program that runs in a folder; `out(name, text)` appends to a file by one write, `state(tid)` is that of a thread of its
/// own.
pub fn python(dir: &Path, script: &str) -> Launch {
    const HEAD: &str = "import os, sys, socket, subprocess, threading, time\n\
        def out(name, text):\n    fd = os.open(name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)\n    os.write(fd, text.encode())\n    os.close(fd)\n\
        def state(tid):\n    return open(f'/proc/self/task/{tid}/stat').read().rsplit(') ')[1][0]\n\
        def start(work):\n    t = threading.Thread(target=work)\n    t.start()\n    return t\n";
    static PYTHON: OnceLock<PathBuf> = OnceLock::new();
    let program = PYTHON.get_or_init(|| {
        let said = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().expect("python3 runs");
        PathBuf::from(String::from_utf8_lossy(&said.stdout).trim())
    });
    let env = [("PATH", "/usr/bin:/bin"), ("PYTHONDONTWRITEBYTECODE", "1")];
    Launch {
        program: program.clone(),
        argv: [program.into(), "-Sc".into(), format!("{HEAD}{script}").into()].to_vec(),
        env: env.map(|(name, value)| (name.into(), value.into())).to_vec(),
        ..shell(dir, "")
    }
}

/// Runs a program that must end well.
pub fn ends_well(launch: &Launch, hands: &mut Hands<'_>) -> Outcome {
    let outcome = run_life(launch, hands, &Control::default());
    assert_eq!(outcome.death, Death::Exited(0), "{:?}", std::fs::read_to_string(&launch.output));
    outcome
}

/// What a file holds; nothing where there is none.
pub fn read(dir: &Path, name: &str) -> String {
    std::fs::read_to_string(dir.join(name)).unwrap_or_default()
}
