//! `killpoint replay --shell` and `--exec`: a program in the world of a finding as it stood at the crash.

use std::path::Path;
use std::sync::Arc;

use killpoint::campaign::{self, Opened, Tell, Visited};
use killpoint::model::event::Event;
use killpoint::model::exit::Exit;
use killpoint::store::FindingFile;

use super::failure::Failure;
use super::story;
use super::terminal::{Terminal, washed};

/// Runs a program in the finding's world; `None`: the user's shell. The exit code is that of the visit, not of a verdict.
///
/// # Errors
/// The finding has no image, or its world cannot be opened.
pub fn open(file: &FindingFile, folder: &Path, command: Option<&[String]>, terminal: &Terminal) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(Exit::Environment, "no threads for the world").cause(error))?;
    let tell: Tell = Arc::new(|_: &Event| ());
    let opened = |opened: &Opened| terminal.note(&told(file, opened));
    let visited = runtime.block_on(async {
        // Ctrl-C is for the program; that somebody listens keeps it from ending killpoint.
        let _listener = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt());
        campaign::visit(file, folder, command, tell, opened).await
    })?;
    let Visited { code, ledger } = visited;
    terminal.note(&format!("\n{}nothing of this visit is kept", story::of_ledger(&ledger)));
    match code {
        Some(0) => Ok(Exit::Clean),
        Some(code) => Err(Failure::new(Exit::Findings, format!("the program exited with {code}"))),
        None => Err(Failure::new(Exit::Findings, "the program died of a signal")),
    }
}

fn told(file: &FindingFile, opened: &Opened) -> String {
    let finding = &file.finding;
    let words: Vec<String> = opened.resume.iter().map(|word| quoted(word)).collect();
    format!(
        "{} {}: {} of {}, as the world stood at {}\n  state    {}\n  sandbox  {}\n  resume   {}\n\
         the environment is that of the workflow; leave the program to end the visit\n",
        finding.id,
        finding.verdict,
        washed(&finding.promise),
        washed(&finding.intent),
        finding.schedule,
        opened.state,
        opened.sandbox,
        washed(&words.join(" ")),
    )
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_typed_as_it_is_shown() {
        assert_eq!(quoted("--thread=t1"), "--thread=t1");
        assert_eq!(quoted("it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!(quoted(""), "''");
    }
}
