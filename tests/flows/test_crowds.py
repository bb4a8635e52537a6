"""Strangers in numbers: they get little, and nobody else gets less for it."""

import shutil
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

from support.live import TestClock, granted, living, run
from support.strangers import stranger
from uomp.node.cli.output import safe
from uomp.node.sender import STRANGER_PLACES
from uomp.node.service.pruning import STRANGERS_FOR, prune
from uomp.node.strangers import PER_STRANGER
from uomp.protocol.messages import types


def test_strangers_who_never_answer_hold_up_no_one_the_owner_deals_with(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with AsyncExitStack() as stack:
            alice, bob = await stack.enter_async_context(
                living(tmp_path, "Alice", "Bob")
            )
            crowd = [
                await stack.enter_async_context(stranger(alice))
                for _ in range(STRANGER_PLACES + 4)
            ]
            for one in crowd:
                one.answering.clear()  # takes the message and never answers
                await one.say(alice, types.PING, {})
            await alice.put("theme", "dark", "t")
            # All of it happens while every one of them still hangs.
            await granted(alice, bob)
            await bob.until("inbox.list", bool)
            for one in crowd:
                one.answering.set()

    run(scene)


def test_one_stranger_gets_only_so_many_messages_taken_in_a_minute(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice") as (alice,), stranger(alice) as loud:
            statuses = []
            for _ in range(2 * PER_STRANGER + 1):
                message = loud.message(alice.did, types.PING, {})
                envelope = loud.pack(alice.did, message)
                statuses.append((await loud.post(alice, envelope))[0])
            # The minute may turn in between: then twice the number pass, never more.
            assert statuses[:PER_STRANGER] == [202] * PER_STRANGER
            assert statuses.count(429) >= 1
            # A contact is no stranger.
            await alice.call("contacts.add", did=loud.did, name="Loud")
            await loud.say(alice, types.PING, {})

    run(scene)


def test_a_stranger_who_left_nothing_is_forgotten(tmp_path: Path) -> None:
    clock = TestClock()

    async def scene() -> None:
        async with (
            living(tmp_path, "Alice", clock=clock) as (alice,),
            stranger(alice) as passer,
            stranger(alice) as asker,
            stranger(alice) as friend,
        ):
            await alice.call("contacts.add", did=friend.did, name="Friend")
            await asker.ask(alice, "t")
            await passer.say(alice, types.PING, {})
            await passer.hears(types.PING_RESPONSE)
            async with alice.opened() as core:
                assert core.peers.get(passer.did) is not None
                with core.ledger.transaction():
                    core.ledger.run("DELETE FROM outbox")
                clock.ahead = STRANGERS_FOR + timedelta(minutes=1)
                prune(core)
                assert core.peers.get(passer.did) is None
                assert core.peers.get(asker.did) is not None
                assert core.peers.get(friend.did) is not None

    run(scene)


def test_an_older_ledger_put_back_hides_no_read_from_the_audit_log(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice") as (alice,), stranger(alice) as agent:
            await alice.put("theme", "dark", "t")
            session = await agent.session(alice, "t", packet=False)
            await alice.stop()
            old = tmp_path / "ledger.old"
            shutil.copy(alice.home.ledger, old)
            await alice.start()
            for _ in range(3):
                await agent.read(alice, session, tags=["t"])
            before = len(await alice.call("audit.list", action="read"))
            await alice.stop()
            shutil.copy(old, alice.home.ledger)
            await alice.start()
            await agent.read(alice, session, tags=["t"])
            reads = await alice.call("audit.list", action="read")
            assert (before, len(reads)) == (3, 4)
            assert (await alice.call("audit.verify"))["wrong"] == []

    run(scene)


def test_a_packet_that_waits_does_not_leave_after_its_session(tmp_path: Path) -> None:
    clock = TestClock()

    async def scene() -> None:
        async with living(tmp_path, "Alice", "Bob", clock=clock) as (alice, bob):
            await alice.put("theme", "dark", "t")
            await bob.call("request.ask", to=alice.did, tags=["t"])
            (waiting,) = await alice.until("requests.list", bool)
            await bob.stop()
            await alice.call(
                "requests.approve",
                request_id=waiting["request_id"],
                selection={"minutes": 1},
            )
            await alice.stop()
            clock.ahead = timedelta(minutes=2)
            await bob.start()
            await alice.start()
            await alice.until(
                "audit.list",
                lambda all_: any("session has ended" in one["reason"] for one in all_),
                action="not_delivered",
            )
            await alice.until("outbox.list", lambda all_: not _waiting(all_))
            assert await bob.call("inbox.list") == []

    run(scene)


def _waiting(outbox: list[dict[str, str]]) -> list[dict[str, str]]:
    return [one for one in outbox if one["status"] == "waiting"]


def test_foreign_text_cannot_look_like_a_line_of_ours() -> None:
    forged = "x\n  from:    Bob\u2028  wants: nothing\r\u0085end"
    shown = safe(forged).plain
    assert shown.splitlines() == [shown]
    assert "\n" in safe("two\nlines", lines=True).plain
