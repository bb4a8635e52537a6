"""What a node takes off the wire, and what it says to the rest (DIDComm v2.1)."""

import asyncio
import copy
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from support.live import Live, TestClock, living, run
from support.strangers import MEDIA, Stranger, stranger
from uomp.protocol.did.resolve import short_form
from uomp.protocol.messages import types

Json = dict[str, Any]


def request_of(sender: Stranger, to: Live, /, **members: Any) -> Json:
    scopes = {"read": {"tags": ["t"], "keys": []}}
    body = {"agent_id": sender.short, "requested_scopes": scopes}
    kind = members.pop("kind", types.AUTHORIZE_REQUEST)
    return sender.message(to.did, kind, members.pop("body", body), **members)


@pytest.mark.requirement("DER-13")
def test_copies_of_an_envelope_have_one_effect(tmp_path: Path) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice") as (alice,), stranger(alice) as agent:
            envelope = agent.pack(alice.did, request_of(agent, alice))
            posts = (agent.post(alice, envelope) for _ in range(50))
            answers = await asyncio.gather(*posts)
            assert set(answers) == {(202, b"")}
            assert len(await alice.call("requests.list")) == 1
            await alice.restart()
            assert await agent.post(alice, envelope) == (202, b"")
            assert len(await alice.call("requests.list")) == 1
            # The same id in an envelope of its own, under the other form of the DID.
            message = request_of(agent, alice, id="the same")
            for frm in (agent.did, agent.short):
                again = agent.pack(alice.did, {**message, "from": frm})
                assert await agent.post(alice, again) == (202, b"")
            assert len(await alice.call("requests.list")) == 2
            assert len(await alice.audited("request_received")) == 2

    run(scene)


@pytest.mark.requirement("DER-13", "PAM-2.2-13")
def test_an_id_used_again_after_its_time_is_refused_and_harms_nothing(
    tmp_path: Path,
) -> None:
    clock = TestClock()

    async def scene() -> None:
        async with (
            living(tmp_path, "Alice", clock=clock) as (alice,),
            stranger(alice) as agent,
        ):
            first = request_of(agent, alice, id="the same")
            envelope = agent.pack(alice.did, first)
            assert (await agent.post(alice, envelope))[0] == 202
            clock.ahead = timedelta(hours=2)
            await alice.until("requests.list", lambda all_: not all_)
            # The old envelope has expired; a new one with the old id is no new request.
            assert (await agent.post(alice, envelope))[0] == 400
            again = request_of(agent, alice, id="the same")
            status, _ = await agent.post(alice, agent.pack(alice.did, again))
            assert status == 202
            report = await agent.refused("the same")
            assert report["code"] == "e.p.msg.duplicate-message"
            (only,) = await alice.call("requests.list", every=True)
            assert only["status"] == "expired"

    run(scene)


def refused_envelopes(agent: Stranger, alice: Live) -> list[tuple[bytes, str, str]]:
    """Return envelopes that no handler may see: bytes, media type, problem code."""
    now = int(agent.clock.now().timestamp())
    past, future = now - 3600, now + 3600
    week = 7 * 86_400

    def packed(how: str = "auth", /, **members: Any) -> tuple[bytes, str]:
        made = request_of(agent, alice, **members)
        return agent.pack(alice.did, made, how), MEDIA[how]

    other = Stranger(agent.clock)
    spoofed = packed(**{"from": other.did})
    nobody: Json = {"from": None}
    nameless = packed(**nobody)
    good, media = packed()
    flipped = json.loads(good)
    text = flipped["ciphertext"]
    flipped["ciphertext"] = ("A" if text[0] != "A" else "B") + text[1:]
    foreign = json.loads(agent.pack(other.did, request_of(agent, alice)))
    return [
        (*packed(expires_time=past, created_time=past - 10), "e.m.req.time"),
        (*packed(expires_time=now), "e.m.req.time"),
        (*packed(created_time=future, expires_time=future + 60), "e.m.req.time"),
        (*packed(expires_time=now + week + 60), "e.m.req.time"),
        (*packed(expires_time=None), "e.m.msg"),
        (*packed(created_time=None), "e.m.msg"),
        (*packed(to=[other.did]), "e.m.trust"),
        (*packed(to=[]), "e.m.trust"),
        (*spoofed, "e.m.trust"),
        (*nameless, "e.m.msg"),
        (*packed(id=""), "e.m.msg"),
        (*packed(id="x" * 257), "e.m.msg"),
        (*packed(kind="not a type"), "e.m.msg"),
        (*packed(body=[]), "e.m.msg"),
        (*packed(from_prior="a.b.c"), ""),
        (*packed("anon"), "e.m.trust"),
        (*packed("signed"), "e.m.trust"),
        (*packed("plain"), "e.m.trust"),
        (json.dumps(flipped).encode(), media, "e.m.trust.crypto"),
        (json.dumps(foreign).encode(), media, ""),
        (agent.pack(alice.did, "text"), media, "e.m.msg"),  # type: ignore[arg-type]
        (b"", media, "e.m.msg"),
        (b"{}", media, "e.m.trust"),
        (b"\xff\x00", media, "e.m.msg"),
        (b"[" * 10_000, media, "e.m.msg"),
    ]


@pytest.mark.requirement("DER-11", "SYS-5")
def test_what_no_known_sender_has_encrypted_is_refused_and_counted(
    tmp_path: Path,
) -> None:
    clock = TestClock()

    async def scene() -> None:
        async with (
            living(tmp_path, "Alice", clock=clock) as (alice,),
            stranger(alice) as agent,
        ):
            cases = refused_envelopes(agent, alice)
            for number, (envelope, media, code) in enumerate(cases):
                status, body = await agent.post(alice, envelope, media)
                assert status == 400, number
                report = json.loads(body)
                assert report["type"] == types.PROBLEM_REPORT
                assert report["body"]["code"].startswith(code), number
                told = set(report["body"]) | set(report)
                assert told <= {"type", "body", "code", "comment"}
            assert await alice.call("requests.list") == []
            assert await alice.call("outbox.list") == []
            # A flood is one entry for each minute, source and code.
            clock.ahead = timedelta(minutes=2)
            entries = await alice.until(
                "audit.list", bool, action="security_event", limit=100
            )
            counts = [one["detail"]["count"] for one in entries]
            assert sum(counts) == len(cases)
            assert len(entries) <= 2  # the posts may have met the turn of a minute
            assert {one["peer"] for one in entries} == {"127.0.0.1"}
            # What was counted when the node ends is not lost.
            await agent.post(alice, b"{}")
            await alice.restart()
            events = await alice.audited("security_event")
            assert sum(one["detail"]["count"] for one in events) == len(cases) + 1
            assert agent.heard == []

    run(scene)


@pytest.mark.requirement("SYS-5")
def test_answers_are_encrypted_for_the_asker_and_name_their_sender(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice") as (alice,), stranger(alice) as agent:
            ping = await agent.say(alice, types.PING, {"response_requested": True})
            answer = await agent.hears(types.PING_RESPONSE, thid=ping)
            assert short_form(answer["proved"].partition("#")[0]) == (
                short_form(alice.did)
            )
            assert answer["to"] == [agent.did]
            assert answer["created_time"] < answer["expires_time"]
            # The form of its DID that the asker knows already is enough.
            assert answer["from"] == short_form(alice.did)

    run(scene)


def test_a_message_of_no_known_type_or_with_a_bad_body_is_answered_by_a_report(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice") as (alice,), stranger(alice) as agent:
            good = request_of(agent, alice)["body"]
            scopes = good["requested_scopes"]
            wrong: list[tuple[str, Json, str]] = [
                ("https://example.org/chess/1.0/move", {}, "unsupported-message"),
                ("uomp/unheard-of", {}, "unsupported-message"),
                (types.AUTHORIZE_REQUEST, {}, "invalid-request"),
                ("uomp/authorize-request", {}, "invalid-request"),
                (types.AUTHORIZE_REQUEST, {**good, "agent_id": ""}, "invalid-request"),
                (types.AUTHORIZE_REQUEST, {**good, "duration_minutes": 0}, ""),
                (types.AUTHORIZE_REQUEST, {**good, "profile": "local"}, ""),
                (types.AUTHORIZE_REQUEST, {**good, "requested_scopes": {}}, ""),
                (types.AUTHORIZE_REQUEST, {**good, "requested_scopes": []}, ""),
                (types.AUTHORIZE_RESPONSE, {"decision": "granted"}, "not-authorized"),
                (types.AUTHORIZE_RESPONSE, {"decision": "maybe"}, "invalid-request"),
                (types.SESSION_REVOKED, {}, "invalid-request"),
                (types.PAYLOAD_READY, {}, "invalid-request"),
                (types.HANDOFF_REQUEST, {"token": "x"}, "invalid-request"),
                (types.HANDOFF_RECEIPT, {}, "invalid-request"),
                (types.PING, {"response_requested": "yes"}, "invalid-request"),
                (types.QUERIES, {"queries": 1}, "invalid-request"),
            ]
            for kind, body, code in wrong:
                thread = await agent.say(alice, kind, body)
                report = await agent.refused(thread)
                name = report["code"].rpartition(".")[2]
                assert name == (code or "invalid-request"), kind
                assert "comment" in report
            assert len(await alice.audited("security_event")) == len(wrong)
            # The report names the thread; a reply to it stays in that thread.
            thread = await agent.say(alice, "uomp/unheard-of", {}, thid="a-thread")
            assert thread != "a-thread"
            await agent.refused("a-thread")
            # A good one of the short name is taken, and unknown members are ignored.
            more = {**good, "requested_scopes": copy.deepcopy(scopes), "more": 1}
            await agent.say(alice, "uomp/authorize-request", more, also="this")
            assert len(await alice.until("requests.list", bool)) == 1

    run(scene)


def test_reports_and_acks_are_never_answered(tmp_path: Path) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice") as (alice,), stranger(alice) as agent:
            ask = {"please_ack": [""]}
            for kind, body in (
                (types.PROBLEM_REPORT, {"code": "e.p.msg"}),
                (types.PROBLEM_REPORT, {}),
                (types.PROBLEM_REPORT, {"code": 1}),
                (types.EMPTY, {}),
                (types.EMPTY, {"more": 1}),
            ):
                await agent.say(alice, kind, body, pthid="x", **ask)
            silent = await agent.say(alice, types.PING, {"response_requested": False})
            # What comes after them is answered first of all.
            ping = await agent.say(alice, types.PING, {}, **ask)
            acked = await agent.hears(types.EMPTY)
            assert acked["ack"] == [ping]
            assert acked["thid"] == ping
            await agent.hears(types.PING_RESPONSE, thid=ping)
            assert len(agent.heard) == 2
            named = await agent.say(alice, types.PING, {}, please_ack=["one", ""])
            both = await agent.hears(types.EMPTY, thid=named)
            assert both["ack"] == ["one", named]
            assert all(one.get("thid") != silent for one in agent.heard)
            # A report about something that Alice has asked settles that question.
            asked = await alice.call("request.ask", to=agent.did, tags=["t"])
            report = {"code": "e.p.me.res.quota-exceeded", "comment": "No room."}
            await agent.say(
                alice, types.PROBLEM_REPORT, report, pthid=asked["request_id"]
            )
            one = await alice.answered(asked["request_id"])
            assert (one["status"], one["answer"]["code"]) == (
                "refused",
                "QUOTA_EXCEEDED",
            )

    run(scene)


@pytest.mark.requirement("PAM-5.2-4")
def test_features_are_told_by_exact_name_and_by_wildcard(tmp_path: Path) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice") as (alice,), stranger(alice) as agent:

            async def told(*queries: tuple[str, str]) -> list[tuple[str, str]]:
                asked = [
                    {"feature-type": kind, "match": match} for kind, match in queries
                ]
                thread = await agent.say(alice, types.QUERIES, {"queries": asked})
                answer = await agent.hears(types.DISCLOSE, thid=thread)
                return [
                    (one["feature-type"], one["id"])
                    for one in answer["body"]["disclosures"]
                ]

            every = {uri for _, uri in await told(("protocol", "*"))}
            assert every == set(types.PROTOCOLS)
            uomp = await told(("protocol", "https://uomp.org/*"))
            assert {uri for _, uri in uomp} == {types.UOMP, types.HANDOFF}
            assert await told(("protocol", types.UOMP)) == [("protocol", types.UOMP)]
            assert await told(("protocol", "https://uomp.org")) == []
            assert await told(("goal-code", "*"), ("protocol", "none")) == []
            twice = ("constraint", "max_receive_bytes")
            assert await told(twice, twice) == [
                ("constraint", f"max_receive_bytes={32 << 20}")
            ]
            assert await told(("uomp-version", "*")) == [("uomp-version", "1.0")]

    run(scene)
