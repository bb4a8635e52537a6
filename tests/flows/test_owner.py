"""The owner's commands: what they take, and what needs the passphrase again."""

import asyncio
import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from support.live import Live, living, run
from support.nodes import PASSPHRASE
from support.strangers import stranger
from uomp.errors import Code
from uomp.node.operations import OPERATIONS
from uomp.protocol.messages import types

Json = dict[str, Any]

# What the owner may do or see at once: it gives nothing away, or takes it back.
FREE = {
    "contacts.list",
    "contacts.ping",
    "contacts.rm",
    "did.show",
    "audit.verify",
    "handoff.list",
    "handoff.show",
    "import.drop",
    "inbox.add",
    "inbox.list",
    "inbox.reject",
    "outbox.list",
    "request.ask",
    "request.read",
    "requests.asked",
    "requests.deny",
    "requests.one",
    "sessions.list",
    "sessions.show",
}
ELSEWHERE = """
import sys
from pathlib import Path
from uomp.errors import UompError
from uomp.node.control_client import ControlClient
from uomp.node.home import Home
try:
    ControlClient(Home(Path(sys.argv[1])))._call(sys.argv[2], {})
    print("done")
except UompError as error:
    print(error.code)
"""


async def elsewhere(node: Live, operation: str) -> str:
    """Call an operation from a process with a terminal session of its own."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        ELSEWHERE,
        str(node.home.root),
        operation,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    out, _ = await process.communicate()
    return out.decode().strip()


async def code_of(node: Live, operation: str, **values: Any) -> str:
    """Call without the client's own unlocking; return the code, or `done`."""
    status, answer = await node.raw(operation, json.dumps(values).encode())
    return "done" if status == 200 else str(answer["error"]["code"])


def test_what_shows_or_gives_memory_needs_an_unlock_and_nothing_else_does(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with (
            living(tmp_path, "Alice", node={"presence": True}) as (alice,),
            stranger(alice) as agent,
        ):
            await agent.ask(alice, "t")
            await agent.ask(alice, "t")
            for operation in OPERATIONS:
                code = await code_of(alice, operation)
                assert (code == "UNLOCK_REQUIRED") == (operation not in FREE), operation
            for operation in ("status", "sessions.list"):
                assert await code_of(alice, operation) == "done"
            assert await code_of(alice, "sessions.revoke", session_id="x") == (
                "SESSION_NOT_FOUND"
            )

            for wrong in ({"passphrase": "wrong"}, {"passphrase": ""}):
                assert await code_of(alice, "unlock", **wrong) == "WRONG_PASSPHRASE"
            assert await code_of(alice, "unlock") == "INVALID_REQUEST"
            assert await code_of(alice, "memory.list") == "UNLOCK_REQUIRED"
            assert await code_of(alice, "unlock", passphrase=PASSPHRASE) == "done"
            assert await code_of(alice, "memory.list") == "done"
            # It holds for this terminal session, not for another of the same user.
            assert await elsewhere(alice, "memory.list") == "UNLOCK_REQUIRED"
            assert await elsewhere(alice, "sessions.list") == "done"
            first, second = await alice.call("requests.list")
            approved = {"request_id": first["request_id"]}
            await alice.call("requests.approve", **approved)
            # A restart locks again; saying no and taking back never needs the word.
            await alice.restart()
            assert await code_of(alice, "memory.list") == "UNLOCK_REQUIRED"
            denied = {"request_id": second["request_id"]}
            assert await code_of(alice, "requests.approve", **denied) == (
                "UNLOCK_REQUIRED"
            )
            assert await code_of(alice, "requests.deny", **denied) == "done"
            (session,) = await alice.call("sessions.list")
            ended = await alice.call(
                "sessions.revoke", session_id=session["session_id"]
            )
            assert ended["status"] == "revoked"

    run(scene)


ITEM: Json = {"key": "k", "value": 1, "tags": ["t"], "sensitivity": "low"}


def test_a_malformed_command_is_refused_with_its_reason(tmp_path: Path) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice") as (alice,):
            for operation, body in (
                ("memory.list", b"{"),
                ("memory.list", b"[]"),
                ("memory.list", b"\xff"),
                ("memory.list", b'{"limit":1,"limit":2}'),
                ("memory.list", b'{"limit":"ten"}'),
                ("memory.list", b'{"unknown":1}'),
                ("memory.put", b"{}"),
                ("memory.put", json.dumps({**ITEM, "sensitivity": "x"}).encode()),
                ("memory.put", json.dumps({**ITEM, "tags": []}).encode()),
                ("memory.put", json.dumps({**ITEM, "tags": "t"}).encode()),
                ("memory.put", json.dumps({**ITEM, "key": ""}).encode()),
                ("memory.put", json.dumps({**ITEM, "key": "aggregate"}).encode()),
                ("memory.put", json.dumps({**ITEM, "key": "a\n"}).encode()),
                ("memory.put", json.dumps({**ITEM, "source": "agent"}).encode()),
                ("memory.put", json.dumps({**ITEM, "value": 2**60}).encode()),
                ("requests.approve", b'{"request_id":1}'),
                ("requests.approve", b'{"request_id":"x","selection":{"a":1}}'),
                ("sessions.revoke", b'{"session_id":"x","unknown":1}'),
                ("sessions.close", b"{}"),
                ("status", b'{"unknown":1}'),
                ("import.stage", STAGE % b'[{"key":"k"}]'),
                ("import.stage", STAGE % b"[1]"),
                ("packet.make", b'{"text":"a","keys":["k"]}'),
                ("packet.seal", b'{"data":"?","to":"did:web:example.org"}'),
                ("packet.open", b'{"envelope":"{}"}'),
            ):
                status, answer = await alice.raw(operation, body)
                assert status == 400, (operation, body)
                error = answer["error"]
                assert error["code"] in Code.__members__
                assert error["code"] != "INTERNAL_ERROR"
                assert error["message"].endswith((".", "`", "]"))
            for operation in ("no.such", "", "memory", "../status", "Memory.list"):
                status, answer = await alice.raw(operation)
                assert (status, answer["error"]["code"]) == (400, "NOT_FOUND")
            assert (await alice.call("memory.stats"))["items"] == 0
            # What the client itself cannot send is said in the same way.
            for value in (2**70, "\ud800"):
                code = await alice.refuses("memory.put", **{**ITEM, "value": value})
                assert code is Code.INVALID_REQUEST

    run(scene)


STAGE = b'{"import_id":"imp_x","first":0,"outcomes":1,"items":%s}'


def test_what_a_peer_would_refuse_is_refused_before_it_is_sent(tmp_path: Path) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice") as (alice,), stranger(alice) as agent:
            granted = await agent.session(alice, "t")
            session = {"session_id": granted["session_id"]}
            await agent.ask(alice, "t")
            (request,) = await alice.until("requests.list", bool)
            name = {"request_id": request["request_id"]}
            long = {"reason": "x" * 2001}
            to = {"to": agent.did}
            for operation, values in (
                ("sessions.revoke", {**session, **long}),
                ("requests.deny", {**name, **long}),
                ("request.ask", {**to, "tags": ["t"], "purpose": "x" * 2001}),
                ("request.ask", {**to, "tags": ["t"], "minutes": 0}),
                ("request.ask", {**to, "tags": ["t"], "minutes": 10_081}),
                ("request.ask", to),
                ("request.ask", {"to": alice.did, "tags": ["t"]}),
                ("request.ask", {"to": "did:web:example.org", "tags": ["t"]}),
                ("request.ask", {"to": "Nobody", "tags": ["t"]}),
                ("request.read", {**to, **session, "tags": ["t"]}),
            ):
                await alice.refuses(operation, **values)
            (shown,) = await alice.call("sessions.list")
            assert shown["status"] == "active"
            assert len(await alice.call("requests.list")) == 1
            assert await alice.call("requests.asked") == []
            await alice.call("sessions.revoke", **session, reason="x" * 2000)
            told = await agent.hears(types.SESSION_REVOKED)
            assert told["body"]["reason"] == "x" * 2000

    run(scene)


@pytest.mark.requirement("UOMP-11.2-2", "UOMP-11.2-6", "UOMP-11.2-7", "UOMP-11.2-8")
def test_items_keep_any_json_value_and_their_times(tmp_path: Path) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice") as (alice,):
            values: list[Any] = [{"a": {}}, [], "ü\u2028😀", 1, -0.5, 1e-7, None]
            values += json.loads("[true, false]")
            for number, value in enumerate(values):
                await alice.put(f"k{number}", value, "t")
            shown = await alice.call("memory.list")
            assert [one["value"] for one in shown] == values
            kinds = [type(one["value"]) for one in shown]
            assert kinds == [type(value) for value in values]
            first = shown[0]
            alice.clock.ahead = timedelta(hours=1)
            await alice.call("memory.put", **{**ITEM, "key": "k0", "description": "d"})
            again = await alice.call("memory.get", key="k0")
            assert again["created_at"] == first["created_at"] < again["updated_at"]
            assert (again["description"], again["source"]) == ("d", "user")
            page = await alice.call("memory.list", after="k2", limit=2)
            assert [one["key"] for one in page] == ["k3", "k4"]
            await alice.call("memory.rm", key="k0")
            assert await alice.refuses("memory.rm", key="k0") is Code.NOT_FOUND

    run(scene)
