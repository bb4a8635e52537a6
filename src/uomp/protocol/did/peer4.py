"""did:peer:4: a document, its hash, and a long form that carries both."""

from typing import Any, Final

import msgspec
import orjson

from uomp.errors import PeerError
from uomp.packets.multibase import (
    base58_decode,
    base58_encode,
    decode_varint,
    encode_varint,
)
from uomp.packets.strict import loads
from uomp.protocol.did.document import DidDocument, parse_document
from uomp.protocol.did.syntax import (
    MAX_DID_CHARS,
    PEER4,
    DidError,
    check_did,
    hash_fits,
    hash_text,
    short_form,
)

_JSON_CODEC: Final = 0x0200
_DOCUMENT_DEPTH: Final = 16
_METHOD_LISTS: Final = (
    "verificationMethod",
    "authentication",
    "assertionMethod",
    "keyAgreement",
    "capabilityInvocation",
    "capabilityDelegation",
)


class PeerDid4(msgspec.Struct, frozen=True):
    """Both forms of a did:peer:4. The long one is told first, the short one after."""

    long: str
    short: str


def node_document(
    signing_multikey: str, agreement_multikey: str, endpoint: str
) -> dict[str, Any]:
    """Return the input document of a node: `#key-1` signs, `#key-2` agrees.

    `signing_multikey` is Ed25519, `agreement_multikey` X25519; `endpoint` is the URI
    that takes DIDComm messages.
    """
    return {
        "@context": [
            "https://www.w3.org/ns/did/v1",
            "https://w3id.org/security/multikey/v1",
        ],
        "verificationMethod": [
            {
                "id": "#key-1",
                "type": "Multikey",
                "publicKeyMultibase": signing_multikey,
            },
            {
                "id": "#key-2",
                "type": "Multikey",
                "publicKeyMultibase": agreement_multikey,
            },
        ],
        "authentication": ["#key-1"],
        "assertionMethod": ["#key-1"],
        "keyAgreement": ["#key-2"],
        "service": [
            {
                "id": "#didcomm",
                "type": "DIDCommMessaging",
                "serviceEndpoint": {
                    "uri": endpoint,
                    "accept": ["didcomm/v2"],
                    "routingKeys": [],
                },
            }
        ],
    }


def create(input_document: dict[str, Any]) -> PeerDid4:
    """Encode an input document: no `id`, and references only relative.

    Raises:
        DidError: if the document cannot be used in a did:peer:4, or is too long.
    """
    try:
        data = orjson.dumps(input_document)
    except (TypeError, RecursionError) as error:
        raise DidError("An input document is not plain JSON.") from error
    # The encoded form is 1.37 times as long.
    if len(data) > MAX_DID_CHARS:
        raise DidError("An input document is too long for a did:peer:4.")
    encoded = "z" + base58_encode(encode_varint(_JSON_CODEC) + data)
    short = PEER4 + hash_text(encoded)
    made = PeerDid4(long=f"{short}:{encoded}", short=short)
    resolve_long(made.long)
    return made


def resolve_long(did: str) -> DidDocument:
    """Return the document of a long form, about the long form.

    Raises:
        DidError: if the hash does not fit or the document cannot be used.
    """
    return parse_document(contextualise(did, did), did)


def resolve_short(did: str, long: str) -> DidDocument:
    """Return the document of a short form, given the long one.

    Raises:
        DidError: if the long form is of another DID or cannot be used.
    """
    if short_form(long) != did:
        raise DidError("A long form is of another DID.")
    return parse_document(contextualise(long, did), did)


def contextualise(long: str, did: str) -> dict[str, Any]:
    """Return the document of `long` with `did`, its long or short form, as its `id`.

    Raises:
        DidError: if the hash does not fit or the input document is not one.
    """
    made = _decode(check_did(long))
    if "id" in made:
        raise DidError("The document of a did:peer:4 names an id.")
    aliases = made.get("alsoKnownAs", [])
    if not isinstance(aliases, list):
        raise DidError("The aliases of a did:peer:4 are no list.")
    other = short_form(long) if did == long else long
    for name in _METHOD_LISTS:
        if name in made:
            made[name] = _with_controller(made[name], did)
    return {**made, "id": did, "alsoKnownAs": [*aliases, other]}


def _decode(long: str) -> dict[str, Any]:
    if not hash_fits(long):
        raise DidError("A long did:peer:4 has not the hash of its document.")
    encoded = long.removeprefix(short_form(long) + ":")
    if not encoded.startswith("z"):
        raise DidError("A did:peer:4 is not in base58btc.")
    try:
        data = base58_decode(encoded[1:], max_chars=MAX_DID_CHARS)
        codec, start = decode_varint(data)
        value = loads(data[start:], max_depth=_DOCUMENT_DEPTH).value
    except DidError:
        raise
    except PeerError as error:
        raise DidError("A did:peer:4 does not decode to JSON.") from error
    if codec != _JSON_CODEC or not isinstance(value, dict):
        raise DidError("A did:peer:4 does not carry a JSON object.")
    return value


def _with_controller(entries: object, did: str) -> list[Any]:
    """Give methods a controller, and refuse references that are not relative."""
    if not isinstance(entries, list):
        raise DidError("A part of a did:peer:4 is no list.")
    made = []
    for entry in entries:
        reference = entry.get("id") if isinstance(entry, dict) else entry
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise DidError("A did:peer:4 has a reference that is not relative.")
        made.append({"controller": did} | entry if isinstance(entry, dict) else entry)
    return made
