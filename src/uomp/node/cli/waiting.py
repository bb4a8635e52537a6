"""Waiting for what a peer answers."""

import time
from pathlib import Path
from typing import Any

from uomp.node.cli.output import client

POLL_SECONDS = 0.1


def wait_for_answer(
    home: Path | None, request_id: str, seconds: float
) -> dict[str, Any]:
    """Return a question of ours once it is answered, or when the time is up."""
    node = client(home)
    until = time.monotonic() + seconds
    try:
        while True:
            found: dict[str, Any] = node.call("requests.one", request_id=request_id)
            if found["status"] != "waiting" or time.monotonic() >= until:
                return found
            time.sleep(POLL_SECONDS)
    finally:
        node.close()
