//! Lists and searches: how a workflow looks for what it may have done before.

use serde_json::{Value, json};

use super::desk::Desk;
use super::params::Params;
use super::refusal::{Refusal, Stop};
use crate::model::limits::LIST_PAGE_MAX;

/// Items of a page, when the request sets no limit. Stripe's.
const PAGE_DEFAULT: i64 = 10;

/// The fields a list can be narrowed by.
const FILTERS: [&str; 3] = ["payment_intent", "charge", "customer"];

/// `GET /v1/KIND`: newest first, with `limit`, `starting_after`, and the filters.
pub(super) fn list(desk: &Desk<'_>, kind: &str, url: &str, params: &Params) -> Result<Value, Stop> {
    let wanted: Vec<(&str, String)> =
        FILTERS.into_iter().filter_map(|name| params.text(name).map(|value| (name, value))).collect();
    let after = params.text("starting_after");
    if let Some(id) = &after {
        let unknown = || Refusal::param("starting_after", "resource_missing", format!("No such {kind}: '{id}'"));
        desk.find(kind, id)?.ok_or_else(unknown)?;
    }
    let mut begun = after.is_none();
    let (items, has_more) = page(desk, kind, limit(params)?, |object| {
        let due = begun;
        begun |= object["id"].as_str() == after.as_deref();
        due && wanted.iter().all(|(name, value)| object[*name] == **value)
    })?;
    Ok(json!({ "object": "list", "url": url, "has_more": has_more, "data": items }))
}

/// `GET /v1/KIND/search?query=...`. At once up to date, which the real one is not: there it lags by up to a minute.
pub(super) fn search(desk: &Desk<'_>, kind: &str, url: &str, params: &Params) -> Result<Value, Stop> {
    let terms = parse(&params.required("query")?)?;
    let (items, has_more) = page(desk, kind, limit(params)?, |object| terms.iter().all(|term| term.holds(object)))?;
    Ok(json!({ "object": "search_result", "url": url, "has_more": has_more, "next_page": null, "data": items }))
}

fn limit(params: &Params) -> Result<usize, Refusal> {
    match params.amount("limit")?.unwrap_or(PAGE_DEFAULT) {
        limit if limit <= LIST_PAGE_MAX => Ok(usize::try_from(limit).expect("between 1 and 100")),
        _ => Err(Refusal::param("limit", "parameter_invalid_integer", format!("limit must be at most {LIST_PAGE_MAX}"))),
    }
}

fn page(desk: &Desk<'_>, kind: &str, limit: usize, mut fits: impl FnMut(&Value) -> bool) -> Result<(Vec<Value>, bool), Stop> {
    let (mut items, mut has_more) = (Vec::new(), false);
    desk.newest_first(kind, |object| {
        if fits(&object) {
            has_more = items.len() == limit;
            if !has_more {
                items.push(object);
            }
        }
        !has_more
    })?;
    Ok((items, has_more))
}

/// One term of a search: a field, or a name of the metadata, and the value it must have.
#[derive(Debug, PartialEq, Eq)]
struct Term {
    field: String,
    metadata: bool,
    value: String,
}

impl Term {
    fn holds(&self, object: &Value) -> bool {
        let found = if self.metadata { &object["metadata"][&self.field] } else { &object[&self.field] };
        match found {
            Value::String(text) => *text == self.value,
            Value::Number(number) => number.to_string() == self.value,
            _ => false,
        }
    }
}

/// Reads `metadata['k']:'v' AND status:'succeeded'`.
fn parse(query: &str) -> Result<Vec<Term>, Refusal> {
    let mut terms = Vec::new();
    let mut rest = query.trim();
    loop {
        let (term, tail) = parse_term(rest).ok_or_else(|| {
            let message = format!("cannot read `{rest}` of the query: expected FIELD:'VALUE' or metadata['NAME']:'VALUE'");
            Refusal::param("query", "invalid_search_query", message)
        })?;
        terms.push(term);
        if tail.trim().is_empty() {
            return Ok(terms);
        }
        let next = tail.trim_start().get(..3).filter(|word| word.eq_ignore_ascii_case("and"));
        next.ok_or_else(|| Refusal::param("query", "invalid_search_query", format!("expected AND before `{tail}`")))?;
        rest = tail.trim_start()[3..].trim_start();
    }
}

fn parse_term(text: &str) -> Option<(Term, &str)> {
    let (field, metadata, rest) = if let Some(rest) = text.strip_prefix("metadata[") {
        let (name, rest) = quoted(rest)?;
        (name, true, rest.strip_prefix(']')?)
    } else {
        let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
        (text[..end].to_owned(), false, &text[end..])
    };
    let (value, rest) = rest.strip_prefix(':').and_then(|rest| quoted(rest).or_else(|| bare(rest)))?;
    (!field.is_empty()).then_some((Term { field, metadata, value }, rest))
}

fn quoted(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let mut out = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => out.push(chars.next()?.1),
            c if c == quote => return Some((out, &text[at + 1..])),
            c => out.push(c),
        }
    }
    None
}

fn bare(text: &str) -> Option<(String, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (end > 0).then(|| (text[..end].to_owned(), &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn term(field: &str, metadata: bool, value: &str) -> Term {
        Term { field: field.to_owned(), metadata, value: value.to_owned() }
    }

    #[test]
    fn a_query_is_terms_joined_by_and() {
        let query = r#"metadata['invoice']:'inv_9' AND metadata["a b"]:"it's" AND status:'succeeded' and amount:2900"#;
        let expected = vec![
            term("invoice", true, "inv_9"),
            term("a b", true, "it's"),
            term("status", false, "succeeded"),
            term("amount", false, "2900"),
        ];
        assert_eq!(parse(query), Ok(expected));
        assert_eq!(parse(r"metadata['k']:'it\'s'"), Ok(vec![term("k", true, "it's")]));
    }

    #[test]
    fn what_is_not_a_query_is_refused_and_not_ignored() {
        for bad in ["", "metadata['k']", "metadata[k]:'v'", "status:'a' OR status:'b'", "status:'a' AND", ":'v'", "status:"] {
            assert_eq!(parse(bad).expect_err(bad).status, 400, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_query_is_read_or_refused_without_a_panic(query in "(metadata|AND|[a-z'\"\\[\\]:\\\\ é]){0,20}") {
            let _ = parse(&query);
        }
    }
}
