"""The error tree, rooted in whose fault it is, and the stable codes.

UompError                 every error this program raises on purpose
├── PeerError             the other side broke the protocol
│   ├── EnvelopeError     a DIDComm envelope or message was refused
│   └── VerificationError a packet, receipt or sealed payload did not verify
├── LocalError            this side asked for something that is not allowed
└── UnavailableError      a file, a peer or a service cannot be reached now
"""

from enum import StrEnum


class Code(StrEnum):
    """Stable error codes: UOMP section 8.4, then the packet codes, then our own."""

    # UOMP section 8.4
    INVALID_TOKEN = "INVALID_TOKEN"  # noqa: S105
    TOKEN_EXPIRED = "TOKEN_EXPIRED"  # noqa: S105
    SESSION_REVOKED = "SESSION_REVOKED"
    ACCESS_DENIED = "ACCESS_DENIED"
    QUOTA_EXCEEDED = "QUOTA_EXCEEDED"
    WRITE_NOT_AVAILABLE = "WRITE_NOT_AVAILABLE"
    STORE_UNAVAILABLE = "STORE_UNAVAILABLE"
    SESSION_NOT_FOUND = "SESSION_NOT_FOUND"
    INVALID_REQUEST = "INVALID_REQUEST"
    NOT_FOUND = "NOT_FOUND"
    # Packets
    UNSUPPORTED_PROTOCOL_VERSION = "UNSUPPORTED_PROTOCOL_VERSION"
    UNSUPPORTED_MEMORY_TYPE = "UNSUPPORTED_MEMORY_TYPE"
    SCHEMA_VIOLATION = "SCHEMA_VIOLATION"
    SIGNATURE_INVALID = "SIGNATURE_INVALID"
    INTEGRITY_MISMATCH = "INTEGRITY_MISMATCH"
    KEY_NOT_FOUND = "KEY_NOT_FOUND"
    KEY_REVOKED = "KEY_REVOKED"
    KEY_REFUSED = "KEY_REFUSED"
    ALGORITHM_MISMATCH = "ALGORITHM_MISMATCH"
    UNSUPPORTED_ALGORITHM = "UNSUPPORTED_ALGORITHM"
    REPLAY_DETECTED = "REPLAY_DETECTED"
    STALE_TIMESTAMP = "STALE_TIMESTAMP"
    PACKET_NOT_FOUND = "PACKET_NOT_FOUND"
    PACKET_TOO_LARGE = "PACKET_TOO_LARGE"
    CHUNK_INVALID = "CHUNK_INVALID"
    TRANSFER_INCOMPLETE = "TRANSFER_INCOMPLETE"
    ATTACHMENT_HASH_MISMATCH = "ATTACHMENT_HASH_MISMATCH"
    ATTACHMENT_UNAVAILABLE = "ATTACHMENT_UNAVAILABLE"
    DECRYPTION_FAILED = "DECRYPTION_FAILED"
    NOT_AUTHORIZED = "NOT_AUTHORIZED"
    AUDIENCE_MISMATCH = "AUDIENCE_MISMATCH"
    PACKET_EXPIRED = "PACKET_EXPIRED"
    SEQUENCE_GAP = "SEQUENCE_GAP"
    RESHARE_REFUSED = "RESHARE_REFUSED"
    ITEMS_ROOT_MISMATCH = "ITEMS_ROOT_MISMATCH"
    # Envelopes and DIDs
    ENVELOPE_REFUSED = "ENVELOPE_REFUSED"
    DID_NOT_RESOLVED = "DID_NOT_RESOLVED"
    DUPLICATE_MESSAGE = "DUPLICATE_MESSAGE"
    UNSUPPORTED_MESSAGE = "UNSUPPORTED_MESSAGE"
    # This side
    NODE_NOT_RUNNING = "NODE_NOT_RUNNING"
    NODE_ALREADY_RUNNING = "NODE_ALREADY_RUNNING"
    NOT_INITIALISED = "NOT_INITIALISED"
    ALREADY_INITIALISED = "ALREADY_INITIALISED"
    WRONG_PASSPHRASE = "WRONG_PASSPHRASE"  # noqa: S105
    UNLOCK_REQUIRED = "UNLOCK_REQUIRED"
    STATE_CONFLICT = "STATE_CONFLICT"
    IMPORT_REFUSED = "IMPORT_REFUSED"
    PERMISSION_REFUSED = "PERMISSION_REFUSED"
    PEER_UNREACHABLE = "PEER_UNREACHABLE"
    INTERNAL_ERROR = "INTERNAL_ERROR"


class UompError(Exception):
    """Any error this program raises on purpose.

    `str(error)` is one plain sentence for the owner of this node. `public` is what a
    peer may be told: it never quotes what was sent nor says what exists.
    """

    def __init__(self, code: Code, message: str, *, public: str | None = None) -> None:
        """Keep `code`; `public` defaults to the code in words."""
        super().__init__(message)
        self.code = code
        self.public = public or code.value.replace("_", " ").capitalize() + "."


class PeerError(UompError):
    """The other side broke the protocol."""


class EnvelopeError(PeerError):
    """A DIDComm envelope or message was refused before any handler saw it."""


class VerificationError(PeerError):
    """A packet, receipt or sealed payload did not verify.

    `step` names the numbered check that failed, for example "6 integrity".
    """

    def __init__(self, code: Code, message: str, *, step: str = "") -> None:
        super().__init__(code, message)
        self.step = step


class LocalError(UompError):
    """This side asked for something that is not allowed or not possible."""


class UnavailableError(UompError):
    """A file, a peer or a service cannot be reached now; trying again may help."""
