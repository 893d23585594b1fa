//! Trials whose effects are rows and lines, and those that a reconciler follows.

use serde_json::json;

use super::*;
use crate::model::promise::Source;

/// Books a row in WAL mode, with a connection that stays open until the process is gone, and two lines, the second one torn.
const BOOK: &str = r#"
import os, sqlite3
state = os.environ["STATE_DIR"]
db = sqlite3.connect(state + "/app.db")
db.execute("PRAGMA journal_mode = WAL")
db.execute("CREATE TABLE payout (invoice TEXT, cents INTEGER)")
db.execute("INSERT INTO payout VALUES ('inv_1', 2900)")
db.commit()
with open(state + "/outbox.jsonl", "w") as file:
    file.write('{"invoice": "inv_1"}\n{"invoi')
with open(state + "/bad.jsonl", "w") as file:
    file.write('{"invoice": oops}\n')
os._exit(0)
"#;

fn promise(name: &str, method: &str, source: Source) -> Promise {
    let intent = IntentSource::Body("$.invoice".to_owned());
    Promise { intent, source: Some(source), ..Promise::once(name, Endpoint::new(method, format!("/{name}"))) }
}

fn rows(table: &str) -> Promise {
    let query = format!("SELECT invoice, cents FROM {table}");
    promise("payout", "ROWS", Source::Rows { database: "{state}/app.db".to_owned(), query })
}

fn lines(file: &str) -> Promise {
    promise("message", "LINES", Source::Lines { file: format!("{{state}}/{file}") })
}

/// Carries out a trial; returns what came of it.
fn trial(scenario: &Scenario) -> Trial {
    let worlds = Worlds::create().unwrap();
    let world = worlds.world("t", None).unwrap();
    let (_keep, flag) = watch::channel(false);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let plan = plan(scenario, Schedule::default(), Vec::new());
    runtime.block_on(run(&plan, &world, &Interrupt::new(flag))).unwrap().trial
}

fn booking(promises: Vec<Promise>) -> Scenario {
    Scenario { promises, ..scenario(BOOK) }
}

#[test]
fn rows_in_the_log_and_whole_lines_stand_in_the_ledger_as_effects_of_the_last_life() {
    let trial = trial(&booking(vec![rows("payout"), lines("outbox.jsonl")]));
    assert_eq!(trial.end, TrialEnd::Done, "{:?}", trial.lives);
    assert_eq!(trial.gaps, []);
    let found: Vec<_> = trial.ledger.iter().map(|r| (r.seq, r.life, r.effect.as_str(), r.method.as_str(), r.ordinal)).collect();
    assert_eq!(found, [(1, 1, "payout", "ROWS", 1), (2, 1, "message", "LINES", 1)]);
    assert_eq!(trial.ledger[0].body, json!({"invoice": "inv_1", "cents": 2900}));
    assert_eq!((trial.ledger[1].body.clone(), trial.ledger[1].outcome), (json!({"invoice": "inv_1"}), Outcome::Executed));
}

#[test]
fn what_cannot_be_read_is_a_gap_with_its_reason_and_no_row() {
    let trial = trial(&booking(vec![
        rows("payouts"),
        lines("nothing.jsonl"),
        promise("log", "LINES", Source::Lines { file: "{state}/bad.jsonl".into() }),
    ]));
    assert_eq!(trial.ledger, []);
    let gaps: Vec<_> = trial.gaps.iter().map(|gap| (gap.promise.as_str(), gap.is_absent)).collect();
    assert_eq!(gaps, [("payout", true), ("message", true), ("log", false)]);
    assert!(trial.gaps[0].reason.contains("SELECT invoice, cents FROM payouts"), "{:?}", trial.gaps);
    assert_eq!(trial.gaps[1].reason, "nothing.jsonl is not there");
}

/// A workflow that exits with a code, and a reconciler that does.
fn codes(workflow: u8, reconciler: u8) -> Trial {
    let mut scenario = scenario(&format!("raise SystemExit({workflow})"));
    let script = format!("open(__import__('os').environ['STATE_DIR'] + '/mended', 'w'); raise SystemExit({reconciler})");
    scenario.roles[0].reconcile = ["python3", "-c", &script].map(str::to_owned).to_vec();
    scenario.roles[0].unknown_exit_codes = vec![75];
    trial(&scenario)
}

#[test]
fn the_reconciler_is_one_more_life_and_says_how_the_trial_ends() {
    let stuck = |trial: &Trial| matches!(trial.end, TrialEnd::Stuck { .. });
    let done = codes(0, 0);
    let lives: Vec<_> = done.lives.iter().map(|life| (life.number, life.reconciles, life.end.clone())).collect();
    assert_eq!(lives, [(1, false, LifeEnd::Exited { code: 0 }), (2, true, LifeEnd::Exited { code: 0 })]);
    assert_eq!(done.end, TrialEnd::Done);
    assert_eq!(codes(75, 0).end, TrialEnd::Done, "it settled what the workflow did not know");
    assert_eq!(codes(0, 75).end, TrialEnd::DeclaredUnknown);
    assert!(stuck(&codes(1, 0)), "a workflow that did not get done has not got done by it");
    let failed = codes(0, 3);
    assert_eq!(failed.end, TrialEnd::Stuck { reason: "the command `reconcile` exited with 3".to_owned() });
}

/// A workflow that needs what a command has set back, and that command with its code.
fn reset(code: u8) -> Trial {
    let mut scenario = scenario("open(__import__('os').environ['STATE_DIR'] + '/ready').close()");
    let script =
        format!("open(__import__('os').environ['STATE_DIR'] + '/ready', 'w'); print('no server'); raise SystemExit({code})");
    scenario.roles[0].reset = ["python3", "-c", &script].map(str::to_owned).to_vec();
    trial(&scenario)
}

#[test]
fn what_is_set_back_before_the_first_life_is_no_life_and_must_succeed() {
    let done = reset(0);
    assert_eq!((done.end, done.lives.len(), done.lives[0].number), (TrialEnd::Done, 1, 1));
    let failed = reset(2);
    let reason = "the command `reset` exited with 2: no server".to_owned();
    assert_eq!((failed.end, failed.lives.len()), (TrialEnd::Environment { reason }, 0));
}
