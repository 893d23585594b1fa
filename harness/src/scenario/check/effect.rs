//! The `effect` of a promise and what belongs to it: requests by method and path, tools of an MCP server, rows of a
//! database, lines of a file.

use toml::Spanned;

use super::super::diagnostics::Problem;
use super::super::file::{CampaignFile, PromiseFile};
use super::super::value::Text;
use super::{Check, Place, did_you_mean};
use crate::model::promise::{Endpoint, IntentSource, Promise, Source};

/// The methods an effect may have.
const METHODS: [&str; 5] = ["POST", "PUT", "PATCH", "DELETE", "GET"];
/// The effects that are no HTTP requests, by their first word.
const KINDS: [&str; 4] = ["mcp", "mail", "rows", "lines"];
/// What every wrong `effect` is answered with.
const EXAMPLES: &str = "such as `effect = \"POST /v1/charges\"` or `effect = \"POST /v1/subscriptions/{id}/pause\"`";
const OTHER_EXAMPLES: &str =
    "what is no HTTP request is written `effect = \"mcp create_charge\"`, `\"mail\"`, `\"rows\"` or `\"lines\"`";

impl Check<'_> {
    /// The effect of a promise with the place where it is read.
    pub(super) fn effect(&mut self, file: &PromiseFile) -> (Endpoint, Option<Source>) {
        let text = file.effect.get_ref().as_str();
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let own = || format!("/{}", file.name.get_ref());
        let endpoint = match (word, rest) {
            ("rows", "") => Endpoint::new(Endpoint::ROWS, own()),
            ("lines", "") => Endpoint::new(Endpoint::LINES, own()),
            ("mcp", tool) => self.tool(&file.effect, tool),
            ("mail", "") => Endpoint::new(Endpoint::MAIL, "/"),
            ("mail" | "rows" | "lines", _) => {
                let problem = Problem::at(self.part(&file.effect, word.len()..text.len()), format!("`{word}` stands alone"));
                self.report(problem.label("nothing is expected here").hint(alone(word)));
                nowhere()
            }
            _ => self.requests(&file.effect),
        };
        let source = self.source(file, word);
        (endpoint, source)
    }

    /// Requests that give effects back.
    pub(super) fn net_of(&mut self, text: &Text) -> Endpoint {
        match text.get_ref().split_once(' ') {
            Some(("mcp", tool)) => self.tool(text, tool),
            _ => self.requests(text),
        }
    }

    fn tool(&mut self, effect: &Text, tool: &str) -> Endpoint {
        let is_name = !tool.is_empty() && tool.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
        if is_name || tool == "*" {
            return Endpoint::new(Endpoint::MCP, format!("/{tool}"));
        }
        let problem = if tool.is_empty() {
            Problem::at(effect.span(), "`mcp` without a tool").label("expected the name of a tool behind it")
        } else {
            Problem::at(self.part(effect, 4..4 + tool.len()), "this cannot name a tool")
                .label("expected letters, digits, `_`, `-` and `.`")
        };
        self.report(problem.hint("such as `effect = \"mcp create_charge\"`; `\"mcp *\"` stands for any tool"));
        nowhere()
    }

    /// A method and a path.
    fn requests(&mut self, effect: &Text) -> Endpoint {
        let text = effect.get_ref().as_str();
        let (method, path) = text.split_once(' ').unwrap_or((text, ""));
        let problem = if !METHODS.contains(&method) && path.starts_with('/') {
            let upper = METHODS.into_iter().find(|known| *known == method.to_uppercase());
            let problem = Problem::at(self.part(effect, 0..method.len()), format!("unknown method `{method}`"));
            let hint = upper.map(|upper| format!("methods stand in capitals: `{upper}`"));
            let problem = problem.label(format!("known are {}", METHODS.join(", ")));
            Some(problem.maybe_hint(hint.or_else(|| did_you_mean(&method.to_uppercase(), METHODS))))
        } else if text.contains("://") {
            Some(Problem::at(effect.span(), "`effect` holds a whole URL").label("expected a method and a path, without the host"))
        } else if !METHODS.contains(&method) || !path.starts_with('/') {
            let problem = Problem::at(effect.span(), "`effect` is not a method and a path")
                .label("expected a method, one space and a path with `/` first");
            Some(problem.maybe_hint(did_you_mean(&method.to_lowercase(), KINDS)).hint(OTHER_EXAMPLES))
        } else {
            bad_path(path).map(|(part, expected)| {
                let start = text.len() - path.len() + (part.as_ptr() as usize - path.as_ptr() as usize);
                Problem::at(self.part(effect, start..start + part.len()), "not a path of requests").label(expected)
            })
        };
        match problem {
            None => Endpoint::new(method, path),
            Some(problem) => {
                self.report(problem.hint(EXAMPLES));
                nowhere()
            }
        }
    }

    /// Where rows and lines are read. `kind` is the effect's first word.
    fn source(&mut self, file: &PromiseFile, kind: &str) -> Option<Source> {
        for (key, value, of) in
            [("database", &file.database, "rows"), ("query", &file.query, "rows"), ("file", &file.file, "lines")]
        {
            match value {
                Some(value) if kind != of => {
                    let problem = Problem::at(value.span(), format!("`{key}` belongs to `effect = \"{of}\"`"));
                    self.report(problem.label("this effect is not read there").other(file.effect.span(), "the effect"));
                }
                None if kind == of => {
                    let problem = Problem::at(file.effect.span(), format!("`effect = \"{of}\"` without `{key}`"));
                    self.report(problem.label(format!("expected `{key}` beside it")).hint(example(key)));
                }
                _ => {}
            }
        }
        match kind {
            "rows" => {
                let (database, query) = (file.database.as_ref()?, file.query.as_ref()?);
                Some(Source::Rows { database: self.database(database), query: self.query(query) })
            }
            "lines" => file.file.as_ref().map(|path| Source::Lines { file: self.place(path, "file") }),
            _ => None,
        }
    }

    fn database(&mut self, database: &Text) -> String {
        let text = self.place(database, "database");
        match text.split_once("://") {
            Some(("postgres" | "postgresql", _)) => text,
            Some((scheme, _)) => {
                let problem = Problem::at(database.span(), format!("a database by `{scheme}://` is not possible yet"));
                let problem = problem.label("possible now: the path of an SQLite file, or `postgres://...`");
                self.report(problem.hint(example("database")));
                text
            }
            None => text.strip_prefix("sqlite:").map(str::to_owned).unwrap_or(text),
        }
    }

    fn query(&mut self, query: &Text) -> String {
        let text = query.get_ref().trim().trim_end_matches(';').trim_end();
        let first = text.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default().to_ascii_uppercase();
        if !matches!(first.as_str(), "SELECT" | "WITH" | "VALUES") {
            let problem = Problem::at(query.span(), "`query` does not read rows").label("expected `SELECT`");
            self.report(problem.hint(example("query")));
        }
        text.to_owned()
    }

    /// A path with placeholders.
    fn place(&mut self, path: &Text, key: &str) -> String {
        if path.get_ref().trim().is_empty() {
            self.report(Problem::at(path.span(), format!("an empty text in `{key}`")).hint(example(key)));
        }
        self.process_text(path, Place::Trial)
    }

    /// Whether an intent can stand where it is said to stand in this effect.
    pub(super) fn intent_of_effect(&mut self, endpoint: &Endpoint, source: &IntentSource, intent: &Text) {
        let what = match (endpoint.method.as_str(), source) {
            (Endpoint::MAIL | Endpoint::MCP | Endpoint::ROWS | Endpoint::LINES, IntentSource::Query(_)) => "query",
            (Endpoint::MCP | Endpoint::ROWS | Endpoint::LINES, IntentSource::Header(_)) => "headers",
            _ => return,
        };
        let one = match endpoint.method.as_str() {
            Endpoint::MAIL => "a mail",
            Endpoint::MCP => "a call of a tool",
            Endpoint::ROWS => "a row",
            _ => "a line",
        };
        let problem = Problem::at(intent.span(), format!("{one} has no {what}")).label("nothing can be found here");
        let hint = match endpoint.method.as_str() {
            Endpoint::MAIL => "a header is written `header:NAME`; the fields are `$.from`, `$.to`, `$.subject`, `$.text`",
            Endpoint::MCP => "an argument of the tool is written `intent = \"$.invoice\"`",
            Endpoint::ROWS => "a column is written by its name in the query: `intent = \"$.invoice\"`",
            _ => "a field of the line is written `intent = \"$.invoice\"`",
        };
        self.report(problem.hint(hint));
    }

    /// A window begins at a request; rows and lines have no moment.
    pub(super) fn window(&mut self, campaign: &CampaignFile, promises: &[Promise]) {
        let Some(points) = campaign.points.as_ref().filter(|points| points.get_ref() == "window") else { return };
        if !promises.is_empty() && promises.iter().all(|promise| !promise.endpoint.is_request()) {
            let problem = Problem::at(points.span(), "no promise is about requests, so no window begins");
            let problem = problem.label("expected `all`");
            self.report(problem.hint("rows and lines are read when the last life is over: `points = \"all\"`"));
        }
    }

    /// The promise whose effects count in the end must be there, and both must name their intents alike.
    pub(super) fn reconcilers(&mut self, files: &[Spanned<PromiseFile>]) {
        let names: Vec<&str> = files.iter().map(|file| file.get_ref().name.get_ref().as_str()).collect();
        for file in files.iter().map(Spanned::get_ref) {
            let Some(by) = &file.reconciled_by else { continue };
            let (own, by_name) = (file.name.get_ref(), by.get_ref());
            if by_name == own {
                let problem = Problem::at(by.span(), "a promise cannot be reconciled by itself");
                self.report(problem.label("expected the name of another promise").hint(RECONCILED));
            } else if !names.contains(&by_name.as_str()) {
                let problem = Problem::at(by.span(), format!("there is no promise `{by_name}`"));
                let close = did_you_mean(by_name, names.iter().copied().filter(|name| name != own));
                self.report(problem.label("expected the name of another promise").maybe_hint(close).hint(RECONCILED));
            } else {
                let both = files.iter().map(Spanned::get_ref).filter(|file| [own, by_name].contains(&file.name.get_ref()));
                for other in both.filter(|file| file.intent.is_none()) {
                    let problem = Problem::at(other.name.span(), format!("`{}` has no `intent`", other.name.get_ref()));
                    let problem = problem.label("its effects cannot be told apart by a name").other(by.span(), "reconciled here");
                    self.report(problem.hint("say in both promises where an intent's name stands: `intent = \"$.invoice\"`"));
                }
            }
        }
    }
}

const RECONCILED: &str = "what is true in the end is a promise of its own, such as one with `effect = \"rows\"` and a query";

fn alone(word: &str) -> &'static str {
    match word {
        "mail" => "any mail is meant; which one it is says its `intent`: `header:X-Invoice`, `$.to[0]`, `$.subject`",
        "rows" => {
            "the query has a key of its own: `effect = \"rows\"`, `database = \"{state}/app.db\"`, `query = \"SELECT ...\"`"
        }
        _ => "the file has a key of its own: `effect = \"lines\"`, `file = \"{state}/outbox.jsonl\"`",
    }
}

fn example(key: &str) -> &'static str {
    match key {
        "database" => "such as `database = \"{state}/app.db\"`",
        "query" => "such as `query = \"SELECT invoice, amount FROM payouts\"`",
        _ => "such as `file = \"{state}/outbox.jsonl\"`",
    }
}

/// Stands for an endpoint that could not be read.
fn nowhere() -> Endpoint {
    Endpoint::new("", "")
}

/// The first part of a path that no request's path can match, and what was expected instead.
fn bad_path(path: &str) -> Option<(&str, &'static str)> {
    if let Some(at) = path.find(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '?' | '#')) {
        return Some((&path[at..], "expected the path alone: no space, no query, no fragment"));
    }
    let whole = |segment: &str| segment == "*" || (segment.len() > 2 && segment.starts_with('{') && segment.ends_with('}'));
    path.split('/').find_map(|segment| {
        let inner = segment.strip_prefix('{').and_then(|segment| segment.strip_suffix('}')).unwrap_or(segment);
        let odd = segment.contains(['*', '{', '}']) && (!whole(segment) || (segment != "*" && inner.contains(['*', '{', '}'])));
        odd.then_some((segment, "`*` or `{name}` stands for a whole segment"))
    })
}
