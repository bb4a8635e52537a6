"""Which addresses a peer may make a node call."""

import asyncio

import pytest

from uomp.transports.addresses import CheckedResolver, is_allowed, literal
from uomp.transports.didcomm_http import Poster, is_private_url

NEVER = [
    "0.0.0.0",  # noqa: S104 - not bound, only judged
    "::",
    "169.254.169.254",
    "fe80::1",
    "fe80::1%eth0",
    "224.0.0.1",
    "ff02::1",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
]
PRIVATE = [
    "127.0.0.1",
    "127.8.8.8",
    "::1",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "fd00::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "2002:7f00:1::",
]
PUBLIC = ["93.184.216.34", "2606:4700:4700::1111", "64:ff9b::5db8:d822"]


@pytest.mark.requirement("DER-19")
@pytest.mark.parametrize("address", NEVER)
def test_link_local_and_multicast_are_never_called(address: str) -> None:
    assert not is_allowed(address, private=True)
    assert not is_allowed(address, private=False)


@pytest.mark.requirement("DER-19")
@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_are_called_only_from_private_nodes(address: str) -> None:
    assert is_allowed(address, private=True)
    assert not is_allowed(address, private=False)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_called(address: str) -> None:
    assert is_allowed(address, private=False)


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0x7f000001", "127.0.0.1"])
def test_every_spelling_of_this_machine_is_seen(host: str) -> None:
    assert literal(host) == "127.0.0.1"


def test_a_name_is_no_literal() -> None:
    assert literal("localhost") is None
    assert literal("[::1]") == "::1"


@pytest.mark.requirement("DER-19")
@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://127.0.0.1:1/",
        "http://127.1:1/",
        "http://[::1]:1/",
        "http://localhost:1/",
        "file:///etc/passwd",
    ],
)
def test_a_public_node_posts_to_none_of_these(url: str) -> None:
    async def scene() -> None:
        poster = Poster(private=False)
        posted = await poster.post(url, b"{}")
        await poster.close()
        assert not posted.taken
        assert "answered" not in posted.why

    asyncio.run(scene())


def test_a_name_that_leads_here_is_refused_after_it_was_resolved() -> None:
    async def scene() -> None:
        with pytest.raises(OSError, match="no address"):
            await CheckedResolver(private=False).resolve("localhost", 80)
        found = await CheckedResolver(private=True).resolve("localhost", 80)
        assert found  # the control: the name itself does resolve

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("url", "private"),
    [
        ("http://127.0.0.1:9374/didcomm", True),
        ("http://192.168.1.5/didcomm", True),
        ("http://localhost/didcomm", True),
        ("https://93.184.216.34/didcomm", False),
        ("https://node.example/didcomm", False),
    ],
)
def test_a_node_is_private_by_its_own_endpoint(url: str, *, private: bool) -> None:
    assert is_private_url(url) is private
