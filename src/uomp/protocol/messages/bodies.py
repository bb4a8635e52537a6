"""The bodies of the messages, typed (requirements A-74, A-96, A-101)."""

from typing import Annotated, Any, Literal, TypeVar

import msgspec

from uomp.errors import Code, PeerError

MAX_TEXT = 2_000  # characters of a reason or a name; a person must read it
MIN_MINUTES, MAX_MINUTES, DEFAULT_MINUTES = 1, 10_080, 30

Text = Annotated[str, msgspec.Meta(max_length=MAX_TEXT)]
Identifier = Annotated[str, msgspec.Meta(min_length=1, max_length=512)]
Names = Annotated[tuple[Identifier, ...], msgspec.Meta(max_length=256)]
Minutes = Annotated[int, msgspec.Meta(ge=MIN_MINUTES, le=MAX_MINUTES)]


class AuthorizeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Agent to owner: may I read this, for this long?"""

    agent_id: Identifier
    requested_scopes: dict[str, Any]
    agent_name: Text = ""
    purpose: Text = ""
    duration_minutes: Minutes = DEFAULT_MINUTES
    profile: Literal["local", "remote"] = "remote"
    manifest: dict[str, Any] | None = None
    manifest_hash: str | None = None
    data_retention_policy: dict[str, Any] | None = None
    nonce: Identifier | None = None


class AuthorizeResponse(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Owner to agent: the decision, and the token if there is one."""

    decision: Literal["granted", "denied"]
    session_id: Identifier | None = None
    token: str | None = None
    token_type: Literal["Bearer"] | None = None
    expires_at: str | None = None
    granted_scopes: dict[str, Any] | None = None
    audience: str | None = None
    refresh_token: str | None = None
    reason: Text = ""

    def __repr__(self) -> str:
        return f"AuthorizeResponse({self.decision}, {self.session_id})"


class PayloadReady(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A packet or a report can be had; the first attachment may be it already.

    `hash` is `sha256:` and the hash of the payload's bytes, `size` their number.
    The same body goes with `memory-handoff/1.0/deliver`.
    """

    payload_id: Identifier
    hash: Identifier
    size: Annotated[int, msgspec.Meta(ge=0)]
    format: Identifier
    mode: Literal["inline", "request", "gateway-cache", "presigned-url", "ipfs-cid"]
    session_id: Identifier | None = None
    uri: str | None = None
    cid: str | None = None
    intent: Text = ""


class SessionRevoked(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Owner to agent: the session is over."""

    session_id: Identifier
    revoked_at: str
    reason: Text = ""


class ReadRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Reading by message: a token and what to read with it.

    `budget` is the largest packet wanted, in bytes.
    """

    session_id: Identifier
    token: Annotated[str, msgspec.Meta(max_length=8192)]
    keys: Names = ()
    tags: Names = ()
    budget: Annotated[int, msgspec.Meta(ge=1)] | None = None
    supported_versions: Names = ("1.0",)

    def __repr__(self) -> str:
        return f"ReadRequest({self.session_id})"


class ReceiptBody(msgspec.Struct, frozen=True, kw_only=True):
    """Receiver to sender: a signed receipt."""

    receipt: dict[str, Any]


class ProblemReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What went wrong with the message that `pthid` names."""

    code: Identifier
    comment: Text = ""
    args: Annotated[tuple[str, ...], msgspec.Meta(max_length=32)] = ()
    escalate_to: str | None = None


class Ping(msgspec.Struct, frozen=True, kw_only=True):
    """Are you there?"""

    response_requested: bool = True


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """One question of discover-features; `match` may end in `*`."""

    feature_type: Identifier = msgspec.field(name="feature-type")
    match: Text


class Queries(msgspec.Struct, frozen=True, kw_only=True):
    """Which of these do you have?"""

    queries: Annotated[tuple[Query, ...], msgspec.Meta(max_length=64)]


class Disclosure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One feature that this node has."""

    feature_type: str = msgspec.field(name="feature-type")
    id: str
    roles: tuple[str, ...] = ()


class Disclose(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to `queries`."""

    disclosures: tuple[Disclosure, ...]


Body = TypeVar("Body", bound=msgspec.Struct)


def parse_body(value: dict[str, Any], kind: type[Body]) -> Body:
    """Read a body; members that are unknown are ignored.

    Raises:
        PeerError: `INVALID_REQUEST`, naming the member by its JSON path.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        message = f"The body of a message is malformed: {error}"
        raise PeerError(Code.INVALID_REQUEST, message) from error


def body_json(body: msgspec.Struct) -> dict[str, Any]:
    """Return a body as the JSON object that is sent."""
    made: dict[str, Any] = msgspec.to_builtins(body)
    return made
