"""What a person is shown of a verification: each step, the verdict, plain facts."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from uomp.errors import Code, VerificationError
from uomp.packets import canonical
from uomp.packets.build import signing_input
from uomp.packets.issuers import KeyResolver, SameDid, equal_dids
from uomp.packets.steps import STEPS, Work, run_step
from uomp.packets.text import clean
from uomp.packets.times import parse_time

OK: Final = "OK"


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One check: it held, it failed, or it was not reached (None)."""

    number: int
    name: str
    ok: bool | None
    detail: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A verification as data. `verdict` is `OK` or the code of the failed step.

    `packet_id` and `memory_type` are what the packet says, verified or not. `reported`
    holds what is told here and enforced only on receipt: audience, expiry, resharing,
    place in the chain.
    """

    verdict: str
    steps: tuple[Step, ...]
    packet_id: str | None
    packet_hash: str | None
    signed_hash: str | None
    memory_type: str | None
    signer: str | None
    key_id: str | None
    reformatted: bool
    understood: bool
    reported: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        made: dict[str, Any] = msgspec.to_builtins(self)
        return made


def explain(
    data: bytes,
    keys: KeyResolver,
    *,
    now: datetime,
    same_did: SameDid = equal_dids,
    seen_at: datetime | None = None,
) -> Report:
    """Run the steps until one fails, and say how each went. Never raises.

    The arguments are those of `verify_packet`. Whatever else than a refusal breaks a
    step, such as a fault of `keys`, is told as `INTERNAL_ERROR`.
    """
    work = Work(data, keys, now, same_did, seen_at)
    steps: list[Step] = []
    verdict = OK
    for number, (name, _) in enumerate(STEPS, start=1):
        ok: bool | None = None
        detail = ""
        if verdict == OK:
            try:
                run_step(number, work)
                ok = True
            except VerificationError as error:
                ok, detail, verdict = False, str(error), error.code.value
            except Exception:  # noqa: BLE001 - the report is what tells it
                ok, detail = False, "The step could not be carried out."
                verdict = Code.INTERNAL_ERROR.value
        steps.append(Step(number=number, name=name, ok=ok, detail=detail))
    return _report(work, verdict, steps)


def _report(work: Work, verdict: str, steps: list[Step]) -> Report:
    header = work.header if work.has("header") else None
    signed = verdict == OK
    return Report(
        verdict=verdict,
        steps=tuple(steps),
        packet_id=header.packet_id if header else None,
        packet_hash=canonical.sha256(work.canonical) if work.canonical else None,
        signed_hash=canonical.sha256(work.signed) if signed else None,
        memory_type=header.memory_type if header else None,
        # Nobody is named as the signer unless the signature was verified.
        signer=work.key.did if signed else None,
        key_id=work.key.key_id if signed else None,
        reformatted=work.reformatted,
        understood=work.understood,
        reported=_reported(work) if signed else {},
    )


def _reported(work: Work) -> dict[str, Any]:
    header = work.header
    expires = header.expires_at
    found: dict[str, Any] = {
        "audience": list(header.audiences()),
        "expires_at": expires,
        "expired": expires is not None and work.now >= parse_time(expires),
        "reshare": work.value["header"].get("reshare", "none"),
        "sequence": header.sequence,
        "previous": header.previous,
        "source_chain": list(msgspec.to_builtins(header.source_chain)),
        "intent": header.intent and clean(header.intent),
        "stale_key": work.key.stale,
        "sealed": work.sealed,
    }
    return {name: value for name, value in found.items() if value not in (None, [])}


def canonical_forms(packet: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the bytes that are signed and hashed, for comparison (PAM-5.1-2).

    Raises:
        KeyError: a part that is signed is missing.
        CanonicalError: the packet holds what JCS cannot write.
    """
    return {
        "signing-input": signing_input(packet),
        "payload": canonical.encode(packet["payload"]),
        "whole": canonical.encode(packet),
    }
