"""The hardened listener, over real sockets."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from uomp.errors import UompError
from uomp.transports.base import Inbound, Reply
from uomp.transports.bounds import SMALL_BODY, source_of
from uomp.transports.listener import Limits, Listener

CANARY = "canary-3f1d"


async def echo(request: Inbound) -> Reply:
    return Reply(status=200, body=request.body or b"{}")


@asynccontextmanager
async def listening(**limits: Any) -> AsyncIterator[int]:
    listener = Listener(echo, Limits(**{"max_body": 1000, **limits}))
    port = await listener.start_tcp("127.0.0.1", 0)
    try:
        yield port
    finally:
        await listener.close()


async def exchange(port: int, data: bytes) -> bytes:
    """Send raw bytes and read until the listener closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    try:
        async with asyncio.timeout(10):
            await writer.drain()
            return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


def request(*lines: str, host: str = "127.0.0.1", body: str = "") -> bytes:
    head = ["POST /x HTTP/1.1", f"Host: {host}", "Connection: close", *lines]
    if body:
        head.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(head) + "\r\n\r\n" + body).encode()


def run(scene: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await scene()

    asyncio.run(whole())


def test_an_honest_request_is_answered() -> None:
    async def scene() -> None:
        async with listening() as port:
            answer = await exchange(port, request(body='{"a":1}'))
            assert status_of(answer) == 200
            assert answer.endswith(b'{"a":1}')
            assert b"Access-Control" not in answer

    run(scene)


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (["Origin: https://evil.example"], 403),
        (["Sec-Fetch-Site: cross-site"], 403),
        (["Content-Encoding: gzip"], 415),
        (["Host: second"], 400),
        (["Content-Length: 99999"], 413),
        ([f"Broken {CANARY}"], 400),
        ([f"Authorization: Bearer {CANARY}\x00"], 400),
        (["Content-Length: 3", "Transfer-Encoding: chunked"], 400),
    ],
)
def test_what_no_handler_should_see_is_refused_and_not_repeated(
    lines: list[str], status: int
) -> None:
    async def scene() -> None:
        async with listening() as port:
            answer = await exchange(port, request(*lines))
            assert status_of(answer) == status
            assert CANARY.encode() not in answer
            assert b"INVALID_REQUEST" in answer

    run(scene)


def test_only_the_listed_hosts_are_answered() -> None:
    async def scene() -> None:
        async with listening(hosts=("127.0.0.1:9374",)) as port:
            good = await exchange(port, request(host="127.0.0.1:9374"))
            bad = await exchange(port, request(host="evil.example:9374"))
            assert status_of(good) == 200
            assert status_of(bad) == 421

    run(scene)


def test_an_absolute_target_is_refused() -> None:
    async def scene() -> None:
        async with listening() as port:
            data = request().replace(b"POST /x", b"POST http://evil.example/x")
            assert status_of(await exchange(port, data)) == 400

    run(scene)


def test_a_body_that_grows_past_the_limit_is_cut_off() -> None:
    async def scene() -> None:
        async with listening() as port:
            chunk = b"3e8\r\n" + b"x" * 1000 + b"\r\n"
            data = request("Transfer-Encoding: chunked") + chunk * 5 + b"0\r\n\r\n"
            assert status_of(await exchange(port, data)) == 413

    run(scene)


def test_a_peer_that_does_not_finish_its_headers_is_cut_off() -> None:
    async def scene() -> None:
        async with listening(header_seconds=0.2) as port:
            assert await exchange(port, b"POST /x HTTP/1.1\r\nHost: a\r\n") == b""

    run(scene)


def test_a_peer_that_does_not_finish_its_body_is_cut_off() -> None:
    async def scene() -> None:
        async with listening(body_seconds=0.2) as port:
            answer = await exchange(port, request("Content-Length: 100") + b"abc")
            assert status_of(answer) == 408

    run(scene)


def test_one_connection_too_many_is_closed_and_the_others_live() -> None:
    async def scene() -> None:
        async with listening(max_connections=2) as port:
            held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
            assert await exchange(port, request()) == b""
            reader, writer = held[0]
            writer.write(request())
            assert status_of(await reader.read()) == 200
            for _, writer in held:
                writer.close()

    run(scene)


def test_a_port_in_use_is_refused_in_one_sentence() -> None:
    async def scene() -> None:
        with socket.socket() as squatter:
            squatter.bind(("127.0.0.1", 0))
            squatter.listen()
            port = squatter.getsockname()[1]
            listener = Listener(echo, Limits(max_body=10))
            with pytest.raises(UompError, match=f"Port {port}"):
                await listener.start_tcp("127.0.0.1", port)

    run(scene)


@pytest.mark.requirement("DER-24")
def test_a_socket_file_is_private_and_tells_who_calls(tmp_path: Path) -> None:
    path = tmp_path / "run" / "control.sock"
    seen: list[Inbound] = []

    async def keep(request: Inbound) -> Reply:
        seen.append(request)
        return Reply(status=200)

    async def scene() -> None:
        listener = Listener(keep, Limits(max_body=10))
        await listener.start_unix(path)
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(request())
        await reader.read()
        writer.close()
        await listener.close()

    run(scene)
    assert seen[0].source == f"uid:{os.getuid()}"
    assert seen[0].process == os.getpid()


def test_what_is_not_a_socket_is_not_removed(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    path.write_text("keep me")

    async def scene() -> None:
        listener = Listener(echo, Limits(max_body=10))
        with pytest.raises(UompError):
            await listener.start_unix(path)

    run(scene)
    assert path.read_text() == "keep me"


# ---- what peers may hold ---------------------------------------------------


@pytest.mark.requirement("SYS-10")
def test_a_peer_that_does_not_begin_its_body_is_cut_off_early() -> None:
    async def scene() -> None:
        async with listening(first_byte_seconds=0.2, body_seconds=60.0) as port:
            answer = await exchange(port, request("Content-Length: 100"))
            assert status_of(answer) == 408
            whole = await exchange(port, request(body="abc"))
            assert status_of(whole) == 200
            assert status_of(await exchange(port, request())) == 200  # it has no body

    run(scene)


async def begin(port: int, total: int, sent: int) -> asyncio.StreamWriter:
    """Begin a body and let it hang; its bytes have been read when this returns."""
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request(f"Content-Length: {total}") + b"x" * sent)
    await writer.drain()
    return writer


async def answered(port: int, body: str, status: int) -> None:
    """Ask until the answer is this one: a hanging body is read soon, not at once."""
    async with asyncio.timeout(10):
        while status_of(await exchange(port, request(body=body))) != status:
            pass


LARGE = "x" * (3 * SMALL_BODY)


@pytest.mark.requirement("SYS-10")
def test_bodies_together_are_bounded_and_small_ones_pass() -> None:
    most = {"max_body": 4 * SMALL_BODY, "max_bodies_bytes": 4 * SMALL_BODY}

    async def scene() -> None:
        async with listening(**most) as port:
            await answered(port, LARGE, 200)
            held = await begin(port, 4 * SMALL_BODY, 4 * SMALL_BODY - 1)
            await answered(port, LARGE, 503)
            await answered(port, "x" * SMALL_BODY, 200)
            held.close()
            await answered(port, LARGE, 200)

    run(scene)


def test_a_body_that_finds_no_room_is_refused_before_it_is_sent() -> None:
    async def scene() -> None:
        most = {"max_body": 4 * SMALL_BODY, "max_bodies_bytes": 2 * SMALL_BODY}
        async with listening(**most, first_byte_seconds=60.0) as port:
            announced = request(f"Content-Length: {3 * SMALL_BODY}")
            assert status_of(await exchange(port, announced)) == 503

    run(scene)


@pytest.mark.requirement("SYS-10")
def test_a_body_that_tells_no_length_is_counted_as_it_comes() -> None:
    async def scene() -> None:
        most = {"max_body": 4 * SMALL_BODY, "max_bodies_bytes": 2 * SMALL_BODY}
        async with listening(**most) as port:
            chunk = f"{SMALL_BODY:x}\r\n{'x' * SMALL_BODY}\r\n"
            head = request("Transfer-Encoding: chunked")
            data = head + (chunk * 3 + "0\r\n\r\n").encode()
            assert status_of(await exchange(port, data)) == 503
            small = head + (chunk + "0\r\n\r\n").encode()
            assert status_of(await exchange(port, small)) == 200

    run(scene)


@pytest.mark.requirement("SYS-10")
def test_one_peer_holds_only_some_of_the_connections() -> None:
    async def scene() -> None:
        limits = {"max_source_connections": 2, "source_of": lambda address: address}
        async with listening(**limits) as port:
            held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
            assert await exchange(port, request()) == b""
            held[0][1].close()
            await answered(port, "abc", 200)
            held[1][1].close()

    run(scene)


def test_programs_on_this_machine_are_not_counted_as_one_peer() -> None:
    async def scene() -> None:
        async with listening(max_source_connections=2) as port:
            held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(9)]
            assert status_of(await exchange(port, request())) == 200
            for _, writer in held:
                writer.close()

    run(scene)


@pytest.mark.parametrize(
    ("address", "source"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("127.0.0.1", ""),
        ("127.9.9.9", ""),
        ("::1", ""),
        ("::ffff:127.0.0.1", ""),
        ("", ""),
        ("/run/uomp.sock", ""),
    ],
)
def test_a_peer_is_an_address_or_a_network_of_one_host(
    address: str, source: str
) -> None:
    assert source_of(address) == source
