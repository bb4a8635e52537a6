"""One thread for the stores, one event loop for the network.

Every operation runs whole on the stores' thread, and its audit entries are in the log
before its result comes back.
"""

import asyncio
import itertools
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Concatenate, ParamSpec, TypeVar

from uomp.errors import UompError
from uomp.node.core import Core
from uomp.node.refusals import Refusals
from uomp.node.service import pruning, sessions
from uomp.node.service.inbound import Outcome, receive

log = logging.getLogger("uomp")

P = ParamSpec("P")
T = TypeVar("T")

TICK_SECONDS = 1.0
PRUNE_TICKS = 60


class Engine:
    """Runs operations on a core."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.changed = asyncio.Event()
        """Set after every operation: the outbox may have grown."""
        self._thread = ThreadPoolExecutor(1, "uomp-stores")
        self._refusals = Refusals()

    async def run(
        self,
        operation: Callable[Concatenate[Core, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run `operation(core, ...)`, audited, and wake what waits for a change.

        Raises:
            UompError: whatever the operation raises; what it audited is in the log.
        """
        try:
            return await self.look(operation, *args, **kwargs)
        finally:
            self.changed.set()

    async def look(
        self,
        operation: Callable[Concatenate[Core, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run `operation(core, ...)` and return its result once it is audited.

        Raises:
            UompError: whatever the operation raises; what it audited is in the log.
        """

        def whole() -> T:
            try:
                return operation(self.core, *args, **kwargs)
            finally:
                self.core.acknowledge()

        loop = asyncio.get_running_loop()
        return await asyncio.shield(loop.run_in_executor(self._thread, whole))

    async def receive(self, envelope: bytes, source: str) -> Outcome:
        """Take one envelope; refusals of strangers are counted, not listed."""
        try:
            outcome = await self.run(receive, envelope)
        except UompError:  # a store that cannot be used: the sender may try again
            return Outcome(status=503)
        except Exception:
            log.exception("an envelope could not be handled")
            return Outcome(status=500)
        if outcome.refused is not None:
            self._refusals.count(source, outcome.refused.code, self.core.now_s())
        return outcome

    async def tick(self) -> None:
        """Do what the time demands, every second, until cancelled."""
        for count in itertools.count(1):
            await asyncio.sleep(TICK_SECONDS)
            try:
                await self.look(sessions.pass_time)
                if count % PRUNE_TICKS == 0:
                    await self.look(pruning.prune)
                for entry in self._refusals.due(self.core.now_s()):
                    await self.run(_log, entry)
            except Exception:  # the ticker outlives a full disk
                log.exception("what the time demands could not be done")

    async def close(self) -> None:
        """Write what is counted, and close the stores on their thread."""
        for entry in self._refusals.due(None):
            await self.run(_log, entry)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, self.core.close)
        self._thread.shutdown()


def _log(core: Core, entry: object) -> None:
    with core.ledger.transaction():
        core.log(entry)  # type: ignore[arg-type]
