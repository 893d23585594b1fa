"""Charges the fee of a refund and mails the customer: a LangGraph graph with a SQLite checkpointer.

    parse -> retrieve -> charge -> email

Progress is kept in checkpoints.db in STATE_DIR; the billing API is at BILLING_URL. After a crash, run the same command with
--resume: it continues where the checkpoints say, or from the start where there are none. --key chooses how the two requests
that change the world protect themselves against being repeated:

    none         not at all
    per-attempt  by an idempotency key made up in the node: as good as none, for a node that runs again makes up another
    stable       by a key made of what is asked for: a repeated request is the same request
"""

import argparse
import hashlib
import json
import os
import uuid
from typing import TypedDict

import httpx
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph


class Refund(TypedDict, total=False):
    """The state of the graph."""

    invoice: str
    cents: int
    customer: str
    charge: str
    email: str


CUSTOMERS = {"inv_9": "ada@example.com"}


def key_headers(how: str, thread: str, node: str, payload: dict) -> dict[str, str]:
    """The Idempotency-Key header of a request, if it gets one."""
    if how == "none":
        return {}
    if how == "per-attempt":
        return {"Idempotency-Key": str(uuid.uuid4())}
    canonical = json.dumps([thread, node, payload], sort_keys=True, separators=(",", ":"))
    return {"Idempotency-Key": hashlib.sha256(canonical.encode()).hexdigest()}


def build(http: httpx.Client, key: str) -> StateGraph:
    """The graph; its nodes use this client and this way of making keys."""

    def parse(state: Refund) -> Refund:
        return {"invoice": state["invoice"].strip().lower()}

    def retrieve(state: Refund) -> Refund:
        return {"customer": CUSTOMERS.get(state["invoice"], "customer@example.com")}

    def charge(state: Refund, config: RunnableConfig) -> Refund:
        payload = {"amount": state["cents"], "currency": "usd", "metadata[invoice]": state["invoice"]}
        headers = key_headers(key, config["configurable"]["thread_id"], "charge", payload)
        answer = http.post("/v1/charges", data=payload, headers=headers)
        return {"charge": answer.raise_for_status().json()["id"]}

    def email(state: Refund, config: RunnableConfig) -> Refund:
        payload = {"to": state["customer"], "template": "refund", "invoice": state["invoice"]}
        headers = key_headers(key, config["configurable"]["thread_id"], "email", payload)
        http.post("/email", json=payload, headers=headers).raise_for_status()
        return {"email": "sent"}

    graph = StateGraph(Refund)
    for node in (parse, retrieve, charge, email):
        graph.add_node(node.__name__, node)
    for before, after in [(START, "parse"), ("parse", "retrieve"), ("retrieve", "charge"), ("charge", "email"), ("email", END)]:
        graph.add_edge(before, after)
    return graph


def run(args: argparse.Namespace) -> Refund:
    """Runs the graph to its end, from the start or from where it was left."""
    config = {"configurable": {"thread_id": args.thread}}
    database = os.path.join(os.environ["STATE_DIR"], "checkpoints.db")
    # The API is meant as it is given: no proxy of the environment stands between.
    client = httpx.Client(base_url=os.environ["BILLING_URL"], trust_env=False, timeout=30)
    with client as http, SqliteSaver.from_conn_string(database) as saver:
        graph = build(http, args.key).compile(checkpointer=saver)
        work = {"invoice": args.invoice, "cents": args.cents}
        if args.resume and saver.get_tuple(config) is not None:
            # None: go on from the last checkpoint; on a finished thread it runs nothing. Whether there is anything left is
            # not asked of get_state(): its `next` is empty as soon as the last node that ran has handed in its result,
            # which is before the checkpoint that names the node to follow.
            work = None
        return graph.invoke(work, config, durability=args.durability)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Charge the fee of a refund and mail the customer.")
    parser.add_argument("--thread", required=True)
    parser.add_argument("--invoice", required=True)
    parser.add_argument("--cents", required=True, type=int)
    parser.add_argument("--durability", choices=["sync", "async", "exit"], default="async")
    parser.add_argument("--key", choices=["none", "per-attempt", "stable"], default="none")
    parser.add_argument("--resume", action="store_true", help="continue after a crash")
    args = parser.parse_args()
    final = run(args)
    print(f"{final['invoice']}: {final['cents']} cents charged as {final['charge']}, mail {final['email']}")


if __name__ == "__main__":
    main()
