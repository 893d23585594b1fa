//! The sections `[[promise]]`: which requests, which intent, how many effects.

use std::collections::BTreeMap;

use toml::Spanned;

use super::super::diagnostics::Problem;
use super::super::file::PromiseFile;
use super::super::value::Text;
use super::Check;
use crate::model::point::is_name;
use crate::model::promise::{Count, Endpoint, IntentSource, Promise};

impl Check<'_> {
    pub(super) fn promises(&mut self, files: &[Spanned<PromiseFile>]) -> Vec<Promise> {
        let (mut names, mut endpoints) = (BTreeMap::new(), BTreeMap::new());
        let mut promises = Vec::new();
        for file in files.iter().map(Spanned::get_ref) {
            let promise = self.promise(file);
            if let Some(first) = names.insert(promise.name.clone(), file.name.span()) {
                let problem = Problem::at(file.name.span(), format!("two promises are called `{}`", promise.name));
                let problem = problem.label("the second one").other(first, "the first one");
                self.report(problem.hint("the name tells them apart in crash points and reports; choose another one"));
            }
            let first = same_requests(&promise.endpoint).and_then(|requests| endpoints.insert(requests, file.effect.span()));
            if let Some(first) = first {
                let problem = Problem::at(file.effect.span(), format!("`{}` is promised twice", promise.endpoint));
                let problem = problem.label("again here").other(first, "first here");
                self.report(problem.hint("a request belongs to one promise; put both into one"));
            }
            promises.push(promise);
        }
        self.reconcilers(files);
        promises
    }

    fn promise(&mut self, file: &PromiseFile) -> Promise {
        let name = file.name.get_ref().clone();
        if !is_name(&name) {
            let problem = Problem::at(file.name.span(), "this cannot name a promise");
            let problem = problem.label("expected letters, digits, `_`, `-` and `.`, and not `start`");
            self.report(problem.hint("the name stands in crash points: `charge#1:answered`"));
        }
        let (endpoint, source) = self.effect(file);
        let intent = file.intent.as_ref().map_or(IntentSource::Auto, |intent| self.intent(intent));
        if let Some(text) = &file.intent {
            self.intent_of_effect(&endpoint, &intent, text);
        }
        let count = self.count(file);
        let counts = self.counts(file);
        let amount = file.amount.as_ref().map(|amount| {
            self.json_path(amount);
            amount.get_ref().clone()
        });
        let net_of = file.net_of.as_ref().map(|net_of| self.net_of(net_of));
        if let (Some(net_of), false) = (&file.net_of, endpoint.is_request()) {
            let problem = Problem::at(net_of.span(), "only requests can be given back").label("these are no requests");
            let problem = problem.other(file.effect.span(), "the effect");
            self.report(problem.hint("leave out in the query what does not count: `WHERE refunded_at IS NULL`"));
        }
        let reconciled_by = file.reconciled_by.as_ref().map(|by| by.get_ref().clone());
        Promise { name, endpoint, intent, count, counts, amount, source, net_of, reconciled_by }
    }

    fn intent(&mut self, intent: &Text) -> IntentSource {
        let text = intent.get_ref().as_str();
        let token = |name: &str| http::HeaderName::try_from(name).ok().map(|name| name.as_str().to_owned());
        if text.starts_with('$') {
            self.json_path(intent);
            return IntentSource::Body(text.to_owned());
        }
        if let Some(name) = text.strip_prefix("query:").filter(|name| !name.is_empty()) {
            return IntentSource::Query(name.to_owned());
        }
        if let Some(name) = text.strip_prefix("header:").and_then(token) {
            return IntentSource::Header(name);
        }
        let problem = Problem::at(intent.span(), "`intent` does not say where to look");
        let problem = problem.label("expected a JSONPath into the body, `header:NAME` or `query:NAME`");
        let field = text.strip_prefix("body:").or_else(|| text.strip_prefix("body.")).unwrap_or(text);
        let example = if is_name(field) { field } else { "metadata.invoice" };
        self.report(problem.hint(format!("a field of the body is written `intent = \"$.{example}\"`")));
        IntentSource::Auto
    }

    /// Checks a JSONPath against RFC 9535.
    pub(super) fn json_path(&mut self, path: &Text) {
        let Err(error) = serde_json_path::JsonPath::parse(path.get_ref()) else { return };
        let text = path.get_ref();
        let start = text.char_indices().map(|(at, _)| at).nth(error.position().saturating_sub(1)).unwrap_or(text.len());
        let length = text[start..].chars().next().map_or(0, char::len_utf8);
        let at = if length == 0 { path.span() } else { self.part(path, start..start + length) };
        let problem = Problem::at(at, format!("`{text}` is not a JSONPath"))
            .label(error.message().replace("parser error", "reading stopped here"));
        self.report(problem.hint("JSONPath (RFC 9535) starts at `$`: `$.amount`, `$.items[0].price`, `$['odd name']`"));
    }

    fn count(&mut self, file: &PromiseFile) -> Count {
        let mut read = |number: &Option<super::Number>, key| number.as_ref().map(|number| self.number(number, 0..=u32::MAX, key));
        let exactly = read(&file.exactly, "`exactly`");
        let (at_least, at_most) = (read(&file.at_least, "`at_least`"), read(&file.at_most, "`at_most`"));
        let bound = file.at_least.as_ref().or(file.at_most.as_ref());
        if let (Some(exact), Some(bound)) = (&file.exactly, bound) {
            let problem = Problem::at(exact.span(), "`exactly` beside `at_least` or `at_most`").label("this says all");
            self.report(problem.other(bound.span(), "this would say something else").hint("keep one of them"));
        }
        match (exactly, at_least, at_most) {
            (Some(exactly), _, _) => Count::exactly(exactly),
            (None, None, None) => Count::exactly(1),
            (None, at_least, at_most) => {
                let count = Count { at_least: at_least.unwrap_or(0), at_most };
                self.possible(file, count);
                count
            }
        }
    }

    /// Bounds that nothing can keep, or nothing can break.
    fn possible(&mut self, file: &PromiseFile, count: Count) {
        let (Some(low), high) = (&file.at_least, &file.at_most) else { return };
        match (count, high) {
            (Count { at_least, at_most: Some(at_most) }, Some(high)) if at_least > at_most => {
                let problem =
                    Problem::at(low.span(), "no number is at least this and at most that").label(format!("at least {at_least}"));
                self.report(problem.other(high.span(), format!("at most {at_most}")).hint("swap them, or write `exactly`"));
            }
            (Count { at_least: 0, at_most: None }, _) => {
                let problem = Problem::at(low.span(), "this promise cannot be broken").label("any number is at least 0");
                self.report(problem.hint("add `at_most`, or write `exactly`"));
            }
            _ => {}
        }
    }

    fn counts(&mut self, file: &PromiseFile) -> BTreeMap<String, Count> {
        let Some(counts) = &file.counts else { return BTreeMap::new() };
        if file.intent.is_none() {
            let problem =
                Problem::at(counts.span(), "`counts` without `intent`").label("these names cannot be found in a request");
            self.report(problem.hint("say where an intent's name stands: `intent = \"$.metadata.invoice\"`"));
        }
        let entries = counts.get_ref().0.iter();
        entries
            .map(|(intent, count)| (intent.get_ref().clone(), Count::exactly(self.number(count, 0..=u32::MAX, "a count"))))
            .collect()
    }
}

/// What two endpoints share that match the same requests; nothing for an endpoint that could not be read.
fn same_requests(endpoint: &Endpoint) -> Option<String> {
    let path = endpoint.path.strip_suffix('/').unwrap_or(&endpoint.path);
    let segments = path.split('/').map(|segment| if segment.starts_with('{') { "*" } else { segment });
    (!endpoint.path.is_empty()).then(|| format!("{} {}", endpoint.method, segments.collect::<Vec<_>>().join("/")))
}
