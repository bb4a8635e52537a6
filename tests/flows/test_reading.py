"""Reading by message in a session: what is given, what is hidden, what is counted."""

from pathlib import Path
from typing import Any

import pytest

from support.live import Live, living, run
from support.strangers import Stranger, stranger
from uomp.protocol.messages import types

Json = dict[str, Any]


async def keys_read(
    agent: Stranger, owner: Live, granted: Json, **wanted: Any
) -> list[str]:
    """Read, and return the keys of the packet that came."""
    answer = await agent.read(owner, granted, **wanted)
    assert answer["type"] == types.HANDOFF_DELIVER, answer["body"]
    packet = agent.packet_in(answer)
    assert packet["header"]["session_id"] == granted["session_id"]
    assert packet["header"]["audience"] == [agent.short]
    return [one["key"] for one in packet["payload"]["items"]]


@pytest.mark.requirement("UOMP-11.3-1", "UOMP-7.2-8")
def test_a_read_gives_what_the_scope_reaches_and_hides_what_exists(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice") as (alice,), stranger(alice) as agent:
            await alice.put("open", 1, "t")
            await alice.put("private", 2, "t", "secret")
            await alice.put("denied", 3, "t")
            await alice.put("high", 4, "t", level="high")
            await alice.put("other", 5, "else")
            limits = {"deny_tags": ["secret"], "deny_keys": ["denied", "absent.too"]}
            granted = await agent.session(alice, "t", "empty", **limits)
            assert await keys_read(agent, alice, granted, tags=["t"]) == ["open"]
            assert await keys_read(agent, alice, granted, keys=["open"]) == ["open"]
            # A tag that nothing bears is granted all the same: nothing comes of it.
            assert await keys_read(agent, alice, granted, tags=["empty"]) == []
            # What is forbidden and what is not there look alike, to the letter.
            answers = []
            for key in ("private", "denied", "high", "other", "absent", "absent.too"):
                answer = await agent.read(alice, granted, keys=[key])
                assert answer["type"] == types.PROBLEM_REPORT
                answers.append(answer["body"])
            assert answers == [answers[0]] * len(answers)
            assert answers[0]["code"] == "e.p.trust.access-denied"
            for wanted in (
                {"keys": ["open", "absent"]},
                {"tags": ["t", "else"]},
                {"tags": ["secret"]},
                {"tags": ["T"]},
                {"keys": ["open "]},
            ):
                verdict = await agent.verdict(alice, granted, **wanted)
                assert verdict == "access-denied", wanted
            malformed: list[Json] = [{}, {"keys": "open"}, {"tags": ["t"], "budget": 0}]
            for wrong in malformed:
                verdict = await agent.verdict(alice, granted, **wrong)
                assert verdict == "invalid-request", wrong

            # Named by its key, a high item is given; an absent one may be told.
            named = {"keys": ["high", "absent"], "tags": [], "widen": True}
            granted = await agent.session(alice, "t", **named)
            assert await keys_read(agent, alice, granted, keys=["high"]) == ["high"]
            verdict = await agent.verdict(alice, granted, keys=["absent"])
            assert verdict == "not-found"
            assert await agent.verdict(alice, granted, tags=["t"]) == "access-denied"

    run(scene)


def test_the_packet_of_a_grant_follows_the_same_rules(tmp_path: Path) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice") as (alice,), stranger(alice) as agent:
            await alice.put("open", 1, "t")
            await alice.put("private", 2, "t", "secret")
            await alice.put("high", 4, "t", level="high")
            await agent.ask(alice, "t")
            (request,) = await alice.until("requests.list", bool)
            assert request["exposes"] == {
                "items": 2,
                "high": [],
                "keys": {},
                "tags": {"t": 2},
                "sample": ["open", "private"],
            }
            done = await alice.call(
                "requests.approve",
                request_id=request["request_id"],
                selection={"deny_tags": ["secret"]},
            )
            message = await agent.hears(types.PAYLOAD_READY)
            packet = agent.packet_in(message)
            assert [one["key"] for one in packet["payload"]["items"]] == ["open"]
            assert message["body"]["session_id"] == done["session"]["session_id"]
            assert packet["header"]["packet_id"] == done["packet"]["packet_id"]
            assert packet["header"]["reshare"] == "none"

    run(scene)


def test_a_quota_is_exact_and_refused_reads_count(tmp_path: Path) -> None:
    async def scene() -> None:
        async with (
            living(tmp_path, "Alice") as (alice,),
            stranger(alice) as agent,
            stranger(alice) as thief,
        ):
            await alice.put("open", 1, "t")
            granted = await agent.session(alice, "t", max_reads=4)
            verdicts = [
                await agent.verdict(alice, granted, tags=["t"]),
                await agent.verdict(alice, granted, keys=["absent"]),
                await thief.verdict(alice, granted, tags=["t"]),  # costs nothing
                await agent.verdict(alice, granted, tags=["t"], budget=10),
                await agent.verdict(alice, granted, tags=["t"]),
                await agent.verdict(alice, granted, tags=["t"]),
            ]
            assert verdicts == [
                "delivered",
                "access-denied",
                "access-denied",
                "packet-too-large",
                "delivered",
                "quota-exceeded",
            ]
            await alice.restart()
            assert await agent.verdict(alice, granted, tags=["t"]) == "quota-exceeded"
            shown = await alice.call("sessions.show", session_id=granted["session_id"])
            assert (shown["reads"], shown["max_reads"]) == (4, 4)
            entries = await alice.audited("read", session_id=granted["session_id"])
            left = [e["query_count_remaining"] for e in entries if e["allowed"]]
            assert left == [0, 3]
            reasons = [
                e["reason"].partition(":")[0] for e in entries if not e["allowed"]
            ]
            assert reasons == [
                "QUOTA_EXCEEDED",
                "QUOTA_EXCEEDED",
                "PACKET_TOO_LARGE",
                "ACCESS_DENIED",
                "ACCESS_DENIED",
            ]

    run(scene)


def test_a_budget_is_kept_to_the_byte_and_versions_are_told(tmp_path: Path) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice") as (alice,), stranger(alice) as agent:
            await alice.put("open", "x" * 1000, "t")
            granted = await agent.session(alice, "t")
            first = await agent.read(alice, granted, tags=["t"])
            size = first["body"]["size"]
            # The next packet of the chain names the one before: a little longer.
            second = await agent.read(alice, granted, tags=["t"])
            size = second["body"]["size"]
            verdict = await agent.verdict(alice, granted, tags=["t"], budget=size - 1)
            assert verdict == "packet-too-large"
            # A refused packet takes no place in the chain.
            third = await agent.read(alice, granted, tags=["t"], budget=size)
            assert third["body"]["size"] == size
            sequences = [
                agent.packet_in(one)["header"]["sequence"]
                for one in (first, second, third)
            ]
            assert sequences == [1, 2, 3]

            answer = await agent.read(
                alice, granted, tags=["t"], supported_versions=["2.0", "3.1"]
            )
            assert answer["type"] == types.PROBLEM_REPORT
            assert answer["body"]["code"] == "e.p.msg.unsupported-protocol-version"
            assert answer["body"]["args"] == ["1.0"]
            assert "{1}" in answer["body"]["comment"]
            both = {"supported_versions": ["2.0", "1.4"]}
            assert await agent.verdict(alice, granted, tags=["t"], **both) == (
                "delivered"
            )

    run(scene)
