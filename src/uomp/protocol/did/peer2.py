"""did:peer:2, read only: keys and services in the DID itself."""

from typing import Any, Final

from uomp.errors import PeerError
from uomp.packets.multibase import b64url_decode, decode_multikey
from uomp.packets.strict import loads
from uomp.protocol.did.document import DidDocument, parse_document
from uomp.protocol.did.syntax import DidError, check_did, hash_text

PREFIX: Final = "did:peer:2"
_CONTEXT: Final = [
    "https://www.w3.org/ns/did/v1",
    "https://w3id.org/security/multikey/v1",
]
_MAX_ELEMENTS: Final = 64
_SERVICE_DEPTH: Final = 8  # an endpoint of a service needs 3

# Purpose code: (relationship, may it be a key for agreement?)
_PURPOSES: Final = {
    "A": ("assertionMethod", False),
    "D": ("capabilityDelegation", False),
    "E": ("keyAgreement", True),
    "I": ("capabilityInvocation", False),
    "V": ("authentication", False),
}
_AGREEMENT_KINDS: Final = {"X25519": (True,), "Ed25519": (False,)}
_BOTH: Final = (True, False)  # keys on the NIST curves do either

_LONG_NAMES: Final = {
    "t": "type",
    "s": "serviceEndpoint",
    "r": "routingKeys",
    "a": "accept",
}
_LONG_TYPES: Final = {"dm": "DIDCommMessaging"}


def resolve_peer2(did: str) -> DidDocument:
    """Make the document of a did:peer:2.

    Raises:
        DidError: if an element is broken, a key serves another purpose than its kind
            can, or a limit is passed.
    """
    elements = check_did(did).removeprefix(PREFIX).split(".")
    if not did.startswith(PREFIX) or elements[0] or len(elements) > _MAX_ELEMENTS:
        raise DidError("A did:peer:2 has no elements, or too many.")
    made: dict[str, Any] = {"@context": _CONTEXT, "id": did, "verificationMethod": []}
    services: list[dict[str, Any]] = []
    for element in elements[1:]:
        code, body = element[:1], element[1:]
        if code == "S":
            services.extend(_read_services(body))
        else:
            _add_key(made, code, body)
    if services:
        made["service"] = _name_services(services)
    made["alsoKnownAs"] = [_numalgo3(did)]
    return parse_document(made, did)


def _add_key(made: dict[str, Any], code: str, multikey: str) -> None:
    if code not in _PURPOSES:
        raise DidError("A did:peer:2 has an element of an unknown purpose.")
    use, agrees = _PURPOSES[code]
    try:
        kind, _ = decode_multikey(multikey)
    except PeerError as error:
        raise DidError("A did:peer:2 has a broken key.") from error
    if agrees not in _AGREEMENT_KINDS.get(kind, _BOTH):
        raise DidError("A did:peer:2 has a key that cannot serve its purpose.")
    methods = made["verificationMethod"]
    id_ = f"#key-{len(methods) + 1}"
    methods.append(
        {
            "id": id_,
            "controller": made["id"],
            "type": "Multikey",
            "publicKeyMultibase": multikey,
        }
    )
    made.setdefault(use, []).append(id_)


def _read_services(body: str) -> list[dict[str, Any]]:
    try:
        value = loads(b64url_decode(body), max_depth=_SERVICE_DEPTH).value
    except PeerError as error:
        raise DidError("A did:peer:2 has a broken service.") from error
    # Older writers put all services into one list.
    services = value if isinstance(value, list) else [value]
    if not all(isinstance(service, dict) for service in services):
        raise DidError("A did:peer:2 has a service that is no object.")
    return [_expand(service) for service in services]


def _expand(value: Any, name: str = "") -> Any:  # noqa: ANN401
    """Write abbreviated names and types out, on all levels."""
    if isinstance(value, dict):
        long = {_LONG_NAMES.get(key, key): key for key in value}
        if len(long) != len(value):
            raise DidError("A did:peer:2 has a service with a name in both spellings.")
        return {key: _expand(value[short], str(key)) for key, short in long.items()}
    if isinstance(value, list):
        return [_expand(entry, name) for entry in value]
    if name == "type" and isinstance(value, str):
        return _LONG_TYPES.get(value, value)
    return value


def _name_services(services: list[dict[str, Any]]) -> list[dict[str, Any]]:
    named: list[dict[str, Any]] = []
    unnamed = 0
    for service in services:
        if "id" in service:
            if not str(service["id"]).startswith("#"):
                raise DidError("A did:peer:2 has a service of another DID.")
            named.append(service)
            continue
        id_ = f"#service-{unnamed}" if unnamed else "#service"
        unnamed += 1
        named.append({**service, "id": id_})
    return named


def _numalgo3(did: str) -> str:
    """Return the short did:peer:3 of a did:peer:2."""
    return "did:peer:3" + hash_text(did.removeprefix(PREFIX))
