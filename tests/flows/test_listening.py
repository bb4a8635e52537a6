"""Where a node listens, and what it does when that changes."""

import asyncio
import http.client
from pathlib import Path
from typing import Any

import pytest

from support.live import living, run
from support.nodes import free_port
from support.strangers import stranger
from uomp.node.config import read_config, write_config
from uomp.protocol.messages import types
from uomp.transports.didcomm_http import ENCRYPTED


async def answer(port: int, method: str, path: str, *posted: Any) -> int:
    """Return the status for a request; `posted` is a body and headers."""
    return await asyncio.to_thread(_answer, port, (method, path, *posted))


def _answer(port: int, request: tuple[Any, ...]) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(*request)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.requirement("SYS-18")
def test_the_public_listener_serves_messages_and_nothing_else(tmp_path: Path) -> None:
    async def scene() -> None:
        public = free_port()
        listen = {"listen": f"127.0.0.1:{public}"}
        async with (
            living(tmp_path, "Alice", didcomm=listen) as (alice,),
            stranger(alice) as agent,
        ):
            assert public != alice.port
            ping = agent.message(alice.did, types.PING, {})
            envelope = agent.pack(alice.did, ping)
            media = {"Content-Type": ENCRYPTED}
            for port in (public, alice.port):
                for method, path, status in (
                    ("GET", "/didcomm", 405),
                    ("POST", "/", 404),
                    ("GET", "/v1/owner/status", 404),
                    ("POST", "/v1/owner/stop", 404),
                    ("POST", "/didcomm/../v1/owner/stop", 404),
                ):
                    got = await answer(port, method, path)
                    assert got == status, (method, path)
                assert await answer(port, "POST", "/didcomm", envelope, media) == 202
                assert await answer(port, "POST", "/didcomm", envelope) == 415
            await agent.hears(types.PING_RESPONSE, thid=ping["id"])
            # A page in a browser that reached it by another name is not served.
            head = {**media, "Host": "evil.example"}
            got = await answer(alice.port, "POST", "/didcomm", envelope, head)
            assert got == 421

    run(scene)


def test_a_node_that_moves_keeps_the_did_that_peers_know(tmp_path: Path) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice") as (alice,), stranger(alice) as peer:
            assert alice.node is not None

            async def move() -> None:
                await alice.stop()
                config = read_config(alice.home)
                alice.port = free_port()
                text = alice.home.config.read_text()
                old = f"port = {config.node.port}\n"
                assert old in text
                write_config(alice.home, config)
                alice.home.config.write_text(
                    text.replace(old, f"port = {alice.port}\n")
                )
                await alice.start()

            first = (await alice.call("status"))["did"]
            await move()
            second = await alice.call("status")
            assert second["did"] != first  # nobody has met the first one
            assert second["endpoint"] == f"http://127.0.0.1:{alice.port}/didcomm"
            assert any("has changed" in one for one in alice.node.notices)
            await alice.call("contacts.ping", who=peer.did)
            await peer.hears(types.PING)
            await move()
            third = await alice.call("status")
            assert third["did"] == second["did"]
            assert third["endpoint"] == second["endpoint"]
            (notice,) = alice.node.notices
            assert second["endpoint"] in notice

    run(scene)
