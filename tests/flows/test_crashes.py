"""Killed at any moment: nothing acknowledged is missing, nothing is half there.

Each test kills a real process with SIGKILL at a random moment of the work and starts
it again. `UOMP_CRASHES` says how often; a failure prints its seed.
"""

import json
import os
import random
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.nodes import UOMP, Node, people, wait_for
from uomp.errors import UompError
from uomp.node.control_client import ControlClient
from uomp.node.home import Home

CRASHES = int(os.environ.get("UOMP_CRASHES", "2"))
SEEDS = [random.randrange(10**9) for _ in range(CRASHES)]  # noqa: S311
ITEMS = 1500


def call(node: Node, operation: str, /, **values: Any) -> Any:
    client = ControlClient(Home(node.home))
    try:
        return client.call(operation, **values)
    finally:
        client.close()


def killed_during(node: Node, work: Callable[[], Any], wait: float) -> Any:
    """Do `work`, kill the node `wait` seconds after its begin, start it again.

    Returns what the work returned, or None if the kill came first.
    """
    assert node.process is not None
    timer = threading.Timer(wait, node.process.kill)
    timer.start()
    try:
        return work()
    except UompError:
        return None
    finally:
        timer.join()
        node.process.wait()
        node.start()
        assert call(node, "audit.verify")["wrong"] == []


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    items = [
        {"key": f"k{n}", "tags": ["t"], "sensitivity": "low", "value": "x" * 500}
        for n in range(ITEMS)
    ]
    path = tmp_path_factory.mktemp("import") / "items.json"
    path.write_text(json.dumps(items))
    return path


@pytest.mark.requirement("DER-25")
@pytest.mark.parametrize("seed", SEEDS)
def test_an_import_is_absent_or_complete(
    tmp_path: Path, export: Path, seed: int
) -> None:
    dice = random.Random(seed)  # noqa: S311
    with people(tmp_path, "Alice") as (alice,):
        words = [*UOMP, "import", str(export), "--json"]

        def work() -> int:
            return subprocess.run(
                words, env=alice.environment(), capture_output=True, check=False
            ).returncode

        exit_code = killed_during(alice, work, dice.uniform(0.4, 2.0))
        count = call(alice, "memory.stats")["items"]
        assert count in (0, ITEMS)
        if exit_code == 0:
            assert count == ITEMS
        if count == 0:
            # The same command again goes on where it was and finishes.
            assert alice.uomp("import", str(export))["stored"]["added"] == ITEMS
        assert call(alice, "memory.stats")["items"] == ITEMS
        entries = call(alice, "audit.list", action="import", limit=10)
        assert len(entries) == 1


@pytest.mark.requirement("DER-25", "DER-13")
@pytest.mark.parametrize("seed", SEEDS)
def test_a_grant_is_whole_and_arrives_once(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311
    with people(tmp_path, "Alice", "Bob") as (alice, bob):
        item = {"value": 1, "tags": ["t"], "sensitivity": "low"}
        for number in range(3):
            call(alice, "memory.put", key=f"k{number}", **item)
        call(bob, "request.ask", to=alice.did, tags=["t"])
        (waiting,) = alice.until(["requests", "list"], bool)
        request = {"request_id": waiting["request_id"]}
        done = killed_during(
            alice,
            lambda: call(alice, "requests.approve", **request),
            dice.uniform(0.0, 0.03),
        )
        sessions = call(alice, "sessions.list")
        pending = call(alice, "requests.list")
        assert (len(sessions), len(pending)) in ((1, 0), (0, 1))
        if done is not None:
            assert len(sessions) == 1
        if pending:
            call(alice, "requests.approve", **request)
        bob.until(["inbox", "list"], bool)
        bob.until(["sessions", "list"], bool)
        alice.until(["handoff", "list"], lambda all_: all_[0]["receipt"])
        assert len(call(bob, "inbox.list")) == 1
        assert len(call(bob, "sessions.list")) == 1
        assert len(call(alice, "handoff.list")) == 1


@pytest.mark.requirement("DER-25")
@pytest.mark.parametrize("seed", SEEDS)
def test_accepting_writes_all_or_nothing(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311
    with people(tmp_path, "Alice", "Bob") as (alice, bob):
        item = {"value": "x" * 2000, "tags": ["t"], "sensitivity": "low"}
        for number in range(150):
            call(alice, "memory.put", key=f"k{number:03}", **item)
        call(bob, "contacts.add", did=alice.did, name="Alice", may_send=True)
        call(alice, "handoff.send", to=bob.did, tags=["t"])
        (packet,) = bob.until(["inbox", "list"], bool)
        name = {"packet": packet["packet_id"]}
        done = killed_during(
            bob, lambda: call(bob, "inbox.accept", **name), dice.uniform(0.0, 0.12)
        )
        count = call(bob, "memory.stats")["items"]
        (after,) = call(bob, "inbox.list", every=True)
        assert (count, after["status"]) in ((0, "pending"), (150, "accepted"))
        if done is not None:
            assert count == 150


@pytest.mark.requirement("DER-13", "DER-25")
@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_sent_arrives_once_whoever_is_killed(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311
    with people(tmp_path, "Alice", "Bob") as (alice, bob):
        call(alice, "contacts.add", did=bob.did, name="Bob", may_send=True)
        item = {"value": 1, "tags": ["t"], "sensitivity": "low"}
        call(bob, "memory.put", key="k", **item)
        sent: list[str] = []

        def work() -> None:
            for _ in range(12):
                one = call(bob, "handoff.send", to=alice.did, keys=["k"])
                sent.append(one["packet_hash"])

        for victim in dice.sample([alice, bob], 2):
            killed_during(victim, work, dice.uniform(0.0, 0.4))

        def arrived() -> set[str]:
            return {one["packet_hash"] for one in call(alice, "inbox.list")}

        # What was acknowledged arrives; what was not may have been sent all the same.
        wait_for(lambda: set(sent) <= arrived())
        wait_for(lambda: not call(bob, "outbox.list"))
        handed = [one["packet_hash"] for one in call(bob, "handoff.list")]
        assert set(handed) == arrived()
        assert len(handed) == len(set(handed))
        wait_for(lambda: all(one["receipt"] for one in call(bob, "handoff.list")))


def test_the_detector_sees_a_file_that_lost_its_last_change(tmp_path: Path) -> None:
    """A negative control: put an older ledger in place, and the loss shows."""
    with people(tmp_path, "Alice") as (alice,):
        alice.end(signal.SIGTERM)
        old = (alice.home / "memory.db").read_bytes()
        alice.start()
        item = {"value": 1, "tags": ["t"], "sensitivity": "low"}
        call(alice, "memory.put", key="k", **item)
        alice.end(signal.SIGTERM)
        (alice.home / "memory.db").write_bytes(old)
        alice.start()
        assert call(alice, "memory.stats")["items"] == 0
        assert call(alice, "audit.list", action="write", limit=5) != []
