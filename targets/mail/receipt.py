"""Charges an invoice and mails the receipt by smtplib, as it comes with Python, and notes what is done in SQLite.

Started again after a crash it does what is not noted. The charge has a key made from the invoice; the mail can have none. Three ways
with it:

  --mail sent-then-noted  sends it, then notes that it is sent. A crash between the two sends it again.
  --mail noted-then-sent  notes that it is sent, then sends it. A crash between the two never sends it.
  --mail outbox           puts it into an outbox in the transaction that notes the charge, under a Message-ID made from the invoice; what is
                          in there is sent and then marked. It may go out twice, and whoever receives it can tell.
"""

import argparse
import email.message
import email.utils
import json
import os
import smtplib
import sqlite3
import urllib.parse
import urllib.request

SCHEMA = """
CREATE TABLE IF NOT EXISTS done (invoice TEXT, step TEXT, PRIMARY KEY (invoice, step));
CREATE TABLE IF NOT EXISTS outbox (invoice TEXT PRIMARY KEY, message_id TEXT, sent INTEGER NOT NULL DEFAULT 0);
"""


def is_done(book: sqlite3.Connection, invoice: str, step: str) -> bool:
    """Whether a step is noted."""
    return book.execute("SELECT 1 FROM done WHERE invoice = ? AND step = ?", (invoice, step)).fetchone() is not None


def note(book: sqlite3.Connection, invoice: str, step: str) -> None:
    """Notes a step, in the transaction of whoever calls."""
    book.execute("INSERT INTO done VALUES (?, ?) ON CONFLICT DO NOTHING", (invoice, step))


def charge(invoice: str, cents: int) -> None:
    """Asks for the charge under a key that is the same in every life."""
    body = json.dumps({"amount": cents, "currency": "usd", "metadata": {"invoice": invoice}}).encode()
    headers = {"Content-Type": "application/json", "Idempotency-Key": f"charge-{invoice}"}
    request = urllib.request.Request(os.environ["BILLING_URL"] + "/v1/charges", data=body, headers=headers)
    with urllib.request.urlopen(request) as answer:
        answer.read()


def send(invoice: str, message_id: str) -> None:
    """Hands the receipt to the mail server."""
    mail = email.message.EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "shop@example.com", "payer@example.com", f"Receipt for {invoice}"
    mail["Date"], mail["Message-ID"] = email.utils.formatdate(), message_id
    mail["X-Template"], mail["X-Invoice"] = "receipt", invoice
    mail.set_content(f"{invoice} is paid.\n")
    server = urllib.parse.urlsplit(os.environ["SMTP_URL"])
    with smtplib.SMTP(server.hostname, server.port, local_hostname="shop.example.com", timeout=20) as post:
        post.send_message(mail)


def receipt(book: sqlite3.Connection, invoice: str, how: str) -> None:
    """Sends the receipt, before or after it is noted."""
    if is_done(book, invoice, "receipt"):
        return
    if how == "noted-then-sent":
        with book:
            note(book, invoice, "receipt")
    send(invoice, email.utils.make_msgid(domain="shop.example.com"))
    with book:
        note(book, invoice, "receipt")


def empty_outbox(book: sqlite3.Connection) -> None:
    """Sends what is in the outbox, and marks it."""
    for invoice, message_id in book.execute("SELECT invoice, message_id FROM outbox WHERE NOT sent").fetchall():
        send(invoice, message_id)
        with book:
            book.execute("UPDATE outbox SET sent = 1 WHERE invoice = ?", (invoice,))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Charge an invoice once and mail its receipt.")
    parser.add_argument("--invoice", required=True)
    parser.add_argument("--cents", required=True, type=int)
    parser.add_argument("--mail", choices=["sent-then-noted", "noted-then-sent", "outbox"], required=True)
    args = parser.parse_args()
    book = sqlite3.connect(os.path.join(os.environ["STATE_DIR"], "book.db"))
    book.executescript(SCHEMA)
    if not is_done(book, args.invoice, "charge"):
        charge(args.invoice, args.cents)
        with book:
            note(book, args.invoice, "charge")
            if args.mail == "outbox":
                book.execute("INSERT INTO outbox VALUES (?, ?, 0)", (args.invoice, f"<receipt.{args.invoice}@shop.example.com>"))
    if args.mail == "outbox":
        empty_outbox(book)
    else:
        receipt(book, args.invoice, args.mail)
    print(f"{args.invoice}: charged and told")


if __name__ == "__main__":
    main()
