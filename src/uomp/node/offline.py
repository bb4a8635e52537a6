"""What can be said of a packet file with no node and no network."""

from datetime import datetime
from pathlib import Path
from typing import Any

from uomp.errors import Code, LocalError, UompError, VerificationError
from uomp.node.keyring import Keyring
from uomp.packets import canonical, strict
from uomp.packets.build import is_nested
from uomp.packets.nesting import MAX_DEPTH, verify_nested
from uomp.packets.payloads import render_payload
from uomp.packets.report import OK, canonical_forms, explain
from uomp.packets.verify import verify_packet
from uomp.protocol.did.document import DidDocument, parse_document
from uomp.protocol.did.resolve import resolve_static, same_did


def verify_file(data: bytes, did_file: Path | None, now: datetime) -> dict[str, Any]:
    """Verify a packet and those inside it; return the report as JSON.

    Raises:
        LocalError: `INVALID_REQUEST`, if the DID document cannot be used.
    """
    given = None if did_file is None else _read_document(did_file)
    used = given is None

    def resolve(did: str) -> DidDocument:
        nonlocal used
        if given is not None and same_did(given.did, did):
            used = True
            return given
        return resolve_static(did, {})

    keys = Keyring(resolve)
    reports = [explain(data, keys, now=now, same_did=same_did)]
    inner = data
    while reports[-1].verdict == OK and len(reports) < MAX_DEPTH:
        payload = verify_packet(inner, keys, now=now, same_did=same_did).payload
        if not is_nested(payload):
            break
        inner = canonical.encode(payload["packet"])
        reports.append(explain(inner, keys, now=now, same_did=same_did))
    verdict = next((one.verdict for one in reports if one.verdict != OK), OK)
    why = ""
    if verdict == OK:
        # What holds between the packets: the source chain and leave to pass on.
        try:
            verify_nested(data, keys, now=now, same_did=same_did)
        except VerificationError as error:
            verdict, why = error.code.value, str(error)
    if verdict == OK and not used:
        verdict = Code.KEY_NOT_FOUND.value
        why = "The DID document that was given is of another than the signer."
    made = reports[0].to_json()
    inside = [one.to_json() for one in reports[1:]]
    return {**made, "verdict": verdict, "why": why, "inside": inside}


def _read_document(path: Path) -> DidDocument:
    try:
        value = strict.loads(path.read_bytes()).value
        return parse_document(value, str(value["id"]))
    except (OSError, UompError, KeyError, TypeError) as error:
        message = f"{path} is no DID document that can be used."
        raise LocalError(Code.INVALID_REQUEST, message) from error


def show_file(data: bytes) -> dict[str, Any]:
    """Return what a packet file says, verified or not.

    Raises:
        LocalError: `SCHEMA_VIOLATION`.
    """
    value = _load(data)
    payload = value.get("payload")
    fallback = value.get("fallback_text_representation")
    return {
        "header": value["header"],
        "text": render_payload(
            payload, fallback if isinstance(fallback, str) else None
        ),
        "packet_hash": canonical.digest(value),
    }


def canonical_of(data: bytes) -> dict[str, Any]:
    """Return the canonical bytes of a packet's parts, as text, with their SHA-256.

    Raises:
        LocalError: `SCHEMA_VIOLATION`.
    """
    try:
        forms = canonical_forms(_load(data))
    except KeyError as error:
        message = f"The file has no {error.args[0]}."
        raise LocalError(Code.SCHEMA_VIOLATION, message) from error
    return {
        name: {"bytes": made.decode(), "sha256": canonical.sha256(made)}
        for name, made in forms.items()
    }


def _load(data: bytes) -> dict[str, Any]:
    try:
        value = strict.loads(data).value
    except UompError as error:
        message = f"The file is not strict JSON: {error}"
        raise LocalError(Code.SCHEMA_VIOLATION, message) from error
    if not isinstance(value, dict) or not isinstance(value.get("header"), dict):
        raise LocalError(Code.SCHEMA_VIOLATION, "The file is no packet.")
    return value
