"""Receipts for packets of ours: signed by the receiver, kept once."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from support.live import living, run
from support.strangers import Stranger, stranger
from uomp.packets.receipts import build_receipt
from uomp.packets.times import format_time
from uomp.protocol.did.resolve import short_form
from uomp.protocol.messages import types

Json = dict[str, Any]


@pytest.mark.requirement("PAM-2.3-6")
def test_only_the_receiver_can_give_a_receipt(tmp_path: Path) -> None:
    async def scene() -> None:
        async with (
            living(tmp_path, "Alice") as (alice,),
            stranger(alice) as friend,
            stranger(alice) as other,
        ):
            await alice.put("k", 1, "t")
            sent = await alice.call("handoff.send", to=friend.did, tags=["t"])
            await friend.hears(types.HANDOFF_DELIVER)

            def made(by: Stranger, of: Stranger, **changes: Any) -> Json:
                facts: Json = {
                    "packet_id": sent["packet_id"],
                    "packet_hash": sent["packet_hash"],
                    "issuer": short_form(alice.did),
                    "receiver": of.did,
                    "status": "accepted",
                    "error": None,
                    "timestamp": format_time(by.clock.now()),
                }
                value = build_receipt(**(facts | changes), signer=by.signer)
                return {"receipt": value}

            unknown = f"sha256:{'0' * 64}"
            late = format_time(friend.clock.now() + timedelta(hours=1))
            altered = made(friend, friend)
            altered["receipt"]["status"] = "rejected"
            for body, by in (
                (made(other, friend), friend),
                (made(other, other), other),
                (made(friend, friend), other),
                (made(friend, friend, packet_hash=unknown), friend),
                (made(friend, friend, timestamp=late), friend),
                (altered, friend),
                ({"receipt": {**made(friend, friend)["receipt"], "more": 1}}, friend),
                ({"receipt": {}}, friend),
                ({}, friend),
            ):
                thread = await by.say(alice, types.HANDOFF_RECEIPT, body)
                await by.refused(thread)
            (handed,) = await alice.call("handoff.list")
            assert (handed["receipt"], handed["status"]) == (None, "queued")
            await friend.say(alice, types.HANDOFF_RECEIPT, made(friend, friend))
            (handed,) = await alice.until(
                "handoff.list", lambda all_: all_[0]["receipt"]
            )
            assert handed["status"] == "accepted"
            # The first one stands.
            later = made(friend, friend, status="rejected", error="PACKET_EXPIRED")
            await friend.refused(await friend.say(alice, types.HANDOFF_RECEIPT, later))
            (handed,) = await alice.call("handoff.list")
            assert handed["status"] == "accepted"

    run(scene)
