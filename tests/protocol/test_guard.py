"""The access decision, step by step and in order."""

from typing import Any

import msgspec
import pytest

from uomp.packets.items import MemoryItem
from uomp.protocol import guard
from uomp.protocol.scope import Scope, Scopes
from uomp.protocol.session import Status
from uomp.protocol.token import Claims

CLAIMS = Claims(
    version="1.0",
    session_id="sess_1",
    agent_id="agent",
    jti="jti_1",
    iss="did:ex:alice",
    sub="did:ex:bob",
    iat=0,
    exp=10,
    issued_at="1970-01-01T00:00:00Z",
    expires_at="1970-01-01T00:00:10Z",
    epoch=1,
    scopes=Scopes(read=Scope(tags=("t",))).to_json(),
    profile="remote",
    audience="did:ex:alice",
)
SESSION = guard.Session(
    status=Status.ACTIVE,
    blacklisted=False,
    agent_id="agent",
    agent_did="did:ex:bob",
    epoch=1,
    used=0,
    max_reads=None,
)
PLACE = guard.Place(
    profile="remote", audiences=("did:ex:alice",), sender="did:ex:bob", epoch=1
)


def changed(value: Any, changes: dict[str, Any]) -> Any:
    return msgspec.structs.replace(value, **changes)


def item(**changes: Any) -> MemoryItem:
    made = MemoryItem(
        key="k",
        value=1,
        tags=("t",),
        sensitivity="low",
        source="user",
        created_at="2026-01-01T00:00:00Z",
        updated_at="2026-01-01T00:00:00Z",
    )
    return msgspec.structs.replace(made, **changes)


def test_an_honest_request_is_allowed() -> None:
    assert guard.decide_session(CLAIMS, SESSION, PLACE).allowed


@pytest.mark.requirement(
    "UOMP-7.3-3", "UOMP-7.3-4", "UOMP-7.3-5", "UOMP-7.3-6", "UOMP-7.3-7", "UOMP-7.3-8"
)
@pytest.mark.parametrize(
    ("claims", "session", "place", "code"),
    [
        ({}, {"status": Status.CREATED}, {}, "SESSION_REVOKED"),
        ({}, {"status": Status.CLOSED}, {}, "SESSION_REVOKED"),
        ({}, {"status": Status.REVOKED}, {}, "SESSION_REVOKED"),
        ({}, {"status": Status.EXPIRED}, {}, "TOKEN_EXPIRED"),
        ({}, {"epoch": 2}, {"epoch": 2}, "SESSION_REVOKED"),
        ({}, {"blacklisted": True}, {}, "SESSION_REVOKED"),
        ({}, {}, {"profile": "local"}, "ACCESS_DENIED"),
        ({"audience": "did:ex:eve"}, {}, {}, "ACCESS_DENIED"),
        ({"audience": None}, {}, {}, "ACCESS_DENIED"),
        ({}, {}, {"sender": "did:ex:eve"}, "ACCESS_DENIED"),
        ({"sub": "did:ex:eve"}, {}, {"sender": "did:ex:eve"}, "ACCESS_DENIED"),
        ({"agent_id": "other"}, {}, {}, "ACCESS_DENIED"),
        ({}, {"max_reads": 3, "used": 3}, {}, "QUOTA_EXCEEDED"),
    ],
)
def test_each_check_refuses_with_its_code(
    claims: dict[str, Any], session: dict[str, Any], place: dict[str, Any], code: str
) -> None:
    decision = guard.decide_session(
        changed(CLAIMS, claims), changed(SESSION, session), changed(PLACE, place)
    )
    assert (decision.allowed, decision.code) == (False, code)


def test_a_session_that_is_gone_looks_revoked() -> None:
    assert guard.decide_session(CLAIMS, None, PLACE).code == "SESSION_REVOKED"


def test_the_first_failing_check_decides() -> None:
    """Revoked, foreign and exhausted at once: the order of A-05 says revoked."""
    session = changed(SESSION, {"status": Status.REVOKED, "max_reads": 0})
    place = changed(PLACE, {"profile": "local"})
    assert guard.decide_session(CLAIMS, session, place).code == "SESSION_REVOKED"
    session = changed(SESSION, {"max_reads": 0})
    assert guard.decide_session(CLAIMS, session, place).code == "ACCESS_DENIED"


@pytest.mark.requirement("UOMP-7.2-15")
def test_a_token_for_aggregates_reads_no_item() -> None:
    claims = changed(CLAIMS, {"aggregation_only": True})
    assert guard.decide_kind(claims, "key").code == "ACCESS_DENIED"
    assert guard.decide_kind(claims, "tag").code == "ACCESS_DENIED"
    assert guard.decide_kind(claims, "aggregate").allowed
    assert guard.decide_kind(CLAIMS, "key").allowed


def test_an_absent_key_is_told_only_to_those_who_were_granted_its_name() -> None:
    granted = guard.decide_key(Scope(keys=("k",)), "k", None)
    stranger = guard.decide_key(Scope(tags=("t",)), "k", None)
    forbidden = guard.decide_key(Scope(tags=("t",)), "k", item(tags=("other",)))
    denied = guard.decide_key(Scope(keys=("k",), deny_keys=("k",)), "k", None)
    assert granted.code == "NOT_FOUND"
    assert stranger == forbidden == denied


def test_a_tag_grant_lets_an_item_be_read_by_its_key() -> None:
    assert guard.decide_key(Scope(tags=("t",)), "k", item()).allowed


@pytest.mark.requirement("UOMP-11.3-1")
def test_a_high_item_needs_its_key_in_the_grant() -> None:
    high = item(sensitivity="high")
    assert guard.decide_key(Scope(tags=("t",)), "k", high).code == "ACCESS_DENIED"
    assert guard.decide_key(Scope(keys=("k",)), "k", high).allowed


def test_a_tag_must_be_granted_and_not_denied_itself() -> None:
    assert guard.decide_tag(Scope(tags=("t",)), "t").allowed
    assert guard.decide_tag(Scope(keys=("k",)), "t").code == "ACCESS_DENIED"
    denied = Scope(tags=("t",), deny_tags=("t",))
    assert guard.decide_tag(denied, "t").code == "ACCESS_DENIED"
