"""Messages that wait for a peer: tried again, in order, and given up in the end."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from support.live import Live, TestClock, living, run
from support.strangers import Stranger, introduce, stranger
from uomp.errors import Code
from uomp.protocol.messages import types

Json = dict[str, Any]
LATER = timedelta(minutes=10)  # longer than the longest pause between two tries


@asynccontextmanager
async def with_clock(
    tmp: Path, *names: str, **settings: Any
) -> AsyncIterator[tuple[TestClock, list[Live]]]:
    clock = TestClock()
    async with living(tmp, *names, clock=clock, **settings) as nodes:
        introduce(*nodes)
        yield clock, nodes


async def tried(node: Live, times: int = 1) -> Json:
    """Wait until the oldest message has been tried so often, and return it."""
    found = await node.until(
        "outbox.list", lambda all_: all_ and all_[0]["attempts"] >= times
    )
    first: Json = found[0]
    return first


async def sent(node: Live) -> None:
    await node.until("outbox.list", lambda all_: not all_)


def test_what_a_peer_misses_arrives_later_once_and_in_order(tmp_path: Path) -> None:
    async def scene() -> None:
        async with with_clock(tmp_path, "Alice") as (clock, (alice,)):
            for number in range(4):
                await alice.put(f"k{number}", number, "t")
            peer = Stranger(clock)
            sent_hashes = []
            for number in range(3):
                one = await alice.call("handoff.send", to=peer.did, keys=[f"k{number}"])
                sent_hashes.append(one["packet_hash"])
            waiting = await tried(alice)
            assert (waiting["status"], waiting["peer"]) == ("waiting", peer.short)
            # It survives the sender's own end, and goes on where it was.
            await alice.restart()
            ids = [one["message_id"] for one in await alice.call("outbox.list")]
            assert len(ids) == 3
            peer.answers = 503
            listener = await peer.listen()
            clock.ahead += LATER
            await tried(alice, waiting["attempts"] + 1)
            clock.ahead += LATER
            await tried(alice, waiting["attempts"] + 2)
            assert {one["id"] for one in peer.tried} == {ids[0]}  # nothing overtakes
            times = {(one["created_time"], one["expires_time"]) for one in peer.tried}
            assert len(times) == 1
            peer.answers = 202
            clock.ahead += LATER
            await sent(alice)
            assert [one["id"] for one in peer.heard] == ids
            assert [one["body"]["hash"] for one in peer.heard] == sent_hashes
            chain = [peer.packet_in(one)["header"] for one in peer.heard]
            assert [header["sequence"] for header in chain] == [1, 2, 3]
            assert [header["previous"] for header in chain] == [None, *sent_hashes[:2]]
            await listener.close()
            await peer.close()

    run(scene)


def test_a_peer_that_speaks_is_written_to_at_once(tmp_path: Path) -> None:
    clock = TestClock()

    async def scene() -> None:
        async with (
            living(tmp_path, "Alice", clock=clock) as (alice,),
            stranger(alice) as peer,
        ):
            peer.answers = 503
            await alice.call("contacts.ping", who=peer.did)
            for times in range(1, 8):  # the next pause is longer than this test waits
                await tried(alice, times)
                clock.ahead += LATER
            await tried(alice, 8)
            peer.answers = 202
            await peer.say(alice, types.EMPTY, {})
            await peer.hears(types.PING)

    run(scene)


def test_what_nobody_takes_in_its_time_is_given_up(tmp_path: Path) -> None:
    async def scene() -> None:
        async with with_clock(tmp_path, "Alice") as (clock, (alice,)):
            peer = Stranger(clock)
            ping = await alice.call("contacts.ping", who=peer.did)
            await tried(alice)
            clock.ahead = timedelta(days=1, seconds=1)
            one = await alice.answered(ping["request_id"])
            assert one["status"] == "failed"
            assert one["answer"]["code"] == "PEER_UNREACHABLE"
            (entry,) = await alice.audited("not_delivered")
            assert entry["detail"]["message_id"] == ping["request_id"]
            (failed,) = await alice.call("outbox.list")
            assert failed["status"] == "failed"

    run(scene)


@pytest.mark.parametrize("status", [400, 404, 413])
def test_what_a_peer_refuses_is_given_up_at_once(tmp_path: Path, status: int) -> None:
    async def scene() -> None:
        async with (
            living(tmp_path, "Alice") as (alice,),
            stranger(alice) as peer,
        ):
            await alice.put("k", 1, "t")
            peer.answers = status
            handed = await alice.call("handoff.send", to=peer.did, keys=["k"])
            await alice.until(
                "handoff.list", lambda all_: all_[0]["status"] == "not_delivered"
            )
            (entry,) = await alice.audited("not_delivered")
            assert entry["allowed"] is False
            assert str(status) in entry["reason"]
            assert len(peer.tried) == 1
            # What comes after it is not held up.
            peer.answers = 202
            ping = await alice.call("contacts.ping", who=peer.did)
            await peer.hears(types.PING)
            assert ping["request_id"] != handed["packet_id"]

    run(scene)


@pytest.mark.requirement("UOMP-13.4-1", "UOMP-13.4-3")
def test_a_revoke_overtakes_what_waits_for_the_agent(tmp_path: Path) -> None:
    async def scene() -> None:
        async with with_clock(tmp_path, "Alice", "Bob") as (clock, (alice, bob)):
            await alice.put("k", "secret", "t")
            asked = await bob.call("request.ask", to=alice.did, tags=["t"])
            (request,) = await alice.until("requests.list", bool)
            await bob.stop()
            done = await alice.call(
                "requests.approve", request_id=request["request_id"]
            )
            session = {"session_id": done["session"]["session_id"]}
            await tried(alice)
            await alice.call("sessions.revoke", **session)
            clock.ahead += LATER
            lost = await alice.until(
                "audit.list", lambda all_: len(all_) == 2, action="not_delivered"
            )
            kinds = {one["detail"]["message_type"] for one in lost}
            assert kinds == {types.AUTHORIZE_RESPONSE, types.PAYLOAD_READY}
            assert {one["session_id"] for one in lost} == set(session.values())
            (handed,) = await alice.call("handoff.list")
            assert handed["status"] == "not_delivered"
            await bob.start()
            clock.ahead += LATER
            one = await alice.until(
                "outbox.list", lambda all_: all(m["status"] == "failed" for m in all_)
            )
            # Bob got no token and no packet, and knows that he need not wait.
            one = await bob.answered(asked["request_id"])
            assert (one["status"], one["answer"]["code"]) == (
                "refused",
                "SESSION_REVOKED",
            )
            assert await bob.call("sessions.list") == []
            assert await bob.call("inbox.list") == []

    run(scene)


@pytest.mark.requirement("UOMP-13.4-1")
def test_a_revoke_cuts_off_what_is_on_its_way(tmp_path: Path) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice") as (alice,), stranger(alice) as agent:
            await alice.put("k", "secret", "t")
            granted = await agent.session(alice, "t")
            agent.answering.clear()
            before = len(agent.tried)
            body = {**granted, "tags": ["t"]}
            await agent.say(alice, types.HANDOFF_REQUEST, body)
            await agent.is_tried(before + 1)  # the packet is being sent
            session = {"session_id": granted["session_id"]}
            shown = await alice.call("sessions.revoke", **session)
            assert shown["status"] == "revoked"
            agent.answering.set()
            await agent.hears(types.SESSION_REVOKED)
            # The agent may have had it before the revoke; it is not sent again after.
            (entry,) = await alice.until("audit.list", bool, action="not_delivered")
            assert entry["session_id"] == granted["session_id"]
            delivered = [m for m in agent.tried if m["type"] == types.HANDOFF_DELIVER]
            assert len(delivered) == 1

    run(scene)


def test_a_peer_that_never_answers_holds_up_no_other(tmp_path: Path) -> None:
    async def scene() -> None:
        async with (
            living(tmp_path, "Alice") as (alice,),
            stranger(alice) as stuck,
            stranger(alice) as lively,
        ):
            stuck.answering.clear()
            for peer in (stuck, stuck, lively):
                await alice.call("contacts.ping", who=peer.did)
            await lively.hears(types.PING)
            await stuck.is_tried()
            assert stuck.heard == []
            await alice.stop()  # nor does it hold up the node's own end
            stuck.answering.set()

    run(scene)


def test_a_packet_too_large_for_a_message_is_refused_at_home(tmp_path: Path) -> None:
    async def scene() -> None:
        small = {"max_message_bytes": 65_536}
        async with (
            living(tmp_path, "Alice", didcomm=small) as (alice,),
            stranger(alice) as agent,
        ):
            await alice.put("small", 1, "s")
            await alice.put("large", "x" * 40_000, "t")
            to = {"to": agent.did, "keys": ["large"]}
            assert await alice.refuses("handoff.send", **to) is Code.PACKET_TOO_LARGE
            assert await alice.call("outbox.list") == []
            assert await alice.call("handoff.list") == []
            granted = await agent.session(alice, "t", "s", packet=True)
            assert await agent.verdict(alice, granted, tags=["t"]) == (
                "packet-too-large"
            )
            answer = await agent.read(alice, granted, tags=["s"])
            # Nothing of what was refused has taken a place in the chain.
            assert agent.packet_in(answer)["header"]["sequence"] == 1
            entries = await alice.audited("read")
            assert [one["allowed"] for one in entries] == [True, False]
            # And one that is too large for us is not even read.
            big = agent.message(alice.did, types.PING, {"x": "y" * 70_000})
            status, _ = await agent.post(alice, agent.pack(alice.did, big))
            assert status == 413

    run(scene)
