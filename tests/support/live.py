"""Nodes inside the test's own process: real sockets, real files, a clock of the test's.

Many of them start in the time that one process takes. What needs a process of its own,
a kill for example, uses `support.nodes`.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.nodes import PASSPHRASE, PATIENCE, free_port
from uomp.errors import Code, UompError
from uomp.node.config import Config, read_config
from uomp.node.control_client import ControlClient
from uomp.node.core import Core
from uomp.node.home import Home
from uomp.node.passphrase import derive_key, read_parameters
from uomp.node.serve import Node
from uomp.node.setup import create_node
from uomp.node.wallet import Wallet


class TestClock:
    """The machine's clock, moved by as much as a test likes."""

    __test__ = False

    def __init__(self) -> None:
        self.ahead = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead


class Live:
    """One node of the test's process, called the way its owner's commands call it."""

    def __init__(
        self, root: Path, name: str, clock: TestClock, **settings: Any
    ) -> None:
        self.home, self.name, self.clock = Home(root), name, clock
        self.settings = settings
        self.port = free_port()
        self.node: Node | None = None
        self.did = ""

    async def make(self) -> "Live":
        node = {"port": self.port, "name": self.name, "presence": False}
        node.update(self.settings.get("node", {}))
        config = {**self.settings, "node": node}
        made = msgspec.convert(config, Config)
        self.did = await create_node(self.home, made, PASSPHRASE)
        return self

    async def start(self) -> "Live":
        self.node = Node(self.home, PASSPHRASE, self.clock)
        await self.node.start()
        return self

    async def stop(self) -> None:
        if self.node is not None:
            await self.node.stop()
            self.node = None

    async def call(self, operation: str, /, **values: Any) -> Any:
        """Call one operation over the control socket.

        Raises:
            UompError: what the node answers.
        """
        return await asyncio.to_thread(self._call, operation, values)

    def _call(self, operation: str, values: dict[str, Any]) -> Any:
        client = ControlClient(self.home)
        try:
            return client.call(operation, **values)
        finally:
            client.close()

    async def raw(self, operation: str, body: bytes = b"{}") -> tuple[int, Any]:
        """Post any bytes to the control socket; return status and answer."""

        def exchange() -> tuple[int, bytes]:
            client = ControlClient(self.home)
            try:
                return client._exchange(operation, body)
            finally:
                client.close()

        status, answer = await asyncio.to_thread(exchange)
        return status, json.loads(answer)

    async def until(
        self, operation: str, holds: Callable[[Any], Any], **values: Any
    ) -> Any:
        """Call until the answer satisfies `holds`, and return that answer."""
        async with asyncio.timeout(PATIENCE):
            while not holds(  # noqa: ASYNC110 - nobody tells when it will
                found := await self.call(operation, **values)
            ):
                await asyncio.sleep(0.01)
        return found

    async def put(self, key: str, value: Any, *tags: str, level: str = "low") -> None:
        await self.call(
            "memory.put", key=key, value=value, tags=list(tags), sensitivity=level
        )

    async def refuses(self, operation: str, /, **values: Any) -> Code:
        """Call one operation that is refused, and return the code."""
        with pytest.raises(UompError) as refused:
            await self.call(operation, **values)
        return refused.value.code

    async def audited(self, action: str, **values: Any) -> list[dict[str, Any]]:
        """Return the audit entries of an action, newest first."""
        found: list[dict[str, Any]] = await self.call(
            "audit.list", action=action, limit=1000, **values
        )
        return found

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Core]:
        """Stop the node, hand out its opened stores, and start it again."""
        await self.stop()
        key = derive_key(PASSPHRASE, read_parameters(self.home))
        wallet = await Wallet.open(self.home, key)
        core = Core(self.home, read_config(self.home), wallet.identity, self.clock)
        try:
            yield core
        finally:
            core.close()
            await wallet.close()
        await self.start()

    async def answered(self, request_id: str) -> dict[str, Any]:
        """Return a question of ours once it is answered."""
        found: dict[str, Any] = await self.until(
            "requests.one",
            lambda one: one["status"] != "waiting",
            request_id=request_id,
        )
        return found


@asynccontextmanager
async def living(
    tmp: Path,
    *names: str,
    clock: TestClock | None = None,
    **settings: Any,
) -> AsyncIterator[list[Live]]:
    """Run a node for each name on one clock; `settings` are tables of `config.toml`."""
    shared = clock or TestClock()
    nodes = [Live(tmp / name.lower(), name, shared, **settings) for name in names]
    try:
        for node in nodes:
            await (await node.make()).start()
        yield nodes
    finally:
        for node in nodes:
            await node.stop()


async def granted(
    owner: Live,
    agent: Live,
    *,
    tags: tuple[str, ...] = ("t",),
    **selection: Any,
) -> str:
    """Let `agent` ask and `owner` grant; return the session's id once it is held."""
    asked = await agent.call("request.ask", to=owner.did, tags=list(tags))
    waiting = await owner.until("requests.list", bool)
    await owner.call(
        "requests.approve",
        request_id=waiting[-1]["request_id"],
        selection=selection,
    )
    answer = await agent.answered(asked["request_id"])
    session_id: str = answer["answer"]["session_id"]
    return session_id


def run(scene: Callable[[], Awaitable[None]]) -> None:
    """Run a scene in an event loop of its own."""

    async def whole() -> None:
        await scene()

    asyncio.run(whole())
