//! Rows of a PostgreSQL database, one effect each.
//!
//! A server stands outside of the world of a trial: nothing of it is copied or set back. Its rows are read in a transaction that may
//! only read.

use std::time::Duration;

use serde_json::Value;
use tokio_postgres::config::Host;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, Error, NoTls, SimpleQueryMessage};

use super::{Unread, one_line};
use crate::model::limits::{WITNESS_QUERY_MAX_MS, WITNESSED_MAX};

/// Every row that a query gives, as an object by column.
///
/// # Errors
/// The server cannot be reached, the database or a table is not there, or the query fails. The password is never told.
pub async fn server_rows(url: &str, query: &str) -> Result<Vec<Value>, Unread> {
    let config: Config = url.parse().map_err(|error| {
        // The address itself may hold a password.
        Unread::Unreadable(format!("the address of the database cannot be read: {}", text(&error)))
    })?;
    let shown = shown(&config);
    // The server's own limit comes first, and says more.
    let limit = Duration::from_millis(2 * WITNESS_QUERY_MAX_MS);
    let reading = tokio::time::timeout(limit, read(&config, query)).await;
    let late = || Unread::Unreadable(format!("{shown} did not answer within {} ms", limit.as_millis()));
    reading.map_err(|_| late())?.map_err(|error| told(&error, &shown, query))
}

/// Why there are no rows.
enum Refused {
    Connect(Error),
    Query(Error),
    Other(String),
}

async fn read(config: &Config, query: &str) -> Result<Vec<Value>, Refused> {
    let (client, connection) = config.connect(NoTls).await.map_err(Refused::Connect)?;
    let serving = tokio::spawn(connection);
    let found = rows(&client, query).await;
    drop(client);
    serving.abort();
    found
}

async fn rows(client: &Client, query: &str) -> Result<Vec<Value>, Refused> {
    let begin = format!("BEGIN READ ONLY; SET LOCAL statement_timeout = {WITNESS_QUERY_MAX_MS}");
    client.batch_execute(&begin).await.map_err(Refused::Query)?;
    let most = WITNESSED_MAX + 1;
    let wrapped = format!("SELECT row_to_json(effect)::text FROM (\n{query}\n) AS effect LIMIT {most}");
    let answer = client.simple_query(&wrapped).await.map_err(Refused::Query)?;
    let texts = answer.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    let parsed =
        texts.map(|text| serde_json::from_str(text).map_err(|error| Refused::Other(format!("a row is no JSON: {error}"))));
    let found: Vec<Value> = parsed.collect::<Result<_, _>>()?;
    if found.len() > WITNESSED_MAX {
        return Err(Refused::Other(format!("it gives more than {WITNESSED_MAX} rows")));
    }
    Ok(found)
}

/// The server and the database, without user and password.
fn shown(config: &Config) -> String {
    let host = config.get_hosts().first().map_or_else(
        || "localhost".to_owned(),
        |host| match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.display().to_string(),
        },
    );
    let port = config.get_ports().first().map_or_else(String::new, |port| format!(":{port}"));
    format!("postgres://{host}{port}/{}", config.get_dbname().unwrap_or_default())
}

fn told(error: &Refused, shown: &str, query: &str) -> Unread {
    let told = |what: String| format!("the query `{}` on {shown} gives no answer: {what}", one_line(query));
    match error {
        Refused::Connect(error) if error.code() == Some(&SqlState::INVALID_CATALOG_NAME) => {
            Unread::Absent(format!("{shown} is not there: {}", text(error)))
        }
        Refused::Connect(error) => Unread::Unreadable(format!("{shown} cannot be reached: {}", text(error))),
        Refused::Query(error) => {
            let absent = [SqlState::UNDEFINED_TABLE, SqlState::INVALID_SCHEMA_NAME];
            let is_absent = error.code().is_some_and(|code| absent.contains(code));
            if is_absent { Unread::Absent(told(text(error))) } else { Unread::Unreadable(told(text(error))) }
        }
        Refused::Other(what) => Unread::Unreadable(told(what.clone())),
    }
}

/// The innermost reason: the outer ones only say that there is one.
fn text(error: &Error) -> String {
    let mut inner: &dyn std::error::Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

#[cfg(test)]
mod tests;
