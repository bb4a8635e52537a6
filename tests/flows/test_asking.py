"""This node as the agent: which answers it takes, and from whom."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from support.live import Live, TestClock, granted, living, run
from support.strangers import Stranger, stranger
from uomp.errors import Code
from uomp.packets.times import format_time
from uomp.protocol.did.resolve import short_form
from uomp.protocol.messages import types

Json = dict[str, Any]
SCOPES = {"read": {"tags": ["t"], "keys": []}}


def grant(owner: Stranger, **changes: Any) -> Json:
    until = owner.clock.now() + timedelta(hours=1)
    body = {
        "decision": "granted",
        "session_id": "sess_1",
        "token": "a.b.c",
        "token_type": "Bearer",
        "expires_at": format_time(until),
        "granted_scopes": SCOPES,
        **changes,
    }
    return {name: value for name, value in body.items() if value is not None}


async def ask(alice: Live, owner: Stranger) -> str:
    asked = await alice.call("request.ask", to=owner.did, tags=["t"])
    return str(asked["request_id"])


def test_only_whom_we_asked_can_answer_and_only_once(tmp_path: Path) -> None:
    async def scene() -> None:
        async with (
            living(tmp_path, "Alice") as (alice,),
            stranger(alice) as owner,
            stranger(alice) as other,
        ):
            asked = await ask(alice, owner)
            request = await owner.hears(types.AUTHORIZE_REQUEST)
            assert request["id"] == asked
            assert request["body"]["agent_id"] == short_form(alice.did)

            async def refused(by: Stranger, body: Json, thread: str | None) -> None:
                name = await by.say(alice, types.AUTHORIZE_RESPONSE, body, thid=thread)
                await by.refused(thread or name)
                by.heard.clear()
                one = await alice.call("requests.one", request_id=asked)
                assert one["status"] == "waiting"

            await refused(other, grant(other), asked)
            await refused(owner, grant(owner), None)
            await refused(owner, grant(owner), "another thread")
            for broken in (
                {"token": None},
                {"session_id": None},
                {"expires_at": None},
                {"granted_scopes": None},
                {"granted_scopes": {"read": 1}},
                {"expires_at": "tomorrow"},
                {"expires_at": "2026-13-01T00:00:00Z"},
                {"decision": "perhaps"},
            ):
                await refused(owner, grant(owner, **broken), asked)
            assert await alice.call("sessions.list") == []

            # The token's time may be written with another offset (DER-21).
            until = owner.clock.now().replace(microsecond=0) + timedelta(hours=1)
            offset = (until + timedelta(hours=9)).strftime("%Y-%m-%dT%H:%M:%S+09:00")
            answer = grant(owner, expires_at=offset)
            await owner.say(alice, types.AUTHORIZE_RESPONSE, answer, thid=asked)
            assert (await alice.answered(asked))["status"] == "granted"
            (held,) = await alice.call("sessions.list")
            assert held["expires_at"] == format_time(until)
            assert (held["role"], held["issuer"]) == ("agent", owner.short)
            # The first answer stands.
            later = {"decision": "denied", "reason": "no"}
            await owner.say(alice, types.AUTHORIZE_RESPONSE, later, thid=asked)
            await owner.say(
                alice, types.AUTHORIZE_RESPONSE, grant(owner, token="x"), thid=asked
            )
            assert (await alice.call("sessions.list")) == [held]
            # Another cannot end it; its issuer can.
            end = {"session_id": "sess_1", "revoked_at": format_time(until)}
            await other.say(alice, types.SESSION_REVOKED, end)
            assert (await alice.call("sessions.list"))[0]["status"] == "active"
            await owner.say(alice, types.SESSION_REVOKED, end)
            assert (await alice.call("sessions.list"))[0]["status"] == "revoked"

    run(scene)


@pytest.mark.requirement("DER-26", "UOMP-13.1-1")
def test_a_token_that_is_over_is_thrown_away(tmp_path: Path) -> None:
    clock = TestClock()

    async def scene() -> None:
        async with living(tmp_path, "Alice", "Bob", clock=clock) as (alice, bob):
            await alice.put("k", 1, "t")
            session = await granted(alice, bob, packet=False, minutes=5)
            read = {"to": alice.did, "session_id": session, "tags": ["t"]}
            clock.ahead = timedelta(minutes=4)
            asked = await bob.call("request.read", **read)
            assert (await bob.answered(asked["request_id"]))["status"] == "delivered"
            clock.ahead = timedelta(minutes=6)
            await bob.until(
                "sessions.list", lambda all_: all_[0]["status"] == "expired"
            )
            assert await bob.refuses("request.read", **read) is Code.TOKEN_EXPIRED
            async with bob.opened() as core:
                (held,) = core.held.all()
                assert held.token == ""
            # What was never granted is not there to be used.
            unknown = {**read, "session_id": "sess_x"}
            assert await bob.refuses("request.read", **unknown) is (
                Code.SESSION_NOT_FOUND
            )
            nothing = {"to": alice.did, "session_id": session}
            assert await bob.refuses("request.read", **nothing) is Code.INVALID_REQUEST

    run(scene)


def test_contacts_have_one_name_each(tmp_path: Path) -> None:
    async def scene() -> None:
        async with (
            living(tmp_path, "Alice") as (alice,),
            stranger(alice) as one,
            stranger(alice) as two,
        ):
            await alice.call("contacts.add", did=one.did, name="One")
            taken = {"did": two.did, "name": "One"}
            assert await alice.refuses("contacts.add", **taken) is Code.STATE_CONFLICT
            for wrong in (
                {"did": two.did, "name": " "},
                {"did": two.did, "name": "x" * 101},
                {"did": alice.did, "name": "Me"},
                {"did": two.short, "name": "Two"},  # nobody has told us the rest of it
                {"did": "did:web:example.org", "name": "Web"},
                {"did": "did:peer:4zQm", "name": "Broken"},
                {"did": two.did, "name": "Two", "endpoint": "file:///etc/passwd"},
            ):
                await alice.refuses("contacts.add", **wrong)
            await alice.call("contacts.ping", who="One")
            await one.hears(types.PING)
            await alice.call("contacts.rm", who="One")
            assert await alice.refuses("contacts.ping", who="One") is Code.NOT_FOUND
            assert await alice.call("contacts.list") == []
            await alice.call("contacts.add", did=one.short, name="One again")
            (shown,) = await alice.call("contacts.list")
            assert (shown["did"], shown["may_send"]) == (one.short, False)

    run(scene)
