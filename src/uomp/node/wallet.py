"""The Askar wallet: every private key of the node, and the keys of its stores.

Askar keeps and encrypts them. Signing and key agreement are done by `cryptography`
on keys taken out while the wallet is open: Askar's own X25519 takes keys of small
order (docs/decisions/0002-dependencies.md).
"""

import base64
from dataclasses import dataclass, field
from typing import Any

import msgspec
from aries_askar import AskarError, Key, KeyAlg, Session, Store
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from uomp.errors import Code, LocalError, UnavailableError
from uomp.node.clock import random_bytes
from uomp.node.home import Home
from uomp.packets.multibase import base58_encode, encode_multikey
from uomp.protocol.did.resolve import short_form

STORES = ("memory", "ledger", "audit")
_CATEGORY = "uomp"
# The SQLite inside Askar has the WAL-reset bug, so it gets no WAL.
_OPTIONS = "?journal_mode=delete&synchronous=extra&max_connections=2"


class DidRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of our DIDs; the newest is the one we introduce ourselves with."""

    long: str
    endpoint: str
    created_at: str


class Keys(msgspec.Struct, frozen=True, kw_only=True):
    """What is taken out of the wallet while the node runs. Never printed."""

    signing: Ed25519PrivateKey
    agreement: X25519PrivateKey
    token: Ed25519PrivateKey
    stores: dict[str, bytes]

    def __repr__(self) -> str:
        return "Keys(...)"

    @property
    def signing_multikey(self) -> str:
        """The public signing key as Multikey text, `z6Mk...`."""
        raw = self.signing.public_key().public_bytes_raw()
        return encode_multikey("Ed25519", raw)

    @property
    def agreement_multikey(self) -> str:
        """The public agreement key as Multikey text, `z6LS...`."""
        raw = self.agreement.public_key().public_bytes_raw()
        return encode_multikey("X25519", raw)


@dataclass(frozen=True, slots=True)
class Identity:
    """The node's keys and DIDs, newest last."""

    keys: Keys
    dids: tuple[DidRecord, ...] = field(default=())

    @property
    def did(self) -> str:
        """Our newest DID in its long form."""
        return self.dids[-1].long

    @property
    def short_did(self) -> str:
        """Our newest DID in the form used for comparison."""
        return short_form(self.did)


class Wallet:
    """An open wallet. Made by `create` or `open`; closed by `close`."""

    def __init__(self, store: Store, identity: Identity) -> None:
        self._store = store
        self.identity = identity

    @classmethod
    async def create(cls, home: Home, key: bytes) -> "Wallet":
        """Make the wallet with fresh keys and no DID yet.

        Raises:
            UnavailableError: `STORE_UNAVAILABLE`, if the file cannot be written; what
                was begun is removed.
        """
        try:
            store = await Store.provision(_uri(home), "raw", _pass_key(key))
            home.wallet.chmod(0o600)
            async with store.transaction() as txn:
                await _generate(txn)
                await txn.commit()
            return cls(store, Identity(await _load_keys(store)))
        except (AskarError, OSError) as error:
            home.wallet.unlink(missing_ok=True)
            raise UnavailableError(
                Code.STORE_UNAVAILABLE, f"The wallet {home.wallet} cannot be made."
            ) from error

    @classmethod
    async def open(cls, home: Home, key: bytes) -> "Wallet":
        """Open the wallet with the key derived from the passphrase.

        Raises:
            LocalError: `WRONG_PASSPHRASE`.
            UnavailableError: `STORE_UNAVAILABLE`, if the file is damaged or locked.
        """
        try:
            store = await Store.open(_uri(home), "raw", _pass_key(key))
        except AskarError as error:
            if "decrypting" in str(error):
                raise LocalError(
                    Code.WRONG_PASSPHRASE, "The passphrase is wrong."
                ) from error
            raise _unavailable(home) from error
        try:
            keys = await _load_keys(store)
            dids = await _load_dids(store)
        except (AskarError, LookupError, ValueError) as error:
            await store.close()
            raise _unavailable(home) from error
        return cls(store, Identity(keys, dids))

    async def add_did(self, record: DidRecord) -> None:
        """Make `record` our newest DID. Earlier ones go on receiving."""
        dids = (*self.identity.dids, record)
        await self._keep("dids", msgspec.json.encode(dids))
        self.identity = Identity(self.identity.keys, dids)

    async def replace_did(self, record: DidRecord) -> None:
        """Put `record` in place of our newest DID, which nobody has seen."""
        dids = (*self.identity.dids[:-1], record)
        await self._keep("dids", msgspec.json.encode(dids))
        self.identity = Identity(self.identity.keys, dids)

    async def close(self) -> None:
        """Close the file; the keys taken out are the caller's to forget."""
        await self._store.close()

    async def _keep(self, name: str, value: bytes) -> None:
        async with self._store.transaction() as txn:
            if await txn.fetch(_CATEGORY, name) is None:
                await txn.insert(_CATEGORY, name, value)
            else:
                await txn.replace(_CATEGORY, name, value)
            await txn.commit()


def _uri(home: Home) -> str:
    return f"sqlite://{home.wallet.absolute()}{_OPTIONS}"


def _pass_key(key: bytes) -> str:
    return base58_encode(key)  # the form in which Askar takes a raw key


def _unavailable(home: Home) -> UnavailableError:
    return UnavailableError(
        Code.STORE_UNAVAILABLE, f"The wallet {home.wallet} is damaged or in use."
    )


async def _generate(txn: Session) -> None:
    await txn.insert_key("signing", Key.generate(KeyAlg.ED25519))
    await txn.insert_key("agreement", Key.generate(KeyAlg.X25519))
    await txn.insert_key("token", Key.generate(KeyAlg.ED25519))
    for name in STORES:
        value = base64.b64encode(random_bytes(32))
        await txn.insert(_CATEGORY, f"store-{name}", value)


async def _load_keys(store: Store) -> Keys:
    async with store.session() as session:
        return Keys(
            signing=Ed25519PrivateKey.from_private_bytes(
                await _secret(session, "signing")
            ),
            agreement=X25519PrivateKey.from_private_bytes(
                await _secret(session, "agreement")
            ),
            token=Ed25519PrivateKey.from_private_bytes(await _secret(session, "token")),
            stores={
                name: base64.b64decode(await _value(session, f"store-{name}"))
                for name in STORES
            },
        )


async def _secret(session: Session, name: str) -> bytes:
    entry = await session.fetch_key(name)
    if entry is None:
        raise LookupError(name)
    key: Any = entry.key
    return bytes(key.get_secret_bytes())


async def _value(session: Session, name: str) -> bytes:
    entry = await session.fetch(_CATEGORY, name)
    if entry is None:
        raise LookupError(name)
    return bytes(entry.value)


async def _load_dids(store: Store) -> tuple[DidRecord, ...]:
    async with store.session() as session:
        entry = await session.fetch(_CATEGORY, "dids")
        value = bytes(entry.value) if entry is not None else b"[]"
    return tuple(msgspec.json.decode(value, type=list[DidRecord]))
