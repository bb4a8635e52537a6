"""The life of sessions: they end, each by itself, and for good (UOMP section 13)."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from support.live import TestClock, living, run
from support.strangers import Stranger, stranger
from uomp.errors import Code
from uomp.node.service.grants import EPOCH_NAME
from uomp.protocol.messages import types

Json = dict[str, Any]


async def told_of_the_end(agent: Stranger, granted: Json) -> None:
    def about_it(message: Json) -> bool:
        return bool(message["body"]["session_id"] == granted["session_id"])

    message = await agent.hears(types.SESSION_REVOKED, where=about_it)
    assert message["body"]["revoked_at"]


@pytest.mark.requirement(
    "UOMP-13.1-1",
    "UOMP-13.1-4",
    "UOMP-7.3-2",
    "UOMP-7.3-3",
    "DER-26",
)
def test_a_session_ends_by_time_by_closing_or_by_revoking(tmp_path: Path) -> None:
    clock = TestClock()

    async def scene() -> None:
        async with (
            living(tmp_path, "Alice", clock=clock) as (alice,),
            stranger(alice) as agent,
        ):
            await alice.put("a", 1, "t")
            ends = [await agent.session(alice, "t", minutes=10) for _ in range(3)]
            closed, revoked, timed = ends
            await alice.call("sessions.close", session_id=closed["session_id"])
            await alice.call("sessions.revoke", session_id=revoked["session_id"])
            for ended in (closed, revoked):
                await told_of_the_end(agent, ended)
                assert await agent.verdict(alice, ended, tags=["t"]) == (
                    "session-revoked"
                )
            clock.ahead = timedelta(minutes=9, seconds=50)
            assert await agent.verdict(alice, timed, tags=["t"]) == "delivered"
            clock.ahead = timedelta(minutes=10)
            assert await agent.verdict(alice, timed, tags=["t"]) == "token-expired"

            def status(all_: list[Json]) -> dict[str, str]:
                return {one["session_id"]: one["status"] for one in all_}

            final = {
                closed["session_id"]: "closed",
                revoked["session_id"]: "revoked",
                timed["session_id"]: "expired",
            }
            await alice.until("sessions.list", lambda all_: status(all_) == final)
            # What has ended stays as it is, and ending it again is no error.
            told = [m for m in agent.heard if m["type"] == types.SESSION_REVOKED]
            for session, state in final.items():
                for end in ("sessions.close", "sessions.revoke", "sessions.revoke"):
                    shown = await alice.call(end, session_id=session)
                    assert shown["status"] == state
                    assert shown["closed_at"]
            assert await agent.verdict(alice, timed, tags=["t"]) == "token-expired"
            for request in await alice.call("requests.list", every=True):
                name = {"request_id": request["request_id"]}
                assert await alice.refuses("requests.approve", **name) == (
                    Code.STATE_CONFLICT
                )
            now = [m for m in agent.heard if m["type"] == types.SESSION_REVOKED]
            assert len(now) == len(told) == 2
            assert await alice.refuses("sessions.revoke", session_id="sess_x") == (
                Code.SESSION_NOT_FOUND
            )

    run(scene)


@pytest.mark.requirement(
    "UOMP-13.3-1", "UOMP-13.3-3", "UOMP-13.4-3", "UOMP-7.3-4", "UOMP-7.3-5"
)
def test_sessions_live_apart_and_what_is_void_stays_void(tmp_path: Path) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice") as (alice,), stranger(alice) as agent:
            await alice.put("a", 1, "t")
            one = await agent.session(alice, "t")
            two = await agent.session(alice, "t")
            three = await agent.session(alice, "t")
            assert one["token"] != two["token"]
            assert await agent.verdict(alice, one, tags=["t"]) == "delivered"
            await alice.call("sessions.revoke", session_id=one["session_id"])
            assert await agent.verdict(alice, one, tags=["t"]) == "session-revoked"
            assert await agent.verdict(alice, two, tags=["t"]) == "delivered"
            for session in (one, two):
                entries = await alice.call(
                    "audit.list", session_id=session["session_id"], limit=100
                )
                assert {entry["session_id"] for entry in entries} == {
                    session["session_id"]
                }
                assert "read" in {entry["action"] for entry in entries}
            # A blacklisted token is void though its session were active, and the
            # other way round; both outlive the process, and a new epoch ends all.
            async with alice.opened() as core:
                with core.ledger.transaction():
                    core.ledger.run(
                        "UPDATE sessions SET status = 'active' WHERE session_id = ?",
                        one["session_id"],
                    )
                    core.ledger.run(
                        "UPDATE sessions SET status = 'revoked' WHERE session_id = ?",
                        two["session_id"],
                    )
            assert await agent.verdict(alice, one, tags=["t"]) == "session-revoked"
            assert await agent.verdict(alice, two, tags=["t"]) == "session-revoked"
            assert await agent.verdict(alice, three, tags=["t"]) == "delivered"
            async with alice.opened() as core:
                with core.ledger.transaction():
                    core.ledger.run("INSERT INTO meta VALUES (?, '2')", EPOCH_NAME)
            assert await agent.verdict(alice, three, tags=["t"]) == "session-revoked"
            after = await agent.session(alice, "t")
            assert await agent.verdict(alice, after, tags=["t"]) == "delivered"

    run(scene)


@pytest.mark.requirement("SYS-4", "SYS-17", "SYS-18", "DER-14")
def test_a_whole_session_is_one_message_of_each_kind(tmp_path: Path) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice") as (alice,), stranger(alice) as agent:
            await alice.put("a", 1, "t")
            granted = await agent.session(alice, "t", packet=True)
            await agent.hears(types.PAYLOAD_READY)
            await alice.call("sessions.revoke", session_id=granted["session_id"])
            await told_of_the_end(agent, granted)
            assert [one["type"] for one in agent.tried] == [
                f"https://uomp.org/uomp/1.0/{name}"
                for name in ("authorize-response", "payload-ready", "session-revoked")
            ]
            assert len({one["thid"] for one in agent.tried}) == 1
            assert len(await alice.audited("request_received")) == 1

    run(scene)


@pytest.mark.requirement("PAM-E-16", "UOMP-7.3-1", "DER-12")
def test_a_stolen_token_is_of_no_use(tmp_path: Path) -> None:
    async def scene() -> None:
        async with (
            living(tmp_path, "Alice", "Carol") as (alice, carol),
            stranger(alice, carol) as agent,
            stranger(alice, carol) as thief,
        ):
            await alice.put("a", 1, "t")
            await carol.put("a", 1, "t")
            granted = await agent.session(alice, "t")
            assert await thief.verdict(alice, granted, tags=["t"]) == "access-denied"
            assert await thief.verdict(alice, granted, keys=["a"]) == "access-denied"
            # A token of Alice's opens nothing at Carol's, session there or not.
            assert await agent.verdict(carol, granted, tags=["t"]) == "invalid-token"
            there: Json = await agent.session(carol, "t")
            mixed = there | {"token": granted["token"]}
            assert await agent.verdict(carol, mixed, tags=["t"]) == "invalid-token"
            assert await agent.verdict(alice, granted, tags=["t"]) == "delivered"
            assert {one["type"] for one in thief.heard} == {types.PROBLEM_REPORT}
            entry = (await alice.audited("read"))[1]
            assert (entry["allowed"], entry["peer"]) == (False, thief.short)

    run(scene)
