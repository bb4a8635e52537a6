"""The keys of issuers of packets and receipts, from the documents of their DIDs."""

from collections.abc import Callable
from datetime import datetime

from uomp.errors import Code, UompError, VerificationError
from uomp.packets.verify import SigningKey
from uomp.protocol.did.document import DidDocument
from uomp.protocol.did.resolve import did_of


class Keyring:
    """The keys of every DID that `resolve` finds the document of."""

    def __init__(self, resolve: Callable[[str], DidDocument]) -> None:
        self._resolve = resolve

    def signing_key(self, key_id: str, at: datetime) -> SigningKey:  # noqa: ARG002
        """Return the Ed25519 key that a DID URL names.

        `at` matters to DIDs whose keys change in place; those resolved here never do.

        Raises:
            VerificationError: `KEY_NOT_FOUND`.
        """
        try:
            did = did_of(key_id)
            key = self._resolve(did).signing_key(key_id)
        except VerificationError:
            raise
        except UompError as error:
            raise VerificationError(
                Code.KEY_NOT_FOUND, f"The signer's key cannot be had: {error}"
            ) from error
        return SigningKey(
            did=did, key_id=key_id, algorithm="Ed25519", public=key.public_bytes_raw()
        )
