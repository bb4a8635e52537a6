"""Peers: whom we know, by which DID, and what they may do."""

import msgspec

from uomp.errors import Code, LocalError
from uomp.node.database import Database
from uomp.protocol.did.resolve import short_form

_COLUMNS = "did, long, name, agent_id, may_send, knows_us, endpoint, contact"


# Whether the owner has dealt with a peer; everyone else is a stranger.
IS_KNOWN = """
(EXISTS (SELECT 1 FROM peers AS p WHERE p.did = {peer} AND p.contact)
 OR EXISTS (SELECT 1 FROM asked WHERE asked.peer = {peer})
 OR EXISTS (SELECT 1 FROM held WHERE held.issuer = {peer})
 OR EXISTS (SELECT 1 FROM sessions WHERE sessions.agent_did = {peer})
 OR EXISTS (SELECT 1 FROM handoffs WHERE handoffs.peer = {peer}))
"""


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """One peer. `did` is the short form, `long` the form that resolves.

    `knows_us` is set once the peer has written to our DID, so that the short form of
    ours is enough from then on. `contact` is set for those the owner has named.
    """

    did: str
    long: str
    name: str = ""
    agent_id: str | None = None
    may_send: bool = False
    knows_us: bool = False
    endpoint: str | None = None
    contact: bool = False


class Peers:
    """The table of peers in `ledger.db`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, did: str) -> Peer | None:
        """Return the peer by either form of its DID, or None."""
        row = self._database.row(
            f"SELECT {_COLUMNS} FROM peers WHERE did = ?",  # noqa: S608
            short_form(did),
        )
        return None if row is None else _to_peer(row)

    def by_name(self, name: str) -> Peer | None:
        """Return the only contact with this name, or None."""
        rows = self._database.rows(
            f"SELECT {_COLUMNS} FROM peers WHERE name = ? AND contact",  # noqa: S608
            name,
        )
        return _to_peer(rows[0]) if len(rows) == 1 else None

    def find(self, who: str) -> Peer:
        """Return the peer that a DID or a contact's name means.

        Raises:
            LocalError: `NOT_FOUND`.
        """
        peer = self.get(who) if who.startswith("did:") else self.by_name(who)
        if peer is None:
            raise LocalError(Code.NOT_FOUND, f"No peer is known as {who}.")
        return peer

    def contacts(self) -> list[Peer]:
        """Return those the owner has named."""
        rows = self._database.rows(
            f"SELECT {_COLUMNS} FROM peers WHERE contact ORDER BY name"  # noqa: S608
        )
        return [_to_peer(row) for row in rows]

    def any(self) -> bool:
        """Say whether this node has ever met a peer."""
        return self._database.row("SELECT 1 FROM peers LIMIT 1") is not None

    def is_known(self, did: str) -> bool:
        """Say whether the owner has dealt with this peer; else it is a stranger."""
        row = self._database.row(
            f"SELECT {IS_KNOWN.format(peer='?1')}",
            short_form(did),
        )
        return row is not None and bool(row[0])

    def prune(self, before: str) -> None:
        """Forget strangers who were first seen before `before` and left nothing."""
        known = IS_KNOWN.format(peer="peers.did")
        self._database.run(
            f"DELETE FROM peers WHERE first_seen < ? AND NOT {known}"  # noqa: S608
            " AND agent_id IS NULL AND did NOT IN (SELECT sender FROM requests)"
            " AND did NOT IN (SELECT peer FROM outbox)",
            before,
        )

    def long_form(self, did: str) -> str | None:
        """Return the long form of a short DID that was seen before."""
        peer = self.get(did)
        return None if peer is None else peer.long

    def see(self, did: str, now: str, *, knows_us: bool = False) -> None:
        """Remember a peer by the long form of its DID."""
        self._database.run(
            "INSERT INTO peers (did, long, knows_us, first_seen) VALUES (?,?,?,?)"
            " ON CONFLICT (did) DO UPDATE SET knows_us = knows_us OR excluded.knows_us,"
            " long = CASE WHEN excluded.long = excluded.did THEN long"
            " ELSE excluded.long END",
            short_form(did),
            did,
            int(knows_us),
            now,
        )

    def name(
        self, did: str, name: str, *, may_send: bool, endpoint: str | None, now: str
    ) -> None:
        """Make the peer a contact of the owner's."""
        self.see(did, now)
        self._database.run(
            "UPDATE peers SET name = ?, may_send = ?, endpoint = ?, contact = 1"
            " WHERE did = ?",
            name,
            int(may_send),
            endpoint,
            short_form(did),
        )

    def forget(self, did: str) -> None:
        """Take the name and the rights of a contact away; its DID stays known."""
        self._database.run(
            "UPDATE peers SET name = '', may_send = 0, contact = 0, endpoint = NULL"
            " WHERE did = ?",
            short_form(did),
        )

    def check_agent(self, did: str, agent_id: str) -> None:
        """Refuse an agent id that is bound to another DID, or a DID to another id.

        Raises:
            LocalError: `NOT_AUTHORIZED`.
        """
        if agent_id.startswith("did:") and agent_id != short_form(did):
            # A DID is nobody's name but its own, whoever comes first.
            raise LocalError(Code.NOT_AUTHORIZED, "The agent id is another's DID.")
        row = self._database.row("SELECT did FROM peers WHERE agent_id = ?", agent_id)
        if row is not None and row[0] != short_form(did):
            raise LocalError(
                Code.NOT_AUTHORIZED, "The agent id belongs to another DID."
            )
        peer = self.get(did)
        if peer is not None and peer.agent_id not in (None, agent_id):
            raise LocalError(
                Code.NOT_AUTHORIZED, "The DID has used another agent id before."
            )

    def bind_agent(self, did: str, agent_id: str) -> None:
        """Bind an agent id to the DID that the owner first granted it to (A-54).

        Raises:
            LocalError: `NOT_AUTHORIZED`.
        """
        self.check_agent(did, agent_id)
        self._database.run(
            "UPDATE peers SET agent_id = ? WHERE did = ?", agent_id, short_form(did)
        )


def _to_peer(row: tuple[object, ...]) -> Peer:
    names = Peer.__struct_fields__
    return msgspec.convert(dict(zip(names, row, strict=True)), Peer, strict=False)
