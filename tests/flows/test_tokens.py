"""Capability tokens and the life of sessions (UOMP sections 7 and 13)."""

import json
import logging
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.exceptions import InvalidSignature

from support.live import living, run
from support.strangers import stranger
from uomp.node.core import Core
from uomp.packets.multibase import b64url_decode, b64url_encode
from uomp.packets.times import format_time
from uomp.protocol import token as tokens
from uomp.protocol.messages.bodies import AuthorizeResponse, ReadRequest

Json = dict[str, Any]
LISTS = {"tags", "keys", "deny_tags", "deny_keys"}


def decoded(segment: str) -> Json:
    value: Json = json.loads(b64url_decode(segment))
    return value


@pytest.mark.requirement(
    "SYS-7",
    "UOMP-7.1-1",
    "UOMP-7.1-2",
    "UOMP-7.2-1",
    "UOMP-7.2-3",
    "UOMP-7.2-9",
    "UOMP-7.2-10",
    "UOMP-7.2-17",
    "UOMP-13.2-1",
)
def test_a_grant_gives_a_token_with_the_claims_of_section_7(tmp_path: Path) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice") as (alice,), stranger(alice) as agent:
            granted = await agent.session(alice, "t", max_reads=7)
            token = granted["token"]
            header, claims = map(decoded, token.split(".")[:2])
            assert set(header) == {"alg", "kid", "typ"}
            assert header["typ"] == "uomp-cap+jwt"
            assert [name for name in claims if name != name.lower()] == []
            assert claims["version"] == "1.0"
            assert claims["session_id"] == granted["session_id"]
            assert claims["agent_id"] == claims["sub"] == agent.short
            assert claims["profile"] == "remote"
            assert claims["aud"] == claims["audience"] == claims["iss"]
            assert claims["limits"] == {"max_read_queries": 7}
            assert claims["aggregation_only"] is claims["task_bound"] is False
            assert set(claims["scopes"]) == {"read", "write"}
            assert all(set(scope) == LISTS for scope in claims["scopes"].values())
            assert claims["exp"] - claims["iat"] == 30 * 60
            assert claims["expires_at"] == granted["expires_at"]

            shown = await alice.call("sessions.show", session_id=granted["session_id"])
            assert shown["token_hash"] == tokens.token_hash(token)
            assert shown["agent_id"] == agent.short
            assert shown["status"] == "active"
            assert shown["created_at"] == claims["issued_at"]
            assert shown["expires_at"] == claims["expires_at"]
            assert shown["closed_at"] is None
            assert shown["granted_scopes"] == claims["scopes"]
            assert token not in json.dumps(shown)

            async with alice.opened() as core:
                keys = core.identity.keys
            assert header["kid"] == tokens.thumbprint(keys.token.public_key())
            signed, _, signature = token.rpartition(".")
            proof = (b64url_decode(signature), signed.encode())
            keys.token.public_key().verify(*proof)
            with pytest.raises(InvalidSignature):
                keys.signing.public_key().verify(*proof)

    run(scene)


@pytest.mark.requirement("UOMP-13.2-2", "SYS-3")
def test_a_token_is_nowhere_to_be_found(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    async def scene() -> None:
        async with (
            living(tmp_path, "Alice", "Bob") as (alice, bob),
            stranger(alice) as agent,
        ):
            granted = await agent.session(alice, "t")
            token = granted["token"]
            await alice.put("a", 1, "t")
            assert await agent.verdict(alice, granted, tags=["t"]) == "delivered"
            bad = granted | {"token": token[:-4] + "AAAA"}
            assert await agent.verdict(alice, bad, tags=["t"]) == "invalid-token"
            asked = await bob.call("request.ask", to=alice.did, tags=["t"])
            (request,) = await alice.until("requests.list", bool)
            name = {"request_id": request["request_id"]}
            await alice.call("requests.approve", **name)
            await bob.answered(asked["request_id"])

            # Not in plain sight at either end, nor, at the issuer, behind its key.
            files = [
                path
                for home in (alice.home.root, bob.home.root)
                for path in home.iterdir()
                if path.is_file()
            ]
            assert len(files) > 10
            for path in files:
                data = path.read_bytes()
                assert token.encode() not in data, path
                assert b"eyJhbGciOiJFZERTQSI" not in data, path
            async with alice.opened() as core:
                assert token_parts(core, token) == []
                assert token_parts(core, granted["session_id"]) != []  # the control
            async with bob.opened() as core:
                (held,) = core.held.all()
                assert held.token
                assert held.token not in repr(held)
                assert token_parts(core, held.token) == ["held.token"]
            body = {"session_id": "s", "token": token}
            assert token not in repr(msgspec.convert(body, ReadRequest))
            answer = {"decision": "granted", **body}
            assert token not in repr(msgspec.convert(answer, AuthorizeResponse))
            assert token.rpartition(".")[2] not in caplog.text

    run(scene)


def token_parts(core: Core, text: str) -> list[str]:
    """Name the columns of all stores that hold a text."""
    found = []
    for store in (core.ledger, core.memory, core.audit._database):
        for (table,) in store.rows("SELECT name FROM sqlite_schema WHERE sql <> ''"):
            columns = store.rows("SELECT name FROM pragma_table_info(?)", table)
            for (column,) in columns:
                where = f'SELECT 1 FROM "{table}" WHERE instr("{column}", ?)'  # noqa: S608
                if store.row(where, text) or store.row(where, text.encode()):
                    found.append(f"{table}.{column}")
    return found


Change = dict[str, Any]
CHANGES: list[tuple[Change, str]] = [
    ({}, "delivered"),
    # Section 7.3, in its order; each is signed by the issuer itself.
    ({"version": "2.0"}, "invalid-token"),
    ({"aud": "did:web:example.org"}, "invalid-token"),
    ({"issued_at": "2020-01-01T00:00:00Z"}, "invalid-token"),
    ({"expires_at": "2099-01-01T00:00:00Z"}, "invalid-token"),
    ({"exp": 4_000_000_000}, "invalid-token"),
    ({"session_id": "sess_of_nobody"}, "session-revoked"),
    ({"epoch": 2}, "session-revoked"),
    ({"profile": "local", "audience": None, "aud": None}, "access-denied"),
    ({"audience": None, "aud": None}, "invalid-token"),
    ({"audience": "http://127.0.0.1:1", "aud": "http://127.0.0.1:1"}, "access-denied"),
    ({"agent_id": "another"}, "access-denied"),
    ({"sub": "did:web:example.org"}, "access-denied"),
    ({"aggregation_only": True}, "access-denied"),
]


def steered(core: Core, token: str) -> list[tuple[str, str]]:
    """Return tokens whose headers would steer a careless library."""
    head, body, _ = token.split(".")
    own = core.token_signer()
    made = []
    for change in (
        {"jku": "http://127.0.0.1:1/keys"},
        {"x5u": "http://127.0.0.1:1/cert"},
        {"jwk": tokens.jwk(core.identity.keys.signing.public_key())},
        {"alg": "none"},
        {"alg": "HS256"},
        {"alg": "ES256"},
        {"typ": "JWT"},
        {"kid": "other"},
        {"crit": ["exp"]},
    ):
        header = b64url_encode(json.dumps({**decoded(head), **change}).encode())
        signature = b64url_encode(own.sign(f"{header}.{body}".encode()))
        made.append((f"{header}.{body}.{signature}", "invalid-token"))
    made.append((f"{head}.{body}.", "invalid-token"))
    return made


@pytest.mark.requirement(
    "UOMP-7.2-2",
    "UOMP-7.2-6",
    "UOMP-7.2-7",
    "UOMP-7.2-12",
    "UOMP-7.2-15",
    "UOMP-7.3-1",
    "UOMP-7.3-2",
    "UOMP-7.3-6",
    "UOMP-7.3-7",
    "UOMP-7.3-8",
    "DER-6",
)
def test_a_token_that_fails_any_check_reads_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        async with living(tmp_path, "Alice") as (alice,), stranger(alice) as agent:
            await alice.put("a", 1, "t")
            granted = await agent.session(alice, "t")
            made: list[tuple[str, str]] = []
            async with alice.opened() as core:
                kept = core.sessions.get(granted["session_id"]).claims
                claims = msgspec.convert(kept, tokens.Claims)
                signer = core.token_signer()
                for change, verdict in CHANGES:
                    altered = msgspec.structs.replace(claims, **change)
                    made.append((tokens.issue(altered, signer), verdict))
                ago = core.now() - timedelta(hours=1)
                old = {
                    "iat": int(ago.timestamp()) - 60,
                    "exp": int(ago.timestamp()),
                    "issued_at": format_time(ago - timedelta(seconds=60)),
                    "expires_at": format_time(ago),
                }
                expired = msgspec.structs.replace(claims, **old)
                made.append((tokens.issue(expired, signer), "token-expired"))
                refresh = tokens.issue(claims, signer, typ=tokens.REFRESH_TYP)
                made.append((refresh, "invalid-token"))
                # The key of packets is none for tokens, whatever name it bears.
                packet_key = core.packet_signer()
                foreign = tokens.issue(claims, packet_key)
                made.append((foreign, "invalid-token"))
                made.extend(steered(core, granted["token"]))
            head, body, signature = granted["token"].split(".")
            made.append((f"{head}.{body}.{signature[:-4]}AAAA", "invalid-token"))
            made.extend((text, "invalid-token") for text in ("", "a.b.c", "é.é.é"))
            for token, verdict in made:
                used = granted | {"token": token}
                got = await agent.verdict(alice, used, tags=["t"])
                assert got == verdict, decoded(token.split(".")[1])
            # Another session's name beside a good token.
            used = granted | {"session_id": "sess_of_nobody"}
            assert await agent.verdict(alice, used, tags=["t"]) == "access-denied"
            refused = [one for one in await alice.audited("read") if not one["allowed"]]
            assert len(refused) == len(made)
            assert len(agent.heard) == 1 + len(made) + 1

    run(scene)
