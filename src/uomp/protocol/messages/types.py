"""The message types this program speaks, and their families for discovery."""

from typing import Final

UOMP: Final = "https://uomp.org/uomp/1.0"
HANDOFF: Final = "https://uomp.org/memory-handoff/1.0"
DIDCOMM: Final = "https://didcomm.org"

AUTHORIZE_REQUEST: Final = f"{UOMP}/authorize-request"
AUTHORIZE_RESPONSE: Final = f"{UOMP}/authorize-response"
PAYLOAD_READY: Final = f"{UOMP}/payload-ready"
SESSION_REVOKED: Final = f"{UOMP}/session-revoked"

HANDOFF_REQUEST: Final = f"{HANDOFF}/request"
HANDOFF_DELIVER: Final = f"{HANDOFF}/deliver"
HANDOFF_RECEIPT: Final = f"{HANDOFF}/receipt"

PING: Final = f"{DIDCOMM}/trust-ping/2.0/ping"
PING_RESPONSE: Final = f"{DIDCOMM}/trust-ping/2.0/ping-response"
QUERIES: Final = f"{DIDCOMM}/discover-features/2.0/queries"
DISCLOSE: Final = f"{DIDCOMM}/discover-features/2.0/disclose"
PROBLEM_REPORT: Final = f"{DIDCOMM}/report-problem/2.0/problem-report"
EMPTY: Final = f"{DIDCOMM}/empty/1.0/empty"

# Protocol URIs and our roles in them, as discover-features tells them.
PROTOCOLS: Final = {
    UOMP: ("owner", "agent"),
    HANDOFF: ("sender", "receiver"),
    f"{DIDCOMM}/trust-ping/2.0": ("sender", "receiver"),
    f"{DIDCOMM}/discover-features/2.0": ("requester", "responder"),
    f"{DIDCOMM}/report-problem/2.0": ("notifier", "notified"),
    f"{DIDCOMM}/empty/1.0": ("sender", "receiver"),
}

SHORT_PREFIX: Final = "uomp/"
_MUST_EXPIRE: Final = (f"{UOMP}/", f"{HANDOFF}/", SHORT_PREFIX)


def must_expire(message_type: str) -> bool:
    """Say whether a message of this type needs `expires_time` (design section 4)."""
    return message_type.startswith(_MUST_EXPIRE)


def must_be_authcrypt(message_type: str) -> bool:
    """Say whether a message of this type must be authenticated encryption (DER-11)."""
    return message_type.startswith(_MUST_EXPIRE)
