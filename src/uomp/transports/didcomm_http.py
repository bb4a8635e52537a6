"""DIDComm over HTTP: posting an envelope, and taking one in (DIDComm v2.1, HTTPS)."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import aiohttp
import msgspec
from yarl import URL

from uomp.transports.addresses import CheckedResolver, is_allowed, literal
from uomp.transports.base import Handler, Inbound, Reply

ENCRYPTED: Final = "application/didcomm-encrypted+json"
SIGNED: Final = "application/didcomm-signed+json"
PLAIN: Final = "application/didcomm-plain+json"
PATH: Final = "/didcomm"

# With and without the prefix that the specification lets peers leave out.
_MEDIA_TYPES: Final = frozenset(
    name for full in (ENCRYPTED, SIGNED, PLAIN) for name in (full, full[12:])
)
_SCHEMES: Final = ("http", "https")
MAX_ANSWER_BYTES = 64 * 1024
CONNECT_SECONDS, TOTAL_SECONDS = 5.0, 60.0
_TEMPORARY: Final = frozenset({408, 425, 429, 500, 502, 503, 504})


class Posted(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one envelope.

    `taken`: any 2xx. `again`: the trouble may pass, so the same envelope may be sent
    later. `body` is what the peer answered, at most 64 KiB.
    """

    taken: bool
    again: bool
    why: str = ""
    body: bytes = b""
    media_type: str = ""


class Poster:
    """Posts envelopes. One for a node; `close` ends its connections."""

    def __init__(self, *, private: bool = True) -> None:
        """`private`: peers on this machine and on private networks may be called."""
        self._private = private
        self._session: aiohttp.ClientSession | None = None

    async def post(
        self, url: str, envelope: bytes, seconds: float = TOTAL_SECONDS
    ) -> Posted:
        """Post one envelope. Never raises for what the peer or the network does.

        `seconds` is the longest that the whole exchange may take.

        Of redirects only 307 to the same host is followed, once.
        """
        target = _parse(url)
        if target is None:
            return Posted(taken=False, again=False, why="the endpoint is no HTTP URL")
        address = literal(target.host or "")
        if address is not None and not is_allowed(address, private=self._private):
            return Posted(
                taken=False, again=False, why="the endpoint may not be called"
            )
        try:
            async with asyncio.timeout(seconds):
                answer = await self._post_once(target, envelope)
                moved = _moved(target, answer)
                if moved is not None:
                    answer = await self._post_once(moved, envelope)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            why = f"{target.host} cannot be reached ({type(error).__name__})"
            return Posted(taken=False, again=True, why=why)
        except (ValueError, UnicodeError):  # a host that no resolver takes
            why = "the endpoint's host is no host"
            return Posted(taken=False, again=False, why=why)
        return answer[0]

    async def _post_once(self, url: URL, envelope: bytes) -> tuple[Posted, str]:
        session = self._session or self._open()
        headers = {"Content-Type": ENCRYPTED}
        async with session.post(
            url, data=envelope, headers=headers, allow_redirects=False
        ) as response:
            body = await response.content.read(MAX_ANSWER_BYTES)
            status = response.status
            posted = Posted(
                taken=200 <= status < 300,  # noqa: PLR2004 - any 2xx
                again=status in _TEMPORARY,
                why=f"{url.host} answered {status}",
                body=body,
                media_type=response.content_type,
            )
            where = response.headers.get("Location", "") if status == 307 else ""  # noqa: PLR2004
            return posted, where

    def _open(self) -> aiohttp.ClientSession:
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=TOTAL_SECONDS, connect=CONNECT_SECONDS),
            connector=aiohttp.TCPConnector(
                limit=32,
                limit_per_host=4,
                resolver=CheckedResolver(private=self._private),
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
        )
        return self._session

    async def close(self) -> None:
        """End the connections."""
        if self._session is not None:
            await self._session.close()
            await asyncio.sleep(0)  # lets the transports notice


def _parse(url: str) -> URL | None:
    try:
        made = URL(url)
    except ValueError:
        return None
    usable = made.scheme in _SCHEMES and made.host and not made.user
    return made if usable else None


def is_private_url(url: str) -> bool:
    """Say whether a URL's host is this machine or an address of a private network."""
    host = URL(url).host or ""
    address = literal(host)
    if address is None:
        return host == "localhost" or host.endswith((".local", ".localhost", ".test"))
    return not is_allowed(address, private=False) and is_allowed(address, private=True)


def is_http_url(url: str) -> bool:
    """Say whether messages can be posted to this URL."""
    return _parse(url) is not None


def _moved(target: URL, answer: tuple[Posted, str]) -> URL | None:
    if not answer[1]:
        return None
    try:
        moved = _parse(str(target.join(URL(answer[1]))))
    except ValueError:
        return None
    same = moved is not None and moved.origin() == target.origin()
    return moved if same else None


Receive = Callable[[bytes, str], Awaitable[Reply]]


def inbound_handler(receive: Receive) -> Handler:
    """Return the handler of a listener that takes envelopes at `/didcomm`.

    `receive` gets the envelope and where it came from.
    """

    async def handle(request: Inbound) -> Reply:
        if request.path.rstrip("/") != PATH:
            return _error(404, "NOT_FOUND")
        if request.method != "POST":
            return _error(405, "INVALID_REQUEST")
        if request.media_type() not in _MEDIA_TYPES:
            return _error(415, "INVALID_REQUEST")
        return await receive(request.body, request.source)

    return handle


def _error(status: int, code: str) -> Reply:
    error = {"error": {"code": code, "message": "Not here.", "session_id": None}}
    return Reply(status=status, body=msgspec.json.encode(error))
