"""A received envelope, from its bytes to its effect (DIDComm v2.1, threats T21, T25).

The effect, the memory of the message's id, the answers it causes and the audit
entries are one transaction. Only then is the envelope acknowledged with 202.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from uomp.errors import Code, EnvelopeError, UnavailableError, UompError
from uomp.node.core import Core
from uomp.node.service import asking, basic, deliveries, reading
from uomp.node.service.incoming import Incoming, incoming
from uomp.node.service.outgoing import queue_problem
from uomp.node.stores.audit import Entry
from uomp.protocol.didcomm import policy
from uomp.protocol.didcomm.refusal import RefusalError
from uomp.protocol.didcomm.unpack import unpack
from uomp.protocol.messages import types
from uomp.protocol.messages.bodies import body_json
from uomp.protocol.messages.problems import to_problem

Handle = Callable[[Core, Incoming], None]

HANDLERS: Final[dict[str, Handle]] = {
    types.AUTHORIZE_REQUEST: asking.on_authorize_request,
    types.AUTHORIZE_RESPONSE: asking.on_authorize_response,
    types.SESSION_REVOKED: asking.on_session_revoked,
    types.PAYLOAD_READY: deliveries.on_delivery,
    types.HANDOFF_DELIVER: deliveries.on_delivery,
    types.HANDOFF_RECEIPT: deliveries.on_receipt,
    types.HANDOFF_REQUEST: reading.on_read_request,
    types.PING: basic.on_ping,
    types.PING_RESPONSE: basic.on_answer,
    types.QUERIES: basic.on_queries,
    types.DISCLOSE: basic.on_answer,
    types.PROBLEM_REPORT: basic.on_problem,
    types.EMPTY: basic.on_empty,
}

# The id of a message without an expiry is remembered this long (seconds).
REMEMBER_SECONDS: Final = 7 * 86_400


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What to answer to a posted envelope. `refused` is None where it was taken."""

    status: int
    refused: UompError | None = None
    body: bytes = b""


def receive(core: Core, envelope: bytes) -> Outcome:
    """Take one envelope.

    Raises:
        UnavailableError: `STORE_UNAVAILABLE`; the sender may try again.
    """
    try:
        message = open_envelope(core, envelope)
    except UnavailableError:
        raise
    except UompError as error:
        return Outcome(status=400, refused=error, body=_refusal(error))
    with core.ledger.transaction():
        if core.replay.seen(message.peer, message.id):
            # Sent again because our 202 was lost; nothing happens twice (DER-13).
            return Outcome(status=202)
        known = core.peers.is_known(message.peer)
        if not known and not core.stranger_rate.allows(message.peer, core.now_s()):
            return Outcome(status=429)
        expires = message.expires_time or core.now_s() + REMEMBER_SECONDS
        core.replay.remember(message.peer, message.id, expires)
        core.peers.see(message.frm, core.now_text(), knows_us=True)
        if known:
            core.outbox.wake(message.peer)
        _handle(core, message)
        basic.acknowledge(core, message)
    return Outcome(status=202)


def open_envelope(core: Core, envelope: bytes) -> Incoming:
    """Decrypt an envelope and put it through the policy.

    Raises:
        UompError: the envelope or the message was refused.
    """
    unpacked = unpack(
        envelope,
        secrets=core.agreement_keys(),
        resolve=core.resolve,
        max_bytes=core.config.didcomm.max_message_bytes,
    )
    # Everything this node speaks is authenticated encryption (DER-11).
    message = policy.check(
        unpacked, our_dids=core.our_dids(), now=core.now_s(), require="authcrypt"
    )
    return incoming(message, len(envelope))


def _handle(core: Core, message: Incoming) -> None:
    handler = HANDLERS.get(message.type)
    try:
        with core.attempt():
            if handler is None:
                raise EnvelopeError(
                    Code.UNSUPPORTED_MESSAGE, "A message has a type that is not known."
                )
            handler(core, message)
    except UnavailableError:
        raise
    except UompError as error:
        _log_refusal(core, message, error)
        if message.type != types.PROBLEM_REPORT:
            thread = message.thread
            queue_problem(core, message.frm, error, pthid=thread, args=_args(error))


def _args(error: UompError) -> tuple[str, ...]:
    return ("1.0",) if error.code is Code.UNSUPPORTED_PROTOCOL_VERSION else ()


def _log_refusal(core: Core, message: Incoming, error: UompError) -> None:
    core.log(
        Entry(
            action="security_event",
            allowed=False,
            reason=f"{error.code}: {error}"[:500],
            peer=message.peer,
            detail={"message_type": message.type[:200], "message_id": message.id},
        )
    )


def _refusal(error: UompError) -> bytes:
    """Return a problem report in plain text, for a sender that is not known."""
    report = to_problem(EnvelopeError(Code.ENVELOPE_REFUSED, str(error)))
    if isinstance(error, RefusalError):
        report = msgspec.structs.replace(report, code=error.problem.value)
    made = {"type": types.PROBLEM_REPORT, "body": body_json(report)}
    return msgspec.json.encode(made)
