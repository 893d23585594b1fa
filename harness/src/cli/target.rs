//! What is to be looked at: a scenario file or a bare command, with the flags that change how its lives are run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use killpoint::campaign::Source;
use killpoint::model::limits::{LIFE_TIMEOUT_MAX_MS, LIVES_MAX, SLOW_ACK_MAX_MS};
use killpoint::model::scenario::{Network, Scenario};
use killpoint::scenario;

use super::failure::Failure;
use super::terminal::washed;

/// A scenario file or a command.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct TargetArgs {
    /// A scenario file
    #[arg(value_name = "SCENARIO")]
    pub scenario: Option<PathBuf>,
    /// A command instead of a scenario: it finds the billing API at BILLING_URL and STRIPE_API_BASE, its MCP tools at MCP_URL, its mail server at SMTP_URL and an empty folder at STATE_DIR
    ///
    /// Its promise: every intent that its clean run shows is done as often as there, whatever crashes.
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<String>,
}

/// How a life is run.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Workflow")]
pub struct LifeArgs {
    /// Time one life may take, such as 30s or 2m; one that takes longer is killed and counts as stuck
    #[arg(long, value_name = "TIME", value_parser = life_timeout)]
    pub life_timeout: Option<Duration>,
    /// Whose network the lives have: one of the trial's own, where the kernel allows it, or the machine's
    ///
    /// With their own, lives also have /tmp, /dev/shm and a home folder of their own, at the same paths in every trial.
    #[arg(long, value_enum, value_name = "WHOSE")]
    pub network: Option<NetworkArg>,
    /// Give every trial its own copy of the working directory, for a command that keeps its state there
    ///
    /// Without it only what stands in STATE_DIR and in the temporary folder is reset between trials.
    #[arg(long, requires = "command")]
    pub dir_copy: bool,
}

/// Whose network the lives of a trial have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum NetworkArg {
    /// One of the trial's own
    Private,
    /// The machine's
    Host,
}

/// How a crashed workflow is started again.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Workflow")]
pub struct ResumeArgs {
    /// How the command is resumed after a crash; by default it is started again as it was
    ///
    /// One text, given to `sh -c`, so that quotes and $STATE_DIR mean what they mean in a shell.
    #[arg(long, value_name = "COMMAND", requires = "command")]
    pub resume_cmd: Option<String>,
    /// Lives of one trial, the first one included; a workflow that is not done by then is stuck
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=i64::from(LIVES_MAX)))]
    pub lives_max: Option<u32>,
}

/// A scenario and where it came from.
#[derive(Clone, Debug)]
pub struct Target {
    /// The scenario, with what the flags change.
    pub scenario: Scenario,
    /// Its file and text.
    pub source: Source,
}

impl TargetArgs {
    /// Reads the scenario, or makes one of the command, and applies the flags.
    ///
    /// # Errors
    /// Neither or both are given, or the scenario is wrong.
    pub fn read(&self, lives: &LifeArgs, resume: &ResumeArgs) -> Result<Target, Failure> {
        match (&self.scenario, self.command.is_empty()) {
            (Some(_), false) => {
                let told = Failure::usage("a scenario and a command are given, but only one of them can be run");
                Err(told.hint("the command of a scenario stands in its file: leave out what follows `--`"))
            }
            (None, true) => {
                let told = Failure::usage("there is nothing to run: expected a scenario file, or `--` and a command");
                Err(told.hint("for example `-- python3 refund.py`; see `killpoint --help`"))
            }
            (Some(file), true) => {
                let mut scenario = scenario::load(file).map_err(|error| no_scenario(error, file))?;
                lives.apply(&mut scenario);
                resume.apply(&mut scenario, Path::new("."));
                let text = std::fs::read_to_string(file)
                    .map_err(|error| Failure::usage(format!("cannot read {}", file.display())).cause(error))?;
                Ok(Target { scenario, source: Source { file: Some(file.clone()), text } })
            }
            (None, false) => {
                let scenario = from_command(&self.command, lives, resume)?;
                let text = scenario::to_toml(&scenario);
                Ok(Target { scenario, source: Source { file: None, text } })
            }
        }
    }
}

/// The scenario of a command that is run here.
///
/// # Errors
/// The current directory is gone.
pub fn from_command(command: &[String], lives: &LifeArgs, resume: &ResumeArgs) -> Result<Scenario, Failure> {
    let here = std::env::current_dir().map_err(|error| Failure::usage("the current directory cannot be read").cause(error))?;
    let mut scenario = scenario::from_command(command, &here);
    lives.apply(&mut scenario);
    resume.apply(&mut scenario, &here);
    Ok(scenario)
}

impl LifeArgs {
    fn apply(&self, scenario: &mut Scenario) {
        for role in &mut scenario.roles {
            if let Some(timeout) = self.life_timeout {
                role.life_timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(LIFE_TIMEOUT_MAX_MS);
            }
            role.dir_copy |= self.dir_copy;
            role.network = match self.network {
                Some(NetworkArg::Private) => Network::Private,
                Some(NetworkArg::Host) => Network::Host,
                None => role.network,
            };
        }
    }
}

impl ResumeArgs {
    fn apply(&self, scenario: &mut Scenario, here: &Path) {
        for role in &mut scenario.roles {
            if let Some(lives_max) = self.lives_max {
                role.lives_max = lives_max;
            }
            if let Some(text) = &self.resume_cmd {
                let shell = ["sh", "-c", text].map(str::to_owned);
                // Made the way the command itself was, so that braces mean the same in both.
                role.resume = scenario::from_command(&shell, here).roles.swap_remove(0).start;
            }
        }
    }
}

/// A scenario that cannot be read; where what was given looks like a command, says how to run one.
fn no_scenario(error: scenario::ScenarioError, file: &Path) -> Failure {
    let failure = Failure::from(error);
    let is_toml = file.extension().is_some_and(|ending| ending == "toml");
    if file.exists() || is_toml {
        return failure;
    }
    failure.hint(format!("to run a command, put `--` before it: `-- {} ...`", washed(&file.to_string_lossy())))
}

/// A delay of an answer.
///
/// # Errors
/// It is no time, or longer than an answer can be held back.
pub fn slow_ack(text: &str) -> Result<u64, String> {
    let told = |longest: u64| format!("expected a time such as 500ms, 6s or 2m, of {} s at most", longest / 1_000);
    let time: jiff::SignedDuration = text.parse().map_err(|_| told(SLOW_ACK_MAX_MS))?;
    let ms = u64::try_from(time.as_millis()).map_err(|_| told(SLOW_ACK_MAX_MS))?;
    if (1..=SLOW_ACK_MAX_MS).contains(&ms) { Ok(ms) } else { Err(told(SLOW_ACK_MAX_MS)) }
}

fn life_timeout(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a time such as 30s, 500ms or 2m".to_owned();
    let time: jiff::SignedDuration = text.parse().map_err(|_| wrong())?;
    let time = Duration::try_from(time).map_err(|_| wrong())?;
    match time.as_millis() {
        0 => Err("a life needs at least 1ms".to_owned()),
        ms if ms > u128::from(LIFE_TIMEOUT_MAX_MS) => Err("a life may take one day at most".to_owned()),
        _ => Ok(time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command() -> TargetArgs {
        TargetArgs { scenario: None, command: vec!["python3".to_owned(), "refund.py".to_owned()] }
    }

    #[test]
    fn a_time_is_read_with_its_unit_and_within_its_limit() {
        assert_eq!(life_timeout("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(life_timeout("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(life_timeout("2m"), Ok(Duration::from_secs(120)));
        for wrong in ["30", "-1s", "0s", "25h", "", "soon", "99999999999999999999s"] {
            assert!(life_timeout(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn flags_go_before_what_a_command_has_by_default() {
        let lives = LifeArgs { life_timeout: Some(Duration::from_secs(3)), dir_copy: true, network: Some(NetworkArg::Host) };
        let resume = ResumeArgs { resume_cmd: Some("resume \"${STATE_DIR}\" {state}".to_owned()), lives_max: Some(9) };
        let role = command().read(&lives, &resume).unwrap().scenario.roles.remove(0);
        assert_eq!((role.life_timeout_ms, role.dir_copy, role.lives_max), (3_000, true, 9));
        assert_eq!(role.network, Network::Host);
        assert_eq!(role.start, ["python3", "refund.py"]);
        assert_eq!(role.resume, ["sh", "-c", "resume \"${{STATE_DIR}}\" {state}"]);
    }

    #[test]
    fn a_bare_command_is_written_out_as_the_scenario_that_it_is() {
        let target = command().read(&LifeArgs::default(), &ResumeArgs::default()).unwrap();
        assert_eq!(target.source.file, None);
        let read = scenario::parse(&target.source.text, "command", Path::new("/")).unwrap();
        assert_eq!(read, target.scenario);
    }

    #[test]
    fn a_scenario_and_a_command_or_neither_are_refused() {
        let both = TargetArgs { scenario: Some("a.toml".into()), ..command() };
        for args in [both, TargetArgs::default()] {
            let failure = args.read(&LifeArgs::default(), &ResumeArgs::default()).expect_err("refused");
            assert_eq!(failure.exit, killpoint::model::exit::Exit::Usage);
        }
    }
}
