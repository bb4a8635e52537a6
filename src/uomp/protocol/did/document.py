"""DID documents as data (DID Core 5): everything absolute, nothing twice."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

import msgspec
import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

from uomp.errors import Code, UompError, VerificationError
from uomp.packets.canonical import encode
from uomp.packets.keys import admit_ed25519, admit_x25519
from uomp.protocol.did.methods import VerificationMethod, read_key
from uomp.protocol.did.services import Service, read_services
from uomp.protocol.did.syntax import (
    DidError,
    check_did,
    did_of,
    same_did,
    split_key_id,
)

__all__ = ["DidDocument", "Service", "VerificationMethod", "parse_document", "read"]

MAX_DOCUMENT_BYTES: Final = 64 * 1024  # of canonical JSON; a common one has 1 to 2 KB
MAX_METHODS: Final = 64  # also entries of one relationship
_MAX_ALIASES: Final = 64
_CACHED_DOCUMENTS: Final = 512  # at most 32 MB, in practice 1

_RELATIONSHIPS: Final = (
    "authentication",
    "assertionMethod",
    "keyAgreement",
    "capabilityInvocation",
    "capabilityDelegation",
)


class DidDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A document whose key ids and references are absolute, in the form of `did`.

    `did` is the DID that was asked for. Keys are admitted when they are taken out.
    """

    did: str
    also_known_as: tuple[str, ...]
    methods: tuple[VerificationMethod, ...]
    authentication: tuple[str, ...]
    assertion_method: tuple[str, ...]
    key_agreement: tuple[str, ...]
    services: tuple[Service, ...]
    canonical: bytes

    @property
    def raw(self) -> dict[str, Any]:
        """A fresh copy of the document as it was given."""
        copy: dict[str, Any] = orjson.loads(self.canonical)
        return copy

    def signing_key(self, kid: str) -> Ed25519PublicKey:
        """Return the Ed25519 key that may authenticate or assert under `kid`.

        Raises:
            VerificationError: `KEY_NOT_FOUND` if the document has no such key for this
                purpose, `UNSUPPORTED_ALGORITHM` if it is not Ed25519, `KEY_REFUSED` if
                it is weak.
        """
        allowed = self.assertion_method + self.authentication
        return admit_ed25519(self._public(kid, allowed, "Ed25519"))

    def authentication_key(self, kid: str) -> Ed25519PublicKey:
        """Return the Ed25519 key that may authenticate under `kid`.

        Raises:
            VerificationError: as `signing_key` does.
        """
        return admit_ed25519(self._public(kid, self.authentication, "Ed25519"))

    def agreement_key(self, kid: str) -> X25519PublicKey:
        """Return the X25519 key that may agree on secrets under `kid`.

        Raises:
            VerificationError: as `signing_key` does, with X25519 for Ed25519.
        """
        return admit_x25519(self._public(kid, self.key_agreement, "X25519"))

    def _public(self, kid: str, allowed: tuple[str, ...], kind: str) -> bytes:
        id_ = kid if kid in allowed else self._in_our_form(kid)
        if id_ in allowed:
            for method in self.methods:
                if method.id == id_:
                    if method.kind == kind:
                        return method.public
                    message = f"A key is {method.kind} where {kind} is needed."
                    raise VerificationError(Code.UNSUPPORTED_ALGORITHM, message)
        message = "The document has no such key for this purpose."
        raise VerificationError(Code.KEY_NOT_FOUND, message)

    def _in_our_form(self, kid: str) -> str:
        """Write a key id under the other form of a did:peer:4 under this document's."""
        try:
            did, fragment = split_key_id(kid)
        except DidError:
            return kid
        return f"{self.did}#{fragment}" if same_did(did, self.did) else kid


def parse_document(value: object, did: str) -> DidDocument:
    """Read a document from elsewhere; its `id` must be `did`, or its other form.

    Raises:
        DidError: if it breaks the data model, a limit, or names a key twice.
    """
    canonical = _canonical(value)
    _validate(canonical)
    return _read(canonical, check_did(did))


def read(value: dict[str, Any], did: str) -> DidDocument:
    """Read a document that this program has made, without the check of its model.

    Raises:
        DidError: as `parse_document` does.
    """
    return _read(_canonical(value), check_did(did))


def _canonical(value: object) -> bytes:
    if not isinstance(value, dict):
        raise DidError("A DID document is no object.")
    try:
        data = encode(value)
    except UompError as error:
        raise DidError("A DID document is not plain JSON.") from error
    if len(data) > MAX_DOCUMENT_BYTES:
        raise DidError(f"A DID document is over {MAX_DOCUMENT_BYTES} bytes.")
    return data


@lru_cache(maxsize=_CACHED_DOCUMENTS)
def _validate(canonical: bytes) -> None:
    """Hold the document against the data model of pydid.

    Services are read by us alone: pydid refuses some lawful endpoints.
    """
    # Its import takes 0.3 s, which commands that meet no foreign document need not pay.
    import pydid  # noqa: PLC0415

    value = {k: v for k, v in orjson.loads(canonical).items() if k != "service"}
    try:
        pydid.DIDDocument.deserialize(value)
    except (
        pydid.did.DIDError,
        pydid.doc.doc.DIDDocumentError,
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise DidError("A DID document breaks the data model.") from error


@lru_cache(maxsize=_CACHED_DOCUMENTS)
def _read(canonical: bytes, did: str) -> DidDocument:
    value = orjson.loads(canonical)
    own = value.get("id")
    if not isinstance(own, str) or not same_did(check_did(own), did):
        raise DidError("A DID document is about another DID.")
    forms = _Forms(own, did)
    methods = _read_methods(value, forms)
    uses = {name: tuple(_references(value, name, forms)) for name in _RELATIONSHIPS}
    return DidDocument(
        did=did,
        also_known_as=_read_aliases(value),
        methods=methods,
        authentication=uses["authentication"],
        assertion_method=uses["assertionMethod"],
        key_agreement=uses["keyAgreement"],
        services=read_services(value.get("service"), forms.absolute),
        canonical=canonical,
    )


class _Forms:
    """How references of a document are made absolute, in the form that was asked."""

    def __init__(self, own: str, did: str) -> None:
        self.own = own
        self.did = did

    def absolute(self, reference: object) -> str:
        if not isinstance(reference, str):
            raise DidError("A reference in a DID document is no text.")
        if reference.startswith("#"):
            reference = self.did + reference
        did, fragment = split_key_id(reference)
        return f"{self.did}#{fragment}" if did == self.own else reference

    def owned(self, reference: object) -> str:
        id_ = self.absolute(reference)
        if did_of(id_) != self.did:
            raise DidError("A DID document defines a key of another DID.")
        return id_


def _read_methods(
    value: dict[str, Any], forms: _Forms
) -> tuple[VerificationMethod, ...]:
    made: list[VerificationMethod] = []
    seen: set[str] = set()
    for entry in _entries(value):
        id_ = forms.owned(entry.get("id"))
        if id_ in seen:
            raise DidError("A DID document has two keys of one id.")
        seen.add(id_)
        key = read_key(entry)
        if key is not None:
            kind, public = key
            controller = check_did(entry.get("controller", forms.did))
            made.append(
                VerificationMethod(
                    id=id_, controller=controller, kind=kind, public=public
                )
            )
    if len(seen) > MAX_METHODS:
        raise DidError(f"A DID document has over {MAX_METHODS} keys.")
    return tuple(made)


def _entries(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the methods, those embedded in relationships as well."""
    for entry in _list(value, "verificationMethod"):
        if not isinstance(entry, dict):
            raise DidError("A verification method is no object.")
        yield entry
    for name in _RELATIONSHIPS:
        yield from (e for e in _list(value, name) if isinstance(e, dict))


def _references(value: dict[str, Any], name: str, forms: _Forms) -> Iterator[str]:
    for entry in _list(value, name):
        yield forms.absolute(entry.get("id") if isinstance(entry, dict) else entry)


def _list(value: dict[str, Any], name: str) -> list[Any]:
    entries = value.get(name, [])
    if not isinstance(entries, list) or len(entries) > MAX_METHODS:
        raise DidError("A part of a DID document is no list, or too long.")
    return entries


def _read_aliases(value: dict[str, Any]) -> tuple[str, ...]:
    aliases = value.get("alsoKnownAs", [])
    if not isinstance(aliases, list) or len(aliases) > _MAX_ALIASES:
        raise DidError("The aliases of a DID document are no list, or too many.")
    if not all(isinstance(alias, str) for alias in aliases):
        raise DidError("An alias in a DID document is no text.")
    return tuple(aliases)
