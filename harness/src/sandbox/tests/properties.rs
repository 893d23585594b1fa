//! A property of the ledger: whatever comes under a key, in whatever order and interrupted wherever, a key that is known has one effect.

use proptest::prelude::*;

use super::*;
use crate::model::fault::WireFault;

/// One thing that happens.
#[derive(Clone, Debug)]
enum Step {
    /// A request under a key with an amount, and what goes wrong with it.
    Ask { key: u8, amount: u8, fault: Option<WireFault> },
    /// The next life begins.
    Life,
}

fn step() -> impl Strategy<Value = Step> {
    let fault = prop::option::of(prop::sample::select(vec![
        WireFault::DropAck,
        WireFault::ResetAck,
        WireFault::HalfAck,
        WireFault::ErrorAfterCommit { status: 500 },
        WireFault::ErrorAfterCommit { status: 502 },
        WireFault::ErrorBeforeCommit { status: 500 },
        WireFault::Duplicate,
    ]));
    let ask = (0..3_u8, 1..3_u8, fault).prop_map(|(key, amount, fault)| Step::Ask { key, amount, fault });
    prop_oneof![6 => ask, 1 => Just(Step::Life)]
}

/// Lets each request go wrong in turn as the list says.
#[derive(Default)]
struct Wrong(Mutex<Option<WireFault>>);

impl Watch for Wrong {
    fn received<'a>(&'a self, _: &'a Seen) -> BoxFuture<'a, Go> {
        Box::pin(async { self.0.lock().expect("unpoisoned").map_or(Go::On, Go::Fault) })
    }
    fn executed<'a>(&'a self, _: &'a Seen) -> BoxFuture<'a, Go> {
        Box::pin(async { self.0.lock().expect("unpoisoned").map_or(Go::On, Go::Fault) })
    }
    fn answering<'a>(&'a self, _: &'a Seen) -> BoxFuture<'a, Go> {
        Box::pin(std::future::ready(Go::On))
    }
    fn answer(&self, _: &Seen, write: &mut dyn FnMut() -> Written) {
        write();
    }
    fn probe<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Go> {
        Box::pin(std::future::ready(Go::On))
    }
}

async fn carried_out(profile: Profile, steps: &[Step]) -> Vec<Request> {
    let folder = tempfile::tempdir().expect("a folder");
    let wrong = Arc::new(Wrong::default());
    let config = SandboxConfig { spec: SandboxSpec { profile, ..SandboxSpec::default() }, ..config(&folder) };
    let sandbox = Sandbox::start(config, Arc::clone(&wrong) as Arc<dyn Watch>).await.expect("a sandbox");
    let stage = Stage { sandbox, keeper: Arc::default(), folder };
    let mut life = 1;
    for step in steps {
        match step {
            Step::Life => {
                life += 1;
                stage.sandbox.begin_life(life);
            }
            Step::Ask { key, amount, fault } => {
                *wrong.0.lock().expect("unpoisoned") = *fault;
                let mut client = stage.client().await;
                let body = format!("amount={amount}&currency=usd");
                client.send(&request("POST", "/v1/charges", Some(&format!("k{key}")), &body)).await;
                let mut bytes = Vec::new();
                // A whole answer, or whatever comes before the end; the connection stays open only behind a whole one.
                client.0.get_mut().shutdown().await.expect("half of a connection is closed");
                let _ = client.0.read_to_end(&mut bytes).await;
                drop(client);
                assert!(stage.sandbox.settle(LONG).await, "it does not settle");
            }
        }
    }
    stage.sandbox.ledger().expect("a ledger")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_key_that_is_known_has_one_effect(steps in prop::collection::vec(step(), 1..12)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        for profile in [Profile::StripeV1, Profile::StripeV2] {
            let ledger = runtime.block_on(carried_out(profile, &steps));
            let mut effects: BTreeMap<&str, Vec<&Request>> = BTreeMap::new();
            for request in ledger.iter().filter(|request| request.had_effect()) {
                effects.entry(request.key.as_deref().expect("each has a key")).or_default().push(request);
            }
            for (key, effects) in effects {
                prop_assert_eq!(effects.len(), 1, "{} of {:?}: {:?}", key, profile, steps);
            }
            // Nothing is silently swallowed: what was not executed was answered as what it is.
            for request in &ledger {
                prop_assert!(request.outcome != Outcome::Received, "{:?}", request);
            }
        }
    }
}
