//! Values that the tests of this floor share: a charge without a key, in a clean run and in a replay.

use std::collections::BTreeMap;

use killpoint::campaign::{Answer, CellPoints};
use killpoint::model::census::{Census, CensusPoint};
use killpoint::model::finding::{Finding, Window};
use killpoint::model::ledger::{Outcome, Request};
use killpoint::model::life::{Life, LifeEnd, TrialEnd};
use killpoint::model::point::Point;
use killpoint::model::verdict::{Cause, Judgement, Verdict};

fn point(text: &str) -> Point {
    text.parse().expect("a point")
}

/// A life that ended well.
pub fn life(number: u32) -> Life {
    Life {
        number,
        target: None,
        reached: false,
        end: LifeEnd::Exited { code: 0 },
        wall_us: 40_000,
        cpu_us: 30_000,
        processes: 1,
        notices: vec![],
        output_tail: vec![],
        reconciles: false,
    }
}

/// An executed POST.
pub fn request(seq: u64, path: &str) -> Request {
    Request {
        seq,
        life: u32::try_from(seq).expect("a small number"),
        effect: "charge".to_owned(),
        ordinal: 1,
        method: "POST".to_owned(),
        path: path.to_owned(),
        query: None,
        headers: BTreeMap::new(),
        body: serde_json::json!({ "amount": "2900", "metadata": { "invoice": "inv_9" } }),
        body_sha256: String::new(),
        key: None,
        key_at: None,
        fault: None,
        outcome: Outcome::Executed,
        status: 200,
        object: Some(format!("ch_{seq}")),
        received_us: 10,
        executed_us: Some(20),
        answered_us: Some(30),
    }
}

/// The clean run.
pub fn cell() -> CellPoints {
    let texts = ["start/openat(a.db)#1", "charge#1:received", "charge#1:answered", "charge#1:answered/pwrite64(a.db-wal)#1"];
    let points = texts.into_iter().zip(0..).map(|(text, index)| CensusPoint {
        point: point(text),
        aliases: vec![],
        at_us: 900 + 10_500 * index,
        process: u32::from(text.contains('/')),
    });
    CellPoints {
        cell: vec!["durability=sync".to_owned()],
        census: Census { points: points.collect(), window_start: Some(1) },
        life: life(1),
        ledger: vec![request(1, "/v1/charges")],
        judgements: vec![judgement(Verdict::Once, 1)],
    }
}

/// What the oracles say of the charge.
pub fn judgement(verdict: Verdict, observed: u32) -> Judgement {
    Judgement {
        promise: "charge".to_owned(),
        intent: "inv_9".to_owned(),
        verdict,
        expected: "exactly 1".to_owned(),
        observed,
        on_the_way: None,
        cause: (!verdict.is_kept()).then_some(Cause::NoKey),
        evidence: if verdict.is_kept() { vec![] } else { vec!["life 1 and life 2 sent no key".to_owned()] },
    }
}

/// One replay of [`finding`].
pub fn answer(reached: bool, reproduced: bool) -> Answer {
    let killed = Life { target: Some(point("charge#1:answered")), reached: true, end: LifeEnd::Killed, ..life(1) };
    let (verdict, observed) = if reproduced { (Verdict::Duplicated, 2) } else { (Verdict::Once, 1) };
    Answer {
        reached,
        end: if reached { TrialEnd::Done } else { TrialEnd::Unreached },
        reproduced,
        judgements: vec![judgement(verdict, observed)],
        lives: vec![killed, life(2)],
        ledger: (1..=u64::from(observed)).map(|seq| request(seq, "/v1/charges")).collect(),
    }
}

/// The finding that is replayed.
pub fn finding() -> Finding {
    let window = Window {
        fault: killpoint::model::fault::Fault::Kill,
        interleaving: killpoint::model::interleaving::Interleaving::AsIs,
        after: None,
        intent: "inv_9".to_owned(),
        first: point("charge#1:executed"),
        last: point("charge#1:answered"),
        closed_by: None,
        points: 2,
        clean_points: 0,
        micros: 300,
    };
    Finding {
        interleaving: killpoint::model::interleaving::Interleaving::AsIs,
        id: "F1".to_owned(),
        cell: vec!["durability=sync".to_owned()],
        verdict: Verdict::Duplicated,
        promise: "charge".to_owned(),
        intent: "inv_9".to_owned(),
        intents: vec!["inv_9".to_owned()],
        expected: "exactly 1".to_owned(),
        observed: 2,
        window: window.clone(),
        windows: vec![window],
        cause: Cause::NoKey,
        why: vec![],
        confirmed_by_sigkill: true,
        fault: killpoint::model::fault::Fault::Kill,
        also: Vec::new(),
        schedule: "charge#1:answered kill".parse().expect("a schedule"),
        trials: 2,
        repro: "killpoint replay F1".to_owned(),
    }
}
