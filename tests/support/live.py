"""Nodes inside the test's own process: real sockets, real files, a clock of the test's.

Many of them start in the time that one process takes. What needs a process of its own,
a kill for example, uses `support.nodes`.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from support.nodes import PASSPHRASE, PATIENCE, free_port
from uomp.node.config import Config, NodeConfig
from uomp.node.control_client import ControlClient
from uomp.node.home import Home
from uomp.node.serve import Node
from uomp.node.setup import create_node


class TestClock:
    """The machine's clock, moved by as much as a test likes."""

    __test__ = False

    def __init__(self) -> None:
        self.ahead = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead


class Live:
    """One node of the test's process, called the way its owner's commands call it."""

    def __init__(self, root: Path, name: str, clock: TestClock) -> None:
        self.home, self.name, self.clock = Home(root), name, clock
        self.port = free_port()
        self.node: Node | None = None
        self.did = ""

    async def make(self) -> "Live":
        config = Config(node=NodeConfig(port=self.port, name=self.name, presence=False))
        self.did = await create_node(self.home, config, PASSPHRASE)
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

    async def until(
        self, operation: str, holds: Callable[[Any], Any], **values: Any
    ) -> Any:
        """Call until the answer satisfies `holds`, and return that answer."""
        async with asyncio.timeout(PATIENCE):
            while not holds(found := await self.call(operation, **values)):
                await asyncio.sleep(0.01)
        return found

    async def put(self, key: str, value: Any, *tags: str, level: str = "low") -> None:
        await self.call(
            "memory.put", key=key, value=value, tags=list(tags), sensitivity=level
        )

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
    tmp: Path, *names: str, clock: TestClock | None = None
) -> AsyncIterator[list[Live]]:
    """Run a node for each name on one clock."""
    shared = clock or TestClock()
    nodes = [Live(tmp / name.lower(), name, shared) for name in names]
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
