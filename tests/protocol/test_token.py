"""The capability token: what is issued, what is accepted, what is refused."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from joserfc import jwt
from joserfc.jwk import OKPKey

from uomp.errors import PeerError
from uomp.packets.multibase import b64url_decode, b64url_encode
from uomp.packets.signing import Ed25519Signer
from uomp.packets.times import format_time
from uomp.protocol.scope import Scope, Scopes
from uomp.protocol.token import (
    REFRESH_TYP,
    Claims,
    issue,
    jwk,
    thumbprint,
    token_hash,
    verify,
)

NOW = datetime(2026, 7, 12, 10, 0, tzinfo=UTC)
PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
SIGNER = Ed25519Signer(thumbprint(PRIVATE.public_key()), PRIVATE)
KEYS: dict[str, Ed25519PublicKey] = {SIGNER.key_id: PRIVATE.public_key()}


def claims(**changes: Any) -> Claims:
    expires = NOW + timedelta(minutes=30)
    made = Claims(
        version="1.0",
        session_id="sess_1",
        agent_id="calendar_agent",
        jti="jti_1",
        iss="did:example:alice",
        sub="did:example:bob",
        iat=int(NOW.timestamp()),
        exp=int(expires.timestamp()),
        issued_at=format_time(NOW),
        expires_at=format_time(expires),
        epoch=1,
        scopes=Scopes(read=Scope(tags=("preference",))).to_json(),
        profile="remote",
        audience="did:example:alice",
        aud="did:example:alice",
    )
    return msgspec.structs.replace(made, **changes)


def signed(header: dict[str, Any], payload: dict[str, Any]) -> str:
    """Sign anything at all with the right key."""
    parts = [b64url_encode(json.dumps(part).encode()) for part in (header, payload)]
    text = ".".join(parts)
    return f"{text}.{b64url_encode(PRIVATE.sign(text.encode()))}"


def header(**changes: Any) -> dict[str, Any]:
    return {"alg": "EdDSA", "kid": SIGNER.key_id, "typ": "uomp-cap+jwt", **changes}


def payload(**changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(claims())
    made.update(changes)
    return {name: value for name, value in made.items() if value is not ...}


def decoded(token: str, part: int) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(b64url_decode(token.split(".")[part]))
    return made


def refused(token: str, **kwargs: Any) -> str:
    with pytest.raises(PeerError) as caught:
        verify(token, KEYS, **{"now": NOW, **kwargs})
    assert token not in str(caught.value)
    return caught.value.code


@pytest.mark.requirement("SYS-7", "UOMP-7.1-1")
def test_a_token_is_a_jwt_that_verifies_with_our_key_and_no_other() -> None:
    token = issue(claims(), SIGNER)
    assert len(token.split(".")) == 3
    assert verify(token, KEYS, now=NOW) == claims()
    other = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key()
    with pytest.raises(PeerError):
        verify(token, {SIGNER.key_id: other}, now=NOW)


@pytest.mark.requirement("UOMP-7.1-1")
@pytest.mark.filterwarnings("ignore:EdDSA is deprecated")
def test_an_independent_library_verifies_our_tokens() -> None:
    key = OKPKey.import_key({**jwk(PRIVATE.public_key())})
    made = jwt.decode(issue(claims(), SIGNER), key, algorithms=["EdDSA"])
    assert made.claims["session_id"] == "sess_1"


@pytest.mark.requirement("UOMP-7.1-2")
def test_every_claim_is_written_in_snake_case() -> None:
    names = decoded(issue(claims(), SIGNER), 1)
    assert all(name == name.lower() and "-" not in name for name in names)


@pytest.mark.requirement("UOMP-7.2-1", "UOMP-7.2-17", "UOMP-7.2-11")
def test_the_standard_claims_and_the_key_id_are_there() -> None:
    token = issue(claims(), SIGNER)
    body, head = decoded(token, 1), decoded(token, 0)
    assert isinstance(body["iat"], int)
    assert isinstance(body["exp"], int)
    assert body["profile"] == "remote"
    assert head == {"alg": "EdDSA", "kid": SIGNER.key_id, "typ": "uomp-cap+jwt"}


@pytest.mark.requirement("UOMP-7.2-9", "UOMP-7.2-10")
def test_both_actions_carry_all_four_lists_and_limits_are_carried() -> None:
    body = decoded(issue(claims(limits={"max_read_queries": 5}), SIGNER), 1)
    lists = {"tags", "keys", "deny_tags", "deny_keys"}
    assert set(body["scopes"]["read"]) == set(body["scopes"]["write"]) == lists
    assert body["limits"] == {"max_read_queries": 5}


@pytest.mark.requirement("UOMP-7.2-13", "UOMP-7.2-14", "UOMP-7.2-15", "UOMP-7.2-16")
def test_the_optional_claims_are_kept_and_default_to_off() -> None:
    plain = verify(issue(claims(), SIGNER), KEYS, now=NOW)
    assert (plain.aggregation_only, plain.task_bound) == (False, False)
    assert plain.allowed_fields is None
    made = claims(
        aggregation_only=True,
        task_bound=True,
        allowed_fields=("key", "value"),
        allowed_endpoints=("/v1/memory/*",),
    )
    assert verify(issue(made, SIGNER), KEYS, now=NOW) == made


def test_the_same_claims_always_give_the_same_token() -> None:
    assert issue(claims(), SIGNER) == issue(claims(), SIGNER)


@pytest.mark.requirement("UOMP-7.2-2")
@pytest.mark.parametrize(
    "changes",
    [
        {"exp": int(NOW.timestamp()) + 9999},
        {"expires_at": "2026-07-12T12:00:00Z"},
        {"expires_at": "2026-07-12T09:00:00Z"},
    ],
)
def test_two_expiries_that_differ_are_refused(changes: dict[str, Any]) -> None:
    assert refused(signed(header(), payload(**changes))) == "INVALID_TOKEN"


@pytest.mark.requirement("UOMP-7.3-2")
def test_a_token_is_expired_in_the_second_of_its_expiry() -> None:
    token, end = issue(claims(), SIGNER), NOW + timedelta(minutes=30)
    assert refused(token, now=end) == "TOKEN_EXPIRED"
    assert verify(token, KEYS, now=end - timedelta(seconds=1)) == claims()


@pytest.mark.requirement("UOMP-7.2-6", "UOMP-7.2-7")
def test_the_two_times_of_issue_must_agree() -> None:
    wrong = payload(issued_at="2026-07-12T09:59:00Z")
    assert refused(signed(header(), wrong)) == "INVALID_TOKEN"


@pytest.mark.requirement(
    "UOMP-7.2-3", "UOMP-7.2-4", "UOMP-7.2-5", "UOMP-7.2-8", "UOMP-7.2-12"
)
@pytest.mark.parametrize(
    "name", ["version", "session_id", "agent_id", "scopes", "jti", "sub", "audience"]
)
def test_a_claim_that_is_missing_is_refused(name: str) -> None:
    assert refused(signed(header(), payload(**{name: ...}))) == "INVALID_TOKEN"


@pytest.mark.requirement("UOMP-7.2-3", "UOMP-7.2-11")
@pytest.mark.parametrize(
    "changes",
    [
        {"version": "2.0"},
        {"profile": "browser"},
        {"aud": "did:example:mallory"},
        {"scopes": []},
        {"exp": 1e30},
        {"exp": "1"},
        {"iat": int(NOW.timestamp()) + 3600, "issued_at": "2026-07-12T11:00:00Z"},
    ],
)
def test_a_claim_that_makes_no_sense_is_refused(changes: dict[str, Any]) -> None:
    assert refused(signed(header(), payload(**changes))) == "INVALID_TOKEN"


@pytest.mark.requirement("DER-6", "UOMP-7.3-1", "UOMP-7.3-8")
@pytest.mark.parametrize(
    "head",
    [
        header(alg="none"),
        header(alg="HS256"),
        header(alg="RS256"),
        header(typ="JWT"),
        header(typ=REFRESH_TYP),
        header(kid="../../dev/null"),
        header(kid=1),
        header(jwk=jwk(PRIVATE.public_key())),
        header(jku="http://127.0.0.1:1/keys"),
        header(x5u="http://127.0.0.1:1/cert"),
        header(crit=["x"]),
        header(zip="DEF"),
        header(b64=False),
        {"alg": "EdDSA", "typ": "uomp-cap+jwt"},
    ],
)
def test_a_header_that_steers_the_verifier_is_refused(head: dict[str, Any]) -> None:
    """Each is signed with the right key; the plain header is the control."""
    assert refused(signed(head, payload())) == "INVALID_TOKEN"
    assert verify(signed(header(), payload()), KEYS, now=NOW) == claims()


def test_another_spelling_of_the_same_token_is_refused() -> None:
    token = issue(claims(), SIGNER)
    for spelling in (token + "==", token + " ", " " + token, token + ".", token + "A"):
        assert refused(spelling) == "INVALID_TOKEN"


def test_duplicate_members_are_refused() -> None:
    text = json.dumps(payload())
    doubled = text[:-1] + ', "exp": 99999999999}'
    parts = [b64url_encode(part.encode()) for part in (json.dumps(header()), doubled)]
    body = ".".join(parts)
    token = f"{body}.{b64url_encode(PRIVATE.sign(body.encode()))}"
    assert refused(token) == "INVALID_TOKEN"


@pytest.mark.requirement("UOMP-7.3-1")
def test_any_flipped_character_is_refused() -> None:
    token = issue(claims(), SIGNER)
    for place in range(0, len(token), 7):
        other = "A" if token[place] != "A" else "B"
        assert refused(token[:place] + other + token[place + 1 :]) == "INVALID_TOKEN"


def test_a_grant_too_large_for_a_token_is_refused_when_it_is_issued() -> None:
    many = Scopes(read=Scope(keys=tuple(f"key-{n:0100}" for n in range(100))))
    with pytest.raises(PeerError):
        issue(claims(scopes=many.to_json()), SIGNER)


@pytest.mark.requirement("UOMP-13.2-1")
def test_the_hash_of_a_token_is_that_of_its_ascii_text() -> None:
    assert token_hash("abc.def.ghi") == (
        "sha256:6559e90b5dd57405bdf180f29b509053a3d36c4abf3de535ab249b54d4327234"
    )
