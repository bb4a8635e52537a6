"""The small DIDComm protocols: ping, features, acks and problem reports."""

from collections.abc import Iterable
from typing import Final

from uomp.node.core import Core
from uomp.node.service.incoming import Incoming
from uomp.node.service.outgoing import DAY, Draft, queue
from uomp.node.stores.audit import Entry
from uomp.protocol.messages import types
from uomp.protocol.messages.bodies import (
    Disclose,
    Disclosure,
    Ping,
    ProblemReport,
    Queries,
    parse_body,
)
from uomp.protocol.messages.problems import code_of

MAX_RECEIVE: Final = "max_receive_bytes"


def on_ping(core: Core, message: Incoming) -> None:
    """Answer a ping that wants an answer."""
    if parse_body(message.body, Ping).response_requested:
        _reply(core, message, types.PING_RESPONSE, {})


def on_answer(core: Core, message: Incoming) -> None:
    """Keep the answer to a ping or a query of ours."""
    kind = message.type.rpartition("/")[2]
    core.asked.answer(message.thread, message.peer, kind, message.body, core.now_text())


def on_queries(core: Core, message: Incoming) -> None:
    """Tell the features that were asked for."""
    queries = parse_body(message.body, Queries).queries
    found: dict[tuple[str, str], Disclosure] = {}
    for query in queries:
        for one in _features(core, query.feature_type):
            if _matches(query.match, one.id):
                found[one.feature_type, one.id] = one
    _reply(core, message, types.DISCLOSE, Disclose(disclosures=tuple(found.values())))


def _features(core: Core, kind: str) -> Iterable[Disclosure]:
    if kind == "protocol":
        for uri, roles in types.PROTOCOLS.items():
            yield Disclosure(feature_type=kind, id=uri, roles=roles)
    elif kind == "constraint":
        limit = core.config.didcomm.max_message_bytes
        yield Disclosure(feature_type=kind, id=f"{MAX_RECEIVE}={limit}")
    elif kind == "uomp-version":
        yield Disclosure(feature_type=kind, id="1.0")


def _matches(pattern: str, name: str) -> bool:
    if pattern.endswith("*"):
        return name.startswith(pattern[:-1])
    # A constraint is asked for by its name and told with its value.
    return name == pattern or name.partition("=")[0] == pattern


def on_problem(core: Core, message: Incoming) -> None:
    """Settle what the report is about. A report is never answered with a report."""
    report = parse_body(message.body, ProblemReport)
    code = code_of(report)
    thread = message.pthid or message.thread
    answer = {"code": code, "comment": report.comment}
    core.asked.answer(thread, message.peer, "refused", answer, core.now_text())
    core.handoffs.refused(thread, code)
    core.log(
        Entry(
            action="problem_report",
            allowed=False,
            reason=f"the peer reports {code}"[:200],
            peer=message.peer,
            detail={"thread": thread},
        )
    )


def on_empty(_core: Core, _message: Incoming) -> None:
    """Take an ack; the outbox knows already that the message arrived."""


def acknowledge(core: Core, message: Incoming) -> None:
    """Send the ack that a message asks for; never for what is only an ack."""
    if message.type in (types.EMPTY, types.PROBLEM_REPORT):
        return
    wanted = [name or message.id for name in message.please_ack]
    if wanted:
        draft = Draft(
            to=message.frm,
            type=types.EMPTY,
            body={},
            thid=message.thread,
            ack=wanted,
            lifetime=DAY,
            reply=True,
        )
        queue(core, draft)


def _reply(core: Core, message: Incoming, kind: str, body: object) -> None:
    queue(
        core,
        Draft(
            to=message.frm,
            type=kind,
            body=body,  # type: ignore[arg-type]
            thid=message.thread,
            lifetime=DAY,
            reply=True,
        ),
    )
