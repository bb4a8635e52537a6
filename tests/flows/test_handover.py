"""The whole conversation between nodes, over real sockets."""

from pathlib import Path

import pytest

from support.live import granted, living, run
from uomp.errors import UompError


@pytest.mark.requirement("SYS-4", "SYS-14", "SYS-17", "DER-14", "DER-9", "DER-10")
def test_memory_is_asked_for_granted_verified_and_accepted(tmp_path: Path) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice", "Bob") as (alice, bob):
            await alice.put("theme", "dark", "t")
            asked = await bob.call("request.ask", to=alice.did, tags=["t"], minutes=60)
            (waiting,) = await alice.until("requests.list", bool)
            assert waiting["exposes"]["items"] == 1
            assert await bob.call("sessions.list") == []
            done = await alice.call(
                "requests.approve",
                request_id=waiting["request_id"],
                selection={"minutes": 5},
            )
            answer = await bob.answered(asked["request_id"])
            assert answer["status"] == "granted"
            (packet,) = await bob.until("inbox.list", bool)
            with pytest.raises(UompError):
                await bob.call("memory.get", key="theme")
            assert packet["packet_id"] == done["packet"]["packet_id"]
            await bob.call("inbox.accept", packet=packet["packet_id"])
            item = await bob.call("memory.get", key="theme")
            assert (item["value"], item["source"]) == ("dark", "agent")
            (handed,) = await alice.until(
                "handoff.list", lambda all_: all_[0]["receipt"]
            )
            assert handed["receipt"]["status"] == "accepted"
            assert handed["receipt"]["packet_hash"] == packet["packet_hash"]

    run(scene)


def test_a_revoked_session_reads_no_more(tmp_path: Path) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice", "Bob") as (alice, bob):
            await alice.put("theme", "dark", "t")
            session = await granted(alice, bob, packet=False)
            read = {"to": alice.did, "session_id": session, "tags": ["t"]}
            first = await bob.call("request.read", **read)
            assert (await bob.answered(first["request_id"]))["status"] == "delivered"
            await alice.call("sessions.revoke", session_id=session)
            await bob.until(
                "sessions.list", lambda all_: all_[0]["status"] == "revoked"
            )
            second = await bob.call("request.read", **read)
            answer = await bob.answered(second["request_id"])
            assert answer["answer"]["code"] == "SESSION_REVOKED"

    run(scene)
