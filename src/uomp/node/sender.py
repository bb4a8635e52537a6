"""Sends what waits in the outbox.

A message is marked as sent once its recipient has answered 2xx; until then the same
message, with the same id and expiry, is tried again. Messages to one peer keep their
order. What was read with a session leaves only while that session is active.
"""

import asyncio
import contextlib
import logging

from uomp.errors import Code, UompError
from uomp.node.core import Core
from uomp.node.engine import Engine
from uomp.node.service import packing
from uomp.node.stores.outbox import Outgoing
from uomp.transports.didcomm_http import Posted, Poster

log = logging.getLogger("uomp")

BATCH = 32  # messages under way at a time
LONGEST_SLEEP = 30.0  # seconds; the clock may be set while we wait


class Sender:
    """The loop that empties the outbox."""

    def __init__(self, engine: Engine, poster: Poster) -> None:
        self._engine = engine
        self._poster = poster
        self._busy: dict[str, asyncio.Task[None]] = {}
        self._under_way: dict[str, set[asyncio.Task[None]]] = {}

    async def run(self) -> None:
        """Send until cancelled. One slow peer holds up no other."""
        try:
            while True:
                self._engine.changed.clear()
                seconds = await self._round()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await self._engine.changed.wait()
        finally:
            for task in list(self._busy.values()):
                task.cancel()
            await asyncio.gather(*self._busy.values(), return_exceptions=True)

    async def _round(self) -> float:
        """Start what is due and return how many seconds until something is."""
        try:
            for one in await self._engine.look(_due, frozenset(self._busy)):
                self._start(one)
            return await self._engine.look(_wait, frozenset(self._busy))
        except UompError:
            log.exception("the outbox cannot be read")
            return 1.0

    def _start(self, outgoing: Outgoing) -> None:
        task = asyncio.create_task(self._send(outgoing))
        self._busy[outgoing.peer] = task
        tasks = self._under_way.setdefault(outgoing.session_id or "", set())
        tasks.add(task)

        def done(_task: asyncio.Task[None]) -> None:
            del self._busy[outgoing.peer]
            tasks.discard(task)
            if not tasks:
                self._under_way.pop(outgoing.session_id or "", None)
            self._engine.changed.set()

        task.add_done_callback(done)

    async def settle(self, session_id: str) -> None:
        """Cut off what is under way for a session that has just been revoked.

        Afterwards no byte of it leaves any more.
        """
        tasks = self._under_way.pop(session_id, set())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._engine.changed.set()

    async def _send(self, outgoing: Outgoing) -> None:
        try:
            packed = await self._engine.look(packing.pack, outgoing)
        except UompError as error:
            await self._engine.look(_settle, outgoing, _refused(error))
            return
        if packed is None:  # its session has ended; that is audited already
            return
        posted = await self._poster.post(packed.endpoint, packed.envelope)
        await self._engine.look(_settle, outgoing, posted)


def _refused(error: UompError) -> Posted:
    again = error.code in (Code.DID_NOT_RESOLVED, Code.STORE_UNAVAILABLE)
    return Posted(taken=False, again=again, why=str(error))


def _due(core: Core, busy: frozenset[str]) -> list[Outgoing]:
    now = core.clock.now().timestamp()
    return core.outbox.due(now, busy)[: BATCH - len(busy)]


def _wait(core: Core, busy: frozenset[str]) -> float:
    soonest = core.outbox.next_try(busy)
    if soonest is None:
        return LONGEST_SLEEP
    return min(max(soonest - core.clock.now().timestamp(), 0.01), LONGEST_SLEEP)


def _settle(core: Core, outgoing: Outgoing, posted: Posted) -> None:
    now = core.clock.now().timestamp()
    with core.ledger.transaction():
        if posted.taken:
            core.outbox.sent(outgoing.number)
        elif posted.again and now < outgoing.expires_s:
            core.outbox.retry(outgoing, now, posted.why)
        else:
            packing.give_up(core, outgoing, posted.why)
