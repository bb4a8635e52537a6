"""From wire bytes to a plaintext and to who can be proved to have sent it.

What comes out is decrypted and its signatures are verified. Whether it may be acted on
is for `policy` to say.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple

import msgspec

from uomp.errors import PeerError
from uomp.packets.strict import loads
from uomp.protocol.did.document import DidDocument
from uomp.protocol.did.syntax import MAX_DID_CHARS, did_of, same_did
from uomp.protocol.didcomm import jwe, jws
from uomp.protocol.didcomm.agreement import AgreementKey
from uomp.protocol.didcomm.anoncrypt import open_anoncrypt
from uomp.protocol.didcomm.authcrypt import open_authcrypt
from uomp.protocol.didcomm.from_prior import FromPrior, verify_prior
from uomp.protocol.didcomm.jwe import MAX_ENVELOPE_VALUES, MAX_MESSAGE_BYTES
from uomp.protocol.didcomm.refusal import (
    Problem,
    RefusalError,
    malformed,
    refusal_of,
)

Layer = Literal["authcrypt", "anoncrypt", "signed", "tls", "plain"]
Resolve = Callable[[str], DidDocument]

# A message has few values of its own, and what is inline in attachments is small:
# packets travel as base64.
MAX_PLAIN_VALUES: Final = 200_000

# Which layer may stand in which: the media types of DIDComm v2.1, and no other nesting.
# So there are at most four layers, and each is met at most once.
_INSIDE: Final[Mapping[Layer | None, frozenset[Layer]]] = {
    None: frozenset({"anoncrypt", "authcrypt", "signed", "plain"}),
    "anoncrypt": frozenset({"authcrypt", "signed", "plain"}),
    "authcrypt": frozenset({"signed", "plain"}),
    "signed": frozenset({"plain"}),
}
_KINDS: Final[Mapping[str, Layer]] = {
    jwe.AUTHCRYPT: "authcrypt",
    jwe.ANONCRYPT: "anoncrypt",
}


class EnvelopeHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What an envelope says of itself. None of it is authenticated.

    `skid` is the key id of the sender, `recipients` those of the receivers, `signers`
    those of the signatures; the ids are as they were sent.
    """

    kind: Layer
    skid: str | None = None
    recipients: tuple[str, ...] = ()
    signers: tuple[str, ...] = ()
    alg: str | None = None
    enc: str | None = None


class Unpacked(msgspec.Struct, frozen=True, kw_only=True):
    """A decrypted message that no policy has looked at.

    `sender` and `signer` are key ids that are proved: of the authenticated encryption,
    and of the signature. `recipient` is our key id it was encrypted for. `layers` go
    from the outside to `plain`. For a message over mutual TLS `sender` and `recipient`
    are the DIDs of both ends. `size` is that of the plaintext, in bytes.
    """

    plaintext: dict[str, Any]
    size: int
    layers: tuple[Layer, ...]
    sender: str | None = None
    signer: str | None = None
    recipient: str | None = None
    from_prior: FromPrior | None = None

    def __repr__(self) -> str:
        return f"Unpacked({self.layers}, {self.sender}, {self.signer})"


def peek(data: bytes, *, max_bytes: int = MAX_MESSAGE_BYTES) -> EnvelopeHeader:
    """Read the outer layer, with no key, so that DIDs can be resolved beforehand.

    A signer that is not the sender its message names is refused by `unpack` before it
    is resolved: resolve `signers` only as far as that costs nothing.

    Raises:
        RefusalError: if the layer is not built as it must be.
    """
    try:
        read = _read(data, max_bytes, MAX_ENVELOPE_VALUES)
        if isinstance(read, jwe.Envelope):
            header = read.header
            return EnvelopeHeader(
                kind=_KINDS[header.alg],
                skid=header.skid if header.alg == jwe.AUTHCRYPT else None,
                recipients=read.kids,
                alg=header.alg,
                enc=header.enc,
            )
    except PeerError as error:
        raise refusal_of(error) from error
    if isinstance(read, jws.Signed):
        signers = tuple(signature.kid for signature in read.signatures)
        return EnvelopeHeader(kind="signed", signers=signers, alg=jws.ALGORITHM)
    return EnvelopeHeader(kind="plain")


def unpack(
    data: bytes,
    *,
    secrets: Mapping[str, AgreementKey],
    resolve: Resolve,
    max_bytes: int = MAX_MESSAGE_BYTES,
) -> Unpacked:
    """Open all layers of a message.

    `secrets` has our keys by key id, in each form of our DID. `resolve` gives the
    document of a DID; what it raises beside `PeerError` goes through, so that a caller
    can fetch the document of an inner sender and try again.

    Raises:
        RefusalError: if a layer is malformed, nested as it must not be, not for us, or
            not from whom it says.
    """
    try:
        return _unpack(data, _Keys(secrets, resolve), max_bytes)
    except PeerError as error:
        raise refusal_of(error) from error


def read_plaintext(
    data: bytes, *, sender: str, recipient: str, max_bytes: int = MAX_MESSAGE_BYTES
) -> Unpacked:
    """Read a plaintext message that came over mutual TLS.

    `sender` is the DID bound to the client certificate, `recipient` our DID.

    Raises:
        RefusalError: if it is not strict JSON, an envelope, or too big.
    """
    try:
        value = _read(data, max_bytes, MAX_PLAIN_VALUES)
    except PeerError as error:
        raise refusal_of(error) from error
    if not isinstance(value, dict):
        raise malformed("An envelope stands where a plaintext message is expected.")
    return Unpacked(
        plaintext=value,
        size=len(data),
        layers=("tls", "plain"),
        sender=sender,
        recipient=recipient,
    )


class _Keys(NamedTuple):
    secrets: Mapping[str, AgreementKey]
    resolve: Resolve


def _unpack(data: bytes, keys: _Keys, max_bytes: int) -> Unpacked:
    layers: list[Layer] = []
    most = MAX_ENVELOPE_VALUES  # a bare plaintext is let in by no policy
    sender = signer = recipient = None
    while True:
        read = _read(data, max_bytes, most)
        most = MAX_PLAIN_VALUES
        if isinstance(read, dict):
            _enter(layers, "plain")
            break
        if isinstance(read, jwe.Envelope):
            _enter(layers, _KINDS[read.header.alg])
            data, sender, recipient = _open(read, keys)
        else:
            _enter(layers, "signed")
            data, signer = _verify(read, keys.resolve)
    prior = read.get("from_prior")
    if prior is not None:
        named = _read_from(read)
        proved = named if sender or signer else None
        prior = verify_prior(prior, proved, keys.resolve)
    return Unpacked(
        plaintext=read,
        size=len(data),
        layers=tuple(layers),
        sender=sender,
        signer=signer,
        recipient=recipient,
        from_prior=prior,
    )


def _read_from(message: Mapping[str, Any]) -> str | None:
    """Return the sender a message names; its other members are typed by the policy."""
    named = message.get("from")
    if named is None:
        return None
    # Comparing DIDs keeps them for a while: no long text may get there.
    if not isinstance(named, str) or len(named) > MAX_DID_CHARS:
        raise malformed("The sender in a message is no text, or too long.")
    return named


def _enter(layers: list[Layer], layer: Layer) -> None:
    if layer not in _INSIDE[layers[-1] if layers else None]:
        raise malformed("The layers of a message are nested in no known way.")
    layers.append(layer)


def _read(
    data: bytes, max_bytes: int, max_values: int
) -> jwe.Envelope | jws.Signed | dict[str, Any]:
    """Tell the kind of a layer by its members and check its form."""
    own = jwe.read_own(data, max_bytes)
    if own is not None:
        return jwe.check_envelope(own)
    value = loads(data, max_bytes=max_bytes, max_values=max_values).value
    if not isinstance(value, dict):
        raise malformed("A message is no JSON object.")
    if "ciphertext" in value:
        return jwe.check_envelope(jwe.to_jwe(value))
    if "payload" in value:
        return jws.read_jws(value)
    return value


def _open(envelope: jwe.Envelope, keys: _Keys) -> tuple[bytes, str | None, str]:
    """Return the plaintext of one JWE, the key id of a known sender, and ours."""
    kid = next((kid for kid in envelope.kids if kid in keys.secrets), None)
    if kid is None:
        message = "A message is encrypted for none of our keys."
        raise RefusalError(Problem.NOT_FOR_US, message)
    key = keys.secrets[kid]
    recipient = envelope.jwe.recipients[envelope.kids.index(kid)]
    skid = envelope.header.skid
    if envelope.header.alg == jwe.ANONCRYPT or skid is None:
        return open_anoncrypt(envelope, recipient, key=key), None, kid
    sender = keys.resolve(did_of(skid)).agreement_key(skid)
    return open_authcrypt(envelope, recipient, key=key, sender=sender), skid, kid


def _verify(signed: jws.Signed, resolve: Resolve) -> tuple[bytes, str]:
    """Return the payload of a JWS and the key id of its signer.

    The signer is resolved only if the message names it as its sender: a header is no
    reason to go and fetch anything.
    """
    message = loads(signed.payload, max_values=MAX_PLAIN_VALUES).value
    named = _read_from(message) if isinstance(message, dict) else None
    if named is None:
        raise malformed("A signed message does not name its sender.")
    for signature in signed.signatures:
        if not same_did(did_of(signature.kid), named):
            text = "A message is signed by another than its sender."
            raise RefusalError(Problem.UNTRUSTED, text)
    document = resolve(did_of(signed.signatures[0].kid))
    return signed.payload, jws.verify(signed, document.authentication_key)
