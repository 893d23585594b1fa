"""An agent that settles an invoice by calling MCP tools, with the official MCP SDK as its client.

The model is a script, so that every run asks for the same: it charges the invoice, and when a call fails or takes too long it calls
again, as models do. The conversation is kept in agent.db in STATE_DIR, one row per message. After a crash, run the same command: a
call without a result is made again.

The MCP server is reached over streamable HTTP at --url, or started as a child by --command (--transport stdio). --key chooses what
the model puts into the call:

    none     nothing; nobody can tell a second call from a repeated one
    stable   a key made of what is asked for, so that a repeated call is the same call
"""

import argparse
import asyncio
import hashlib
import json
import os
import shlex
import sqlite3
import sys

from mcp import Client, MCPError, StdioServerParameters

# How long the agent waits for a tool, in seconds. Also in a run without faults it must never pass.
PATIENCE = 3.0
# How often it tries one call in a life.
TRIES = 3


class Conversation:
    """The messages so far; durable when `add` returns."""

    def __init__(self, path: str) -> None:
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY, message TEXT NOT NULL)")

    def all(self) -> list[dict]:
        return [json.loads(text) for (text,) in self.db.execute("SELECT message FROM messages ORDER BY id")]

    def add(self, message: dict) -> None:
        self.db.execute("INSERT INTO messages (message) VALUES (?)", (json.dumps(message),))


def model(messages: list[dict], key: str) -> dict:
    """What a language model would say next: a tool call, or the final answer."""
    task = messages[0]["content"]
    results = [message for message in messages if message["role"] == "tool"]
    if results:
        return {"role": "assistant", "content": f"Invoice {task['invoice']} is paid by {results[-1]['content']['id']}."}
    arguments = {"amount": task["cents"], "currency": "usd", "metadata": {"invoice": task["invoice"]}}
    if key == "stable":
        canonical = json.dumps(["create_charge", arguments], sort_keys=True, separators=(",", ":"))
        arguments["idempotency_key"] = hashlib.sha256(canonical.encode()).hexdigest()
    return {"role": "assistant", "call": {"name": "create_charge", "arguments": arguments}}


async def act(client: Client, call: dict) -> dict:
    """Calls a tool until it succeeds. A call that failed or took too long is taken for one that did nothing."""
    for attempt in range(1, TRIES + 1):
        try:
            result = await client.call_tool(call["name"], call["arguments"], read_timeout_seconds=PATIENCE)
        except MCPError as error:
            print(f"attempt {attempt}: {error}", flush=True)
            continue
        if not result.is_error:
            return result.structured_content
        print(f"attempt {attempt}: {result.content[0].text}", flush=True)
    sys.exit(f"{call['name']} failed {TRIES} times")


async def run(options: argparse.Namespace) -> None:
    """Takes the conversation up where it stands, to its end."""
    conversation = Conversation(os.path.join(os.environ["STATE_DIR"], "agent.db"))
    if not conversation.all():
        conversation.add({"role": "user", "content": {"invoice": options.invoice, "cents": options.cents}})
    server: str | StdioServerParameters = options.url
    if options.transport == "stdio":
        command, *args = shlex.split(options.command)
        server = StdioServerParameters(command=command, args=args)
    async with Client(server) as client:
        while True:
            messages = conversation.all()
            last = messages[-1]
            if last["role"] == "assistant" and "call" not in last:
                print(last["content"], flush=True)
                return
            if last["role"] == "assistant":
                conversation.add({"role": "tool", "content": await act(client, last["call"])})
            else:
                conversation.add(model(messages, options.key))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--invoice", required=True)
    parser.add_argument("--cents", type=int, required=True)
    parser.add_argument("--key", choices=["none", "stable"], default="none")
    parser.add_argument("--transport", choices=["http", "stdio"], default="http")
    parser.add_argument("--url", help="the MCP server, for http")
    parser.add_argument("--command", help="the MCP server's command line, for stdio")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
