"""A packet of Alice's goes from hand to hand, unaltered, as far as she allows."""

from pathlib import Path
from typing import Any

import pytest

from support.live import Live, living, run
from support.strangers import Stranger, stranger
from uomp.errors import Code
from uomp.node.keyring import Keyring
from uomp.packets import canonical
from uomp.packets.nesting import extend_chain
from uomp.packets.verify import verify_packet
from uomp.protocol.did.resolve import resolve_static, short_form
from uomp.protocol.messages import types

Json = dict[str, Any]


async def handed(giver: Live, taker: Live, **sending: Any) -> str:
    """Send, and return the packet's id once it is in the taker's inbox."""
    sent = await giver.call("handoff.send", to=taker.did, **sending)
    wanted = sent["packet_id"]
    await taker.until(
        "inbox.list", lambda all_: wanted in [one["packet_id"] for one in all_]
    )
    return str(wanted)


async def contacts(taker: Live, *givers: Live) -> None:
    for giver in givers:
        named = {"did": giver.did, "name": giver.name, "may_send": True}
        await taker.call("contacts.add", **named)


@pytest.mark.requirement("SYS-14", "SYS-18", "PAM-2.2-10")
def test_three_hops_and_every_signature_still_verifies(tmp_path: Path) -> None:
    async def scene() -> None:
        names = ("Alice", "Bob", "Carol", "Dave")
        async with living(tmp_path, *names) as (alice, bob, carol, dave):
            await contacts(bob, alice)
            await contacts(carol, bob)
            await contacts(dave, carol)
            await alice.put("theme", "dark", "t")
            first = await handed(alice, bob, tags=["t"], reshare="any")
            second = await handed(bob, carol, packet=first, reshare="any")
            third = await handed(carol, dave, packet=second)

            shown = await dave.call("inbox.show", packet=third)
            verdicts = [(one["verdict"], one["signer"]) for one in shown["reports"]]
            assert verdicts == [("OK", one.did) for one in (carol, bob, alice)]
            assert shown["issuer"] == short_form(alice.did)
            assert shown["sender"] == short_form(carol.did)
            done = await dave.call("inbox.accept", packet=third)
            assert done["written"] == 1
            why = await dave.call("why", key="theme")
            (lineage,) = why["lineage"]
            assert lineage["issuer"] == short_form(alice.did)
            assert lineage["sender"] == short_form(carol.did)
            # Each giver has the receipt of the next hand.
            for giver in (alice, bob, carol):
                await giver.until("handoff.list", lambda all_: all_[-1]["receipt"])
            # Dave was given no leave to pass it on.
            sending = {"to": alice.did, "packet": third}
            assert await dave.refuses("handoff.send", **sending) == (
                Code.RESHARE_REFUSED
            )

    run(scene)


@pytest.mark.requirement("SYS-14")
def test_an_issuers_leave_binds_every_later_hand(tmp_path: Path) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice", "Bob", "Carol", "Dave") as nodes:
            alice, bob, carol, dave = nodes
            await contacts(bob, alice)
            await contacts(carol, alice, bob)
            await contacts(dave, bob, carol)
            await alice.put("theme", "dark", "t")
            private = await handed(alice, bob, tags=["t"])
            named = await handed(alice, bob, tags=["t"], reshare=[carol.did])
            for packet, to in ((private, carol), (private, dave), (named, dave)):
                code = await bob.refuses("handoff.send", to=to.did, packet=packet)
                assert code is Code.RESHARE_REFUSED
            assert await bob.call("handoff.list") == []
            # Bob may give it to Carol, and has no right to let her do more with it.
            carols = await handed(bob, carol, packet=named, reshare="any")
            code = await carol.refuses("handoff.send", to=dave.did, packet=carols)
            assert code is Code.RESHARE_REFUSED
            # Rejected is rejected.
            await carol.call("inbox.reject", packet=carols)
            code = await carol.refuses("handoff.send", to=dave.did, packet=carols)
            assert code is Code.STATE_CONFLICT

    run(scene)


def wrapped(by: Stranger, inner: Json, to: str) -> Json:
    """Hand a packet on with no regard to whether that is allowed."""
    keys = Keyring(lambda did: resolve_static(did, {}))
    seen = verify_packet(canonical.encode(inner), keys, now=by.clock.now())
    chain = [
        {"agent_id": one.agent_id, "packet_hash": one.packet_hash}
        | {"timestamp": one.timestamp}
        for one in extend_chain(seen)
    ]
    header = {"audience": [to], "source_chain": chain, "reshare": "any"}
    kind = inner["header"]["memory_type"]
    return by.packet(payload={"packet": inner}, memory_type=kind, **header)


@pytest.mark.requirement("SYS-14", "PAM-4.1-7")
def test_a_dishonest_sharer_is_refused_by_the_receiver(tmp_path: Path) -> None:
    async def scene() -> None:
        async with (
            living(tmp_path, "Alice", "Carol") as (alice, carol),
            stranger(alice, carol) as bob,
            stranger(alice, carol) as helper,
        ):
            for did, name in ((bob.did, "Bob"), (helper.did, "Helper")):
                named = {"did": did, "name": name, "may_send": True}
                await carol.call("contacts.add", **named)
            await alice.put("theme", "dark", "t")
            us = short_form(carol.did)

            async def given(reshare: Any) -> Json:
                sending = {"to": bob.did, "tags": ["t"], "reshare": reshare}
                sent = await alice.call("handoff.send", **sending)
                message = await bob.hears(
                    types.HANDOFF_DELIVER,
                    where=lambda one: one["body"]["hash"] == sent["packet_hash"],
                )
                return bob.packet_in(message)

            async def verdict(by: Stranger, packet: Json) -> Any:
                thread = await by.deliver(carol, packet)
                message = await by.hears(types.HANDOFF_RECEIPT, thid=thread)
                body = message["body"]["receipt"]
                return body["error"] or body["status"]

            private, free = await given("none"), await given("any")
            for_helper = await given([helper.did])
            assert await verdict(bob, wrapped(bob, private, us)) == "RESHARE_REFUSED"
            assert await verdict(bob, wrapped(bob, for_helper, us)) == "RESHARE_REFUSED"
            # Two hands do not make it right: the leave was for the helper alone.
            twice = wrapped(helper, wrapped(bob, for_helper, helper.short), us)
            assert await verdict(helper, twice) == "RESHARE_REFUSED"
            # Nor does passing a packet for anyone on without a word of one's own.
            open_one = await alice.call("packet.make", tags=["t"])
            assert await verdict(bob, open_one["packet"]) == "RESHARE_REFUSED"
            events = await carol.audited("security_event")
            assert len(events) == 4
            assert all("RESHARE_REFUSED" in one["reason"] for one in events)

            # The controls: what is allowed is taken.
            assert await verdict(bob, wrapped(bob, free, us)) == "accepted"
            twice = wrapped(helper, wrapped(bob, free, helper.short), us)
            assert await verdict(helper, twice) == "accepted"
            shared = await alice.call("packet.make", tags=["t"], reshare="any")
            assert await verdict(bob, shared["packet"]) == "accepted"
            # One that lies about what is inside is refused, whatever was allowed.
            lying = wrapped(bob, free, us)
            lying["header"]["source_chain"][-1]["agent_id"] = bob.did
            refused = await verdict(bob, bob.signed(lying))
            assert refused == "SCHEMA_VIOLATION"
            changed = wrapped(bob, free, us)
            changed["payload"]["packet"]["payload"]["items"][0]["value"] = "light"
            assert await verdict(bob, bob.signed(changed)) == "INTEGRITY_MISMATCH"

    run(scene)


def test_an_unknown_memory_type_is_kept_closed(tmp_path: Path) -> None:
    async def scene() -> None:
        async with (
            living(tmp_path, "Alice", "Bob") as (alice, bob),
            stranger(alice) as friend,
        ):
            named = {"did": friend.did, "name": "Friend", "may_send": True}
            await alice.call("contacts.add", **named)
            await contacts(bob, alice)
            uri = {"schema_uri": "https://example.org/edits.json"}
            packet = friend.packet(
                payload={"edits": []},
                memory_type="custom/3d_model_edit_history",
                reshare="any",
                **uri,
            )
            thread = await friend.deliver(alice, packet)
            message = await friend.hears(types.HANDOFF_RECEIPT, thid=thread)
            said = message["body"]["receipt"]
            assert (said["status"], said["error"]) == ("stored_opaque", None)
            (kept,) = await alice.call("inbox.list")
            assert kept["status"] == "opaque"
            name = {"packet": kept["packet_id"]}
            assert await alice.refuses("inbox.accept", **name) is Code.STATE_CONFLICT
            assert (await alice.call("memory.stats"))["items"] == 0
            assert "edits" in (await alice.call("inbox.show", **name))["packet"]
            passed = await handed(alice, bob, **name)
            shown = await bob.call("inbox.show", packet=passed)
            assert shown["status"] == "opaque"
            assert shown["issuer"] == friend.short
            await alice.call("inbox.reject", **name)
            assert await alice.call("inbox.list") == []

    run(scene)
