"""The owner says yes, less, or no (UOMP sections 9 and 21)."""

import asyncio
import subprocess
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from support.live import Live, TestClock, living, run
from support.nodes import UOMP
from support.strangers import Stranger, stranger
from uomp.errors import Code
from uomp.node.stores.requests import (
    MAX_PENDING_CONTACT,
    MAX_PENDING_STRANGER,
    MAX_PENDING_STRANGERS,
)
from uomp.protocol.did.resolve import short_form
from uomp.protocol.messages import types

DAY = timedelta(days=1)


async def asked(owner: Live, agent: Stranger, *tags: str, **body: Any) -> str:
    """Let the agent ask, and return the id of the owner's new request."""
    before = {one["request_id"] for one in await owner.call("requests.list")}
    await agent.ask(owner, *tags, **body)
    waiting = await owner.call("requests.list")
    (new,) = {one["request_id"] for one in waiting} - before
    return str(new)


async def granted(owner: Live, request: str, **selection: Any) -> Any:
    selection = {"packet": False, **selection}
    done = await owner.call("requests.approve", request_id=request, selection=selection)
    session = done["session"]
    return session["granted_scopes"]["read"] | {"session": session}


@pytest.mark.requirement("DER-14", "UOMP-13.1-2")
def test_the_owner_narrows_a_request_and_exceeds_it_only_on_purpose(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice") as (alice,), stranger(alice) as agent:
            await alice.put("a", 1, "t")
            await alice.put("b", 2, "t", "private")
            await alice.put("c", 3, "other")

            request = await asked(alice, agent, "t", "u", duration_minutes=60)
            refuses = {"request_id": request}
            for beyond in (
                {"tags": ["other"]},
                {"keys": ["c"]},
                {"keys": ["not.there"]},
                {"minutes": 61},
                {"minutes": 0},
                {"max_reads": 0},
                {"minutes": 10_081, "widen": True},
                {"tags": ["t"], "unknown": 1},
            ):
                code = await alice.refuses(
                    "requests.approve", **refuses, selection=beyond
                )
                assert code in (Code.STATE_CONFLICT, Code.INVALID_REQUEST), beyond
            assert await alice.call("sessions.list") == []

            # One key that bears a requested tag, for less time.
            made = await granted(alice, request, keys=["a"], minutes=5)
            assert (made["keys"], made["tags"]) == (["a"], [])
            session = made["session"]
            assert session["requested_scopes"]["read"]["tags"] == ["t", "u"]
            answer = await agent.hears(types.AUTHORIZE_RESPONSE)
            assert answer["body"]["granted_scopes"]["read"]["keys"] == ["a"]
            assert answer["body"]["expires_at"] == session["expires_at"]

            # One tag of two, and denials on top of what the agent leaves out itself.
            request = await asked(alice, agent, "t", "u")
            denied = {"deny_tags": ["private"], "deny_keys": ["a"]}
            made = await granted(alice, request, tags=["t"], **denied)
            assert (made["tags"], made["deny_tags"]) == (["t"], ["private"])
            assert made["deny_keys"] == ["a"]

            # More than was asked for is the owner's explicit and audited choice.
            request = await asked(alice, agent, "t")
            await granted(alice, request, keys=["a", "c"], widen=True)
            entry = (await alice.audited("session_granted"))[0]
            assert entry["detail"]["beyond_request"] == ["key c"]
            assert "more than requested" in entry["reason"]
            quiet = (await alice.audited("session_granted"))[1]
            assert quiet["detail"]["beyond_request"] == []

    run(scene)


@pytest.mark.requirement("DER-14")
def test_a_request_is_decided_once(tmp_path: Path) -> None:
    clock = TestClock()

    async def scene() -> None:
        async with (
            living(tmp_path, "Alice", clock=clock) as (alice,),
            stranger(alice) as agent,
        ):
            denied = await asked(alice, agent, "t")
            await alice.call("requests.deny", request_id=denied, reason="Not today.")
            answer = await agent.hears(types.AUTHORIZE_RESPONSE)
            assert answer["body"]["decision"] == "denied"
            assert answer["body"]["reason"] == "Not today."
            assert "token" not in answer["body"]
            approved = await asked(alice, agent, "t")
            await granted(alice, approved)
            forgotten = await asked(alice, agent, "t")
            clock.ahead = 4 * DAY
            await alice.until("requests.list", lambda all_: not all_)
            shown = await alice.call("requests.list", every=True)
            assert {one["request_id"]: one["status"] for one in shown} == {
                denied: "denied",
                approved: "approved",
                forgotten: "expired",
            }
            (entry,) = await alice.audited("request_expired")
            assert entry["detail"]["request_id"] == forgotten
            for request in (denied, approved, forgotten):
                name = {"request_id": request}
                assert await alice.refuses("requests.approve", **name) == (
                    Code.STATE_CONFLICT
                )
                assert await alice.refuses("requests.deny", **name) == (
                    Code.STATE_CONFLICT
                )
            assert len(await alice.call("sessions.list")) == 1
            assert await alice.refuses("requests.deny", request_id="req_x") == (
                Code.NOT_FOUND
            )

    run(scene)


def test_strangers_share_few_places_and_a_contact_has_its_own(tmp_path: Path) -> None:
    crowd = MAX_PENDING_STRANGERS // MAX_PENDING_STRANGER

    async def scene() -> None:
        async with AsyncExitStack() as stack:
            (alice,) = await stack.enter_async_context(living(tmp_path, "Alice"))
            everyone = [
                await stack.enter_async_context(stranger(alice))
                for _ in range(crowd + 2)
            ]
            friend, late, *strangers = everyone
            await alice.call("contacts.add", did=friend.did, name="Friend")
            for one in strangers:
                for _ in range(MAX_PENDING_STRANGER):
                    await one.ask(alice, "t")
            # Neither one of them alone nor all of them together get more.
            for one in (strangers[0], late):
                report = await one.refused(await one.ask(alice, "t"))
                assert report["code"] == "e.p.me.res.quota-exceeded"
            for _ in range(MAX_PENDING_CONTACT):
                await friend.ask(alice, "t")
            report = await friend.refused(await friend.ask(alice, "t"))
            assert report["code"] == "e.p.me.res.quota-exceeded"
            waiting = await alice.call("requests.list")
            assert len(waiting) == MAX_PENDING_STRANGERS + MAX_PENDING_CONTACT
            assert {one["contact"] for one in waiting} == {None, "Friend"}
            # A decision makes room.
            one = next(one for one in waiting if one["contact"] is None)
            await alice.call("requests.deny", request_id=one["request_id"])
            await late.ask(alice, "t")
            await alice.until("requests.list", lambda all_: len(all_) == len(waiting))

    run(scene)


@pytest.mark.requirement("DER-12")
def test_an_agent_id_belongs_to_the_did_that_the_owner_granted_it_to(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with (
            living(tmp_path, "Alice") as (alice,),
            stranger(alice) as good,
            stranger(alice) as bad,
        ):
            # Before the owner has decided, asking first gives no right to a name.
            await bad.ask(alice, "t", agent_id="travel.agent")
            await good.ask(alice, "t", agent_id="travel.agent")
            waiting = await alice.until("requests.list", lambda all_: len(all_) == 2)
            mine = next(one for one in waiting if one["from"] == good.short)
            theirs = next(one for one in waiting if one["from"] == bad.short)
            approve = {"request_id": mine["request_id"]}
            await alice.call("requests.approve", **approve)
            taken = {"request_id": theirs["request_id"]}
            assert await alice.refuses("requests.approve", **taken) == (
                Code.NOT_AUTHORIZED
            )
            stolen = await bad.ask(alice, "t", agent_id="travel.agent")
            assert (await bad.refused(stolen))["code"] == "e.p.trust.not-authorized"
            # Nor can anyone take a DID for a name that is another's, seen or not.
            for did in (good.short, short_form(alice.did), "did:web:example.org"):
                stolen = await bad.ask(alice, "t", agent_id=did)
                report = await bad.refused(stolen)
                assert report["code"] == "e.p.trust.not-authorized"
            # One DID has one name.
            another = await good.ask(alice, "t", agent_id="other.agent")
            assert (await good.refused(another))["code"] == "e.p.trust.not-authorized"
            await good.ask(alice, "t", agent_id="travel.agent")

    run(scene)


HOSTILE = "\x1b[2J\x1b]0;owned\x07Bank\u202eknaB\u200b\r[bold]x[/bold]"


def test_hostile_texts_do_not_reach_the_owners_terminal(tmp_path: Path) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice") as (alice,), stranger(alice) as agent:
            texts = {"agent_name": HOSTILE, "purpose": HOSTILE}
            await agent.ask(alice, HOSTILE, agent_id=HOSTILE, **texts)
            await alice.until("requests.list", bool)
            done = await asyncio.to_thread(
                subprocess.run,
                [*UOMP, "requests", "list", "--home", str(alice.home.root)],
                capture_output=True,
                check=True,
                timeout=30,
            )
            shown = done.stdout.decode()
            assert not set(shown) & set("\x1b\x07\u202e\u200b\r")
            assert "Bank" in shown
            assert "[bold]" in shown
            long = await agent.ask(alice, "t", purpose="x" * 2001)
            assert (await agent.refused(long))["code"] == "e.p.msg.invalid-request"

    run(scene)
