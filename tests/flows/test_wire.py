"""What somebody sees who watches the wire between two nodes."""

import json
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession, web

from support.live import granted, living, run
from support.strangers import stranger
from uomp.errors import PeerError
from uomp.node.operations import OPERATIONS
from uomp.packets.multibase import b64url_encode

CANARY = "canary-wire-77"


@asynccontextmanager
async def watched(port: int, seen: list[tuple[str, bytes]]) -> AsyncIterator[str]:
    """Stand between a node and its peer; pass everything on, and keep it."""
    async with ClientSession() as out:

        async def forward(request: web.BaseRequest) -> web.Response:
            body = await request.read()
            seen.append((request.headers["Content-Type"], body))
            url = f"http://127.0.0.1:{port}/didcomm"
            head = {"Content-Type": request.headers["Content-Type"]}
            async with out.post(url, data=body, headers=head) as answer:
                return web.Response(status=answer.status, body=await answer.read())

        runner = web.ServerRunner(web.Server(forward))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}/didcomm"
        finally:
            await runner.cleanup()


@pytest.mark.requirement("SYS-5", "PAM-5.1-6", "SYS-18")
def test_only_envelopes_are_on_the_wire_and_only_their_receiver_opens_them(
    tmp_path: Path,
) -> None:
    seen: list[tuple[str, bytes]] = []

    async def scene() -> None:
        async with (
            living(tmp_path, "Alice", "Bob") as (alice, bob),
            stranger(alice, bob) as eve,
            watched(bob.port, seen) as road,
        ):
            contact = {"did": bob.did, "name": "Bob", "endpoint": road}
            await alice.call("contacts.add", **contact)
            await alice.put("secret", CANARY, "t")
            await granted(alice, bob)
            await bob.until("inbox.list", bool)
            for _, body in seen:
                with pytest.raises(PeerError):
                    eve.open(body)

    run(scene)
    assert len(seen) >= 2
    for media_type, body in seen:
        assert media_type == "application/didcomm-encrypted+json"
        assert CANARY.encode() not in body
        members = {"protected", "recipients", "iv", "ciphertext", "tag"}
        assert set(json.loads(body)) == members


@pytest.mark.requirement("UOMP-11.3-2", "UOMP-11.3-3")
def test_an_agent_writes_nothing_whatever_it_sends(tmp_path: Path) -> None:
    """There is no message that writes; whatever claims to be one is refused."""

    async def scene() -> None:
        async with living(tmp_path, "Alice") as (alice,), stranger(alice) as bob:
            await alice.put("theme", "dark", "t")
            await alice.put("pin", "0000", "t", level="high")
            await bob.session(alice, "t", packet=False)
            before = await alice.call("memory.list")
            for name in ("write", "put", "delete"):
                kind = f"https://uomp.org/memory-handoff/1.0/{name}"
                body = {"key": "pin", "value": "1111"}
                sent = await bob.say(alice, kind, body)
                report = await bob.refused(sent)
                assert report["code"].endswith("unsupported-message")
            assert await alice.call("memory.list") == before

    run(scene)


@pytest.mark.requirement("PAM-2.2-14", "UOMP-5.2-9")
def test_packets_are_signed_by_the_node_and_no_command_gives_a_key_away(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice") as (alice,):
            await alice.put("theme", "dark", "t")
            made = await alice.call("packet.make", keys=["theme"])
            assert made["packet"]["signature"]["public_key_id"].startswith(alice.did)
            answers = [made]
            for name, operation in OPERATIONS.items():
                if not operation.params.__struct_fields__:
                    answers.append(await alice.call(name))
            said = json.dumps([*answers, await alice.call("status")])
            await alice.stop()
            async with alice.opened() as core:
                keys = core.identity.keys
            raw = [one.private_bytes_raw() for one in (keys.signing, keys.token)]
            raw += [keys.agreement.private_bytes_raw(), *keys.stores.values()]
            for key in raw:
                for form in (key.hex(), b64encode(key).decode(), b64url_encode(key)):
                    assert form not in said
            assert repr(keys) == "Keys(...)"

    run(scene)
