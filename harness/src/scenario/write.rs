//! A scenario as a commented TOML file, which reads back to the same value.

use std::collections::BTreeMap;

use serde::Serialize;

use super::duration::format_ms;
use crate::model::promise::{Count, IntentSource, Promise, Source};
use crate::model::scenario::{CampaignSpec, Role, Scenario, StepFailure, Strategy};

/// The scenario as a file, with a comment for each part.
///
/// `dir` is written as it stands; a relative one is read against the file's folder.
/// What a file cannot say is lost: processes besides the first, and a count of a single intent that is not exact.
#[must_use]
pub fn to_toml(scenario: &Scenario) -> String {
    let mut file = Writer(String::new());
    file.line("# A killpoint scenario. `killpoint schema` prints the JSON Schema of this format.");
    file.entry("name", &scenario.name, "");
    file.entry("scope", scenario.scope, "");
    file.workflow(scenario.workflow());
    file.line("\n# The outside world, as killpoint plays it.\n[sandbox]");
    file.entry("profile", scenario.sandbox.profile, "whose idempotency rules it follows");
    if let Some(key) = &scenario.sandbox.key {
        file.entry("key", key.to_string(), "where requests have their idempotency key");
    }
    if scenario.sandbox.key_age_ms > 0 {
        file.entry("key_age", format_ms(scenario.sandbox.key_age_ms), "time that passes between two lives, for keys");
    }
    if let Some(upstream) = &scenario.sandbox.upstream {
        file.entry("upstream", upstream, "the server that is asked instead");
    }
    if scenario.sandbox.mcp_keys {
        file.entry("mcp_keys", true, "its MCP tools take an idempotency key");
    }
    if scenario.promises.is_empty() {
        file.line(
            "\n# No promise is written down: every intent seen in the clean run must be done as often as there. For example:",
        );
        file.line("# [[promise]]\n# name = \"charge\"\n# effect = \"POST /v1/charges\"\n# intent = \"$.metadata.invoice\"\n# exactly = 1\n");
    }
    if !scenario.promises.is_empty() {
        file.line("\n# What the workflow owes the outside world, per intent.");
    }
    scenario.promises.iter().for_each(|promise| file.promise(promise));
    if !scenario.matrix.is_empty() {
        file.line("# One campaign per combination; {matrix.NAME} stands for the value.\n[matrix]");
        scenario.matrix.iter().for_each(|(name, values)| file.entry(name, values, ""));
        file.line("");
    }
    file.campaign(&scenario.campaign);
    file.0
}

struct Writer(String);

impl Writer {
    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    /// One key with its value, and a comment behind it.
    fn entry(&mut self, key: &str, value: impl Serialize, comment: &str) {
        let written = toml::to_string(&BTreeMap::from([(key, value)])).expect("texts, numbers and lists of them are TOML");
        let separator = if comment.is_empty() { "" } else { "  # " };
        self.line(&format!("{}{separator}{comment}", written.trim_end_matches('\n')));
    }

    fn workflow(&mut self, role: &Role) {
        self.line("\n[workflow]");
        self.entry("dir", role.dir.to_string_lossy(), "working directory, relative to this file's folder");
        self.entry("dir_copy", role.dir_copy, "whether every trial gets its own copy of it");
        if !role.state_paths.is_empty() {
            let paths: Vec<_> = role.state_paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
            self.entry("state_paths", &paths, "folders elsewhere that hold state as well");
        }
        if !role.setup.is_empty() {
            self.line("# Run once before the first life, cached by the content of what it reads.");
            self.entry("setup", &role.setup, "");
        }
        self.entry("setup_reads", &role.setup_reads, "more files that the setup's cache depends on");
        self.entry("setup_always", role.setup_always, "whether it keeps a cache of its own");
        self.line(
            "# The first life and the later ones. {state} is a fresh folder for durable state, {sandbox.url} the billing API.",
        );
        self.entry("start", &role.start, "");
        self.entry("resume", &role.resume, "");
        if !role.reset.is_empty() {
            self.entry("reset", &role.reset, "run before the first life of a trial, uninjured");
        }
        if !role.reconcile.is_empty() {
            self.entry("reconcile", &role.reconcile, "run after the last life of a trial, uninjured");
        }
        self.entry("network", role.network, "whose its lives have: private or host");
        self.entry("done_exit_codes", &role.done_exit_codes, "these say: done");
        self.entry("unknown_exit_codes", &role.unknown_exit_codes, "these say: I do not know, a person must look");
        let declared = if role.accept_declared_unknown { "accept" } else { "reject" };
        self.entry("declared_unknown", declared, "whether that is enough");
        self.entry("ignore", &role.ignore, "globs of paths whose change is harmless");
        self.entry("life_timeout", format_ms(role.life_timeout_ms), "time one life may take");
        self.entry("lives_max", role.lives_max, "lives of one trial");
        self.entry("drain", format_ms(role.drain_ms), "how long the sandbox listens on after the last life");
        self.entry("linger", format_ms(role.linger_ms), "how long a descendant may stay idle after the first process");
        if !role.env.is_empty() {
            self.line("\n[workflow.env]");
            role.env.iter().for_each(|(name, value)| self.entry(name, value, ""));
        }
    }

    fn promise(&mut self, promise: &Promise) {
        self.line("[[promise]]");
        self.entry("name", &promise.name, "");
        self.entry("effect", promise.endpoint.to_string(), "");
        match &promise.source {
            Some(Source::Rows { database, query }) => {
                self.entry("database", database, "");
                self.entry("query", query, "each row is one effect");
            }
            Some(Source::Lines { file }) => self.entry("file", file, "each line of JSON is one effect"),
            None => {}
        }
        let intent = match &promise.intent {
            IntentSource::Body(path) => Some(path.clone()),
            IntentSource::Header(name) => Some(format!("header:{name}")),
            IntentSource::Query(name) => Some(format!("query:{name}")),
            IntentSource::Auto => None,
        };
        if let Some(intent) = intent {
            self.entry("intent", intent, "");
        }
        match promise.count {
            Count { at_least, at_most: Some(at_most) } if at_least == at_most => self.entry("exactly", at_least, ""),
            Count { at_least, at_most } => {
                self.entry("at_least", at_least, "");
                if let Some(at_most) = at_most {
                    self.entry("at_most", at_most, "");
                }
            }
        }
        if let Some(amount) = &promise.amount {
            self.entry("amount", amount, "must be the same in every life");
        }
        if let Some(net_of) = &promise.net_of {
            self.entry("net_of", net_of.to_string(), "what these give back whole does not count");
        }
        if let Some(by) = &promise.reconciled_by {
            self.entry("reconciled_by", by, "the promise whose effects count in the end");
        }
        if !promise.counts.is_empty() {
            self.line("\n[promise.counts]");
            promise.counts.iter().for_each(|(intent, count)| self.entry(intent, count.at_least, ""));
        }
        self.line("");
    }

    fn campaign(&mut self, campaign: &CampaignSpec) {
        self.line("[campaign]");
        self.entry("strategy", campaign.strategy, "sweep: every point; sample: seeded draws");
        self.entry("points", campaign.points, "all, or window: from the first promised effect on");
        self.entry("faults", &campaign.faults, "kill, and what can go wrong between the workflow and the outside world");
        if !campaign.fail.is_empty() {
            let one = |fail: &StepFailure| {
                format!("{{ effect = {:?}, at = {}, status = {}, times = {} }}", fail.effect, fail.at, fail.status, fail.times)
            };
            self.line("# Steps that are made to fail.");
            self.line(&format!("fail = [{}]", campaign.fail.iter().map(one).collect::<Vec<_>>().join(", ")));
        }
        self.entry("seed", campaign.seed, "of a sample");
        if campaign.strategy == Strategy::Sample {
            self.entry("trials", campaign.trials, "");
        }
        self.entry("mode", campaign.mode, "auto: from crash images where that is sound; image; kill: a SIGKILL for each trial");
        self.entry("dedup", campaign.dedup, "which states are taken as one: none, raw, logical");
        self.entry("depth", campaign.depth, "lives of one trial that are crashed; 2: those that resume as well");
        self.entry("interleavings", &campaign.interleavings, "orders of threads that are recorded");
        self.entry("twice", campaign.twice, "whether the clean run is made twice, to learn what is not repeatable");
    }
}
