"""Real nodes in processes of their own, steered by the installed command."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from uomp.errors import UompError
from uomp.node.control_client import ControlClient
from uomp.node.home import Home

UOMP = [sys.executable, "-m", "uomp"]
PASSPHRASE = "correct horse battery staple"
PATIENCE = 30.0  # seconds; what is waited for comes in a fraction of one
ROOT = Path(__file__).parent.parent
EXPORT = ROOT / "data" / "chatgpt-export"
LISBON = "chatgpt.c0000000-0000-4000-8000-000000000001"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Failed(Exception):  # noqa: N818 - it carries what the command said
    """A command ended with another exit code than 0."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        super().__init__(done.stdout + done.stderr)
        self.exit = done.returncode
        self.stderr = done.stderr
        try:
            self.answer = json.loads(done.stdout)
        except ValueError:
            self.answer = {}

    @property
    def code(self) -> str:
        """The error's code, or that of the answer a peer gave."""
        error = self.answer.get("error") or self.answer.get("answer") or {}
        return str(error.get("code"))


class Node:
    """One node: a home, and a process while it runs."""

    def __init__(self, home: Path, name: str = "Somebody") -> None:
        self.home = home
        self.name = name
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self.did = ""

    def environment(self, **changes: str) -> dict[str, str]:
        return {
            **os.environ,
            "UOMP_HOME": str(self.home),
            "UOMP_PASSPHRASE": PASSPHRASE,
            **changes,
        }

    def run(self, *words: str, **changes: str) -> subprocess.CompletedProcess[str]:
        """Run one command and return what became of it."""
        done = subprocess.run(
            [*UOMP, *words],
            env=self.environment(**changes),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
            check=False,
        )
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
        )

    def uomp(self, *words: str, **changes: str) -> Any:
        """Run one command with `--json` and return its answer."""
        done = self.run(*words, "--json", **changes)
        if done.returncode != 0:
            raise Failed(done)
        return json.loads(done.stdout)

    def init(self, *options: str) -> "Node":
        port = ("--port", str(self.port))
        made = self.uomp("init", "--unattended", "--name", self.name, *port, *options)
        self.did = made["did"]
        return self

    def start(self, *options: str) -> "Node":
        log = (self.home.parent / f"{self.home.name}.log").open("ab")
        with log:
            self.process = subprocess.Popen(
                [*UOMP, "serve", *options],
                env=self.environment(),
                stdout=log,
                stderr=log,
            )
        wait_for(lambda: self.is_up() or self.process_ended())
        assert not self.process_ended(), self.log()
        return self

    def is_up(self) -> bool:
        client = ControlClient(Home(self.home))
        try:
            return bool(client.call("status")["running"])
        except UompError:
            return False
        finally:
            client.close()

    def process_ended(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def log(self) -> str:
        return (self.home.parent / f"{self.home.name}.log").read_text()

    def end(self, number: int = signal.SIGTERM) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(timeout=PATIENCE)

    def until(self, words: list[str], holds: Callable[[Any], Any]) -> Any:
        """Run a command until what it answers satisfies `holds`; return the answer."""
        found: list[Any] = []

        def look() -> bool:
            found[:] = [self.uomp(*words)]
            return bool(holds(found[0]))

        wait_for(look)
        return found[0]


def wait_for(holds: Callable[[], bool]) -> None:
    """Return as soon as `holds()`; fail if it does not within `PATIENCE`."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "what was waited for did not come"
        time.sleep(0.02)


@contextlib.contextmanager
def people(tmp: Path, *names: str) -> Iterator[list[Node]]:
    """Run a node for each name."""
    nodes = [Node(tmp / name.lower(), name) for name in names]
    try:
        for node in nodes:
            node.init().start()
        yield nodes
    finally:
        for node in nodes:
            if not node.process_ended():
                node.end(signal.SIGKILL)
