"""The access decision (UOMP sections 7.3 and 10.4), one for every road.

The order is that of A-05. A refusal is data, since it is audited like a permission.
"""

from collections.abc import Collection
from typing import Literal

import msgspec

from uomp.errors import Code
from uomp.packets.items import MemoryItem
from uomp.protocol.scope import Scope, refusal
from uomp.protocol.session import Status
from uomp.protocol.token import Claims

Kind = Literal["key", "tag", "aggregate", "audit"]


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """What the ledger says now of a token's session."""

    status: Status
    blacklisted: bool
    agent_id: str
    agent_did: str
    epoch: int
    used: int
    max_reads: int | None


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where the request came in: our profile, our names, the authenticated sender."""

    profile: Literal["local", "remote"]
    audiences: Collection[str]
    sender: str | None
    """The short form of the DID that sent the request; None on the local listener."""
    epoch: int


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """Yes, or the code for the peer and the reason for the audit log."""

    allowed: bool
    reason: str
    code: Code | None = None


ALLOWED = Decision(allowed=True, reason="within the granted range")


def decide_session(claims: Claims, session: Session | None, place: Place) -> Decision:
    """Decide what does not depend on the target: after `token.verify`, before scope.

    The signature and the expiry, steps 1 and 2, have been checked by then.
    """
    # 3. The session is there, of this epoch, and neither closed nor revoked.
    if session is None or not session.epoch == claims.epoch == place.epoch:
        return _refuse(Code.SESSION_REVOKED, "step 3: the session is not there")
    state, limit = session.status, session.max_reads
    checks = (
        (state is not Status.EXPIRED, Code.TOKEN_EXPIRED, "step 3: it has expired"),
        (state is Status.ACTIVE, Code.SESSION_REVOKED, f"step 3: it is {state}"),
        # 4. The token is not on the blacklist.
        (not session.blacklisted, Code.SESSION_REVOKED, "step 4: on the blacklist"),
        # Section 7.3, 6 and 7: profile and audience are ours.
        (claims.profile == place.profile, Code.ACCESS_DENIED, "another profile"),
        (_audience_fits(claims, place), Code.ACCESS_DENIED, "another audience"),
        # The sender is the one that the token was made for, under the same name.
        (_sender_fits(claims, session, place), Code.ACCESS_DENIED, "another sender"),
        # 5. The quota is not used up.
        (limit is None or session.used < limit, Code.QUOTA_EXCEEDED, "step 5: quota"),
    )
    for holds, code, reason in checks:
        if not holds:
            return _refuse(code, reason)
    return ALLOWED


def _sender_fits(claims: Claims, session: Session, place: Place) -> bool:
    if claims.agent_id != session.agent_id:
        return False
    return place.sender is None or place.sender == claims.sub == session.agent_did


def _audience_fits(claims: Claims, place: Place) -> bool:
    if claims.audience is None:
        return claims.profile == "local"
    return claims.audience in place.audiences


def decide_kind(claims: Claims, kind: Kind) -> Decision:
    """Step 5b: a token for aggregates reads no single item."""
    if claims.aggregation_only and kind in ("key", "tag"):
        return _refuse(Code.ACCESS_DENIED, "step 5b: the token is for aggregates only")
    return ALLOWED


def decide_key(scope: Scope, key: str, item: MemoryItem | None) -> Decision:
    """Steps 6 to 8 for one key.

    An absent item is `NOT_FOUND` only where its key was granted by name and is not
    denied; everywhere else it looks like a forbidden one (A-14).
    """
    if item is None:
        if key in scope.keys and key not in scope.deny_keys:
            return _refuse(Code.NOT_FOUND, "the key is granted and not in the store")
        return _refuse(Code.ACCESS_DENIED, "step 6: outside the granted range")
    why = refusal(scope, item.key, item.tags, item.sensitivity)
    return ALLOWED if why is None else _refuse(Code.ACCESS_DENIED, why)


def decide_tag(scope: Scope, tag: str) -> Decision:
    """Steps 6 and 7 for a tag itself; its items are filtered one by one afterwards."""
    if tag not in scope.tags:
        return _refuse(Code.ACCESS_DENIED, "step 6: outside the granted range")
    if tag in scope.deny_tags:
        return _refuse(Code.ACCESS_DENIED, "step 7: denied explicitly")
    return ALLOWED


def _refuse(code: Code, reason: str) -> Decision:
    return Decision(allowed=False, reason=reason, code=code)
