//! The second step of `killpoint run`: makes checked options of what was typed. The flag goes before the scenario file, and that
//! before the default.

use std::path::PathBuf;

use killpoint::campaign;
use killpoint::model::limits::JOBS_MAX;
use killpoint::model::scenario::{CampaignSpec, Dedup, ModeChoice, PointRange, Scenario, Strategy};

use super::failure::Failure;
use super::record::Record;
use super::run::{PlanArgs, RunArgs};
use super::schedule;

/// Which part of the run the points come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum PointsArg {
    /// The whole run
    All,
    /// From the receipt of the first promised effect to the end of the run
    Window,
}

/// Which points are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum StrategyArg {
    /// Each of them
    Sweep,
    /// Seeded draws
    Sample,
}

/// How trials are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ModeArg {
    /// From crash images where that is sound, else by a SIGKILL each
    Auto,
    /// From crash images of a few recordings; an error where that would not be sound
    Image,
    /// By a SIGKILL each
    Kill,
}

impl From<ModeArg> for ModeChoice {
    fn from(arg: ModeArg) -> Self {
        match arg {
            ModeArg::Auto => Self::Auto,
            ModeArg::Image => Self::Image,
            ModeArg::Kill => Self::Kill,
        }
    }
}

/// Which durable states are taken as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum DedupArg {
    /// None: each crash point is resumed
    None,
    /// Those with equal bytes
    Raw,
    /// Those that mean the same
    Logical,
}

impl From<DedupArg> for Dedup {
    fn from(arg: DedupArg) -> Self {
        match arg {
            DedupArg::None => Self::None,
            DedupArg::Raw => Self::Raw,
            DedupArg::Logical => Self::Logical,
        }
    }
}

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Text,
    /// For programs: one JSON document and nothing else
    Json,
}

/// The run folder to work in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Folder {
    /// A new one below the folder of runs.
    New,
    /// Exactly this new one.
    At(PathBuf),
    /// The one of a run that was cut off.
    Resume(PathBuf),
}

/// A run, ready to begin.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// What it is asked to do.
    pub record: Record,
    /// Where it is written down.
    pub folder: Folder,
    /// Trials side by side.
    pub jobs: usize,
    /// Classes of merged states that are checked.
    pub class_check: usize,
    /// How the report is printed.
    pub format: Format,
    /// Whether nothing but the report and errors is told.
    pub quiet: bool,
}

impl RunOptions {
    /// What the campaign is told.
    pub fn campaign(&self) -> campaign::Options {
        campaign::Options {
            jobs: self.jobs,
            at: self.record.at.clone(),
            only: self.record.only.clone(),
            class_check: self.class_check,
        }
    }
}

impl RunArgs {
    /// Checks what was typed.
    ///
    /// # Errors
    /// The scenario is wrong, or a flag does not go with it.
    pub fn check(&self) -> Result<RunOptions, Failure> {
        let (record, folder) = match &self.resume {
            Some(run) => {
                if !run.is_dir() {
                    let told = Failure::usage(format!("there is no run folder {}", run.display()));
                    return Err(told.hint("give the folder that `killpoint run` named; `ls reports/runs` lists them"));
                }
                (Record::read(run)?, Folder::Resume(run.clone()))
            }
            None => (self.new_run()?, self.out.clone().map_or(Folder::New, Folder::At)),
        };
        let class_check = self.plan.class_check.unwrap_or(0);
        Ok(RunOptions { record, folder, jobs: jobs(self.jobs), class_check, format: self.format, quiet: self.quiet })
    }

    fn new_run(&self) -> Result<Record, Failure> {
        let mut target = self.target.read(&self.lives, &self.resumes)?;
        let only = self.matrix.check(&target.scenario)?;
        let at = self.plan.at.as_deref().map(schedule::read).transpose()?;
        self.plan.apply(&mut target.scenario)?;
        Ok(Record::new(target.scenario, target.source, at, only))
    }
}

impl PlanArgs {
    fn apply(&self, scenario: &mut Scenario) -> Result<(), Failure> {
        let plan: &mut CampaignSpec = &mut scenario.campaign;
        match self.strategy {
            Some(StrategyArg::Sweep) => (plan.strategy, plan.trials) = (Strategy::Sweep, 0),
            Some(StrategyArg::Sample) => plan.strategy = Strategy::Sample,
            None => {}
        }
        match self.points {
            Some(PointsArg::All) => plan.points = PointRange::All,
            Some(PointsArg::Window) => plan.points = PointRange::Window,
            None => {}
        }
        plan.seed = self.seed.unwrap_or(plan.seed);
        plan.twice |= self.twice;
        plan.mode = self.mode.map_or(plan.mode, Into::into);
        plan.dedup = self.dedup.map_or(plan.dedup, Into::into);
        plan.depth = self.depth.unwrap_or(plan.depth);
        if !self.faults.is_empty() {
            plan.faults = self.faults.clone();
            plan.faults.sort_unstable();
            plan.faults.dedup();
        }
        if !self.interleavings.is_empty() {
            plan.interleavings = self.interleavings.clone();
        }
        if plan.depth > 1 && (plan.mode == ModeChoice::Kill || self.at.is_some()) {
            let told = Failure::usage("crashes of resumed lives need images, and this run makes each trial by a SIGKILL");
            return Err(told.hint("leave out `--depth`, or give a schedule of several points to `--at`"));
        }
        match (plan.strategy, self.trials) {
            (Strategy::Sweep, Some(_)) => {
                let told = Failure::usage("`--trials` has no meaning for a sweep, which tries every point");
                Err(told.hint("add `--strategy sample` to draw that many points, or leave it out"))
            }
            (Strategy::Sample, None) if plan.trials == 0 => {
                Err(Failure::usage("a sample needs its size").hint("say how many points are drawn: `--trials 100`"))
            }
            (Strategy::Sample, Some(trials)) => {
                plan.trials = trials;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Trials side by side: what was asked for, else one for each CPU.
pub fn jobs(asked: Option<u32>) -> usize {
    let cpus = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    asked.map_or_else(cpus, |jobs| jobs as usize).clamp(1, JOBS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;
    use killpoint::model::exit::Exit;

    const SAMPLE: &str = "name = \"a\"\n[workflow]\nstart = [\"true\", \"{matrix.speed}\"]\nlife_timeout = \"7s\"\n[matrix]\nspeed = [\"fast\", \"slow\"]\n\
                          [campaign]\nstrategy = \"sample\"\ntrials = 9\nseed = 4\npoints = \"window\"\n";

    fn check(flags: &[&str]) -> Result<RunOptions, Failure> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.toml");
        std::fs::write(&file, SAMPLE).unwrap();
        let file = file.to_string_lossy().into_owned();
        typed(&[&["run", &file], flags].concat()).check()
    }

    fn typed(words: &[&str]) -> RunArgs {
        #[derive(clap::Parser)]
        struct Typed {
            #[command(flatten)]
            args: RunArgs,
        }
        Typed::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).args
    }

    #[test]
    fn what_no_flag_says_comes_from_the_scenario_file() {
        let plan = check(&[]).unwrap().record.scenario.campaign;
        assert_eq!((plan.strategy, plan.trials, plan.seed, plan.points), (Strategy::Sample, 9, 4, PointRange::Window));
        assert!(!plan.twice);
    }

    #[test]
    fn a_flag_goes_before_the_scenario_file() {
        let options = check(&[
            "--trials",
            "2",
            "--seed",
            "5",
            "--points",
            "all",
            "--twice",
            "--life-timeout",
            "3s",
            "--matrix",
            "speed=slow",
        ]);
        let record = options.unwrap().record;
        let plan = &record.scenario.campaign;
        assert_eq!((plan.trials, plan.seed, plan.points, plan.twice), (2, 5, PointRange::All, true));
        assert_eq!(record.scenario.workflow().life_timeout_ms, 3_000);
        assert_eq!(record.only, [("speed".to_owned(), "slow".to_owned())]);
        let plan = check(&["--strategy", "sweep"]).unwrap().record.scenario.campaign;
        assert_eq!((plan.strategy, plan.trials), (Strategy::Sweep, 0));
    }

    #[test]
    fn a_sample_has_a_size_and_a_sweep_has_none() {
        let refused = |words: &[&str]| typed(words).check().expect_err("refused");
        assert_eq!(refused(&["run", "--strategy", "sample", "--", "true"]).exit, Exit::Usage);
        assert_eq!(refused(&["run", "--trials", "3", "--", "true"]).exit, Exit::Usage);
        let sample = typed(&["run", "--strategy", "sample", "--trials", "3", "--", "true"]).check().unwrap();
        assert_eq!(sample.record.scenario.campaign.trials, 3);
    }

    #[test]
    fn jobs_stay_within_their_limit_and_are_never_none() {
        assert_eq!(jobs(Some(3)), 3);
        assert_eq!(jobs(Some(u32::MAX)), JOBS_MAX);
        assert!((1..=JOBS_MAX).contains(&jobs(None)));
    }

    #[test]
    fn a_run_that_was_cut_off_goes_on_as_it_was_asked_for() {
        let base = tempfile::tempdir().unwrap();
        let asked = check(&["--seed", "77", "--at", "start/openat(a)#1", "--matrix", "speed=fast"]).unwrap();
        let run = base.path().join("run");
        asked.record.write(&killpoint::store::RunFolder::create_at(&run).unwrap()).unwrap();
        let resumed = typed(&["run", "--resume", &run.to_string_lossy(), "--jobs", "2"]).check().unwrap();
        assert_eq!((resumed.record.clone(), resumed.jobs), (asked.record, 2));
        assert_eq!(resumed.folder, Folder::Resume(run));
    }
}
