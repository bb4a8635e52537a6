"""Why an envelope or message was refused, with the code a peer may be told."""

from enum import StrEnum

from uomp.errors import Code, EnvelopeError, PeerError


class Problem(StrEnum):
    """Problem codes of report-problem 2.0: error, scope of one message, what failed."""

    MALFORMED = "e.m.msg"
    UNTRUSTED = "e.m.trust"
    CRYPTO = "e.m.trust.crypto"
    DID = "e.m.did"
    TIME = "e.m.req.time"
    TOO_BIG = "e.m.me.res.storage.message_too_big"
    NOT_FOR_US = "e.p.xfer.cant-use-endpoint"


class RefusalError(EnvelopeError):
    """An envelope or message was refused; the code is `ENVELOPE_REFUSED`."""

    def __init__(self, problem: Problem, message: str) -> None:
        super().__init__(Code.ENVELOPE_REFUSED, message)
        self.problem = problem


_PROBLEMS = {
    Code.DID_NOT_RESOLVED: Problem.DID,
    Code.KEY_NOT_FOUND: Problem.UNTRUSTED,
    Code.KEY_REFUSED: Problem.CRYPTO,
    Code.UNSUPPORTED_ALGORITHM: Problem.CRYPTO,
    Code.PACKET_TOO_LARGE: Problem.TOO_BIG,
}


def refusal_of(error: PeerError) -> RefusalError:
    """Return the refusal that an error met below the envelope stands for."""
    if isinstance(error, RefusalError):
        return error
    return RefusalError(_PROBLEMS.get(error.code, Problem.MALFORMED), str(error))


def malformed(message: str) -> RefusalError:
    """Return the refusal of something that is not built as it must be."""
    return RefusalError(Problem.MALFORMED, message)
