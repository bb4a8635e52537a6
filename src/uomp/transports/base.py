"""What passes between a transport and the node: one request, one reply."""

from collections.abc import Awaitable, Callable, Mapping

import msgspec


class Inbound(msgspec.Struct, frozen=True, kw_only=True):
    """One request as it came in. Header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    source: str
    """The peer's network address, or `uid:N` on a socket file."""
    process: int | None = None
    """The peer's process id on a socket file."""

    def media_type(self) -> str:
        """Return the content type in lower case, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one request."""

    status: int
    body: bytes = b""
    media_type: str = "application/json"


Handler = Callable[[Inbound], Awaitable[Reply]]
