"""The node's stores and identity, opened; what every operation works on.

Everything here runs on one thread, so that a decision and its effects are never mixed
with another's.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime

from uomp.node.clock import Clock
from uomp.node.config import Config
from uomp.node.database import Database
from uomp.node.home import Home
from uomp.node.stores.audit import AuditLog, Entry, record
from uomp.node.stores.handoffs import Chains, Handoffs
from uomp.node.stores.inbox import Inbox
from uomp.node.stores.memory import Imports, MemoryStore
from uomp.node.stores.outbox import Outbox, Replay
from uomp.node.stores.peers import Peers
from uomp.node.stores.requests import AskedTable, Requests
from uomp.node.stores.schema import LEDGER, MEMORY
from uomp.node.stores.sessions import HeldSessions, Sessions
from uomp.node.strangers import StrangerRate
from uomp.node.wallet import Identity
from uomp.packets.signing import Ed25519Signer
from uomp.packets.times import format_time
from uomp.protocol.did.document import DidDocument
from uomp.protocol.did.resolve import resolve_static, same_did, short_form
from uomp.protocol.didcomm.agreement import AgreementKey
from uomp.protocol.token import thumbprint


class Core:
    """The opened node. What a crash leaves unaudited is audited when it opens again."""

    def __init__(
        self, home: Home, config: Config, identity: Identity, clock: Clock
    ) -> None:
        """Open the three files.

        Raises:
            UnavailableError: `STORE_UNAVAILABLE`.
        """
        keys = identity.keys.stores
        self.home, self.config, self.clock = home, config, clock
        self.identity = identity
        self.stranger_rate = StrangerRate()
        self._agreement: dict[str, AgreementKey] = {}
        self.ledger = Database(home.ledger, keys["ledger"], LEDGER)
        self.memory = Database(home.memory, keys["memory"], MEMORY)
        self.audit = AuditLog(
            Database(home.audit, keys["audit"], AuditLog.migrations())
        )
        self.items = MemoryStore(self.memory)
        self.imports = Imports(self.items)
        self.inbox = Inbox(self.memory)
        self.peers = Peers(self.ledger)
        self.requests = Requests(self.ledger)
        self.asked = AskedTable(self.ledger)
        self.sessions = Sessions(self.ledger)
        self.held = HeldSessions(self.ledger)
        self.outbox = Outbox(self.ledger)
        self.replay = Replay(self.ledger)
        self.chains = Chains(self.ledger)
        self.handoffs = Handoffs(self.ledger)
        self.acknowledge()

    # ---- time ---------------------------------------------------------------

    def now(self) -> datetime:
        """Return the time of day in UTC."""
        return self.clock.now()

    def now_text(self) -> str:
        """Return the time of day as ISO 8601, whole seconds."""
        return format_time(self.clock.now())

    def now_s(self) -> int:
        """Return the time of day in Unix seconds."""
        return int(self.clock.now().timestamp())

    # ---- changes ------------------------------------------------------------

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Run the body inside the ledger's open transaction; undo it if it raises."""
        with self.ledger.connection:  # a savepoint
            yield

    def log(self, entry: Entry) -> None:
        """Audit within the ledger's open transaction."""
        record(self.ledger, self.now_text(), entry)

    def log_memory(self, entry: Entry) -> None:
        """Audit within the memory's open transaction."""
        record(self.memory, self.now_text(), entry)

    def acknowledge(self) -> None:
        """Bring the audit log up to date; nothing is answered before this is done.

        Raises:
            UnavailableError: `STORE_UNAVAILABLE`.
        """
        self.audit.collect("ledger", self.ledger)
        self.audit.collect("memory", self.memory)

    # ---- identity -----------------------------------------------------------

    @property
    def did(self) -> str:
        """Our DID in its short form."""
        return self.identity.short_did

    def our_dids(self) -> list[str]:
        """Return every DID of ours, long form."""
        return [record.long for record in self.identity.dids]

    def is_ours(self, did: str) -> bool:
        """Say whether a DID, in either form, is ours."""
        return any(same_did(did, ours) for ours in self.our_dids())

    def long_form(self, did: str) -> str | None:
        """Return the long form of a did:peer:4 that is ours or was seen before."""
        for ours in self.our_dids():
            if short_form(ours) == did:
                return ours
        return self.peers.long_form(did)

    def resolve(self, did: str) -> DidDocument:
        """Return a DID's document.

        Raises:
            PeerError: `DID_NOT_RESOLVED`.
        """
        return resolve_static(did, self.long_form)

    def agreement_keys(self) -> Mapping[str, AgreementKey]:
        """Return our agreement key under every name that peers may use for it."""
        names = [
            f"{did}#key-2"
            for ours in self.our_dids()
            for did in (ours, short_form(ours))
        ]
        if names != list(self._agreement):
            private = self.identity.keys.agreement
            self._agreement = {name: AgreementKey(name, private) for name in names}
        return self._agreement

    def packet_signer(self) -> Ed25519Signer:
        """Return what signs packets and receipts: key 1 of our DID's long form."""
        return Ed25519Signer(f"{self.identity.did}#key-1", self.identity.keys.signing)

    def token_signer(self) -> Ed25519Signer:
        """Return what signs tokens; its key id is the thumbprint of its key."""
        key = self.identity.keys.token
        return Ed25519Signer(thumbprint(key.public_key()), key)

    def close(self) -> None:
        """Close the files."""
        self.audit.close()
        self.memory.close()
        self.ledger.close()
