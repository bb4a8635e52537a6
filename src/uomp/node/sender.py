"""Sends what waits in the outbox.

A message is marked as sent once its recipient has answered 2xx; until then the same
message, with the same id and expiry, is tried again. Messages to one peer keep their
order. What was read with a session leaves only while that session is active.
"""

import asyncio
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
        self._under_way: dict[str, set[asyncio.Task[None]]] = {}

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            self._engine.changed.clear()
            try:
                due = await self._engine.run(_due)
                if due:
                    await asyncio.gather(*(self._start(one) for one in due))
                    continue
                wait = await self._engine.run(_wait)
            except UompError:
                log.exception("the outbox cannot be read")
                wait = 1.0
            self._engine.changed.clear()
            await self._sleep(wait)

    async def _sleep(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._engine.changed.wait()
        except TimeoutError:
            pass

    async def _start(self, outgoing: Outgoing) -> None:
        task = asyncio.create_task(self._send(outgoing))
        if outgoing.session_id is not None:
            tasks = self._under_way.setdefault(outgoing.session_id, set())
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        try:
            await task
        except asyncio.CancelledError:
            if not task.cancelled():
                raise

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
            packed = await self._engine.run(packing.pack, outgoing)
        except UompError as error:
            await self._engine.run(_settle, outgoing, _refused(error))
            return
        if packed is None:  # its session has ended; that is audited already
            return
        posted = await self._poster.post(packed.endpoint, packed.envelope)
        await self._engine.run(_settle, outgoing, posted)


def _refused(error: UompError) -> Posted:
    again = error.code in (Code.DID_NOT_RESOLVED, Code.STORE_UNAVAILABLE)
    return Posted(taken=False, again=again, why=str(error))


def _due(core: Core) -> list[Outgoing]:
    return core.outbox.due(core.clock.now().timestamp(), BATCH)


def _wait(core: Core) -> float:
    soonest = core.outbox.next_try()
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
