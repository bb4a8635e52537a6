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
from uomp.transports.didcomm_http import TOTAL_SECONDS, Posted, Poster

log = logging.getLogger("uomp")

PLACES = 32  # messages under way at a time
STRANGER_PLACES = 16  # of them at most for peers that the owner has not dealt with
STRANGER_SECONDS = 10.0  # how long a stranger may take to answer
LONGEST_SLEEP = 30.0  # seconds; the clock may be set while we wait


class Sender:
    """The loop that empties the outbox."""

    def __init__(self, engine: Engine, poster: Poster) -> None:
        self._engine = engine
        self._poster = poster
        self._busy: dict[str, asyncio.Task[None]] = {}
        self._strangers: set[str] = set()
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
        """Start what is due and return how many seconds until something is.

        Strangers get a part of the places, so that they cannot take all of them.
        """
        try:
            for known in (True, False):
                taken = len(self._busy) if known else len(self._strangers)
                free = (PLACES if known else STRANGER_PLACES) - taken
                busy = frozenset(self._busy)
                for one in await self._engine.look(_due, busy, known, free):
                    self._start(one, known=known)
            if len(self._strangers) >= STRANGER_PLACES:
                return LONGEST_SLEEP  # woken by the next one that is done
            return await self._engine.look(_wait, frozenset(self._busy))
        except UompError:
            log.exception("the outbox cannot be read")
            return 1.0

    def _start(self, outgoing: Outgoing, *, known: bool) -> None:
        task = asyncio.create_task(self._send(outgoing, known=known))
        self._busy[outgoing.peer] = task
        if not known:
            self._strangers.add(outgoing.peer)
        tasks = self._under_way.setdefault(outgoing.session_id or "", set())
        tasks.add(task)

        def done(_task: asyncio.Task[None]) -> None:
            del self._busy[outgoing.peer]
            self._strangers.discard(outgoing.peer)
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

    async def _send(self, outgoing: Outgoing, *, known: bool) -> None:
        code = Code.PEER_UNREACHABLE
        try:
            packed = await self._engine.look(packing.pack, outgoing)
            if packed is None:  # its session has ended; that is audited already
                return
            seconds = TOTAL_SECONDS if known else STRANGER_SECONDS
            posted = await self._poster.post(packed.endpoint, packed.envelope, seconds)
        except UompError as error:
            posted, code = _refused(error), error.code
        except Exception:
            # Whatever a peer's endpoint provokes, it must not come round at once.
            log.exception("a message could not be posted")
            posted = Posted(taken=False, again=True, why="the post failed in this node")
        try:
            await self._engine.look(_settle, outgoing, posted, code)
        except UompError:
            log.exception("the outbox cannot be written")
            await asyncio.sleep(1.0)


def _refused(error: UompError) -> Posted:
    again = error.code in (Code.DID_NOT_RESOLVED, Code.STORE_UNAVAILABLE)
    return Posted(taken=False, again=again, why=str(error))


def _due(core: Core, busy: frozenset[str], known: bool, limit: int) -> list[Outgoing]:  # noqa: FBT001
    now = core.clock.now().timestamp()
    return core.outbox.due(now, busy, known=known, limit=limit)


def _wait(core: Core, busy: frozenset[str]) -> float:
    soonest = core.outbox.next_try(busy)
    if soonest is None:
        return LONGEST_SLEEP
    return min(max(soonest - core.clock.now().timestamp(), 0.01), LONGEST_SLEEP)


def _settle(core: Core, outgoing: Outgoing, posted: Posted, code: Code) -> None:
    now = core.clock.now().timestamp()
    with core.ledger.transaction():
        if posted.taken:
            core.outbox.sent(outgoing.number)
        elif posted.again and now < outgoing.expires_s:
            core.outbox.retry(outgoing, now, posted.why)
        else:
            packing.give_up(core, outgoing, posted.why, code)
