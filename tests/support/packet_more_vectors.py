"""The cases of the conformance vectors of nested packets, parts, receipts, arrivals."""

from typing import Any

from support.packet_vectors import HASH, OTHER, PLAIN, Vector, hash_of, text
from support.packets import (
    ALICE,
    BOB,
    CAROL,
    DATED,
    Issuer,
    Json,
    changed,
    header,
    items_packet,
    text_packet,
    unchecked,
    verified,
)
from uomp.packets.build import build_packet
from uomp.packets.multibase import b64_encode
from uomp.packets.nesting import hand_on
from uomp.packets.parts import make_part
from uomp.packets.receipts import build_receipt, receipt_signing_input

SHARED = text_packet(reshare={"named": [CAROL.did]})
OPEN = text_packet(reshare="any")
MALFORMED = "SCHEMA_VIOLATION"


def handed_on(packet: Json, someone: Issuer, audience: str) -> Json:
    members = header(someone, audience=audience, packet_id="mem_outer", reshare="any")
    draft = hand_on(verified(packet), members, receiver=audience)
    return build_packet(draft, someone.signer)


def wrapped(packet: Json, **members: Any) -> Json:
    """Hand a packet on without asking anybody."""
    link = {
        "agent_id": ALICE.did,
        "packet_hash": hash_of(packet),
        "timestamp": packet["header"]["timestamp"],
    }
    known: Json = {"audience": CAROL.did, "source_chain": [link]}
    return unchecked({"packet": packet}, BOB, **(known | members))


def nested_vectors() -> list[Vector]:
    forged = changed(SHARED, "payload", "text", to="Bye.")
    twice = handed_on(handed_on(OPEN, BOB, CAROL.did), CAROL, ALICE.did)
    cases: dict[str, tuple[Json, str | None]] = {
        "Inside another": (handed_on(SHARED, BOB, CAROL.did), None),
        "Inside another inside another": (twice, None),
        "The issuer allows nobody": (wrapped(PLAIN), "RESHARE_REFUSED"),
        "The issuer allows another": (
            wrapped(SHARED, audience=ALICE.did),
            "RESHARE_REFUSED",
        ),
        "The issuer allows one and the packet is for anyone": (
            wrapped(SHARED, audience=None),
            "RESHARE_REFUSED",
        ),
        "The inner packet was changed": (wrapped(forged), "INTEGRITY_MISMATCH"),
        "The chain is empty": (wrapped(SHARED, source_chain=[]), MALFORMED),
        "The inner packet is of another type": (
            wrapped(SHARED, memory_type="knowledge_snippet"),
            MALFORMED,
        ),
    }
    spec = ("PAM-5.3-8",)
    return [
        Vector(name, spec, packet, "nested", code)
        for name, (packet, code) in cases.items()
    ]


def part_vectors() -> list[Vector]:
    packet = items_packet(5)
    part = make_part(verified(packet), [1, 4])
    other = make_part(verified(items_packet(6)), [1])
    wrong = "ITEMS_ROOT_MISMATCH"
    first = ("disclosed", 0)
    cases: dict[str, tuple[Json, str | None]] = {
        "Two items of five": (part, None),
        "A changed item": (changed(part, *first, "item", "value", to="x"), wrong),
        "An item at another place": (changed(part, *first, "index", to=0), wrong),
        "Another salt": (changed(part, *first, "salt", to="0" * 64), wrong),
        "A shorter proof": (changed(part, *first, "proof", to=[]), wrong),
        "An item of another packet": (
            part | {"disclosed": other["disclosed"]},
            wrong,
        ),
        "With the payload": (part | {"payload": packet["payload"]}, MALFORMED),
        "An item twice": (part | {"disclosed": part["disclosed"][:1] * 2}, MALFORMED),
        "Nothing disclosed": (part | {"disclosed": []}, MALFORMED),
        "Another header": (
            changed(part, "header", "session_id", to="other"),
            "SIGNATURE_INVALID",
        ),
    }
    spec = ("PAM-3.1-2",)
    return [
        Vector(name, spec, made, "part", code) for name, (made, code) in cases.items()
    ]


def _receipt(status: str, error: str | None = None) -> Json:
    return build_receipt(
        packet_id="mem_1",
        packet_hash=hash_of(PLAIN),
        issuer=ALICE.did,
        receiver=BOB.did,
        status=status,
        error=error,
        timestamp=DATED,
        signer=BOB.signer,
    )


def receipt_vectors() -> list[Vector]:
    accepted, rejected = _receipt("accepted"), _receipt("rejected", "KEY_NOT_FOUND")
    more = accepted | {"note": "x"}
    signed = b64_encode(BOB.signer.sign(receipt_signing_input(more)))
    invalid = "SIGNATURE_INVALID"
    cases: dict[str, tuple[Json, str | None]] = {
        "Accepted": (accepted, None),
        "Rejected": (rejected, None),
        "Kept unread": (_receipt("stored_opaque"), None),
        "A rejection made an acceptance": (
            rejected | {"status": "accepted", "error": None},
            invalid,
        ),
        "A member too many": (
            changed(more, "signature", "signature_value", to=signed),
            MALFORMED,
        ),
        "For another packet": (accepted | {"packet_hash": OTHER}, invalid),
        "Signed by another": (accepted | {"receiver": CAROL.did}, invalid),
        "A packet": (PLAIN, MALFORMED),
    }
    spec = ("PAM-2.3-6",)
    return [
        Vector(name, spec, made, "receipt", code)
        for name, (made, code) in cases.items()
    ]


def arrival_vectors() -> list[Vector]:
    later: Json = {"sequence": 5, "previous": HASH}
    ends: Json = {"expires_at": "2026-07-14T10:15:00Z"}
    taken = "SEQUENCE_GAP"
    state: Json = {"memory_type": "internal_state"}
    # name: header, last place and hash, code or number of warnings
    cases: dict[str, tuple[Json, tuple[int, str | None], str | int]] = {
        "For us": ({"audience": [CAROL.did, BOB.did]}, (0, None), 0),
        "For anyone": ({}, (0, None), 0),
        "For another": ({"audience": CAROL.did}, (0, None), "AUDIENCE_MISMATCH"),
        "At its end": (ends, (0, None), "PACKET_EXPIRED"),
        "The first of a chain": ({"sequence": 1, "previous": None}, (0, None), 0),
        "The next of a chain": (later, (4, HASH), 0),
        "After a gap": (later, (2, HASH), 1),
        "At a place that was taken": (later, (5, HASH), taken),
        "Before what came": (later, (9, HASH), taken),
        "After another than the last": (later, (4, OTHER), taken),
        "A state with a place": (state | later, (4, HASH), 0),
        "A state without a place": (state, (0, None), taken),
    }
    made: list[Vector] = []
    for name, (members, last, outcome) in cases.items():
        options: Json = {"our_dids": [BOB.did], "last": list(last)}
        code = outcome if isinstance(outcome, str) else None
        if code is None:
            options["warnings"] = outcome
        packet = text(**members)
        spec = ("PAM-2.2-11",)
        made.append(Vector(name, spec, packet, "arrival", code, options=options))
    return made
