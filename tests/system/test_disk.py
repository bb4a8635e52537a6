"""A full disk and a read-only one, on file systems that the test mounts itself."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.nodes import Node, wait_for
from uomp.errors import UompError
from uomp.node.control_client import ControlClient
from uomp.node.home import Home

pytestmark = pytest.mark.system


def mount(*words: str) -> None:
    subprocess.run(["/bin/mount", *words], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a disk of 3 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount("-t", "tmpfs", "-o", "size=3m,mode=700", "tmpfs", str(place))
    try:
        yield place
    finally:
        subprocess.run(["/bin/umount", "-l", str(place)], check=True)


@contextlib.contextmanager
def node_on(disk: Path) -> Iterator[Node]:
    node = Node(disk / "home")
    try:
        yield node.init().start()
    finally:
        if not node.process_ended():
            node.end()


def call(node: Node, operation: str, /, **values: Any) -> Any:
    client = ControlClient(Home(node.home))
    try:
        return client.call(operation, **values)
    finally:
        client.close()


def put(node: Node, key: str, size: int = 10) -> None:
    item = {"value": "x" * size, "tags": ["t"], "sensitivity": "low"}
    call(node, "memory.put", key=key, **item)


def fill(disk: Path) -> Path:
    """Take every free byte of the disk."""
    path = disk / "filler"
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    with path.open("ab", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x")
    return path


def refused(node: Node, operation: str, /, **values: Any) -> str:
    with pytest.raises(UompError) as caught:
        call(node, operation, **values)
    return caught.value.code


def test_a_full_disk_refuses_changes_and_recovers_without_a_restart(
    disk: Path,
) -> None:
    with node_on(disk) as node:
        put(node, "before")
        filler = fill(disk)
        acknowledged = []
        codes = set()
        for number in range(200):
            try:
                put(node, f"k{number:03}", 4000)
                acknowledged.append(f"k{number:03}")
            except UompError as error:
                codes.add(error.code)
        assert codes == {"STORE_UNAVAILABLE"}
        filler.unlink()
        put(node, "after")
        keys = {item["key"] for item in call(node, "memory.list", limit=1000)}
        assert {"before", "after", *acknowledged} <= keys
        assert call(node, "audit.verify")["wrong"] == []
        writes = call(node, "audit.list", action="write", limit=1000)
        assert {entry["key"] for entry in writes} == keys
        assert not node.process_ended()


def test_nothing_is_read_that_cannot_be_audited(disk: Path, tmp_path: Path) -> None:
    bob = Node(tmp_path / "bob", "Bob").init()
    with node_on(disk) as alice:
        try:
            bob.start()
            put(alice, "theme")
            call(bob, "request.ask", to=alice.did, tags=["t"])
            (waiting,) = alice.until(["requests", "list"], bool)
            call(
                alice,
                "requests.approve",
                request_id=waiting["request_id"],
                selection={"packet": False},
            )
            (held,) = bob.until(["sessions", "list"], bool)
            filler = fill(disk)
            read = {"to": alice.did, "session_id": held["session_id"], "tags": ["t"]}
            asked = call(bob, "request.read", **read)
            # Alice cannot audit it, so she does not take it; Bob tries again later.
            wait_for(lambda: call(bob, "outbox.list")[0]["attempts"] > 0)
            assert call(bob, "inbox.list") == []
            filler.unlink()
            wait_for(
                lambda: (
                    call(bob, "requests.one", request_id=asked["request_id"])["status"]
                    == "delivered"
                )
            )
            reads = call(alice, "audit.list", action="read", limit=10)
            assert [entry["allowed"] for entry in reads] == [True]
        finally:
            bob.end()


def test_a_read_only_home_is_refused_in_one_sentence(disk: Path) -> None:
    with node_on(disk) as node:
        put(node, "theme")
        node.end()
        mount("-o", "remount,ro", str(disk))
        done = node.run("serve")
        assert done.returncode == 1
        assert "cannot be written" in done.stderr
        assert done.stderr.count("\n") == 1
        mount("-o", "remount,rw", str(disk))
        node.start()
        assert call(node, "memory.get", key="theme")["value"] == "x" * 10


def test_init_on_a_full_disk_leaves_nothing_that_counts(disk: Path) -> None:
    filler = fill(disk)
    node = Node(disk / "home")
    done = node.run("init", "--unattended", "--port", str(node.port))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    filler.unlink()
    node.init().start()
    assert node.end() == 0
