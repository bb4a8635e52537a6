"""What the owner's commands can call, in one table: parameters, action, unlock."""

from collections.abc import Callable
from typing import Any, Final, Literal

import msgspec

from uomp.node.core import Core
from uomp.node.service import (
    asking,
    contacts,
    deliveries,
    export,
    grants,
    handoffs,
    inbox,
    memory,
    reading,
    sessions,
)
from uomp.packets.items import MemoryItem
from uomp.protocol.did.resolve import short_form

Conflict = Literal["keep-both", "skip", "replace"]


class Operation(msgspec.Struct, frozen=True):
    """One operation.

    `unlock`: it shows memory or gives it away, so the owner must have shown the
    passphrase lately.
    """

    params: type[msgspec.Struct]
    run: Callable[[Core, Any], Any]
    unlock: bool = False


class _Params(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all parameters: unknown members are refused."""


class Nothing(_Params, frozen=True):
    """No parameters."""


class Named(_Params, frozen=True):
    """A request, a session or a key by its name."""

    request_id: str = ""
    session_id: str = ""
    key: str = ""
    packet: str = ""
    who: str = ""


class Every(_Params, frozen=True):
    """Whether to list what is settled too."""

    every: bool = False


class Approve(_Params, frozen=True):
    """A request and the owner's selection."""

    request_id: str
    selection: grants.Selection = grants.Selection()


class Deny(_Params, frozen=True):
    """A request and what the peer is told."""

    request_id: str
    reason: str = ""


class Ending(_Params, frozen=True):
    """A session to end, and what the agent is told."""

    session_id: str
    reason: str = ""


class Page(_Params, frozen=True):
    """A page of items."""

    tag: str | None = None
    after: str = ""
    limit: int = 100


class Begin(_Params, frozen=True):
    """An import by the digest of its input and options."""

    digest: str


class Stage(_Params, frozen=True):
    """A batch of an import."""

    import_id: str
    first: int
    outcomes: int
    items: list[MemoryItem]


class Finish(_Params, frozen=True):
    """The end of an import."""

    import_id: str
    replace: bool = False
    same_ok: bool = False


class Drop(_Params, frozen=True):
    """An import to forget."""

    import_id: str


class Accept(_Params, frozen=True):
    """A packet and what to do where values differ."""

    packet: str
    on_conflict: Conflict = "keep-both"


class AuditQuery(_Params, frozen=True):
    """Which audit entries."""

    session_id: str | None = None
    action: str | None = None
    limit: int = 50


def _approve(core: Core, params: Approve) -> Any:  # noqa: ANN401
    return handoffs.approve(core, params.request_id, params.selection)


def _deny(core: Core, params: Deny) -> dict[str, Any]:
    with core.ledger.transaction():
        grants.deny(core, core.requests.get(params.request_id), params.reason)
    return {"request_id": params.request_id, "status": "denied"}


def _requests(core: Core, params: Every) -> list[dict[str, Any]]:
    found = core.requests.all(None if params.every else "pending")
    return [asking.describe(core, one) for one in found]


def _ask(core: Core, question: asking.Question) -> dict[str, Any]:
    return {"request_id": asking.ask(core, question), "status": "waiting"}


def _read(core: Core, question: reading.Question) -> dict[str, Any]:
    return {"request_id": reading.ask(core, question), "status": "waiting"}


def _stage(core: Core, params: Stage) -> None:
    memory.stage_import(
        core, params.import_id, params.first, params.outcomes, params.items
    )


def _finish(core: Core, params: Finish) -> dict[str, int]:
    return memory.finish_import(
        core, params.import_id, replace=params.replace, same_ok=params.same_ok
    )


def _page(core: Core, page: Page) -> list[dict[str, Any]]:
    found = memory.listing(core, tag=page.tag, after=page.after, limit=page.limit)
    return [item.to_json() for item in found]


def _did(core: Core, _params: Nothing) -> dict[str, Any]:
    did = core.identity.did
    document = core.resolve(did).raw
    return {"did": did, "short_did": short_form(did), "document": document}


def _outbox(core: Core, _params: Nothing) -> list[dict[str, Any]]:
    shown = ("message_id", "peer", "type", "status", "attempts", "error")
    return [{name: getattr(one, name) for name in shown} for one in core.outbox.all()]


def _audit(core: Core, query: AuditQuery) -> list[dict[str, Any]]:
    return core.audit.entries(
        session_id=query.session_id,
        action=query.action,
        limit=max(1, min(query.limit, memory.MAX_PAGE)),
    )


def _audit_verify(core: Core, _params: Nothing) -> dict[str, Any]:
    return {"entries": core.audit.count(), "wrong": core.audit.verify()}


OPERATIONS: Final[dict[str, Operation]] = {
    "did.show": Operation(Nothing, _did),
    "request.ask": Operation(asking.Question, _ask),
    "request.read": Operation(reading.Question, _read),
    "requests.one": Operation(
        Named, lambda core, p: asking.describe_one(core, p.request_id)
    ),
    "requests.list": Operation(Every, _requests, unlock=True),
    "requests.asked": Operation(Nothing, lambda core, _: asking.describe_asked(core)),
    "requests.approve": Operation(Approve, _approve, unlock=True),
    "requests.deny": Operation(Deny, _deny),
    "sessions.list": Operation(Nothing, lambda core, _: sessions.listing(core)),
    "sessions.show": Operation(
        Named, lambda core, p: sessions.show(core, p.session_id)
    ),
    "memory.list": Operation(Page, _page, unlock=True),
    "memory.get": Operation(
        Named, lambda core, p: memory.get(core, p.key).to_json(), unlock=True
    ),
    "memory.put": Operation(
        memory.NewItem, lambda core, new: memory.put(core, new).to_json(), unlock=True
    ),
    "memory.rm": Operation(
        Named, lambda core, p: memory.remove(core, p.key).to_json(), unlock=True
    ),
    "memory.stats": Operation(Nothing, lambda core, _: memory.stats(core), unlock=True),
    "import.begin": Operation(
        Begin, lambda core, p: memory.begin_import(core, p.digest), unlock=True
    ),
    "import.stage": Operation(Stage, _stage, unlock=True),
    "import.finish": Operation(Finish, _finish, unlock=True),
    "import.drop": Operation(
        Drop, lambda core, p: memory.drop_import(core, p.import_id)
    ),
    "handoff.send": Operation(handoffs.Sending, handoffs.send, unlock=True),
    "handoff.list": Operation(Nothing, lambda core, _: handoffs.listing(core)),
    "handoff.show": Operation(Named, lambda core, p: handoffs.show(core, p.packet)),
    "inbox.list": Operation(Every, lambda core, p: inbox.listing(core, every=p.every)),
    "inbox.show": Operation(
        Named, lambda core, p: inbox.show(core, p.packet), unlock=True
    ),
    "inbox.plan": Operation(
        Accept, lambda core, p: inbox.plan(core, p.packet, p.on_conflict), unlock=True
    ),
    "inbox.accept": Operation(
        Accept, lambda core, p: inbox.accept(core, p.packet, p.on_conflict), unlock=True
    ),
    "inbox.reject": Operation(Named, lambda core, p: inbox.reject(core, p.packet)),
    "inbox.add": Operation(Named, lambda core, p: deliveries.add_file(core, p.packet)),
    "why": Operation(Named, lambda core, p: inbox.why(core, p.key), unlock=True),
    "packet.make": Operation(export.Making, export.make, unlock=True),
    "packet.seal": Operation(export.Sealing, export.seal_for, unlock=True),
    "packet.open": Operation(export.Opening, export.open_envelope, unlock=True),
    "contacts.list": Operation(Nothing, lambda core, _: contacts.listing(core)),
    "contacts.add": Operation(contacts.Naming, contacts.add, unlock=True),
    "contacts.rm": Operation(Named, lambda core, p: contacts.remove(core, p.who)),
    "contacts.ping": Operation(contacts.Pinging, contacts.ping),
    "outbox.list": Operation(Nothing, _outbox),
    "audit.list": Operation(AuditQuery, _audit, unlock=True),
    "audit.verify": Operation(Nothing, _audit_verify),
}
