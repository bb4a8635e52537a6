"""Our error codes as DIDComm problem codes (report-problem 2.0).

A code reads `e.p.<descriptors>`: an error after which the protocol does not go on. It
ends with the HTTP code's name in lower case, so that a peer finds the same word on
both roads.
"""

from typing import Final

from uomp.errors import Code, UompError
from uomp.protocol.messages.bodies import ProblemReport

# What stands between `e.p.` and the name: which side of the trouble it is.
_SORTS: Final = {
    Code.INVALID_TOKEN: "trust",
    Code.TOKEN_EXPIRED: "trust",
    Code.SESSION_REVOKED: "trust",
    Code.ACCESS_DENIED: "trust",
    Code.NOT_AUTHORIZED: "trust",
    Code.SIGNATURE_INVALID: "trust.crypto",
    Code.INTEGRITY_MISMATCH: "trust.crypto",
    Code.KEY_NOT_FOUND: "trust.crypto",
    Code.KEY_REVOKED: "trust.crypto",
    Code.QUOTA_EXCEEDED: "me.res",
    Code.STORE_UNAVAILABLE: "me.res.storage",
    Code.PACKET_TOO_LARGE: "me.res.storage.message_too_big",
    Code.INTERNAL_ERROR: "me",
}

_COMMENTS: Final = {
    Code.UNSUPPORTED_PROTOCOL_VERSION: "Unacceptable protocol version. Supported: {1}",
}


def to_problem(error: UompError, *args: str) -> ProblemReport:
    """Return the report for an error; it says no more than `error.public`."""
    name = error.code.value.lower().replace("_", "-")
    sort = _SORTS.get(error.code, "msg")
    return ProblemReport(
        code=f"e.p.{sort}.{name}",
        comment=_COMMENTS.get(error.code, error.public),
        args=args,
    )


def code_of(report: ProblemReport) -> str:
    """Return the last word of a problem code as one of our codes, if it is one."""
    word = report.code.rpartition(".")[2].replace("-", "_").upper()
    return word if word in Code.__members__ else report.code
