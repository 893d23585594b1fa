//! `killpoint replay`: brings a finding back, as often as asked, and tells what happened.

use std::path::Path;

use killpoint::campaign::{self, Abort, Answer, Tell};
use killpoint::model::exit::Exit;
use killpoint::model::finding::Finding;
use killpoint::model::life::TrialEnd;
use killpoint::model::limits::REPLAYS_MAX;
use killpoint::model::verdict::Verdict;
use killpoint::store::read_finding;

use super::failure::Failure;
use super::terminal::{Terminal, washed};
use super::{RUNS_ROOT, bug, help, story, visit, work};

/// Bring a finding back and tell what happened.
///
/// The finding's file holds the scenario as it was when the finding was made, so it can be replayed after the file has changed.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = help::AFTER_REPLAY)]
pub struct ReplayArgs {
    /// The finding: F1 of the latest run, RUN/F1, or a path to its folder or finding.json
    #[arg(value_name = "FINDING")]
    finding: String,
    /// How often it is brought back, to see whether it comes each time
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=REPLAYS_MAX))]
    times: u32,
    /// Bring it back by a real SIGKILL in a run from the start, also where the finding has a crash image to resume from
    #[arg(long)]
    kill: bool,
    /// Open the world as it stood at the crash in your shell: state folder, sandbox, environment; to look around or to debug the resume
    #[arg(long, conflicts_with_all = ["times", "kill", "exec"])]
    shell: bool,
    /// The same with this command instead of a shell, such as: --exec sqlite3 /tmp/kp/state/checkpoints.db
    #[arg(long, value_name = "CMD", num_args = 1.., allow_hyphen_values = true, conflicts_with_all = ["times", "kill"])]
    exec: Vec<String>,
    /// Tell nothing but what happened and errors
    #[arg(long, short)]
    quiet: bool,
}

impl ReplayArgs {
    /// Carries the finding's schedule out and prints each outcome.
    ///
    /// # Errors
    /// There is no such finding, or its workflow cannot be run.
    pub fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let (folder, file) = read_finding(&self.finding, Path::new(RUNS_ROOT))?;
        bug::note_run_folder(&folder);
        if self.shell || !self.exec.is_empty() {
            let command = (!self.exec.is_empty()).then_some(self.exec.as_slice());
            return visit::open(&file, &folder, command, terminal);
        }
        let run = async |tell: Tell, abort: &Abort| campaign::replay(&file, &folder, self.kill, self.times, tell, abort).await;
        let answers = work::carry_out(terminal, self.quiet, "interrupted: ending the running lives".to_owned(), run)??;
        let is_image = file.image.is_some() && !self.kill;
        terminal.print(&told(&file.finding, &answers, self.times, is_image))?;
        Ok(exit_of(&file.finding, &answers, self.times))
    }
}

fn told(finding: &Finding, answers: &[Answer], times: u32, is_image: bool) -> String {
    let Finding { id, verdict, promise, intent, schedule, .. } = finding;
    let cell = if finding.cell.is_empty() { String::new() } else { format!(" [{}]", washed(&finding.cell.join(" "))) };
    let mut text = format!("{id}: {} of {} {verdict}{cell}\nat {schedule}\n", washed(promise), washed(intent));
    for (index, answer) in answers.iter().enumerate() {
        let of = if times > 1 { format!("time {} of {times}: ", index + 1) } else { String::new() };
        text.push_str(&format!("\n{of}{}\n{}", outcome(finding, answer).words(), story::of(answer, promise, intent)));
    }
    let came = answers.iter().filter(|answer| outcome(finding, answer) == Outcome::CameBack).count();
    let left = times as usize - answers.len().min(times as usize);
    let cut = if left > 0 { format!("; {left} not carried out") } else { String::new() };
    if is_image {
        text.push_str(
            "\nresumed from the crash image: what was done before the crash is as it was then\n\
             hint: after a mend, `--kill` runs the workflow from the start and crashes it at the same point\n",
        );
    }
    text.push_str(&format!("\ncame back {came} of {times} {}{cut}\n", if times == 1 { "time" } else { "times" }));
    text
}

/// What one replay says of the finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    CameBack,
    StayedAway,
    /// It says nothing: the point was not reached, or it could not be judged.
    SaysNothing,
}

impl Outcome {
    fn words(self) -> &'static str {
        match self {
            Self::CameBack => "it came back",
            Self::StayedAway => "it did not come back",
            Self::SaysNothing => "it says nothing of the finding",
        }
    }
}

fn outcome(finding: &Finding, answer: &Answer) -> Outcome {
    let over = matches!(answer.end, TrialEnd::Done | TrialEnd::DeclaredUnknown | TrialEnd::Stuck { .. });
    let own = |promise: &str| promise == finding.promise;
    let mut about = answer.judgements.iter().filter(|judged| own(&judged.promise)).peekable();
    let judged = about.peek().is_some() && about.all(|judged| judged.verdict != Verdict::Unknown);
    match (answer.reached && over, answer.reproduced, judged) {
        (true, true, _) => Outcome::CameBack,
        (true, false, true) => Outcome::StayedAway,
        _ => Outcome::SaysNothing,
    }
}

fn exit_of(finding: &Finding, answers: &[Answer], times: u32) -> Exit {
    let all = |wanted| answers.len() >= times as usize && answers.iter().all(|answer| outcome(finding, answer) == wanted);
    match (all(Outcome::CameBack), all(Outcome::StayedAway)) {
        (true, false) => Exit::Findings,
        (false, true) => Exit::Clean,
        _ => Exit::Inconclusive,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::samples;
    use super::*;

    fn exit(answers: &[Answer], times: u32) -> Exit {
        exit_of(&samples::finding(), answers, times)
    }

    #[test]
    fn only_what_came_back_each_time_is_a_finding_and_only_what_never_did_is_clean() {
        let (came, away) = (samples::answer(true, true), samples::answer(true, false));
        assert_eq!(exit(&[came.clone(), came.clone()], 2), Exit::Findings);
        assert_eq!(exit(&[away.clone(), away.clone()], 2), Exit::Clean);
        assert_eq!(exit(&[came.clone(), away], 2), Exit::Inconclusive);
        assert_eq!(exit(&[came], 2), Exit::Inconclusive, "cut off");
        assert_eq!(exit(&[], 0), Exit::Inconclusive, "nothing was carried out");
    }

    #[test]
    fn a_replay_that_was_not_reached_or_not_judged_says_nothing() {
        assert_eq!(exit(&[samples::answer(false, false)], 1), Exit::Inconclusive);
        let mut unjudged = samples::answer(true, false);
        unjudged.judgements.clear();
        assert_eq!(exit(&[unjudged], 1), Exit::Inconclusive);
        let mut unknown = samples::answer(true, false);
        unknown.judgements = vec![samples::judgement(Verdict::Unknown, 0)];
        assert_eq!(exit(&[unknown], 1), Exit::Inconclusive);
        let mut harness = samples::answer(true, false);
        harness.end = TrialEnd::Environment { reason: "no memory".to_owned() };
        assert_eq!(exit(&[harness], 1), Exit::Inconclusive);
    }

    #[test]
    fn each_time_is_told_and_the_times_are_counted() {
        insta::assert_snapshot!(told(
            &samples::finding(),
            &[samples::answer(true, true), samples::answer(true, false)],
            3,
            false
        ));
    }
}
