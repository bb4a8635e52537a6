"""Posting envelopes and taking them in, over real sockets."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from uomp.transports.base import Reply
from uomp.transports.didcomm_http import (
    ENCRYPTED,
    MAX_ANSWER_BYTES,
    Posted,
    Poster,
    inbound_handler,
)
from uomp.transports.listener import Limits, Listener

Scene = Callable[[Poster], Awaitable[None]]


def run(scene: Scene) -> None:
    async def whole() -> None:
        poster = Poster()
        try:
            await scene(poster)
        finally:
            await poster.close()

    asyncio.run(whole())


@asynccontextmanager
async def node(taken: list[bytes], status: int = 202) -> AsyncIterator[int]:
    async def receive(envelope: bytes, _source: str) -> Reply:
        taken.append(envelope)
        return Reply(status=status)

    listener = Listener(inbound_handler(receive), Limits(max_body=2 << 20))
    port = await listener.start_tcp("127.0.0.1", 0)
    try:
        yield port
    finally:
        await listener.close()


@asynccontextmanager
async def server(answer: web.Response) -> AsyncIterator[int]:
    """Run an HTTP server of somebody else that always answers the same."""

    async def handle(request: web.BaseRequest) -> web.Response:
        await request.read()
        return answer

    runner = web.ServerRunner(web.Server(handle))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


def test_an_envelope_arrives_whole() -> None:
    taken: list[bytes] = []

    async def scene(poster: Poster) -> None:
        async with node(taken) as port:
            posted = await poster.post(f"http://127.0.0.1:{port}/didcomm", b"x" * 10**6)
            assert posted.taken

    run(scene)
    assert taken == [b"x" * 10**6]


@pytest.mark.parametrize(
    "media_type",
    [ENCRYPTED, "didcomm-encrypted+json", ENCRYPTED.upper(), ENCRYPTED + "; a=b"],
)
def test_the_media_type_is_taken_in_each_of_its_spellings(media_type: str) -> None:
    async def scene(_poster: Poster) -> None:
        async with node([]) as port:
            head = (
                f"POST /didcomm HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                f"Content-Type: {media_type}\r\nContent-Length: 1\r\n\r\nx"
            )
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head.encode())
            assert (await reader.read()).startswith(b"HTTP/1.1 202")
            writer.close()

    run(scene)


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("POST /didcomm HTTP/1.1\r\nContent-Type: text/plain", 415),
        ("GET /didcomm HTTP/1.1", 405),
        (f"POST /v1/sessions HTTP/1.1\r\nContent-Type: {ENCRYPTED}", 404),
    ],
)
def test_anything_else_is_refused(line: str, status: int) -> None:
    taken: list[bytes] = []

    async def scene(_poster: Poster) -> None:
        async with node(taken) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            tail = "\r\nHost: x\r\nConnection: close\r\n\r\n"
            writer.write((line + tail).encode())
            answer = await reader.read()
            assert answer.startswith(f"HTTP/1.1 {status}".encode())
            writer.close()

    run(scene)
    assert taken == []


@pytest.mark.parametrize(
    ("status", "taken", "again"),
    [
        (200, True, False),
        (202, True, False),
        (204, True, False),
        (400, False, False),
        (404, False, False),
        (413, False, False),
        (408, False, True),
        (429, False, True),
        (500, False, True),
        (503, False, True),
        (302, False, False),
    ],
)
def test_an_answer_says_whether_to_try_again(
    status: int, *, taken: bool, again: bool
) -> None:
    async def scene(poster: Poster) -> None:
        async with server(web.Response(status=status)) as port:
            posted = await poster.post(f"http://127.0.0.1:{port}/", b"{}")
            assert (posted.taken, posted.again) == (taken, again)

    run(scene)


def test_a_peer_that_is_not_there_may_be_tried_again() -> None:
    async def scene(poster: Poster) -> None:
        posted = await poster.post("http://127.0.0.1:1/", b"{}")
        assert (posted.taken, posted.again) == (False, True)

    run(scene)


@pytest.mark.parametrize(
    "url", ["did:example:x", "ftp://a/", "http://u:p@host/", "http://", "nonsense"]
)
def test_what_is_no_http_url_is_not_tried(url: str) -> None:
    async def scene(poster: Poster) -> None:
        posted = await poster.post(url, b"{}")
        assert (posted.taken, posted.again) == (False, False)

    run(scene)


def test_a_redirect_is_followed_to_the_same_host_only() -> None:
    reached: list[bytes] = []

    async def redirect(poster: Poster, port: int, where: str) -> Posted:
        moved = web.Response(status=307, headers={"Location": where})
        async with server(moved) as first:
            return await poster.post(
                f"http://127.0.0.1:{first}/", f"to {port}".encode()
            )

    async def scene(poster: Poster) -> None:
        async with node(reached) as port:
            elsewhere = f"http://127.0.0.1:{port}/didcomm"
            assert not (await redirect(poster, port, elsewhere)).taken
            assert not (await redirect(poster, port, "file:///etc/passwd")).taken

    run(scene)
    assert reached == []


def test_a_redirect_to_the_same_host_is_followed_once() -> None:
    paths: list[str] = []

    async def handle(request: web.BaseRequest) -> web.Response:
        await request.read()
        paths.append(request.path)
        if len(paths) == 1:
            return web.Response(status=307, headers={"Location": "/there"})
        return web.Response(status=202)

    async def scene(poster: Poster) -> None:
        runner = web.ServerRunner(web.Server(handle))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port = runner.addresses[0][1]
        assert (await poster.post(f"http://127.0.0.1:{port}/here", b"{}")).taken
        await runner.cleanup()

    run(scene)
    assert paths == ["/here", "/there"]


def test_a_long_answer_is_not_read_to_its_end() -> None:
    async def scene(poster: Poster) -> None:
        async with server(web.Response(body=b"x" * 10**6)) as port:
            posted = await poster.post(f"http://127.0.0.1:{port}/", b"{}")
            assert len(posted.body) <= MAX_ANSWER_BYTES

    run(scene)
