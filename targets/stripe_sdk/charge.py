"""Charges an invoice through the unmodified Stripe SDK and notes it in a small SQLite checkpoint.

Started again after a crash, it looks at the checkpoint and charges only what is not noted there. Two ways with the idempotency key:

  --key sdk        none is given. The SDK makes a random one for each call, which helps its own retries and nobody else: the process that
                   comes after a crash makes another one.
  --key persisted  a random key is written to the checkpoint before the call, and read back after a crash.
"""

import argparse
import os
import sqlite3
import uuid

import stripe

SCHEMA = "CREATE TABLE IF NOT EXISTS work (invoice TEXT PRIMARY KEY, key TEXT, charge TEXT)"


def persisted_key(checkpoint: sqlite3.Connection, invoice: str) -> str:
    """The key of this invoice: the one of the checkpoint, or a new one that is there from now on."""
    with checkpoint:
        checkpoint.execute("INSERT INTO work VALUES (?, ?, NULL) ON CONFLICT DO NOTHING", (invoice, str(uuid.uuid4())))
    return checkpoint.execute("SELECT key FROM work WHERE invoice = ?", (invoice,)).fetchone()[0]


def charge(checkpoint: sqlite3.Connection, invoice: str, cents: int, how: str) -> str:
    """Charges, unless it is noted that this was done; the id of the charge."""
    done = checkpoint.execute("SELECT charge FROM work WHERE invoice = ? AND charge IS NOT NULL", (invoice,)).fetchone()
    if done:
        return done[0]
    options = {"idempotency_key": persisted_key(checkpoint, invoice)} if how == "persisted" else {}
    client = stripe.StripeClient("sk_test_x", base_addresses={"api": os.environ["STRIPE_API_BASE"]}, max_network_retries=2)
    asked = {"amount": cents, "currency": "usd", "source": "tok_visa", "metadata": {"invoice": invoice}}
    made = client.v1.charges.create(asked, options)
    with checkpoint:
        sql = "INSERT INTO work VALUES (?, NULL, ?) ON CONFLICT (invoice) DO UPDATE SET charge = excluded.charge"
        checkpoint.execute(sql, (invoice, made.id))
    return made.id


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Charge an invoice once.")
    parser.add_argument("--invoice", required=True)
    parser.add_argument("--cents", required=True, type=int)
    parser.add_argument("--key", choices=["sdk", "persisted"], required=True)
    args = parser.parse_args()
    checkpoint = sqlite3.connect(os.path.join(os.environ["STATE_DIR"], "checkpoint.db"))
    checkpoint.execute(SCHEMA)
    print(f"{args.invoice}: charged as {charge(checkpoint, args.invoice, args.cents, args.key)}")


if __name__ == "__main__":
    main()
