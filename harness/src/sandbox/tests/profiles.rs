//! What one profile does and another does not: each rule of `profile/` that differs from Stripe's v1 API, and keys that grow old.

use super::*;
use crate::model::fault::WireFault;
use crate::model::scenario::KeyPlace;

const HOUR_MS: u64 = 3_600_000;
const JSON: &str = r#"{"amount": 2900, "currency": "usd", "items": [1, 2], "note": null}"#;

async fn stage(profile: Profile) -> Stage {
    aged(profile, 0).await
}

async fn aged(profile: Profile, key_age_ms: u64) -> Stage {
    let folder = tempfile::tempdir().expect("a folder");
    let keeper = Arc::new(Keeper::default());
    let config = SandboxConfig { spec: SandboxSpec { profile, key_age_ms, ..SandboxSpec::default() }, ..config(&folder) };
    let sandbox = Sandbox::start(config, Arc::clone(&keeper) as Arc<dyn Watch>).await.expect("a sandbox");
    Stage { sandbox, keeper, folder }
}

/// The status of each answer to the same charge.
async fn statuses(stage: &Stage, keys: &[Option<&str>]) -> Vec<u16> {
    let mut statuses = Vec::new();
    for key in keys {
        statuses.push(stage.post("/v1/charges", *key, CHARGE).await.status);
    }
    statuses
}

/// A charge that fails after it was done, and what its repetition gets: the status and how many effects there are then.
async fn after_failure(profile: Profile, status: u16, key: &str) -> (u16, usize) {
    let stage = stage(profile).await;
    stage.keeper.hold("executed charge#1").go(Go::Fault(WireFault::ErrorAfterCommit { status }));
    assert_eq!(stage.post("/v1/charges", Some(key), CHARGE).await.status, status);
    let again = stage.post("/v1/charges", Some(key), CHARGE).await;
    (again.status, stage.effects().await)
}

#[tokio::test]
async fn what_is_saved_after_a_failure_differs_from_profile_to_profile() {
    assert_eq!(after_failure(Profile::StripeV1, 500, "k").await, (500, 1), "the endpoint's own 500 is given again");
    assert_eq!(after_failure(Profile::StripeV1, 502, "k").await, (200, 1), "a gateway's is not");
    assert_eq!(after_failure(Profile::StripeV2, 500, "k").await, (200, 1), "what is done is not done again");
    assert_eq!(after_failure(Profile::Ietf, 500, "\"k\"").await, (500, 1));
    assert_eq!(after_failure(Profile::Acp, 500, "k").await, (200, 2), "a 5xx is never saved, so the repetition is fresh");
    assert_eq!(after_failure(Profile::Acp, 429, "k").await, (200, 1));
    assert_eq!(after_failure(Profile::SuccessOnly, 500, "k").await, (200, 2));
    assert_eq!(after_failure(Profile::None, 500, "k").await, (200, 2));
}

#[tokio::test]
async fn a_key_is_known_for_as_long_as_its_profile_says() {
    for (profile, hours, effects) in [
        (Profile::StripeV1, 23, 1),
        (Profile::StripeV1, 24, 2),
        (Profile::StripeV2, 25, 1),
        (Profile::StripeV2, 720, 2),
        (Profile::SuccessOnly, 25, 2),
        (Profile::Acp, 25, 2),
    ] {
        let stage = aged(profile, hours * HOUR_MS).await;
        assert_eq!(statuses(&stage, &[Some("k"), Some("k")]).await, [200, 200]);
        stage.sandbox.begin_life(2);
        assert_eq!(statuses(&stage, &[Some("k"), Some("k")]).await, [200, 200]);
        assert_eq!(stage.effects().await, effects, "{profile:?} after {hours} hours");
    }
}

#[tokio::test]
async fn a_key_grows_older_from_life_to_life_and_in_a_sandbox_that_continues_the_ledger() {
    let first = aged(Profile::StripeV1, 13 * HOUR_MS).await;
    statuses(&first, &[Some("k")]).await;
    let folder = tempfile::tempdir().expect("a folder");
    let picture = first.sandbox.lens().picture(None).expect("a picture");
    std::fs::write(folder.path().join("ledger.db"), picture.as_is).expect("a copy");
    let config = SandboxConfig { spec: SandboxSpec { key_age_ms: 13 * HOUR_MS, ..SandboxSpec::default() }, ..config(&folder) };
    let later = Sandbox::start(config, Arc::new(NoWatch)).await.expect("a sandbox");
    let stage = Stage { sandbox: later, keeper: Arc::default(), folder };
    stage.sandbox.begin_life(2);
    statuses(&stage, &[Some("k")]).await;
    assert_eq!(stage.effects().await, 1, "13 hours");
    stage.sandbox.begin_life(3);
    statuses(&stage, &[Some("k")]).await;
    assert_eq!(stage.effects().await, 2, "26 hours");
}

#[tokio::test]
async fn stripe_v2_takes_keys_on_delete_and_does_failed_work_again() {
    let stage = stage(Profile::StripeV2).await;
    let first = stage.ask("DELETE", "/v2/things/7", Some("k"), "").await;
    let again = stage.ask("DELETE", "/v2/things/7", Some("k"), "").await;
    assert_eq!((again.id(), again.header("idempotent-replayed")), (first.id(), Some("true")));
    let charge = stage.post("/v1/charges", None, CHARGE).await;
    let too_much = format!("charge={}&amount=9999", charge.id());
    for _ in 0..2 {
        let reply = stage.post("/v1/refunds", Some("r"), &too_much).await;
        assert_eq!((reply.status, reply.header("idempotent-replayed")), (400, None), "it is attempted each time");
    }
}

#[tokio::test]
async fn ietf_wants_a_key_in_quotes_and_speaks_in_problem_details() {
    let stage = stage(Profile::Ietf).await;
    let missing = stage.post("/v1/charges", None, CHARGE).await;
    assert_eq!((missing.status, &missing.body["title"]), (400, &"Idempotency-Key is missing".into()));
    assert_eq!(missing.header("content-type"), Some("application/problem+json"));
    let bare = stage.post("/v1/charges", Some("8e03978e"), CHARGE).await;
    assert_eq!((bare.status, &bare.body["title"]), (400, &"Idempotency-Key is not a String".into()));
    assert_eq!(statuses(&stage, &[Some("\"k\""), Some("\"k\"")]).await, [200, 200]);
    let other = stage.post("/v1/charges", Some("\"k\""), "amount=1&currency=usd").await;
    assert_eq!((other.status, &other.body["title"]), (422, &"Idempotency-Key is already used".into()));
    let invalid = stage.post("/v1/charges", Some("\"l\""), "amount=0").await;
    assert_eq!(
        (invalid.status, &invalid.body["title"], &invalid.body["type"]),
        (400, &"Bad Request".into(), &"about:blank".into())
    );
    assert_eq!(stage.effects().await, 1);
}

#[tokio::test]
async fn ietf_answers_409_while_the_first_request_is_under_way() {
    let stage = stage(Profile::Ietf).await;
    let mut hold = stage.keeper.hold("executed charge#1");
    let mut first = stage.client().await;
    first.send(&request("POST", "/v1/charges", Some("\"k\""), CHARGE)).await;
    hold.reached().await;
    let second = stage.post("/v1/charges", Some("\"k\""), CHARGE).await;
    assert_eq!((second.status, &second.body["title"]), (409, &"A request is outstanding for this Idempotency-Key".into()));
    hold.go(Go::On);
    assert_eq!(first.read().await.expect("an answer").status, 200);
}

#[tokio::test]
async fn acp_wants_a_key_that_is_good_for_one_path_and_compares_bodies_by_value() {
    let stage = stage(Profile::Acp).await;
    let missing = stage.post("/checkout_sessions", None, JSON).await;
    assert_eq!((missing.status, &missing.body["code"]), (400, &"idempotency_key_required".into()));
    assert_eq!(missing.body["type"], "invalid_request");
    let first = stage.post("/checkout_sessions", Some("k"), JSON).await;
    let same =
        stage.post("/checkout_sessions", Some("k"), r#"{"note":null,"currency":"usd","items":[1.0,2],"amount":2900.0}"#).await;
    assert_eq!((same.status, same.id(), same.header("idempotent-replayed")), (200, first.id(), Some("true")));
    for other in [
        r#"{"amount": 2900, "currency": "usd", "items": [1, 2]}"#,
        r#"{"amount": 2900, "currency": "usd", "items": [2, 1], "note": null}"#,
    ] {
        let conflict = stage.post("/checkout_sessions", Some("k"), other).await;
        assert_eq!((conflict.status, &conflict.body["code"]), (422, &"idempotency_conflict".into()), "{other}");
    }
    assert_eq!(stage.post("/checkout_sessions/7/complete", Some("k"), JSON).await.status, 200, "elsewhere it is another key");
    assert_eq!(stage.effects().await, 2);
}

#[tokio::test]
async fn acp_tells_large_whole_numbers_apart() {
    let stage = stage(Profile::Acp).await;
    assert_eq!(stage.post("/pay", Some("k"), r#"{"n": 9007199254740992}"#).await.status, 200);
    assert_eq!(stage.post("/pay", Some("k"), r#"{"n": 9007199254740993}"#).await.status, 422);
}

#[tokio::test]
async fn acp_says_when_to_come_again_while_a_request_is_in_flight() {
    let stage = stage(Profile::Acp).await;
    let mut hold = stage.keeper.hold("executed charge#1");
    let mut first = stage.client().await;
    first.send(&request("POST", "/v1/charges", Some("k"), CHARGE)).await;
    hold.reached().await;
    let second = stage.post("/v1/charges", Some("k"), CHARGE).await;
    assert_eq!(
        (second.status, &second.body["code"], second.header("retry-after")),
        (409, &"idempotency_in_flight".into(), Some("1"))
    );
    hold.go(Go::On);
    assert_eq!(first.read().await.expect("an answer").status, 200);
}

#[tokio::test]
async fn success_only_gives_the_first_answer_whatever_the_body_and_none_knows_no_keys() {
    let swallowing = stage(Profile::SuccessOnly).await;
    let first = swallowing.post("/v1/charges", Some("k"), CHARGE).await;
    assert_eq!(swallowing.post("/v1/charges", Some("k"), "amount=1&currency=usd").await.id(), first.id());
    assert_eq!(swallowing.effects().await, 1);
    let stage = stage(Profile::None).await;
    assert_eq!(statuses(&stage, &[Some("k"), Some("k")]).await, [200, 200]);
    let ledger = stage.settled().await;
    assert_eq!(ledger.iter().filter(|request| request.had_effect()).count(), 2);
    assert!(ledger.iter().all(|request| request.key.as_deref() == Some("k")), "it is written down all the same");
}

#[tokio::test]
async fn a_key_is_found_where_the_scenario_says_or_where_others_have_it() {
    let at = async |key: Option<KeyPlace>, path: &str, head: &str, body: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let sandbox = Sandbox::start(
            SandboxConfig { spec: SandboxSpec { key, ..SandboxSpec::default() }, ..config(&folder) },
            Arc::new(NoWatch),
        )
        .await
        .expect("a sandbox");
        let stage = Stage { sandbox, keeper: Arc::default(), folder };
        for _ in 0..2 {
            let mut client = stage.client().await;
            let text = format!("POST {path} HTTP/1.1\r\nHost: x\r\n{head}Content-Length: {}\r\n\r\n{body}", body.len());
            client.send(text.as_bytes()).await;
            assert_eq!(client.read().await.expect("an answer").status, 200);
        }
        let ledger = stage.settled().await;
        (ledger[0].key_at.clone(), ledger.iter().filter(|request| request.had_effect()).count())
    };
    let some = |text: &str| Some(text.to_owned());
    let paypal = "PayPal-Request-Id: k\r\n";
    let square = r#"{"idempotency_key": "k", "amount": 1}"#;
    assert_eq!(at(None, "/pay", "Idempotency-Key: k\r\n", "").await, (some("header:idempotency-key"), 1));
    assert_eq!(at(None, "/pay", paypal, "").await, (some("header:paypal-request-id"), 1));
    assert_eq!(at(None, "/pay", "", square).await, (some("body:$.idempotency_key"), 1));
    assert_eq!(at(None, "/v1/pay", paypal, square).await, (None, 2), "Stripe looks at its header only");
    assert_eq!(at(Some(KeyPlace::Header("x-own".to_owned())), "/v1/pay", "X-Own: k\r\n", "").await, (some("header:x-own"), 1));
    let inside = KeyPlace::Body("$.meta.ref".to_owned());
    assert_eq!(at(Some(inside), "/pay", "", r#"{"meta": {"ref": 7}}"#).await, (some("body:$.meta.ref"), 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_requests_at_once_under_one_key_are_one_effect_in_every_profile_that_has_keys() {
    crate::sys::descriptors::allow_most().expect("enough open sockets");
    for (profile, key) in [
        (Profile::StripeV1, "k"),
        (Profile::StripeV2, "k"),
        (Profile::Ietf, "\"k\""),
        (Profile::Acp, "k"),
        (Profile::SuccessOnly, "k"),
    ] {
        let stage = Arc::new(stage(profile).await);
        // All connections stand open before the first request is sent.
        let mut clients = Vec::new();
        for _ in 0..1_000 {
            clients.push(stage.client().await);
        }
        let barrier = Arc::new(tokio::sync::Barrier::new(clients.len()));
        let asks = clients.into_iter().map(|mut client| {
            let barrier = Arc::clone(&barrier);
            tokio::spawn(async move {
                barrier.wait().await;
                client.send(&request("POST", "/v1/charges", Some(key), CHARGE)).await;
                client.read().await.expect("an answer").status
            })
        });
        let mut statuses = BTreeMap::<u16, usize>::new();
        for ask in asks.collect::<Vec<_>>() {
            *statuses.entry(ask.await.expect("no panic")).or_default() += 1;
        }
        assert!(statuses.keys().all(|status| matches!(status, 200 | 409)), "{profile:?}: {statuses:?}");
        let ledger = stage.settled().await;
        assert_eq!((ledger.len(), ledger.iter().filter(|request| request.had_effect()).count()), (1_000, 1), "{profile:?}");
    }
}
