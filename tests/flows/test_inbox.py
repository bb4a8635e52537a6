"""From the inbox into memory: only by the owner, all or nothing, nothing in silence."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from support.live import Live, living, run
from support.strangers import Stranger, item, stranger
from uomp.errors import Code
from uomp.packets import canonical
from uomp.packets.items import MAX_KEY_BYTES
from uomp.protocol.messages import types

Json = dict[str, Any]


@asynccontextmanager
async def alice_and_friend(tmp: Path) -> AsyncIterator[tuple[Live, Stranger]]:
    async with living(tmp, "Alice") as (alice,), stranger(alice) as friend:
        named = {"did": friend.did, "name": "Friend", "may_send": True}
        await alice.call("contacts.add", **named)
        yield alice, friend


async def received(alice: Live, friend: Stranger, packet: Json) -> Json:
    """Deliver a packet and return how it is called in the inbox."""
    thread = await friend.deliver(alice, packet)
    message = await friend.hears(types.HANDOFF_RECEIPT, thid=thread)
    assert message["body"]["receipt"]["status"] == "accepted"
    return {"packet": canonical.digest(packet)}


async def planned(alice: Live, name: Json, **how: str) -> dict[str, tuple[str, Any]]:
    plan = await alice.call("inbox.plan", **name, **how)
    return {one["key"]: (one["what"], one["as"]) for one in plan["items"]}


@pytest.mark.requirement("DER-9", "DER-10")
def test_the_plan_says_what_accepting_does_and_accepting_does_that(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with alice_and_friend(tmp_path) as (alice, friend):
            await alice.put("same", {"a": [1, True]}, "t")
            await alice.put("differs", "mine", "t")
            await alice.put("true", json.loads("true"), "t")
            await alice.put("unwanted", "x", "t")
            await alice.call("memory.rm", key="unwanted")
            packet = friend.packet(
                item("same", {"a": [1, True]}),
                item("differs", "theirs"),
                item("true", 1),
                item("unwanted", "x"),
                item("fresh", None),
                item("secret", "s", level="high"),
            )
            name = await received(alice, friend, packet)
            mark = name["packet"].removeprefix("sha256:")[:8]
            plan = await planned(alice, name)
            assert plan == {
                "same": ("duplicate", None),
                "differs": ("conflict", f"differs~{mark}"),
                "true": ("conflict", f"true~{mark}"),  # JSON's true is not 1
                "unwanted": ("forgotten by you", None),
                "fresh": ("new", "fresh"),
                "secret": ("new", "secret"),
            }
            skipped = await planned(alice, name, on_conflict="skip")
            assert skipped["differs"] == ("conflict", None)
            replaced = await planned(alice, name, on_conflict="replace")
            assert replaced["differs"] == ("conflict", "differs")
            # A plan is no deed.
            assert (await alice.call("memory.stats"))["items"] == 3
            done = await alice.call("inbox.accept", **name)
            assert done["written"] == 4
            mine = await alice.call("memory.get", key="differs")
            assert (mine["value"], mine["source"]) == ("mine", "user")
            for key in (f"differs~{mark}", "fresh", "secret"):
                taken = await alice.call("memory.get", key=key)
                assert taken["source"] == "agent"
                assert taken["sensitivity"] in ("low", "medium")
            assert await alice.refuses("memory.get", key="unwanted") is Code.NOT_FOUND

            why = await alice.call("why", key=f"differs~{mark}")
            assert why["origin"] == "accepted from a packet"
            (lineage,) = why["lineage"]
            assert lineage["packet_hash"] == name["packet"]
            assert lineage["original_key"] == "differs"
            assert (lineage["issuer"], lineage["position"]) == (friend.short, 1)
            own = await alice.call("why", key="differs")
            assert own["origin"] == "written or imported by you"
            assert await alice.refuses("why", key="nothing") is Code.NOT_FOUND

            # Decided is decided.
            for again in ("inbox.accept", "inbox.reject"):
                assert await alice.refuses(again, **name) is Code.STATE_CONFLICT
            entries = await alice.audited("packet_accepted")
            assert len(entries) == 1
            assert entries[0]["packet_hash"] == name["packet"]

    run(scene)


def test_conflicts_go_as_the_owner_says(tmp_path: Path) -> None:
    async def scene() -> None:
        async with alice_and_friend(tmp_path) as (alice, friend):
            for key in ("a", "b"):
                await alice.put(key, "mine", "t")
            first = friend.packet(item("a", "theirs", "x"), item("new.1", 1))
            name = await received(alice, friend, first)
            done = await alice.call("inbox.accept", **name, on_conflict="skip")
            assert done["written"] == 1
            assert (await alice.call("memory.get", key="a"))["value"] == "mine"
            before = await alice.call("memory.get", key="b")
            second = friend.packet(item("b", "theirs", "x"))
            name = await received(alice, friend, second)
            await alice.call("inbox.accept", **name, on_conflict="replace")
            after = await alice.call("memory.get", key="b")
            assert (after["value"], after["tags"]) == ("theirs", ["x"])
            assert after["source"] == "agent"
            assert after["created_at"] == before["created_at"]
            rejected = friend.packet(item("c", 1))
            name = await received(alice, friend, rejected)
            assert (await alice.call("inbox.reject", **name))["status"] == "rejected"
            assert await alice.refuses("inbox.accept", **name) is Code.STATE_CONFLICT
            assert await alice.refuses("memory.get", key="c") is Code.NOT_FOUND
            wrong = {**name, "on_conflict": "whatever"}
            assert await alice.refuses("inbox.plan", **wrong) is Code.INVALID_REQUEST
            nothing = {"packet": "mem_of_nobody"}
            for operation in ("inbox.show", "inbox.plan", "inbox.accept"):
                assert await alice.refuses(operation, **nothing) is (
                    Code.PACKET_NOT_FOUND
                )

    run(scene)


@pytest.mark.requirement("UOMP-11.3-2", "UOMP-11.3-3", "DER-9")
def test_nothing_that_an_agent_sends_changes_memory(tmp_path: Path) -> None:
    async def scene() -> None:
        async with alice_and_friend(tmp_path) as (alice, friend):
            await alice.put("k", "mine", "t")
            await alice.put("high", "mine", "t", level="high")
            both = {"tags": ["t"], "keys": ["k", "high"]}
            scopes = {"read": both, "write": both}
            await friend.ask(alice, "t", requested_scopes=scopes)
            (request,) = await alice.call("requests.list")
            selection = {"packet": False, "widen": True}
            await alice.call(
                "requests.approve",
                request_id=request["request_id"],
                selection=selection,
            )
            message = await friend.hears(types.AUTHORIZE_RESPONSE)
            granted = message["body"]
            assert not any(granted["granted_scopes"]["write"].values())
            before = await alice.call("memory.list")
            body = {**granted, "keys": ["k"], "items": [item("k", "theirs").to_json()]}
            for kind in ("write", "put", "delete", "forget"):
                thread = await friend.say(alice, f"{types.HANDOFF}/{kind}", body)
                report = await friend.refused(thread)
                assert report["code"] == "e.p.msg.unsupported-message"
            packet = friend.packet(item("k", "theirs"), item("high", "theirs"))
            name = await received(alice, friend, packet)
            assert await alice.call("memory.list") == before
            # Not even the owner's own word lets it take the place of a high item.
            plan = await planned(alice, name, on_conflict="replace")
            assert plan["k"] == ("conflict", "k")
            assert plan["high"] != ("conflict", "high")
            await alice.call("inbox.accept", **name, on_conflict="replace")
            high = await alice.call("memory.get", key="high")
            assert (high["value"], high["sensitivity"]) == ("mine", "high")

    run(scene)


def test_names_inside_a_packet_cannot_overwrite_one_another_or_the_owners(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with alice_and_friend(tmp_path) as (alice, friend):
            long = "k" * MAX_KEY_BYTES
            await alice.put(long, "mine", "t")
            await alice.put("a", "mine", "t")
            packet = friend.packet(
                item("a", 1), item("a", 2), item("b", 1), item("b", 2), item(long, 1)
            )
            name = await received(alice, friend, packet)
            plan = (await alice.call("inbox.plan", **name))["items"]
            under = [one["as"] for one in plan]
            assert len(set(under)) == 5
            await alice.call("inbox.accept", **name)
            stored = [await alice.call("memory.get", key=key) for key in under]
            assert [one["value"] for one in stored] == [1, 2, 1, 2, 1]
            assert max(len(key) for key in under) <= MAX_KEY_BYTES
            for key in ("a", long):
                assert (await alice.call("memory.get", key=key))["value"] == "mine"
            # All of it can be packed again.
            await alice.call("packet.make", keys=under)

            # A packet that is no list of items gets a key that can be typed.
            text = friend.packet(
                payload={"text": "hello"},
                memory_type="basic_plain_text",
                packet_id="\u754c" * 200,
            )
            name = await received(alice, friend, text)
            done = await alice.call("inbox.accept", **name)
            (written,) = done["items"]
            assert len(written["as"].encode()) <= MAX_KEY_BYTES
            kept = await alice.call("memory.get", key=written["as"])
            assert kept["value"] == {"text": "hello"}
            assert kept["tags"] == ["handoff", "basic_plain_text"]

    run(scene)


def test_what_the_owner_writes_again_is_no_longer_forgotten(tmp_path: Path) -> None:
    async def scene() -> None:
        async with alice_and_friend(tmp_path) as (alice, friend):
            await alice.put("k", 1, "t")
            await alice.call("memory.rm", key="k")
            packet = friend.packet(item("k", 1))
            name = await received(alice, friend, packet)
            assert (await planned(alice, name))["k"] == ("forgotten by you", None)
            await alice.put("k", 1, "t")
            assert (await planned(alice, name))["k"] == ("duplicate", None)
            await alice.call("memory.rm", key="k")
            assert (await planned(alice, name))["k"] == ("forgotten by you", None)
            await alice.put("k", 2, "t")
            assert (await planned(alice, name))["k"] == ("forgotten by you", None)

    run(scene)


@pytest.mark.requirement("SYS-19", "PAM-2.2-12", "PAM-4.1-7", "PAM-E-9", "DER-9")
def test_a_packet_from_a_file_passes_the_same_checks(tmp_path: Path) -> None:
    async def scene() -> None:
        async with alice_and_friend(tmp_path) as (alice, friend):
            packet = friend.packet(item("k", "v"))
            pretty = json.dumps(packet, indent=1)
            added = await alice.call("inbox.add", packet=pretty)
            assert added["packet_hash"] == canonical.digest(packet)
            (waiting,) = await alice.call("inbox.list")
            assert (waiting["sender"], waiting["issuer"]) == ("file", friend.short)
            assert await alice.refuses("memory.get", key="k") is Code.NOT_FOUND
            # The same packet in other bytes is the same packet, also after a restart,
            # and also by another road.
            code = await alice.refuses("inbox.add", packet=json.dumps(packet))
            assert code is Code.REPLAY_DETECTED
            await alice.restart()
            code = await alice.refuses("inbox.add", packet=pretty)
            assert code is Code.REPLAY_DETECTED
            thread = await friend.deliver(alice, packet)
            message = await friend.hears(types.HANDOFF_RECEIPT, thid=thread)
            assert message["body"]["receipt"]["error"] == "REPLAY_DETECTED"

            tampered = pretty.replace('"v"', '"w"')
            code = await alice.refuses("inbox.add", packet=tampered)
            assert code is Code.INTEGRITY_MISMATCH
            foreign = friend.packet(item("k", "v"), audience="did:web:example.org")
            code = await alice.refuses("inbox.add", packet=json.dumps(foreign))
            assert code is Code.AUDIENCE_MISMATCH
            for text in ("", "{", "[]", '{"header":{}}', pretty + " x", "\ud800"):
                code = await alice.refuses("inbox.add", packet=text)
                assert code in (Code.SCHEMA_VIOLATION, Code.INVALID_REQUEST), text
            reasons = [
                one["reason"].partition(" at ")[0]
                for one in await alice.audited("security_event")
            ]
            assert reasons.count("REPLAY_DETECTED") == 3
            assert reasons.count("INTEGRITY_MISMATCH") == 1
            assert len(await alice.call("inbox.list")) == 1

    run(scene)
