//! What was given back: effects that a later request undid whole, and so do not count. It judges nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::intent;
use crate::model::ledger::Request;
use crate::model::promise::Promise;

/// Fields of a body by which a refund names what it gives back (docs.stripe.com/api/refunds/create).
const NAMES: [&str; 2] = ["charge", "payment_intent"];

/// What was given back of one promise's effects.
#[derive(Debug, Default)]
pub(super) struct Returns<'a> {
    /// By the number of an effect: the requests that gave it back whole.
    whole: BTreeMap<u64, Vec<&'a Request>>,
    /// Requests that give back something of which the ledger does not say whose it is.
    pub(super) loose: Vec<&'a Request>,
}

impl<'a> Returns<'a> {
    /// Looks for them in a ledger.
    pub(super) fn find(promise: &Promise, ledger: &'a [Request]) -> Self {
        let Some(net_of) = &promise.net_of else { return Self::default() };
        let done = || ledger.iter().filter(|request| request.had_effect());
        let back: Vec<&Request> = done().filter(|request| net_of.matches(&request.method, &request.path)).collect();
        let objects: BTreeSet<&str> = done().filter_map(|request| request.object.as_deref()).collect();
        let loose = back.iter().copied().filter(|request| !objects.iter().any(|object| gives_back(request, object))).collect();
        let effects = done().filter(|request| promise.endpoint.matches(&request.method, &request.path));
        let whole = effects.filter_map(|effect| {
            let object = effect.object.as_deref()?;
            let own: Vec<&Request> = back.iter().copied().filter(|r| r.seq != effect.seq && gives_back(r, object)).collect();
            is_whole(&own, amount_of(ledger, object)).then_some((effect.seq, own))
        });
        Self { whole: whole.collect(), loose }
    }

    /// The requests that gave an effect back whole; none where it stands.
    pub(super) fn of(&self, effect: &Request) -> &[&'a Request] {
        self.whole.get(&effect.seq).map_or(&[], Vec::as_slice)
    }

    /// Whether a request had an effect that still stands.
    pub(super) fn stands(&self, request: &Request) -> bool {
        request.had_effect() && !self.whole.contains_key(&request.seq)
    }
}

fn gives_back(request: &Request, object: &str) -> bool {
    let named = NAMES.iter().filter_map(|name| request.body.get(name)).any(|value| value == object);
    named || request.path.split('/').any(|segment| segment == object)
}

/// Whether refunds take away all of an amount. One without an amount gives back all that is left.
fn is_whole(refunds: &[&Request], amount: Option<i64>) -> bool {
    let amounts: Vec<Option<&Value>> =
        refunds.iter().map(|refund| refund.body.get("amount").filter(|amount| !amount.is_null())).collect();
    if amounts.iter().any(Option::is_none) {
        return true;
    }
    let sum = amounts.iter().flatten().try_fold(0_i64, |sum, amount| sum.checked_add(number(amount)?));
    !amounts.is_empty() && sum.zip(amount).is_some_and(|(sum, amount)| sum >= amount)
}

/// The amount of an object, as the first request for it that names one asked for.
fn amount_of(ledger: &[Request], object: &str) -> Option<i64> {
    let own = ledger.iter().filter(|request| request.had_effect() && request.object.as_deref() == Some(object));
    own.filter_map(|request| request.body.get("amount")).find_map(number)
}

fn number(value: &Value) -> Option<i64> {
    intent::text(value).parse().ok()
}
