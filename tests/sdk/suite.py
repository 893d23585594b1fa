"""The unmodified Stripe SDK against a sandbox at the address that is given as argument: nothing but the address is changed.

Each function below is one case; what the SDK raises is what it raises for the real API. Prints one line for each case that held.
"""

import sys
import threading
import uuid

import stripe

BASE = sys.argv[1]


def client(retries: int = 0) -> stripe.StripeClient:
    """A client of the sandbox. The SDK's own retries are off unless asked for, so that each answer is seen."""
    return stripe.StripeClient("sk_test_x", base_addresses={"api": BASE}, max_network_retries=retries)


def key() -> dict:
    """Options with a new idempotency key."""
    return {"idempotency_key": str(uuid.uuid4())}


def charge(options=None, **params):
    """A charge."""
    return client().v1.charges.create({"amount": 2900, "currency": "usd", "source": "tok_visa", **params}, options or {})


def raised(kind, call):
    """The error that a call raises, which is of exactly this class."""
    try:
        call()
    except stripe.StripeError as error:
        assert type(error) is kind, f"{type(error).__name__} instead of {kind.__name__}: {error}"
        return error
    raise AssertionError(f"nothing was raised instead of {kind.__name__}")


def a_charge_is_made_and_read_back():
    made = charge(metadata={"invoice": "inv_1"}, description="eine Gebühr")
    read = client().v1.charges.retrieve(made.id)
    assert (read.id, read.amount, read.paid, read.status) == (made.id, 2900, True, "succeeded")
    assert read.metadata["invoice"] == "inv_1" and read.description == "eine Gebühr"


def a_payment_intent_is_confirmed():
    made = client().v1.payment_intents.create({"amount": 1200, "currency": "eur"})
    assert made.status == "requires_payment_method"
    done = client().v1.payment_intents.confirm(made.id, {"payment_method": "pm_card_visa"})
    assert (done.status, done.amount_received) == ("succeeded", 1200)
    assert client().v1.charges.retrieve(done.latest_charge).payment_intent == made.id


def a_payment_intent_is_captured_later():
    params = {"amount": 1200, "currency": "eur", "capture_method": "manual", "confirm": True, "payment_method": "pm_card_visa"}
    made = client().v1.payment_intents.create(params)
    assert made.status == "requires_capture"
    done = client().v1.payment_intents.capture(made.id, {"amount_to_capture": 1000})
    assert (done.status, done.amount_received) == ("succeeded", 1000)


def a_charge_is_refunded_in_two_parts_and_no_further():
    made = charge()
    assert client().v1.refunds.create({"charge": made.id, "amount": 900}).status == "succeeded"
    assert client().v1.refunds.create({"charge": made.id}).amount == 2000
    assert client().v1.charges.retrieve(made.id).refunded
    error = raised(stripe.InvalidRequestError, lambda: client().v1.refunds.create({"charge": made.id}))
    assert error.code == "charge_already_refunded"


def the_same_key_gives_the_first_answer_again():
    options = key()
    first, again = charge(options), charge(options)
    assert first.id == again.id
    assert again.last_response.headers["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first.last_response.headers


def the_same_key_with_other_parameters_is_an_idempotency_error():
    options = key()
    charge(options)
    error = raised(stripe.IdempotencyError, lambda: charge(options, amount=3000))
    assert error.http_status == 400 and "same parameters" in error.user_message


def two_at_once_under_one_key_are_one_charge():
    # Repeated until two have met: how they meet is up to the threads.
    for _ in range(200):
        options, answers, start = key(), [], threading.Barrier(8)

        def one(options=options, answers=answers, start=start):
            own = client()
            start.wait()
            try:
                answers.append(own.v1.charges.create({"amount": 100, "currency": "usd"}, options).id)
            except stripe.StripeError as error:
                answers.append(error)

        threads = [threading.Thread(target=one) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        errors = [answer for answer in answers if isinstance(answer, Exception)]
        assert len({answer for answer in answers if isinstance(answer, str)}) == 1, answers
        for error in errors:
            assert error.http_status == 409 and error.error.code == "idempotency_key_in_use", error
            assert type(error) is CONFLICT, type(error)
        if errors:
            return
    raise AssertionError("no two requests met")


# What the SDK makes of a 409 with `type: idempotency_error`: it looks at the type for 400 and 404 only.
CONFLICT = stripe.APIError


def the_sdk_tries_again_by_itself_while_a_key_is_in_use():
    options, ids = key(), []

    def one():
        ids.append(client(retries=5).v1.charges.create({"amount": 100, "currency": "usd"}, options).id)

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids) == 8 and len(set(ids)) == 1, ids


def a_missing_parameter_is_an_invalid_request():
    error = raised(stripe.InvalidRequestError, lambda: client().v1.charges.create({"currency": "usd"}))
    assert (error.http_status, error.param, error.code) == (400, "amount", "parameter_missing")


def an_object_that_is_not_there_is_an_invalid_request():
    error = raised(stripe.InvalidRequestError, lambda: client().v1.charges.retrieve("ch_none"))
    assert (error.http_status, error.code) == (404, "resource_missing")


def a_list_is_turned_over_page_by_page():
    customer = client().v1.customers.create({"email": "ada@example.com"})
    made = [charge(customer=customer.id).id for _ in range(7)]
    pages = client().v1.charges.list({"customer": customer.id, "limit": 3})
    assert len(pages.data) == 3 and pages.has_more
    assert [one.id for one in pages.auto_paging_iter()] == made[::-1]


def a_charge_is_found_by_its_metadata():
    invoice = str(uuid.uuid4())
    made = charge(metadata={"invoice": invoice})
    found = client().v1.charges.search({"query": f"metadata['invoice']:'{invoice}'"})
    assert [one.id for one in found.data] == [made.id]


def a_declined_card_is_a_card_error():
    error = raised(stripe.CardError, lambda: charge(source="tok_chargeDeclined"))
    assert (error.http_status, error.code) == (402, "card_declined")


def a_decline_is_given_again_under_the_same_key():
    options = key()
    first = raised(stripe.CardError, lambda: charge(options, source="tok_chargeDeclined"))
    again = raised(stripe.CardError, lambda: charge(options, source="tok_chargeDeclined"))
    assert first.http_body == again.http_body and again.headers["Idempotent-Replayed"] == "true"


def main() -> None:
    """Carries out the cases in the order in which they stand above."""
    for name, case in list(globals().items()):
        if callable(case) and case.__module__ == "__main__" and name.startswith(("a_", "an_", "the_", "two_")):
            case()
            print(f"held: {name}", flush=True)


if __name__ == "__main__":
    main()
