"""What is forgotten as time goes by, so that strangers cannot fill the disk."""

from datetime import timedelta

from uomp.node.core import Core
from uomp.packets.times import format_time

# A stranger who left no request and no message is forgotten; it can come again.
STRANGERS_FOR = timedelta(hours=1)
# Requests that nobody answered, and messages that were sent or given up.
SETTLED_FOR = timedelta(days=7)


def prune(core: Core) -> None:
    """Forget what is old and settled. The audit log keeps its own entries."""
    now = core.now()
    with core.ledger.transaction():
        core.outbox.prune(format_time(now - SETTLED_FOR))
        core.requests.prune(format_time(now - SETTLED_FOR))
        core.peers.prune(format_time(now - STRANGERS_FOR))
