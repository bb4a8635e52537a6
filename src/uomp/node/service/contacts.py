"""Contacts: the owner's names for peers, and what they may do."""

from typing import Any

import msgspec

from uomp.errors import Code, LocalError
from uomp.node.core import Core
from uomp.node.service.asking import find_peer
from uomp.node.service.outgoing import DAY, Draft, queue
from uomp.node.stores.audit import Entry
from uomp.protocol.did.resolve import short_form
from uomp.protocol.messages import types
from uomp.protocol.messages.bodies import Ping, Queries, Query
from uomp.transports.didcomm_http import is_http_url

MAX_NAME = 100  # characters


class Naming(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A peer's new name.

    `may_send`: its packets are taken uninvited; None leaves a contact as it is.
    """

    did: str
    name: str
    may_send: bool | None = None
    endpoint: str | None = None


class Pinging(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A ping, or a question for features."""

    who: str
    features: bool = False


def add(core: Core, naming: Naming) -> dict[str, Any]:
    """Make a peer a contact, or change one.

    Raises:
        PeerError: `DID_NOT_RESOLVED`.
        LocalError: `STATE_CONFLICT`, if another contact has the name.
    """
    did = find_peer(core, naming.did)
    if not naming.name.strip() or len(naming.name) > MAX_NAME:
        message = f"A name has 1 to {MAX_NAME} characters."
        raise LocalError(Code.INVALID_REQUEST, message)
    if naming.endpoint is not None and not is_http_url(naming.endpoint):
        raise LocalError(Code.INVALID_REQUEST, "An endpoint is an http or https URL.")
    other = core.peers.by_name(naming.name)
    if other is not None and other.did != short_form(did):
        raise LocalError(
            Code.STATE_CONFLICT, f'Another contact is called "{naming.name}".'
        )
    known = core.peers.get(did)
    may_send = naming.may_send
    if may_send is None:
        may_send = known is not None and known.may_send
    with core.ledger.transaction():
        core.peers.name(
            did,
            naming.name,
            may_send=may_send,
            endpoint=naming.endpoint or (known.endpoint if known else None),
            now=core.now_text(),
        )
        core.log(
            Entry(
                action="contact_changed",
                allowed=True,
                reason="named by the owner",
                peer=short_form(did),
                detail={"may_send": may_send},
            )
        )
    return {"did": short_form(did), "name": naming.name, "may_send": may_send}


def remove(core: Core, who: str) -> dict[str, Any]:
    """Take a contact's name and rights away.

    Raises:
        LocalError: `NOT_FOUND`.
    """
    peer = core.peers.find(who)
    with core.ledger.transaction():
        core.peers.forget(peer.did)
        core.log(
            Entry(
                action="contact_changed",
                allowed=True,
                reason="removed by the owner",
                peer=peer.did,
            )
        )
    return {"did": peer.did}


def listing(core: Core) -> list[dict[str, Any]]:
    """Return the contacts by name."""
    return [
        {
            "name": peer.name,
            "did": peer.did,
            "agent_id": peer.agent_id,
            "may_send": peer.may_send,
            "endpoint": peer.endpoint,
        }
        for peer in core.peers.contacts()
    ]


def ping(core: Core, pinging: Pinging) -> dict[str, Any]:
    """Send a trust-ping, or a discover-features query for everything we care about."""
    to = find_peer(core, pinging.who)
    wanted = ("protocol", "constraint", "uomp-version")
    queries = tuple(Query(feature_type=kind, match="*") for kind in wanted)
    draft = Draft(
        to=to,
        type=types.QUERIES if pinging.features else types.PING,
        body=Queries(queries=queries) if pinging.features else Ping(),
        lifetime=DAY,
    )
    with core.ledger.transaction():
        core.peers.see(to, core.now_text())
        message_id = queue(core, draft)
        core.asked.add(message_id, short_form(to), "ping", {}, core.now_text())
    return {"request_id": message_id, "status": "waiting"}
