//! What the world of a trial bears witness of when its last life is over: effects that are no requests, as entries of the ledger.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::Stage;
use crate::model::ledger::{Outcome, Request};
use crate::model::life::{Gap, Life};
use crate::model::promise::{Promise, Source};
use crate::state::{Unread, witness_lines, witness_rows, witness_server_rows};

/// Reads the effects of each promise that has a source, and adds them to the ledger as effects of the last life.
pub(super) async fn hear(stage: &Stage<'_>, lives: &[Life], ledger: &mut Vec<Request>) -> Vec<Gap> {
    let mut gaps = Vec::new();
    for promise in &stage.plan.scenario.promises {
        let Some(source) = &promise.source else { continue };
        match read(stage, source).await {
            Ok(bodies) => enter(promise, bodies, lives, ledger),
            Err(unread) => gaps.push(Gap {
                promise: promise.name.clone(),
                is_absent: matches!(unread, Unread::Absent(_)),
                reason: unread.to_string(),
            }),
        }
    }
    gaps
}

async fn read(stage: &Stage<'_>, source: &Source) -> Result<Vec<serde_json::Value>, Unread> {
    if let Source::Rows { database, query } = source
        && source.is_server()
    {
        if stage.enclosure.namespaces.is_some() {
            let hint = "hint: `network = \"host\"` under `[workflow]`, or `--network host`";
            let what = "the database stands on a server, which a trial with a network of its own cannot reach";
            return Err(Unread::Unreadable(format!("{what}; {hint}")));
        }
        return witness_server_rows(&filled(stage, database)?, query).await;
    }
    let text = match source {
        Source::Rows { database, .. } => database,
        Source::Lines { file } => file,
    };
    let (path, shown) = place(stage, text)?;
    let query = if let Source::Rows { query, .. } = source { Some(query.clone()) } else { None };
    let reading = tokio::task::spawn_blocking(move || match query {
        Some(query) => witness_rows(&path, &shown, &query),
        None => witness_lines(&path, &shown),
    });
    reading.await.unwrap_or_else(|error| Err(Unread::Unreadable(format!("the reading failed: {error}"))))
}

/// The path as killpoint finds it, and its name for people. A relative one starts at the workflow's working directory.
fn place(stage: &Stage<'_>, text: &str) -> Result<(PathBuf, String), Unread> {
    let filled = filled(stage, text)?;
    let layout = &stage.enclosure.layout;
    let shown = Path::new(&filled).strip_prefix(&layout.state).map_or(filled.clone(), |path| path.display().to_string());
    Ok((layout.outside(&layout.dir.join(&filled)), shown))
}

fn filled(stage: &Stage<'_>, text: &str) -> Result<String, Unread> {
    stage.places.fill(text).map_err(|error| Unread::Unreadable(format!("`{text}`: {error}")))
}

fn enter(promise: &Promise, bodies: Vec<serde_json::Value>, lives: &[Life], ledger: &mut Vec<Request>) {
    let last_us = ledger.iter().flat_map(|request| [Some(request.received_us), request.executed_us, request.answered_us]);
    let now_us = last_us.flatten().chain([lives.iter().map(|life| life.wall_us).sum()]).max().unwrap_or(0);
    let last = ledger.iter().map(|request| request.seq).max().unwrap_or(0);
    for (index, body) in bodies.into_iter().enumerate() {
        ledger.push(Request {
            seq: last + 1 + index as u64,
            life: lives.last().map_or(1, |life| life.number),
            effect: promise.name.clone(),
            ordinal: u32::try_from(index + 1).unwrap_or(u32::MAX),
            method: promise.endpoint.method.clone(),
            path: promise.endpoint.path.clone(),
            query: None,
            headers: std::collections::BTreeMap::new(),
            body_sha256: hex::encode(Sha256::digest(body.to_string())),
            body,
            key: None,
            key_at: None,
            fault: None,
            outcome: Outcome::Executed,
            status: 0,
            object: None,
            received_us: now_us,
            executed_us: Some(now_us),
            answered_us: None,
        });
    }
}
