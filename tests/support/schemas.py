"""Asking the JSON Schemas and the code the same question."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from support.packets import ALICE
from uomp.errors import UompError
from uomp.packets.sealing import EnvelopeInfo, seal

SCHEMAS = Path(__file__).parents[2] / "spec" / "schemas"
NAMES = (
    "common",
    "packet",
    "part",
    "payload-basic-plain-text",
    "payload-conversation-history",
    "payload-knowledge-snippet",
    "receipt",
    "sealed-envelope",
)


@cache
def schemas() -> Registry[Any]:
    found = [json.loads(path.read_bytes()) for path in sorted(SCHEMAS.iterdir())]
    return Registry().with_resources(
        (schema["$id"], Resource.from_contents(schema)) for schema in found
    )


def fits(name: str, value: Any) -> bool:
    contents = json.loads((SCHEMAS / f"{name}.schema.json").read_bytes())
    validator = Draft202012Validator(contents, registry=schemas())
    return validator.is_valid(json.loads(json.dumps(value)))  # no tuples


def is_taken(check: Callable[[Any], object], value: Any) -> bool:
    try:
        check(value)
    except UompError:
        return False
    return True


SEALED = seal(
    b"content",
    EnvelopeInfo(
        payload_id="pay_1",
        session_id="sess_1",
        agent_id=ALICE.did,
        timestamp="2026-07-14T10:15:00Z",
        format="application/json",
    ),
    recipient=X25519PrivateKey.from_private_bytes(bytes(range(32))).public_key(),
    ephemeral=X25519PrivateKey.from_private_bytes(bytes(range(32, 64))),
    nonce=bytes(12),
)
