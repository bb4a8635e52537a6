"""The owner's road to the running node: HTTP on a socket file.

Only the user who runs the node is answered. Since agents often run as that user too,
what gives memory away also needs an unlock: the passphrase again, at most five minutes
ago and in the same terminal session (design section 4, owner authority).
"""

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import msgspec

from uomp.errors import Code, LocalError, PeerError, UompError
from uomp.node.engine import Engine
from uomp.node.home import Home
from uomp.node.operations import OPERATIONS
from uomp.node.passphrase import derive_key, read_parameters, same_key
from uomp.packets import strict
from uomp.transports.base import Inbound, Reply

log = logging.getLogger("uomp")

PREFIX: Final = "/v1/owner/"
MAX_BODY: Final = 64 << 20  # a batch of imported items, or a packet
UNLOCK_SECONDS: Final = 300.0
# After a wrong passphrase the next try waits this long, so that it cannot be guessed.
WRONG_SECONDS: Final = 1.0

AsyncOperation = Callable[[dict[str, Any]], Awaitable[Any]]


class _Unlock(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    passphrase: str


class Unlocks:
    """Which terminal sessions have shown the passphrase lately."""

    def __init__(self, home: Home, key: bytes, *, presence: bool) -> None:
        self._home, self._key, self._presence = home, key, presence
        self._until: dict[int, float] = {}
        self._trying = asyncio.Lock()

    def check(self, process: int | None) -> None:
        """Refuse a process whose terminal session has not unlocked the node.

        Raises:
            LocalError: `UNLOCK_REQUIRED`.
        """
        if self._presence and time.monotonic() > self._until.get(_session(process), 0):
            raise LocalError(
                Code.UNLOCK_REQUIRED, "This needs the owner's passphrase again."
            )

    async def unlock(self, process: int | None, passphrase: str) -> None:
        """Unlock for the terminal session of `process`.

        Raises:
            LocalError: `WRONG_PASSPHRASE`.
        """
        async with self._trying:
            parameters = read_parameters(self._home)
            key = await asyncio.to_thread(derive_key, passphrase, parameters)
            if not same_key(key, self._key):
                await asyncio.sleep(WRONG_SECONDS)
                raise LocalError(Code.WRONG_PASSPHRASE, "The passphrase is wrong.")
            self._until[_session(process)] = time.monotonic() + UNLOCK_SECONDS

    def lock(self) -> None:
        """Forget every unlock."""
        self._until.clear()


def _session(process: int | None) -> int:
    try:
        return os.getsid(process) if process is not None else -1
    except ProcessLookupError as error:
        raise LocalError(Code.UNLOCK_REQUIRED, "The caller has gone.") from error


class Control:
    """Answers the owner's commands."""

    def __init__(
        self, engine: Engine, unlocks: Unlocks, extra: dict[str, AsyncOperation]
    ) -> None:
        """`extra` are operations of the process itself, such as `stop`."""
        self._engine, self._unlocks, self._extra = engine, unlocks, extra

    async def handle(self, request: Inbound) -> Reply:
        """Answer one command; errors carry their code and a sentence."""
        try:
            result = await self._run(request)
        except UompError as error:
            made = {"error": {"code": error.code, "message": str(error)}}
            return Reply(status=400, body=msgspec.json.encode(made))
        except Exception:
            log.exception("a command failed inside the node")
            text = "Something failed inside the node; its log says what."
            made = {"error": {"code": Code.INTERNAL_ERROR, "message": text}}
            return Reply(status=500, body=msgspec.json.encode(made))
        return Reply(status=200, body=msgspec.json.encode({"result": result}))

    async def _run(self, request: Inbound) -> Any:  # noqa: ANN401
        if request.source != f"uid:{os.getuid()}":
            raise PeerError(Code.PERMISSION_REFUSED, "This is another user's node.")
        name = request.path.removeprefix(PREFIX)
        if request.method != "POST" or not request.path.startswith(PREFIX):
            raise PeerError(Code.NOT_FOUND, "There is no such command.")
        values = strict.loads(request.body or b"{}", max_bytes=MAX_BODY).value
        if not isinstance(values, dict):
            raise PeerError(Code.INVALID_REQUEST, "A command takes an object.")
        if name == "unlock":
            passphrase = read_params(values, _Unlock).passphrase
            await self._unlocks.unlock(request.process, passphrase)
            return {"unlocked_seconds": int(UNLOCK_SECONDS)}
        if name in self._extra:
            return await self._extra[name](values)
        operation = OPERATIONS.get(name)
        if operation is None:
            raise PeerError(Code.NOT_FOUND, "There is no such command.")
        if operation.unlock:
            self._unlocks.check(request.process)
        params = read_params(values, operation.params)
        return await self._engine.run(operation.run, params)


Params = TypeVar("Params", bound=msgspec.Struct)


def read_params(values: dict[str, Any], kind: type[Params]) -> Params:
    """Read the parameters of a command.

    Raises:
        PeerError: `INVALID_REQUEST`, naming the parameter that is wrong or unknown.
    """
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise PeerError(
            Code.INVALID_REQUEST, f"The command is malformed: {error}"
        ) from error
