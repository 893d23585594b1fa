//! The section `[sandbox]`: whose rules the outside world follows, and what stands behind it.

use super::super::diagnostics::Problem;
use super::super::file::SandboxFile;
use super::super::value::Text;
use super::Check;
use crate::model::limits::KEY_AGE_MAX_MS;
use crate::model::scenario::{KeyPlace, SandboxSpec};

impl Check<'_> {
    pub(super) fn sandbox(&mut self, file: &SandboxFile) -> SandboxSpec {
        SandboxSpec {
            profile: self.word(file.profile.as_ref(), "profile", &[]),
            key: file.key.as_ref().and_then(|key| self.key_place(key)),
            key_age_ms: file.key_age.as_ref().map_or(0, |age| self.time(age, "key_age", 0, KEY_AGE_MAX_MS)),
            upstream: file.upstream.as_ref().map(|upstream| self.upstream(upstream)),
            mcp_keys: file.mcp_keys,
        }
    }

    fn key_place(&mut self, text: &Text) -> Option<KeyPlace> {
        let place = text.get_ref();
        if let Some(name) = place.strip_prefix("header:").map(str::trim).filter(|name| !name.is_empty()) {
            return Some(KeyPlace::Header(name.to_ascii_lowercase()));
        }
        if place.starts_with('$') {
            self.json_path(text);
            return Some(KeyPlace::Body(place.clone()));
        }
        let problem = Problem::at(text.span(), format!("`{place}` does not say where a key stands"));
        let problem = problem.label("expected `header:NAME` or a JSONPath into the body");
        self.report(problem.hint("such as `header:PayPal-Request-Id` or `$.idempotency_key`"));
        None
    }

    /// A base URL: `http`, a host, and at most a path.
    fn upstream(&mut self, text: &Text) -> String {
        let url = text.get_ref().trim_end_matches('/');
        let parsed = url.parse::<http::Uri>().ok();
        let is_base = parsed.as_ref().is_some_and(|uri| uri.host().is_some() && uri.query().is_none());
        match parsed.as_ref().and_then(http::Uri::scheme_str) {
            Some("http") if is_base => {}
            Some("https") => {
                let problem = Problem::at(text.span(), "a server behind TLS cannot be asked").label("expected `http://`");
                self.report(problem.hint("put something that speaks plain HTTP in front of it"));
            }
            _ => {
                let problem =
                    Problem::at(text.span(), "this is not the base URL of a server").label("expected `http://HOST:PORT`");
                self.report(problem.hint("such as `http://127.0.0.1:9000`"));
            }
        }
        url.to_owned()
    }
}
