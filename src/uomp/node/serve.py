"""The running node: everything built by hand, started, and ended in order."""

import asyncio
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Any

import msgspec

import uomp
from uomp.node.clock import Clock, SystemClock
from uomp.node.config import LOOPBACK, Config, read_config
from uomp.node.control import MAX_BODY, Control, Unlocks, read_params
from uomp.node.core import Core
from uomp.node.engine import Engine
from uomp.node.home import Home, HomeLock
from uomp.node.operations import Ending, Nothing
from uomp.node.passphrase import derive_key, read_parameters
from uomp.node.sender import Sender
from uomp.node.service import sessions
from uomp.node.setup import new_did
from uomp.node.stores.sessions import SessionRecord
from uomp.node.wallet import Wallet
from uomp.transports.base import Reply
from uomp.transports.didcomm_http import (
    PLAIN,
    Poster,
    inbound_handler,
    is_private_url,
)
from uomp.transports.listener import Limits, Listener

Tell = Callable[[dict[str, Any]], None]
End = Callable[[Core, str, str], SessionRecord]


class Node:
    """One running node. `start`, then `wait`, then `stop`."""

    def __init__(self, home: Home, passphrase: str, clock: Clock | None = None) -> None:
        """`clock` is for tests; no command or setting reaches it (DER-26)."""
        self._home, self._passphrase = home, passphrase
        self._clock = clock or SystemClock()
        self._stack = AsyncExitStack()
        self._ended = asyncio.Event()
        self.did = ""
        self.port = 0
        self.notices: list[str] = []

    async def start(self, port: int | None = None) -> None:
        """Open everything and listen.

        Raises:
            UompError: the node cannot run; nothing is left open.
        """
        async with AsyncExitStack() as stack:
            await self._start(stack, port)
            self._stack = stack.pop_all()

    async def _start(self, stack: AsyncExitStack, port: int | None) -> None:
        self._home.require()
        # The passphrase and the keys are in memory; a core file would hold them too.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        stack.enter_context(HomeLock(self._home))
        config = _with_port(read_config(self._home), port)
        key = derive_key(self._passphrase, read_parameters(self._home))
        wallet = await Wallet.open(self._home, key)
        stack.push_async_callback(wallet.close)
        core = Core(self._home, config, wallet.identity, self._clock)
        await self._settle_endpoint(wallet, core)
        engine = Engine(core)
        stack.push_async_callback(engine.close)
        # A node that is reached on this machine or at home may call peers there too;
        # one with a public address may not be sent into its own network by a peer.
        poster = Poster(private=is_private_url(config.endpoint()))
        stack.push_async_callback(poster.close)
        sender = Sender(engine, poster)
        await self._listen(stack, engine, config)
        unlocks = Unlocks(self._home, key, presence=config.node.presence)
        control = Control(engine, unlocks, self._process_operations(engine, sender))
        socket_file = Listener(control.handle, Limits(max_body=MAX_BODY))
        await socket_file.start_unix(self._home.control_socket)
        stack.callback(self._home.control_socket.unlink, missing_ok=True)
        stack.push_async_callback(socket_file.close)
        await engine.look(sessions.pass_time)  # before anything leaves
        for loop in (sender.run(), engine.tick()):
            stack.push_async_callback(_end, asyncio.create_task(loop))
        self.did = core.identity.did

    async def _listen(
        self, stack: AsyncExitStack, engine: Engine, config: Config
    ) -> None:
        async def take(envelope: bytes, source: str) -> Reply:
            outcome = await engine.receive(envelope, source)
            return Reply(status=outcome.status, body=outcome.body, media_type=PLAIN)

        most = config.didcomm.max_message_bytes
        names = (f"{LOOPBACK}:{config.node.port}", f"localhost:{config.node.port}")
        handler = inbound_handler(take)
        local = Listener(handler, Limits(max_body=most, hosts=names))
        self.port = await local.start_tcp(LOOPBACK, config.node.port)
        stack.push_async_callback(local.close)
        if config.didcomm.listen:
            host, _, number = config.didcomm.listen.rpartition(":")
            public = Listener(handler, Limits(max_body=most))
            await public.start_tcp(host.strip("[]"), int(number))
            stack.push_async_callback(public.close)

    async def _settle_endpoint(self, wallet: Wallet, core: Core) -> None:
        """Give a DID that nobody has seen yet the endpoint that we really have."""
        wanted = core.config.endpoint()
        if core.identity.dids[-1].endpoint == wanted:
            return
        if core.peers.any():
            self.notices.append(
                f"Peers know this node at {core.identity.dids[-1].endpoint}, not at "
                f"{wanted}: its DID says so."
            )
            return
        self.notices.append(
            f"The DID has changed, since it tells the address {wanted}. "
            "Nobody had used the old one."
        )
        await wallet.replace_did(new_did(wallet.identity.keys, wanted))
        core.identity = wallet.identity

    def _process_operations(self, engine: Engine, sender: Sender) -> dict[str, Any]:
        async def stop(values: dict[str, Any]) -> dict[str, Any]:
            read_params(values, Nothing)
            self._ended.set()
            return {"stopping": True}

        async def status(values: dict[str, Any]) -> dict[str, Any]:
            read_params(values, Nothing)
            return {
                "running": True,
                "version": uomp.__version__,
                "did": engine.core.identity.did,
                "short_did": engine.core.did,
                "endpoint": engine.core.identity.dids[-1].endpoint,
                "port": self.port,
                "home": str(self._home.root),
                **await engine.run(sessions.counts),
            }

        async def end(operation: End, values: dict[str, Any]) -> dict[str, Any]:
            ending = read_params(values, Ending)
            record = await engine.run(operation, ending.session_id, ending.reason)
            # Acknowledged only when no answer of this session is still being sent.
            await sender.settle(ending.session_id)
            return sessions.describe(record)

        return {
            "stop": stop,
            "status": status,
            "sessions.revoke": partial(end, sessions.revoke),
            "sessions.close": partial(end, sessions.close),
        }

    async def wait(self) -> None:
        """Wait for `stop` from the owner, SIGTERM or SIGINT."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._ended.set)
        await self._ended.wait()

    async def stop(self) -> None:
        """End in the reverse order of the start; answers under way are finished."""
        await self._stack.aclose()


def _with_port(config: Config, port: int | None) -> Config:
    if port is None:
        return config
    node = msgspec.structs.replace(config.node, port=port)
    return msgspec.structs.replace(config, node=node)


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def run_node(home: Home, passphrase: str, port: int | None, tell: Tell) -> None:
    """Run a node until it is told to end (`uomp serve`).

    `tell` is called once, with the facts of the node that listens.
    """
    node = Node(home, passphrase)
    await node.start(port)
    try:
        tell({"port": node.port, "did": node.did, "notices": node.notices})
        sys.stdout.flush()  # it may be a file that somebody waits to read
        await node.wait()
    finally:
        await node.stop()
