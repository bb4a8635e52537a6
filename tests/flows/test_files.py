"""Packets and sealed envelopes as files between people who share no network."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.live import living, run
from uomp.errors import Code
from uomp.packets.multibase import b64_decode, b64_encode
from uomp.protocol.did.resolve import short_form

Json = dict[str, Any]


@pytest.mark.requirement("SYS-13", "SYS-19")
def test_what_is_sealed_opens_for_its_receiver_alone(tmp_path: Path) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice", "Bob", "Eve") as (alice, bob, eve):
            await alice.put("k", "v", "t")
            made = await alice.call("packet.make", keys=["k"], to=bob.did)
            data = json.dumps(made["packet"]).encode()
            wish = {"data": b64_encode(data), "to": bob.did}
            sealed = (await alice.call("packet.seal", **wish))["envelope"]
            again = (await alice.call("packet.seal", **wish))["envelope"]
            assert sealed["ciphertext"] != again["ciphertext"]
            assert '"v"' not in json.dumps(sealed)

            opened = await bob.call("packet.open", envelope=json.dumps(sealed))
            assert b64_decode(opened["data"]) == data
            assert short_form(opened["signed_by"]) == short_form(alice.did)
            text = b64_decode(opened["data"]).decode()
            added = await bob.call("inbox.add", packet=text)
            assert added["packet_hash"] == made["packet_hash"]

            assert await eve.refuses("packet.open", envelope=json.dumps(sealed))
            for name in ("ciphertext", "payload_id", "session_id", "timestamp"):
                changed = {**sealed, name: flipped(sealed[name])}
                bare = {k: v for k, v in changed.items() if k != "signature"}
                for envelope in (changed, bare):
                    await bob.refuses("packet.open", envelope=json.dumps(envelope))
            # One that Eve signs as if it were Alice's is not opened.
            wish["data"] = b64_encode(b"anything")
            forged = (await eve.call("packet.seal", **wish))["envelope"]
            forged["signature"] = sealed["signature"]
            code = await bob.refuses("packet.open", envelope=json.dumps(forged))
            assert code is Code.SIGNATURE_INVALID

    run(scene)


def flipped(text: str) -> str:
    return ("A" if text[0] != "A" else "B") + text[1:]


@pytest.mark.requirement("SYS-19")
def test_a_packet_for_anyone_takes_no_place_in_a_chain(tmp_path: Path) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice", "Bob") as (alice, bob):
            await alice.put("k", "v", "t")
            text = await alice.call("packet.make", text="Hello.", intent="greeting")
            header = text["packet"]["header"]
            assert header["memory_type"] == "basic_plain_text"
            assert header["intent"] == "greeting"
            assert not {"sequence", "previous", "audience"} & set(header)
            items = await alice.call("packet.make", tags=["t"], reshare=[bob.did])
            assert items["packet"]["header"]["reshare"] == {
                "named": [short_form(bob.did)]
            }
            for made in (items, text):
                await bob.call("inbox.add", packet=json.dumps(made["packet"]))
            wrong: list[Json] = [
                {},
                {"keys": ["nothing"]},
                {"text": "a", "tags": ["t"]},
                {"tags": ["t"], "reshare": ["Nobody"]},
                {"tags": ["t"], "to": "did:web:example.org"},
            ]
            for making in wrong:
                await alice.refuses("packet.make", **making)
            assert len(await alice.audited("packet_made")) == 2

    run(scene)


def test_an_import_by_the_control_socket_is_whole_or_absent(tmp_path: Path) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice") as (alice,):
            await alice.put("k", 1, "t")
            shown = await alice.call("memory.get", key="k")
            new = {**shown, "key": "n"}
            begun = await alice.call("import.begin", digest="d")
            name = {"import_id": begun["import_id"]}
            stage = {"first": 0, "outcomes": 1, "items": [new]}
            await alice.call("import.stage", **name, **stage)
            assert await alice.refuses("import.stage", **name, **stage) is (
                Code.STATE_CONFLICT
            )
            await alice.restart()
            assert await alice.refuses("memory.get", key="n") is Code.NOT_FOUND
            begun = await alice.call("import.begin", digest="d")
            assert begun == {**name, "outcomes": 1}
            bad: list[Json] = [
                {**new, "key": "query"},
                {**new, "tags": []},
                {**new, "value": 2**53},
                {**new, "sensitivity": "secret"},
            ]
            for one in bad:
                wrong = {"first": 1, "outcomes": 1, "items": [one]}
                code = await alice.refuses("import.stage", **name, **wrong)
                assert code is Code.INVALID_REQUEST
            done = await alice.call("import.finish", **name)
            assert done["added"] == 1
            assert await alice.refuses("import.finish", **name) is Code.NOT_FOUND
            (entry,) = await alice.audited("import")
            assert entry["detail"] == done
            other = await alice.call("import.begin", digest="e")
            await alice.call("import.drop", import_id=other["import_id"])
            assert (await alice.call("memory.stats"))["items"] == 2

    run(scene)
