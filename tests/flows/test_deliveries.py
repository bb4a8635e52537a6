"""Packets that arrive: who may send one, what is checked, and the signed receipt."""

import copy
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from support.live import Live, living, run
from support.strangers import Stranger, item, stranger
from uomp.node.keyring import Keyring
from uomp.packets import canonical
from uomp.packets.receipts import VerifiedReceipt, verify_receipt
from uomp.packets.times import format_time
from uomp.protocol.did.resolve import resolve_static, same_did, short_form
from uomp.protocol.messages import types

Json = dict[str, Any]


async def receipt(sender: Stranger, message_id: str) -> VerifiedReceipt:
    """Return the receipt for what was sent with a message, its signature verified."""
    message = await sender.hears(
        types.HANDOFF_RECEIPT, where=lambda one: one.get("thid") == message_id
    )
    keys = Keyring(lambda did: resolve_static(did, {}))
    value = message["body"]["receipt"]
    return verify_receipt(value, keys, now=sender.clock.now(), same_did=same_did)


async def outcome(sender: Stranger, to: Live, packet: Json, **members: Any) -> str:
    """Deliver a packet, and return the receipt's error or else its status."""
    thread = await sender.deliver(to, packet, thid=None, **members)
    said = await receipt(sender, members.get("id") or thread)
    assert said.packet_hash == canonical.digest(packet)
    assert same_did(said.receiver, to.did)
    assert (said.status == "rejected") == (said.error is not None)
    return said.error or said.status


async def befriend(node: Live, *peers: Stranger) -> None:
    for number, peer in enumerate(peers):
        name = f"Friend {number}"
        await node.call("contacts.add", did=peer.did, name=name, may_send=True)


@pytest.mark.requirement("PAM-2.3-6", "PAM-2.2-9", "PAM-E-16", "DER-9")
def test_a_packet_is_taken_from_whom_the_owner_expects_one(tmp_path: Path) -> None:
    async def scene() -> None:
        async with (
            living(tmp_path, "Alice") as (alice,),
            stranger(alice) as friend,
            stranger(alice) as nobody,
        ):
            packet = nobody.packet(item("k", 1))
            for kind in (types.HANDOFF_DELIVER, types.PAYLOAD_READY):
                thread = await nobody.deliver(alice, packet, kind=kind)
                report = await nobody.refused(thread)
                assert report["code"] == "e.p.trust.not-authorized"
            # A ping of ours invites nothing, nor does a session nobody granted.
            ping = await alice.call("contacts.ping", who=nobody.did)
            await nobody.hears(types.PING)
            uninvited = {"body": {"session_id": "sess_of_nobody"}}
            thread = await nobody.deliver(alice, packet, **uninvited)
            report = await nobody.refused(thread)
            assert report["code"] == "e.p.trust.not-authorized"
            await nobody.deliver(alice, packet, thid=ping["request_id"])
            report = await nobody.refused(ping["request_id"])
            assert report["code"] == "e.p.trust.not-authorized"
            assert await alice.call("inbox.list") == []

            # A question of ours does, and so does the owner's word.
            asked = await alice.call("request.ask", to=nobody.did, tags=["t"])
            await nobody.hears(types.AUTHORIZE_REQUEST)
            await nobody.deliver(alice, packet, thid=asked["request_id"])
            (got,) = await alice.until("inbox.list", bool)
            assert (got["sender"], got["issuer"]) == (nobody.short, nobody.short)
            await befriend(alice, friend)
            assert await outcome(friend, alice, friend.packet(item("k", 1))) == (
                "accepted"
            )
            shown = await alice.call("inbox.show", packet=got["packet_id"])
            report = shown["reports"][0]
            assert report["verdict"] == "OK"
            assert report["signer"] == nobody.did
            assert report["key_id"] == f"{nobody.did}#key-1"
            # Its leave can be taken away again.
            await alice.call("contacts.rm", who="Friend 0")
            thread = await friend.deliver(alice, friend.packet(item("k", 1)))
            assert (await friend.refused(thread))["code"] == "e.p.trust.not-authorized"

    run(scene)


@pytest.mark.requirement("PAM-2.2-11", "PAM-4.1-7", "PAM-2.2-8", "PAM-5.1-5")
def test_a_packet_that_does_not_verify_is_refused_by_a_signed_receipt(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with (
            living(tmp_path, "Alice") as (alice,),
            stranger(alice) as friend,
            stranger(alice) as other,
        ):
            await befriend(alice, friend)
            good = friend.packet(item("k", "a value"))

            def changed(**members: Any) -> Json:
                made = copy.deepcopy(good)
                for name, value in members.items():
                    made[name] = {**made[name], **value}
                return made

            tampered = copy.deepcopy(good)
            tampered["payload"]["items"][0]["value"] = "another value"
            claims = {"agent_id": friend.did}
            for packet, code in (
                (tampered, "INTEGRITY_MISMATCH"),
                (changed(header={"session_id": "other"}), "SIGNATURE_INVALID"),
                (changed(header={"timestamp": "2020-01-01T00:00:00Z"}), None),
                (changed(signature={"public_key_id": other.signer.key_id}), None),
                (other.packet(item("k", 1), **claims), "SIGNATURE_INVALID"),
                (
                    friend.signed(good, protocol_version="9.0"),
                    "UNSUPPORTED_PROTOCOL_VERSION",
                ),
            ):
                got = await outcome(friend, alice, packet)
                assert got not in ("accepted", "stored_opaque")
                assert code in (None, got)
                event = (await alice.audited("security_event"))[0]
                assert event["reason"].startswith(f"{got} at ")
                assert event["peer"] == friend.short
                assert event["packet_hash"] == canonical.digest(packet)
                assert event["detail"]["packet_id"]
            # One that is not the announced one has no receipt: nobody knows for what.
            thread = await friend.deliver(
                alice, good, body={"hash": f"sha256:{'0' * 64}"}
            )
            report = await friend.refused(thread)
            assert report["code"] == "e.p.trust.crypto.integrity-mismatch"
            assert await alice.call("inbox.list") == []
            assert await outcome(friend, alice, good) == "accepted"

    run(scene)


@pytest.mark.requirement("PAM-2.2-12", "PAM-E-9", "DER-13")
def test_a_packet_is_taken_once_for_ever(tmp_path: Path) -> None:
    async def scene() -> None:
        async with (
            living(tmp_path, "Alice") as (alice,),
            stranger(alice) as friend,
            stranger(alice) as copier,
        ):
            await befriend(alice, friend, copier)
            packet = friend.packet(item("k", 1), reshare="any")
            assert await outcome(friend, alice, packet, id="msg-1") == "accepted"
            assert await outcome(friend, alice, packet) == "REPLAY_DETECTED"
            # Nor under the first message's id, from another sender.
            assert await outcome(copier, alice, packet, id="msg-1") == (
                "REPLAY_DETECTED"
            )
            name = {"packet": packet["header"]["packet_id"]}
            await alice.call("inbox.accept", **name)
            assert await outcome(copier, alice, packet) == "REPLAY_DETECTED"
            await alice.restart()
            assert await outcome(friend, alice, packet) == "REPLAY_DETECTED"
            refused = friend.packet(item("k", 2))
            assert await outcome(friend, alice, refused) == "accepted"
            await alice.call("inbox.reject", packet=refused["header"]["packet_id"])
            assert await outcome(friend, alice, refused) == "REPLAY_DETECTED"
            assert len(await alice.call("inbox.list", every=True)) == 2

    run(scene)


@pytest.mark.requirement("DER-13", "DER-25")
def test_a_delivery_that_was_half_done_is_finished_when_it_comes_again(
    tmp_path: Path,
) -> None:
    """The packet is in the inbox and the ledger has lost the message: a crash."""

    async def scene() -> None:
        async with living(tmp_path, "Alice") as (alice,), stranger(alice) as friend:
            await befriend(alice, friend)
            packet = friend.packet(item("k", 1), sequence=1)
            message_id = await friend.deliver(alice, packet, id="msg-1")
            assert (await receipt(friend, "msg-1")).status == "accepted"
            await alice.call("inbox.accept", packet=packet["header"]["packet_id"])
            async with alice.opened() as core, _erased(core):
                pass
            friend.heard.clear()
            assert message_id == await friend.deliver(alice, packet, id="msg-1")
            assert (await receipt(friend, "msg-1")).status == "accepted"
            (kept,) = await alice.call("inbox.list", every=True)
            assert kept["status"] == "accepted"

    run(scene)


class _erased:  # noqa: N801 - reads as a verb
    """What the ledger knows of messages, taken away."""

    def __init__(self, core: Any) -> None:
        self._core = core

    async def __aenter__(self) -> None:
        with self._core.ledger.transaction():
            self._core.ledger.run("DELETE FROM replay")
            self._core.ledger.run("DELETE FROM received_chains")

    async def __aexit__(self, *_: object) -> None:
        pass


@pytest.mark.requirement("PAM-E-10")
def test_audience_expiry_and_chain_are_enforced_on_arrival(tmp_path: Path) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice") as (alice,), stranger(alice) as friend:
            await befriend(alice, friend)
            us = short_form(alice.did)
            now = friend.clock.now()
            past = format_time(now - timedelta(seconds=1))
            future = format_time(now + timedelta(hours=1))
            first = friend.packet(item("k", 1), audience=us, sequence=1)
            forked = canonical.digest(friend.packet(item("k", 1)))
            for packet, expected in (
                (
                    friend.packet(item("k", 1), audience=[friend.did]),
                    "AUDIENCE_MISMATCH",
                ),
                (friend.packet(item("k", 1), expires_at=past), "PACKET_EXPIRED"),
                (friend.packet(item("k", 1), timestamp=future), "STALE_TIMESTAMP"),
                (friend.packet(item("k", 1), expires_at=future), "accepted"),
                (friend.packet(item("k", 1), audience=[friend.did, us]), "accepted"),
                (first, "accepted"),
                (friend.packet(item("k", 2), sequence=1), "SEQUENCE_GAP"),
                (
                    friend.packet(item("k", 2), sequence=2, previous=forked),
                    "SEQUENCE_GAP",
                ),
                (friend.packet(item("k", 2), sequence=4), "accepted"),
                (friend.packet(item("k", 2), sequence=3), "SEQUENCE_GAP"),
            ):
                assert await outcome(friend, alice, packet) == expected
            inbox = await alice.call("inbox.list")
            assert len(inbox) == 4
            warned = []
            for one in inbox:
                shown = await alice.call("inbox.show", packet=one["packet_id"])
                warned.append(shown["warnings"])
            gap = "packets of this issuer are missing before this one"
            assert sorted(warned) == [[], [], [], [gap]]

    run(scene)
