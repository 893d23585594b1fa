// The unmodified Stripe SDK for Node against a sandbox at the address that is given as argument: nothing but the address is changed.
//
// Each entry of `cases` is one case; what the SDK throws is what it throws for the real API. Prints one line for each case that held.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import Stripe from "stripe";

const address = new URL(process.argv[2]);

// The SDK's own retries are off unless asked for, so that each answer is seen.
const client = (maxNetworkRetries = 0) =>
  new Stripe("sk_test_x", { protocol: "http", host: address.hostname, port: Number(address.port), maxNetworkRetries, telemetry: false });

const stripe = client();
const key = () => ({ idempotencyKey: randomUUID() });
const charge = (params = {}, options = undefined) =>
  stripe.charges.create({ amount: 2900, currency: "usd", source: "tok_visa", ...params }, options);

/** The error of a call, which is of exactly this class. */
async function thrown(kind, call) {
  const error = await call().then(() => undefined, (error) => error);
  assert.ok(error, `nothing was thrown instead of ${kind.name}`);
  assert.equal(error.constructor.name, kind.name, error.message);
  return error;
}

const cases = {
  async a_charge_is_made_and_read_back() {
    const made = await charge({ metadata: { invoice: "inv_1" } });
    const read = await stripe.charges.retrieve(made.id);
    assert.deepEqual([read.id, read.amount, read.paid, read.metadata.invoice], [made.id, 2900, true, "inv_1"]);
  },

  async a_payment_intent_is_confirmed() {
    const made = await stripe.paymentIntents.create({ amount: 1200, currency: "eur" });
    assert.equal(made.status, "requires_payment_method");
    const done = await stripe.paymentIntents.confirm(made.id, { payment_method: "pm_card_visa" });
    assert.deepEqual([done.status, done.amount_received], ["succeeded", 1200]);
  },

  async a_charge_is_refunded_once() {
    const made = await charge();
    assert.equal((await stripe.refunds.create({ charge: made.id })).amount, 2900);
    const error = await thrown(Stripe.errors.StripeInvalidRequestError, () => stripe.refunds.create({ charge: made.id }));
    assert.equal(error.code, "charge_already_refunded");
  },

  async the_same_key_gives_the_first_answer_again() {
    const options = key();
    const [first, again] = [await charge({}, options), await charge({}, options)];
    assert.equal(first.id, again.id);
    assert.deepEqual([first, again].map((one) => one.lastResponse.headers["idempotent-replayed"]), [undefined, "true"]);
  },

  async the_same_key_with_other_parameters_is_an_idempotency_error() {
    const options = key();
    await charge({}, options);
    const error = await thrown(Stripe.errors.StripeIdempotencyError, () => charge({ amount: 3000 }, options));
    assert.equal(error.statusCode, 400);
  },

  async two_at_once_under_one_key_are_one_charge() {
    // Repeated until two have met: how they meet is up to the connections.
    for (let round = 0; round < 200; round += 1) {
      const options = key();
      const all = await Promise.allSettled(Array.from({ length: 8 }, () => charge({}, options)));
      const done = all.filter((one) => one.status === "fulfilled").map((one) => one.value.id);
      assert.equal(new Set(done).size, 1);
      const errors = all.filter((one) => one.status === "rejected").map((one) => one.reason);
      for (const error of errors) {
        assert.deepEqual([error.statusCode, error.code], [409, "idempotency_key_in_use"]);
        // The SDK looks at `type: idempotency_error` for 400 and 404 only.
        assert.equal(error.constructor.name, Stripe.errors.StripeAPIError.name);
      }
      if (errors.length > 0) return;
    }
    assert.fail("no two requests met");
  },

  async the_sdk_tries_again_by_itself_while_a_key_is_in_use() {
    const [own, options] = [client(5), key()];
    const create = () => own.charges.create({ amount: 100, currency: "usd" }, options);
    const all = await Promise.all(Array.from({ length: 8 }, create));
    assert.equal(new Set(all.map((one) => one.id)).size, 1);
  },

  async a_declined_card_is_a_card_error() {
    const error = await thrown(Stripe.errors.StripeCardError, () => charge({ source: "tok_chargeDeclined" }));
    assert.deepEqual([error.statusCode, error.code], [402, "card_declined"]);
  },

  async a_missing_parameter_is_an_invalid_request() {
    const error = await thrown(Stripe.errors.StripeInvalidRequestError, () => stripe.charges.create({ currency: "usd" }));
    assert.deepEqual([error.statusCode, error.param], [400, "amount"]);
  },

  async an_object_that_is_not_there_is_an_invalid_request() {
    const error = await thrown(Stripe.errors.StripeInvalidRequestError, () => stripe.charges.retrieve("ch_none"));
    assert.deepEqual([error.statusCode, error.code], [404, "resource_missing"]);
  },

  async a_list_is_turned_over_page_by_page() {
    const customer = await stripe.customers.create({ email: "ada@example.com" });
    const made = [];
    for (let count = 0; count < 7; count += 1) made.unshift((await charge({ customer: customer.id })).id);
    const found = [];
    for await (const one of stripe.charges.list({ customer: customer.id, limit: 3 })) found.push(one.id);
    assert.deepEqual(found, made);
  },

  async a_charge_is_found_by_its_metadata() {
    const invoice = randomUUID();
    const made = await charge({ metadata: { invoice } });
    const found = await stripe.charges.search({ query: `metadata['invoice']:'${invoice}'` });
    assert.deepEqual(found.data.map((one) => one.id), [made.id]);
  },
};

for (const [name, held] of Object.entries(cases)) {
  await held();
  console.log(`held: ${name}`);
}
