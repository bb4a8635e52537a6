"""Write the conformance vectors of packets beside this file.

Run from the folder of the tests, with that of the sources on the path:
`python -m vectors.packets.generate`. The bytes are the same on every run; a test
compares them with what is checked in. README.md says what a vector means.
"""

import base64
import json
import re
from datetime import datetime
from pathlib import Path

from support.packet_more_vectors import (
    arrival_vectors,
    nested_vectors,
    part_vectors,
    receipt_vectors,
)
from support.packet_vectors import KEYS, Vector, packet_vectors, resolver
from support.packets import Json, data_of, verified
from uomp.packets import canonical
from uomp.packets.issuers import SigningKey
from uomp.packets.times import format_time, parse_time

HERE = Path(__file__).parent
NOW = "2026-07-14T10:15:00Z"


def vectors() -> list[Vector]:
    return [
        *packet_vectors(),
        *nested_vectors(),
        *part_vectors(),
        *receipt_vectors(),
        *arrival_vectors(),
    ]


def name_of(vector: Vector) -> str:
    words = re.findall("[a-z0-9]+", vector.text.lower().replace("'", ""))
    return f"{vector.kind}-{'-'.join(words)}"


def written(vector: Vector) -> Json:
    """Return the vector as it stands in its file."""
    made: Json = {
        "id": name_of(vector),
        "description": f"{vector.text}.",
        "spec": list(vector.spec),
        "kind": vector.kind,
        "now": NOW,
    }
    given = vector.input
    if isinstance(given, bytes):
        made["input_base64"] = base64.b64encode(given).decode()
    else:
        made["input"] = given if isinstance(given, str) else data_of(given).decode()
    made |= {
        name: vector.options[name] for name in vector.options if name != "warnings"
    }
    made["code"] = vector.code
    if vector.code is None:
        made["expected"] = facts(vector)
    else:
        made["expected"] = {} if vector.step is None else {"step": vector.step}
    return made


def facts(vector: Vector) -> Json:
    """Return what a verifier must find in a vector that is good."""
    if vector.kind == "arrival":
        return {"warnings": vector.options["warnings"]}
    if vector.kind in {"part", "receipt"}:
        return {}
    seen = vector.options.get("seen_at")
    data = vector.input
    found = verified(
        data.encode() if isinstance(data, str) else data,
        resolver(),
        seen_at=None if seen is None else parse_time(seen),
    )
    return {
        "packet_hash": found.hash,
        "signed_hash": found.signed_hash,
        "signer": found.signer_did,
        "key_id": found.key_id,
        "reformatted": found.reformatted,
        "understood": found.understood,
        "payload_hash": canonical.digest(found.payload),
    }


def key_as_json(key: SigningKey) -> Json:
    made: Json = {
        "did": key.did,
        "key_id": key.key_id,
        "algorithm": key.algorithm,
        "public_hex": key.public.hex(),
    }
    for name in ("valid_until", "revoked_at"):
        end: datetime | None = getattr(key, name)
        if end is not None:
            made[name] = format_time(end)
    return made


def files() -> dict[str, bytes]:
    """Return every file of vectors by its name."""
    every = vectors()
    made = {
        name_of(one) + (".fail.json" if one.code else ".json"): written(one)
        for one in every
    }
    if len(made) != len(every):
        raise ValueError("two vectors have one name")
    made["keys.json"] = {"keys": [key_as_json(key) for key in KEYS]}
    return {
        name: (json.dumps(value, indent=1) + "\n").encode()
        for name, value in made.items()
    }


def main() -> None:
    """Write the files and remove those that are no longer made."""
    made = files()
    for path in HERE.glob("*.json"):
        if path.name not in made:
            path.unlink()
    for name, data in made.items():
        (HERE / name).write_bytes(data)


if __name__ == "__main__":
    main()
