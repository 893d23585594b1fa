//! `killpoint init`: runs a command once, uninjured, and writes a scenario with a promise for each effect that it saw.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use killpoint::campaign::{self, Abort, CampaignError, CellPoints, Tell};
use killpoint::model::exit::Exit;
use killpoint::model::promise::{IntentSource, Promise};
use killpoint::model::scenario::Scenario;
use killpoint::scenario;

use super::failure::Failure;
use super::target::{LifeArgs, ResumeArgs, from_command};
use super::terminal::{Terminal, washed};
use super::{guess, help, options, points, work};

/// Write a scenario from one clean run of a command.
///
/// The command runs once, uninjured, with the billing API at BILLING_URL and STRIPE_API_BASE and an empty folder at STATE_DIR.
/// The file gets a promise for each effect that was seen, with a guess of where its intent stands. Look it through: the promises
/// are what killpoint judges by.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = help::AFTER_INIT)]
pub struct InitArgs {
    /// The command
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
    /// The file to write
    #[arg(long, short, default_value = "killpoint.toml", value_name = "FILE")]
    out: PathBuf,
    /// Write over a file that is there
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    lives: LifeArgs,
    #[command(flatten)]
    resumes: ResumeArgs,
}

/// What the clean run showed.
enum Seen {
    /// It went well.
    Effects(Vec<Promise>),
    /// It ran and failed.
    Broken(String),
    /// It could not be run.
    NotRun(Failure),
}

impl InitArgs {
    /// Runs the command and writes the file.
    ///
    /// # Errors
    /// The file is there or cannot be written, or the run was interrupted.
    pub fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        if self.out.exists() && !self.force {
            let told = Failure::usage(format!("{} is there already", self.out.display()));
            return Err(told.hint("name another file with `--out FILE`, or write over it with `--force`"));
        }
        let mut made = from_command(&self.command, &self.lives, &self.resumes)?;
        let seen = observe(&made, terminal)?;
        if let Seen::Effects(promises) = &seen {
            made.promises.clone_from(promises);
        }
        made.roles[0].dir = relative(&made.roles[0].dir, &self.out);
        let text = format!("{}{}", header(&self.command, &seen), scenario::to_toml(&made));
        write(&self.out, &text, self.force)?;
        self.tell(seen, terminal)
    }

    fn tell(&self, seen: Seen, terminal: &Terminal) -> Result<Exit, Failure> {
        let file = self.out.display();
        match seen {
            Seen::Effects(promises) => {
                terminal.print(&summary(&promises, &self.out))?;
                Ok(Exit::Clean)
            }
            Seen::Broken(reason) => {
                let told = Failure::new(Exit::BaselineBroken, format!("{file} is a skeleton without promises: {reason}"));
                Err(told.hint("make the command work with BILLING_URL and STATE_DIR, then run `killpoint init --force` again"))
            }
            Seen::NotRun(failure) => {
                terminal.note(&format!("warning: {file} is a skeleton without promises, because the command could not be run"));
                Err(failure)
            }
        }
    }
}

fn observe(made: &Scenario, terminal: &Terminal) -> Result<Seen, Failure> {
    let asked = campaign::Options { jobs: options::jobs(None), at: None, only: Vec::new(), class_check: 0 };
    let told = "interrupted: ending the running life; no file is written".to_owned();
    let run = async |tell: Tell, abort: &Abort| (campaign::points(made, &asked, tell, abort).await, abort.is_set());
    match work::carry_out(terminal, false, told, run)? {
        // What an interrupted run has not done says nothing of the command.
        (_, true) => Err(Failure::from(CampaignError::Interrupted)),
        (Ok(cells), false) => Ok(seen(&cells, &made.workflow().done_exit_codes)),
        (Err(error), false) => Ok(Seen::NotRun(Failure::from(error))),
    }
}

fn seen(cells: &[CellPoints], done_exit_codes: &[i32]) -> Seen {
    let Some(cell) = cells.first() else {
        return Seen::Broken("there was no clean run".to_owned());
    };
    match points::broken(cell, done_exit_codes) {
        Some(reason) => Seen::Broken(reason),
        None => Seen::Effects(guess::promises(&cell.ledger)),
    }
}

/// Why the file is as it is.
fn header(command: &[String], seen: &Seen) -> String {
    let command: Vec<String> = command.iter().map(|word| washed(word)).collect();
    let found = match seen {
        Seen::Effects(promises) if promises.is_empty() => {
            "# The run had no effect at the sandbox: does the command send its requests to BILLING_URL or STRIPE_API_BASE?"
        }
        Seen::Effects(_) => "# The promises are guessed from that run: see that each `intent` is what somebody asked for, once.",
        Seen::Broken(_) | Seen::NotRun(_) => {
            "# That run failed, so nothing is known of its effects: write the promises down below."
        }
    };
    format!("# Made by `killpoint init` from one clean run of: {}\n{found}\n\n", command.join(" "))
}

fn summary(promises: &[Promise], out: &Path) -> String {
    let file = out.display();
    let mut text = format!("wrote {file}\n");
    if promises.is_empty() {
        text.push_str("no effect was seen: does the command send its requests to BILLING_URL or STRIPE_API_BASE?\n");
    }
    for promise in promises {
        let intent = match &promise.intent {
            IntentSource::Body(path) => format!("intent {}", washed(path)),
            _ => "intent not found: the whole body stands for it".to_owned(),
        };
        let _ = writeln!(
            text,
            "  {}: {}, {} per intent, {intent}",
            promise.name,
            washed(&promise.endpoint.to_string()),
            promise.count
        );
    }
    let _ = writeln!(text, "look it through, then: killpoint run {file}");
    text
}

/// A folder as seen from the folder of a file, where one of them lies within the other; else as it is.
fn relative(dir: &Path, file: &Path) -> PathBuf {
    let Ok(file) = std::path::absolute(file) else { return dir.to_owned() };
    let folder = file.parent().unwrap_or(Path::new("/"));
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    if folder == dir {
        return PathBuf::from(".");
    }
    if let Ok(below) = dir.strip_prefix(&folder) {
        return below.to_owned();
    }
    match folder.strip_prefix(&dir) {
        Ok(above) => above.components().map(|_| "..").collect(),
        Err(_) => dir,
    }
}

/// Writes the file; without `force` never over one that is there, even if it came while the command ran.
fn write(out: &Path, text: &str, force: bool) -> Result<(), Failure> {
    use std::io::Write as _;
    let mut how = std::fs::OpenOptions::new();
    how.write(true).create(true).truncate(force).create_new(!force);
    let written = how.open(out).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Failure::new(Exit::Environment, format!("cannot write {}", out.display())).cause(error))
}

#[cfg(test)]
mod tests {
    use super::super::tests::samples;
    use super::*;

    #[test]
    fn what_is_written_reads_back_with_a_promise_for_each_effect() {
        let command = ["python3".to_owned(), "refund.py".to_owned()];
        let mut made = scenario::from_command(&command, Path::new("/srv"));
        let seen = seen(&[samples::cell()], &[0]);
        let Seen::Effects(promises) = &seen else { panic!("the run went well") };
        made.promises.clone_from(promises);
        let text = format!("{}{}", header(&command, &seen), scenario::to_toml(&made));
        let read = scenario::parse(&text, "killpoint.toml", Path::new("/")).unwrap();
        assert_eq!(read, made);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_run_that_failed_gives_a_skeleton_that_reads_back() {
        let mut cell = samples::cell();
        cell.life.end = killpoint::model::life::LifeEnd::Exited { code: 1 };
        let seen = seen(&[cell], &[0]);
        assert!(matches!(seen, Seen::Broken(_)));
        let command = ["a\nb".to_owned()];
        let text = format!("{}{}", header(&command, &seen), scenario::to_toml(&scenario::from_command(&command, Path::new("/"))));
        assert!(scenario::parse(&text, "killpoint.toml", Path::new("/")).is_ok(), "{text}");
    }

    #[test]
    fn a_file_that_is_there_is_not_written_over_without_force() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.toml");
        write(&file, "a longer first one", false).unwrap();
        assert_eq!(write(&file, "second", false).expect_err("it is there").exit, Exit::Environment);
        write(&file, "third", true).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "third");
    }

    #[test]
    fn the_folder_is_written_as_seen_from_the_file() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("a/b")).unwrap();
        assert_eq!(relative(&base, &base.join("k.toml")), Path::new("."));
        assert_eq!(relative(&base.join("a/b"), &base.join("k.toml")), Path::new("a/b"));
        assert_eq!(relative(&base, &base.join("a/b/k.toml")), Path::new("../.."));
        assert_eq!(relative(Path::new("/"), &base.join("k.toml")).components().count(), base.components().count() - 1);
    }
}
