//! Effects that are no HTTP requests, what is given back, and what reconciles: whole ones, and broken ones as a stranger would see them.

use std::path::Path;

use super::shown;
use crate::model::promise::{Endpoint, Source};
use crate::scenario::{parse, to_toml};

/// Each kind of effect once.
const OUTSIDE: &str = r#"name = "outside"

[workflow]
start = ["./pay", "{matrix.mode}"]
reset = ["psql", "-f", "reset.sql"]
reconcile = ["./pay", "--reconcile", "{state}"]

[[promise]]
name = "payout"
effect = "rows"
database = "sqlite:{state}/{matrix.mode}.db"
query = "SELECT invoice, amount FROM payouts;"
intent = "$.invoice"

[[promise]]
name = "booked"
effect = "lines"
file = "{state}/outbox.jsonl"
intent = "$.invoice"

[[promise]]
name = "tool"
effect = "mcp create_charge"
net_of = "mcp create_refund"
intent = "$.invoice"
reconciled_by = "booked"

[[promise]]
name = "mail"
effect = "mail"
intent = "header:X-Template"

[matrix]
mode = ["sync", "async"]
"#;

fn with(part: &str, other: &str) -> String {
    assert!(OUTSIDE.contains(part), "`{part}` is not in the scenario");
    OUTSIDE.replacen(part, other, 1)
}

#[test]
fn each_kind_of_effect_arrives_in_the_model_and_is_written_back() {
    let scenario = parse(OUTSIDE, "pay.toml", Path::new("/base")).unwrap_or_else(|error| panic!("{error}"));
    let endpoints: Vec<Endpoint> = scenario.promises.iter().map(|promise| promise.endpoint.clone()).collect();
    let expected = [("ROWS", "/payout"), ("LINES", "/booked"), ("MCP", "/create_charge"), ("MAIL", "/")];
    assert_eq!(endpoints, expected.map(|(method, path)| Endpoint::new(method, path)));
    let rows =
        Source::Rows { database: "{state}/{matrix.mode}.db".to_owned(), query: "SELECT invoice, amount FROM payouts".to_owned() };
    assert_eq!(scenario.promises[0].source, Some(rows));
    assert_eq!(scenario.promises[1].source, Some(Source::Lines { file: "{state}/outbox.jsonl".to_owned() }));
    assert_eq!(scenario.promises[2].net_of, Some(Endpoint::new("MCP", "/create_refund")));
    assert_eq!(scenario.promises[2].reconciled_by.as_deref(), Some("booked"));
    assert_eq!(scenario.workflow().reset, ["psql", "-f", "reset.sql"]);
    assert_eq!(scenario.workflow().reconcile, ["./pay", "--reconcile", "{state}"]);
    let written = to_toml(&scenario);
    assert_eq!(
        parse(&written, "written.toml", Path::new("/base")).unwrap_or_else(|error| panic!("{written}\n{error}")),
        scenario
    );
}

#[test]
fn the_address_of_a_postgresql_database_arrives_as_it_is_written() {
    let text = with("sqlite:{state}/{matrix.mode}.db", "postgres://localhost/app");
    let scenario = parse(&text, "pay.toml", Path::new("/base")).unwrap_or_else(|error| panic!("{error}"));
    let source = scenario.promises[0].source.clone().expect("a source");
    assert!(source.is_server() && matches!(source, Source::Rows { database, .. } if database == "postgres://localhost/app"));
    assert!(!scenario.promises[1].source.as_ref().expect("a source").is_server());
}

/// One test per broken scenario.
macro_rules! broken {
    ($($name:ident: $text:expr;)*) => { $(
        #[test]
        fn $name() {
            insta::assert_snapshot!(shown(&$text));
        }
    )* };
}

broken! {
    an_effect_of_no_known_kind: with("\"mail\"\nintent", "\"email\"\nintent");
    a_mail_with_a_path: with("\"mail\"\nintent", "\"mail receipt\"\nintent");
    a_mail_with_a_query: with("\"mail\"\nintent = \"header:X-Template\"", "\"mail\"\nintent = \"query:id\"");
    a_tool_without_a_name: with("mcp create_charge", "mcp");
    a_tool_that_cannot_be_named: with("mcp create_charge", "mcp create charge");
    rows_without_a_query: with("query = \"SELECT invoice, amount FROM payouts;\"\n", "");
    lines_of_a_database: with("file = \"{state}/outbox.jsonl\"", "database = \"{state}/app.db\"");
    rows_of_a_database_server: with("sqlite:{state}/{matrix.mode}.db", "mysql://localhost/app");
    a_query_that_writes: with("SELECT invoice, amount FROM payouts;", "DELETE FROM payouts");
    a_database_with_an_unknown_placeholder: with("{state}/outbox", "{stat}/outbox");
    a_row_with_a_header: with("intent = \"$.invoice\"", "intent = \"header:X-Invoice\"");
    rows_that_are_given_back: with("database =", "net_of = \"POST /v1/refunds\"\ndatabase =");
    a_reconciler_that_is_not_there: with("reconciled_by = \"booked\"", "reconciled_by = \"boked\"");
    a_reconciler_of_itself: with("reconciled_by = \"booked\"", "reconciled_by = \"tool\"");
    a_reconciler_without_an_intent: with("outbox.jsonl\"\nintent = \"$.invoice\"", "outbox.jsonl\"");
    a_window_without_requests: format!("{}[campaign]\npoints = \"window\"\n", &OUTSIDE[..OUTSIDE.find("[[promise]]\nname = \"tool\"").unwrap()])
        .replace(", \"{matrix.mode}\"", "").replace("{matrix.mode}", "app");
    a_reconcile_that_is_one_text: with("[\"./pay\", \"--reconcile\", \"{state}\"]", "\"./pay --reconcile\"");
}
