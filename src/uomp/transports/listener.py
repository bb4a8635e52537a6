"""A hardened HTTP listener on TCP or on a socket file.

Nothing that was sent comes back in an answer or goes into a log. A peer that does not
finish its headers or its body in time is cut off, and so is one connection too many.
"""

import asyncio
import os
import socket
import stat
import struct
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Final

import msgspec
from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from uomp.errors import Code, LocalError, UnavailableError
from uomp.transports.base import Handler, Inbound, Reply
from uomp.transports.bounds import BodyBudget, Share, Sources, source_of

HEADER_SECONDS = 5.0
BODY_SECONDS = 30.0  # a large message over a slow line; headers get far less
FIRST_BYTE_SECONDS = 5.0  # who announces a body has it ready
IDLE_SECONDS = 15.0
LINGER_SECONDS = 1.0  # so that who still sends hears why it was refused, not a reset
MAX_CONNECTIONS = 200
MAX_SOURCE_CONNECTIONS = 32  # one peer cannot hold them all; a busy one has a few
MAX_BODIES_BYTES = 128 << 20  # four messages of the largest size at once

_NAME: Final = "uomp"  # no version of anything is told
_MALFORMED: Final = (
    b'{"error":{"code":"INVALID_REQUEST","message":"Malformed request.",'
    b'"session_id":null}}'
)


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one listener takes. Bytes and seconds."""

    max_body: int
    hosts: Collection[str] | None = None
    """The `Host` headers that are answered; None: any."""
    header_seconds: float = HEADER_SECONDS
    body_seconds: float = BODY_SECONDS
    first_byte_seconds: float = FIRST_BYTE_SECONDS
    max_connections: int = MAX_CONNECTIONS
    max_source_connections: int = MAX_SOURCE_CONNECTIONS
    source_of: Callable[[str], str] = source_of
    """What stands for the peer at an address; empty: it is not counted."""
    max_bodies_bytes: int = MAX_BODIES_BYTES
    """Of all bodies that are read or handled at once; small ones pass anyhow."""


class _Connection(RequestHandler):
    """One connection: a deadline for the headers, and errors that repeat nothing."""

    limits: Limits
    owner: "_Server"
    began: bool = False
    _source: str = ""
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if len(self.owner.connections) > self.limits.max_connections:
            self.force_close()
            return
        name = transport.get_extra_info("peername")
        source = self.limits.source_of(name[0]) if isinstance(name, tuple) else ""
        if source and not self.owner.sources.enter(source):
            self.force_close()
            return
        self._source = source
        loop = asyncio.get_running_loop()
        self._deadline = loop.call_later(self.limits.header_seconds, self._check)

    def _check(self) -> None:
        # Between requests the keep-alive timer rules; here the first must be complete.
        if not self.began:
            self.force_close()

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        if self._source:
            self.owner.sources.leave(self._source)
            self._source = ""
        super().connection_lost(exc)

    def handle_error(
        self,
        request: web.BaseRequest,  # noqa: ARG002
        status: int = 500,
        exc: BaseException | None = None,  # noqa: ARG002
        message: str | None = None,  # noqa: ARG002
    ) -> web.StreamResponse:
        """Answer without a word of what was sent."""
        answer = web.Response(
            status=status,
            body=_MALFORMED,
            content_type="application/json",
            headers={"Server": _NAME},
        )
        answer.force_close()
        return answer

    def log_exception(self, *args: Any, **kw: Any) -> None:  # noqa: ANN401
        """Log nothing: aiohttp would quote the bytes that it could not read."""


class _Server(web.Server):
    """Makes the connections above."""

    limits: Limits
    sources: Sources

    def __call__(self) -> RequestHandler:
        made = _Connection(self, loop=asyncio.get_running_loop(), **self._kwargs)
        made.limits, made.owner = self.limits, self
        return made


class Listener:
    """One hardened listener. Start it once; `close` lets answers under way finish."""

    def __init__(self, handler: Handler, limits: Limits) -> None:
        self._handler = handler
        self._limits = limits
        self._budget = BodyBudget(limits.max_bodies_bytes)
        self._runner: web.ServerRunner | None = None

    async def start_tcp(self, host: str, port: int) -> int:
        """Listen on a TCP port and return it; port 0 takes a free one.

        Raises:
            UnavailableError: `STORE_UNAVAILABLE`, if the port is in use.
        """
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, port))
        except OSError as error:
            sock.close()
            raise UnavailableError(
                Code.STORE_UNAVAILABLE,
                f"Port {port} on {host} cannot be used: {error.strerror}. "
                "Another program may hold it; choose another with --port.",
            ) from error
        runner = await self._set_up()
        await web.SockSite(runner, sock).start()
        return int(sock.getsockname()[1])

    async def start_unix(self, path: Path) -> None:
        """Listen on a socket file of mode 0600; a dead one in its place is removed.

        Raises:
            LocalError: `PERMISSION_REFUSED`, if something else is in its place.
        """
        sock = _bind_socket_file(path)
        runner = await self._set_up()
        await web.SockSite(runner, sock).start()

    async def _set_up(self) -> web.ServerRunner:
        server = _Server(
            self._answer,
            access_log=None,
            keepalive_timeout=IDLE_SECONDS,
            auto_decompress=False,
            lingering_time=LINGER_SECONDS,
        )
        server.limits = self._limits
        server.sources = Sources(self._limits.max_source_connections)
        self._runner = web.ServerRunner(server, shutdown_timeout=3.0)
        await self._runner.setup()
        return self._runner

    async def close(self) -> None:
        """Stop listening and end the connections."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if isinstance(request.protocol, _Connection):
            request.protocol.began = True
        refused = self._refuse(request)
        if refused is not None:
            return _to_response(refused, close=True)
        with Share(self._budget) as share:
            try:
                async with asyncio.timeout(self._limits.body_seconds):
                    body = await self._read(request, share)
            except TimeoutError:
                body = _plain(408)
            if isinstance(body, Reply):
                return _to_response(body, close=True)
            return await self._handle(request, body)

    async def _handle(self, request: web.BaseRequest, body: bytes) -> web.Response:
        source, process = _peer(request)
        inbound = Inbound(
            method=request.method,
            path=request.rel_url.raw_path,
            headers={name.lower(): value for name, value in request.headers.items()},
            body=body,
            source=source,
            process=process,
        )
        return _to_response(await self._handler(inbound), close=False)

    def _refuse(self, request: web.BaseRequest) -> Reply | None:
        """Refuse what no handler should see (threats T1 and T40)."""
        headers = request.headers
        hosts = headers.getall("Host", [])
        if len(hosts) != 1 or not request.raw_path.startswith("/"):
            return _plain(400)
        if self._limits.hosts is not None and hosts[0] not in self._limits.hosts:
            return _plain(421)
        if "Origin" in headers or headers.get("Sec-Fetch-Site", "none") != "none":
            return _plain(403)
        if "Content-Encoding" in headers:
            return _plain(415)
        if (request.content_length or 0) > self._limits.max_body:
            return _plain(413)
        return None

    async def _read(self, request: web.BaseRequest, share: Share) -> bytes | Reply:
        """Return the body, or why it is not taken."""
        if not share.announce(request.content_length or 0):
            return _plain(503)
        async with asyncio.timeout(self._limits.first_byte_seconds):
            chunk = await request.content.readany()
        parts = bytearray()
        while chunk:
            parts += chunk
            if len(parts) > self._limits.max_body:
                return _plain(413)
            if not share.take(len(chunk)):
                return _plain(503)
            chunk = await request.content.readany()
        return bytes(parts)


def _bind_socket_file(path: Path) -> socket.socket:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.is_symlink() or (path.exists() and not stat.S_ISSOCK(path.stat().st_mode)):
        raise LocalError(Code.PERMISSION_REFUSED, f"{path} is not a socket.")
    path.unlink(missing_ok=True)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        sock.bind(os.fspath(path))
    finally:
        os.umask(before)
    return sock


def _plain(status: int) -> Reply:
    return Reply(status=status, body=_MALFORMED)


def _to_response(reply: Reply, *, close: bool) -> web.Response:
    made = web.Response(
        status=reply.status,
        body=reply.body,
        headers={
            "Content-Type": reply.media_type,
            "Server": _NAME,
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        },
    )
    if close:
        made.force_close()
    return made


def _peer(request: web.BaseRequest) -> tuple[str, int | None]:
    sock = request.get_extra_info("socket")
    if sock is not None and sock.family == socket.AF_UNIX:
        pid, uid = peer_credentials(sock)
        return f"uid:{uid}", pid
    return str(request.remote or ""), None


def peer_credentials(sock: Any) -> tuple[int | None, int]:  # noqa: ANN401
    """Return process id and user id of the peer of a socket file.

    macOS tells no process id over this call; it is then None.
    """
    if hasattr(socket, "SO_PEERCRED"):
        size = struct.calcsize("3i")
        raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        pid, uid, _gid = struct.unpack("3i", raw)
        return pid, uid
    local_peercred, xucred = 0x001, "IIh16I"  # LOCAL_PEERCRED of sys/un.h
    raw = sock.getsockopt(0, local_peercred, struct.calcsize(xucred))
    return None, int(struct.unpack(xucred, raw)[1])
