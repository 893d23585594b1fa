//! The section `[workflow]`: commands, environment, exit codes, limits.

use std::path::{Path, PathBuf};

use toml::Spanned;

use super::super::command::defaults;
use super::super::diagnostics::Problem;
use super::super::duration::{self, DurationError};
use super::super::file::{DeclaredUnknown, WorkflowFile};
use super::super::value::{Command, InOrder, Number, Scalar, Setup, Text};
use super::{Check, Place};
use crate::model::limits::{LIFE_TIMEOUT_MAX_MS, LIVES_MAX};
use crate::model::scenario::Role;

impl Check<'_> {
    pub(super) fn workflow(&mut self, file: &WorkflowFile, base: &Path) -> Role {
        let start = self.command(&file.start, "start", Place::Trial);
        let dir = file.dir.as_ref().map_or(".", |dir| dir.get_ref());
        let mut role = defaults(String::new(), super::super::absolute(&base.join(dir)), start).roles.remove(0);
        if let Some(dir) = &file.dir {
            self.not_empty(dir, "dir", "leave it out for the folder of this file");
        }
        role.dir_copy = file.dir_copy;
        role.state_paths = file.state_paths.iter().map(|path| self.state_path(path, &role.dir)).collect();
        role.setup = file.setup.as_ref().map_or_else(Vec::new, |setup| self.setup(setup));
        role.setup_reads =
            file.setup_reads.iter().map(|read| self.not_empty(read, "setup_reads", "name a file relative to `dir`")).collect();
        role.setup_always = file.setup_always;
        if let Some(resume) = &file.resume {
            role.resume = self.command(resume, "resume", Place::Trial);
        }
        role.reset = file.reset.as_ref().map_or_else(Vec::new, |command| self.command(command, "reset", Place::Trial));
        role.reconcile =
            file.reconcile.as_ref().map_or_else(Vec::new, |command| self.command(command, "reconcile", Place::Trial));
        role.env = self.env(&file.env);
        role.network = self.word(file.network.as_ref(), "network", &[]);
        self.exit_codes(file, &mut role);
        let declared: Option<DeclaredUnknown> =
            file.declared_unknown.as_ref().and_then(|word| self.one_word(word, "`declared_unknown`", &[]));
        role.accept_declared_unknown = declared == Some(DeclaredUnknown::Accept);
        role.ignore = file.ignore.iter().map(|glob| self.glob(glob)).collect();
        self.limits(file, &mut role);
        role
    }

    fn state_path(&mut self, path: &Text, dir: &Path) -> PathBuf {
        let folder = super::super::absolute(&dir.join(self.not_empty(path, "state_paths", "name a folder")));
        if folder == Path::new("/") {
            let problem = Problem::at(path.span(), "the whole file system cannot be copied for each trial");
            self.report(problem.label("name the folder that holds the state"));
        }
        folder
    }

    fn limits(&mut self, file: &WorkflowFile, role: &mut Role) {
        if let Some(time) = &file.life_timeout {
            role.life_timeout_ms = self.time(time, "life_timeout", 1, LIFE_TIMEOUT_MAX_MS);
        }
        if let Some(time) = &file.drain {
            role.drain_ms = self.time(time, "drain", 0, LIFE_TIMEOUT_MAX_MS);
        }
        if let Some(time) = &file.linger {
            role.linger_ms = self.time(time, "linger", 0, LIFE_TIMEOUT_MAX_MS);
        }
        match &file.lives_max {
            Some(number) if *number.get_ref() == 1 => {
                let problem = Problem::at(number.span(), "one life is not enough");
                self.report(
                    problem.label("at least 2").hint("the first life is killed; another one must show what becomes of its work"),
                );
            }
            Some(number) => role.lives_max = self.number(number, 2..=LIVES_MAX, "`lives_max`"),
            None => {}
        }
    }

    fn command(&mut self, command: &Spanned<Command>, key: &str, place: Place) -> Vec<String> {
        match command.get_ref() {
            Command::Line(line) => {
                self.needs_a_list(command.span(), key, line);
                Vec::new()
            }
            Command::Words(words) => {
                if words.first().is_none_or(|program| program.get_ref().is_empty()) {
                    let at = words.first().map_or(command.span(), Spanned::span);
                    let problem =
                        Problem::at(at, format!("`{key}` names no program")).label("expected a program and its arguments");
                    self.report(problem.hint(format!("such as `{key} = [\"python\", \"refund.py\"]`")));
                }
                words.iter().map(|word| self.process_text(word, place)).collect()
            }
        }
    }

    fn needs_a_list(&mut self, at: std::ops::Range<usize>, key: &str, line: &str) {
        self.matrix_unclear = true;
        let words: Vec<String> = line.split_whitespace().map(|word| format!("{word:?}")).collect();
        let list = words.join(", ");
        let problem =
            Problem::at(at, format!("`{key}` must be a list of texts")).label("this is one text, and no shell takes it apart");
        // Where a shell's own characters stand in it, only a shell can say what the words are.
        let plain = !words.is_empty() && !line.contains(['"', '\'', '$', '|', '&', ';', '<', '>', '*', '\\', '`', '(']);
        let problem = if plain { problem.hint(format!("write the words one by one: `{key} = [{list}]`")) } else { problem };
        self.report(problem.hint(format!("or let a shell do it: `{key} = [\"sh\", \"-c\", \"...\"]`")));
    }

    fn setup(&mut self, setup: &Spanned<Setup>) -> Vec<Vec<String>> {
        let items = match setup.get_ref() {
            Setup::Line(line) => {
                self.needs_a_list(setup.span(), "setup", line);
                return Vec::new();
            }
            Setup::Items(items) => items,
        };
        let is_word = |item: &&Spanned<Command>| matches!(item.get_ref(), Command::Line(_));
        let (word, list) = (items.iter().find(is_word), items.iter().find(|item| !is_word(item)));
        match (word, list) {
            (Some(word), Some(list)) => {
                let problem = Problem::at(word.span(), "`setup` mixes words and commands").label("this is a word");
                let problem = problem.other(list.span(), "this is a command");
                self.report(problem.hint("write each command as a list: `setup = [[\"make\"], [\"make\", \"install\"]]`"));
                Vec::new()
            }
            (Some(first), None) => {
                let words: Vec<Text> = items.iter().filter_map(as_word).collect();
                vec![self.command(&Spanned::new(first.span(), Command::Words(words)), "setup", Place::Setup)]
            }
            _ => items.iter().map(|item| self.command(item, "setup", Place::Setup)).collect(),
        }
    }

    fn env(&mut self, env: &InOrder<Spanned<Scalar>>) -> Vec<(String, String)> {
        let mut pairs = Vec::new();
        for (name, value) in &env.0 {
            if name.get_ref().is_empty() || name.get_ref().contains(['=', '\0']) {
                let problem = Problem::at(name.span(), "this cannot be the name of an environment variable");
                self.report(problem.label("empty, or with `=` or NUL in it"));
            }
            let text = Spanned::new(value.span(), value.get_ref().text.clone());
            pairs.push((name.get_ref().clone(), self.process_text(&text, Place::Trial)));
        }
        pairs
    }

    fn exit_codes(&mut self, file: &WorkflowFile, role: &mut Role) {
        let no_codes = Vec::new();
        let done = file.done_exit_codes.as_ref().map_or(&no_codes, |codes| codes.get_ref());
        if let Some(codes) = &file.done_exit_codes {
            role.done_exit_codes = self.codes(codes.get_ref(), "an exit code");
            if codes.get_ref().is_empty() {
                let problem = Problem::at(codes.span(), "no exit code says that the workflow is done");
                self.report(problem.label("expected at least one").hint("leave it out for `[0]`"));
            }
        }
        role.unknown_exit_codes = self.codes(&file.unknown_exit_codes, "an exit code");
        for code in &file.unknown_exit_codes {
            let value = i32::try_from(*code.get_ref()).unwrap_or(-1);
            if !role.done_exit_codes.contains(&value) {
                continue;
            }
            let problem = Problem::at(code.span(), format!("the exit code {value} says two things")).label("*unknown* here");
            let twin = done.iter().find(|done| done.get_ref() == code.get_ref());
            let problem = match twin {
                Some(twin) => problem.other(twin.span(), "*done* here").hint("take it out of one of them"),
                None => problem.hint("0 says *done* unless `done_exit_codes` says otherwise"),
            };
            self.report(problem);
        }
    }

    fn codes(&mut self, codes: &[Number], what: &str) -> Vec<i32> {
        codes.iter().map(|code| self.number(code, 0..=255, what)).collect()
    }

    fn glob(&mut self, glob: &Text) -> String {
        if let Err(error) = globset::Glob::new(glob.get_ref()) {
            let problem = Problem::at(glob.span(), "not a glob").label(error.kind().to_string());
            self.report(problem.hint("such as `\"*.log\"` or `\"cache/**\"`"));
        }
        self.not_empty(glob, "ignore", "such as `\"*.log\"` or `\"cache/**\"`")
    }

    fn not_empty(&mut self, text: &Text, key: &str, hint: &str) -> String {
        if text.get_ref().is_empty() {
            self.report(Problem::at(text.span(), format!("an empty text in `{key}`")).hint(hint));
        }
        self.no_nul(text);
        text.get_ref().clone()
    }

    pub(super) fn time(&mut self, time: &Spanned<Scalar>, key: &str, least_ms: u64, most_ms: u64) -> u64 {
        let Scalar { text, quoted } = time.get_ref();
        let expected = "expected a whole number with `ms`, `s`, `m` or `h`, in quotes";
        let hint = match duration::parse_ms(text) {
            Ok(ms) if *quoted && (least_ms..=most_ms).contains(&ms) => return ms,
            Ok(ms) if ms < least_ms => format!("a life needs some time: `{key} = \"30s\"`"),
            Ok(_) | Err(DurationError::TooLong) => format!("at most {}", duration::format_ms(most_ms)),
            Err(DurationError::NoUnit) => format!("`{key} = \"{text}s\"` for seconds, `{key} = \"{text}ms\"` for milliseconds"),
            Err(DurationError::Malformed) => format!("such as `{key} = \"30s\"` or `{key} = \"1500ms\"`"),
        };
        let title = match duration::parse_ms(text) {
            Ok(ms) if ms < least_ms => "no time at all".to_owned(),
            Ok(_) => "too long a time".to_owned(),
            Err(error) => error.to_string(),
        };
        self.report(Problem::at(time.span(), format!("`{key}`: {title}")).label(expected).hint(hint));
        least_ms
    }
}

fn as_word(item: &Spanned<Command>) -> Option<Text> {
    match item.get_ref() {
        Command::Line(word) => Some(Spanned::new(item.span(), word.clone())),
        Command::Words(_) => None,
    }
}
